//! `ask`: one prompt, one answer, from a chat page or an API.
//!
//! - `engine`: which of the two, and where; `parcel`: exactly what is sent
//! - `transfer`: what is sent, looked through, written down and approved before
//! - `page`, `api`: the talk
//! - `record`: what the session's documents say about it
//!
//! Nothing is sent that was not scanned, and what was scanned is what is sent: the parcel is made once and never again.

mod api;
mod engine;
mod page;
mod parcel;
mod record;
mod transfer;

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;

use crate::base::plural;
use crate::evidence::Session;
use crate::evidence::slug;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::millis;
use crate::flows::bundle;
use crate::system;
use crate::transport::RequestId;

use engine::Engine;
use parcel::Parcel;
use record::Record;
use transfer::Transfer;

pub use engine::EngineKind;
pub use engine::Wanted;

/// What to ask, whom, and how long to wait.
pub struct Request {
    pub prompt: String,
    pub engine: Wanted,
    /// Files of the repository that go with it.
    pub context: Option<bundle::Request>,
    pub slug: Option<String>,
    pub timeout: Option<Duration>,
    pub stall: Option<Duration>,
    /// Takes secrets out instead of refusing.
    pub sanitize: bool,
    pub files: Files,
}

/// How it looks from outside while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub state: &'static str,
    pub characters: usize,
    pub elapsed: Duration,
}

/// How a flow reaches whoever asked.
pub struct Listener<'a> {
    /// Somebody sits at the terminal, and by typing the command approves where it sends to.
    pub attended: bool,
    /// Takes what happens, as it happens.
    pub tell: &'a dyn Fn(&str),
    pub progress: &'a dyn Fn(Progress),
}

/// How it ended, and the answer if there is one.
pub struct Answered {
    pub outcome: Outcome,
    /// Without the lines that only carry the request id.
    pub answer: Option<String>,
}

/// Asks. What goes wrong after the session exists is in the outcome, and in its `result.json`.
pub fn run(flows: &Flows, request: &Request, listener: &Listener<'_>) -> Result<Answered, Failure> {
    let began = Instant::now();
    let home = flows.home()?;
    let files = request.files.absolute(&flows.environment.current_dir)?;
    let config = flows.person()?;
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let id = request_id()?;
    let (mut parcel, excluded) = pack(flows, request, &engine, &id)?;
    let guard = transfer::rules(flows)?;
    let found = transfer::look_through(guard.scanner(), &mut parcel, request.sanitize);
    let name = slug(request.slug.as_deref().unwrap_or(&request.prompt)).unwrap_or_else(|| "ask".to_owned());
    let session = Session::create(&home, &name)?;
    let mut outcome = Outcome::new(ApplyMode::None, &session.slug);
    let mut record = Record::begin(flows, &session, request, &engine, &id, &parcel);
    record.write(&session, "running", &outcome)?;
    excluded.iter().for_each(|line| session.log(line));
    outcome.heard.platform = Some(engine.platform().to_owned());
    outcome.heard.request_id = Some(id.to_string());
    outcome.heard.prompt_chars = Some(parcel.typed.chars().count() as u64);
    outcome.secrets = Some(found.labels.clone());
    let mut answer = None;
    let mut attempt = || -> Result<(), Trouble> {
        session.write("request-1.md", parcel.request.as_bytes())?;
        if found.stops() {
            return Err(found.refusal());
        }
        let transfer = Transfer::new("ask", engine.destination(), &id, &parcel);
        let approval = transfer.approve(listener.attended, &config.transfers)?;
        session.write_json("transfer-1.json", &transfer.to_json(&approval))?;
        system::watch_interrupts().map_err(|error| {
            Failure::new(Kind::Other, format!("failed to watch for Ctrl-C: {error}")).hinted("git oracle doctor")
        })?;
        let configured = |seconds: Option<u64>| seconds.map(Duration::from_secs);
        let clocks = engine.clocks(
            request.timeout.or(configured(config.engine.timeout)),
            request.stall.or(configured(config.engine.stall_timeout)),
        );
        let talk = Talk { session: &session, parcel: &parcel, id: &id, clocks, listener };
        let ended = match &engine {
            Engine::Page(place) => page::talk(place, &talk, &mut outcome, &mut record),
            Engine::Api(place) => api::talk(place, &talk, &mut outcome, &mut record),
        };
        if let Some(text) = ended.text {
            // What a model writes may hold a secret, too; it is kept nowhere.
            let (clean, secrets) = guard.scanner().redact(text.as_bytes());
            let text = if secrets.is_empty() { text } else { String::from_utf8_lossy(&clean).into_owned() };
            if !secrets.is_empty() {
                outcome.notes.push(format!("{} taken out of the answer", plural(secrets.len() as u64, "secret")));
            }
            session.write("response-1.md", text.as_bytes())?;
            outcome.found.response_chars = Some(text.chars().count() as u64);
            answer = Some(parcel::without_id(&text, &id).to_owned());
        }
        ended.trouble.map_or(Ok(()), Err)
    };
    match attempt() {
        Ok(()) => outcome.status = Status::Success,
        Err(trouble) => {
            outcome.status = trouble.status;
            outcome.error = Some(trouble);
        }
    }
    outcome.elapsed_ms = millis(began);
    session.log(outcome.status.as_str());
    files.write_documents(&session, &outcome)?;
    record.write(&session, outcome.status.as_str(), &outcome)?;
    Ok(Answered { outcome, answer })
}

/// What a talk works with, whoever it is with.
struct Talk<'a> {
    session: &'a Session,
    parcel: &'a Parcel,
    id: &'a RequestId,
    clocks: Clocks,
    listener: &'a Listener<'a>,
}

impl Talk<'_> {
    fn tell(&self, text: &str) {
        self.session.log(text);
        (self.listener.tell)(text);
    }
}

/// How long an answer may take, and how long nothing may move.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    answer: Duration,
    stall: Duration,
}

/// How a talk ended. A text may be there although something went wrong: what was heard is kept.
struct Ended {
    text: Option<String>,
    trouble: Option<Trouble>,
}

/// Returns what would be sent and where. Nothing is sent, and no session is made.
pub fn preview(flows: &Flows, request: &Request, attended: bool) -> Result<Value, Failure> {
    let config = flows.person()?;
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let id = request_id()?;
    let (mut parcel, excluded) = pack(flows, request, &engine, &id)?;
    let guard = transfer::rules(flows)?;
    let found = transfer::look_through(guard.scanner(), &mut parcel, request.sanitize);
    let transfer = Transfer::new("ask", engine.destination(), &id, &parcel);
    let approval = transfer.approve(attended, &config.transfers).ok();
    Ok(transfer.preview(&engine, approval.as_ref(), &found, &excluded, request.context.as_ref()))
}

fn request_id() -> Result<RequestId, Failure> {
    RequestId::random().map_err(|error| {
        Failure::new(Kind::Other, format!("the system gives no random numbers: {error}")).hinted("git oracle doctor")
    })
}

/// Makes what is sent, and says which files stay out.
fn pack(flows: &Flows, request: &Request, engine: &Engine, id: &RequestId) -> Result<(Parcel, Vec<String>), Failure> {
    if request.prompt.trim().is_empty() {
        return Err(Failure::new(Kind::Usage, "the prompt is empty").hinted("git oracle ask -p \"…\""));
    }
    let package = match &request.context {
        Some(context) => Some(bundle::pack(flows, context)?),
        None => None,
    };
    let left_out = package.iter().flat_map(|package| &package.exclusions);
    let excluded = left_out.map(|exclusion| format!("{}: {}", exclusion.path, exclusion.reason.as_str())).collect();
    Ok((Parcel::make(id, &request.prompt, package.as_ref(), engine.room())?, excluded))
}
