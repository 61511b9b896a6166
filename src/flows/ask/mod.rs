//! `ask`: one prompt, one answer, from a chat page or an API. With diff automation the patch in the answer is carried
//! out, and asked for again where that is wanted; `attach` picks up a talk that was cut off.

mod attach;

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::evidence::Session;
use crate::evidence::slug;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::apply;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Trouble;
use crate::flows::apply::Work;
use crate::flows::bundle;
use crate::flows::rounds::Briefing;
use crate::flows::rounds::Follows;
use crate::flows::rounds::Rounds;
use crate::flows::rounds::Trial;
use crate::flows::talk;
use crate::flows::talk::Draft;
use crate::flows::talk::Listener;
use crate::flows::talk::Patience;
use crate::flows::talk::Prompt;
use crate::flows::talk::Record;
use crate::flows::talk::Talk;
use crate::flows::talk::Wanted;
use crate::flows::talk::engine::Engine;
use crate::secret::Scanner;

pub use attach::Attached;
pub use attach::attach;

/// What to ask, whom, and how long to wait.
pub struct Request {
    pub prompt: String,
    pub engine: Wanted,
    /// Files of the repository that go with it.
    pub context: Option<bundle::Request>,
    pub slug: Option<String>,
    pub patience: Patience,
    /// Takes secrets out instead of refusing.
    pub sanitize: bool,
    pub files: Files,
    /// What becomes of the patch in the answer, where that is wanted.
    pub automation: Option<Automation>,
}

/// How the patch in an answer is judged, how far it goes, and what happens when there is none.
pub struct Automation {
    pub terms: apply::Terms,
    pub git_root: Option<PathBuf>,
    /// How often it is asked for again.
    pub retries: u32,
    /// What is said then, instead of what was found out.
    pub followup: Option<String>,
}

/// How it ended, and the answer if there is one.
pub struct Answered {
    pub outcome: Outcome,
    /// Without the lines that only carry the request id.
    pub answer: Option<String>,
}

/// Asks. What goes wrong after the session exists is in the outcome, and in its `result.json`.
pub fn run(
    flows: &Flows,
    request: &Request,
    listener: &Listener<'_>,
    person: &Person<'_>,
) -> Result<Answered, Failure> {
    let began = Instant::now();
    let home = flows.home()?;
    let files = request.files.absolute(&flows.environment.current_dir)?;
    let config = flows.person()?;
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let guard = talk::rules(flows)?;
    let (draft, excluded) = draft(flows, request, &engine, guard.scanner())?;
    // What is refused for a secret in it is kept without.
    let clean = |text: &str| String::from_utf8_lossy(&guard.scanner().redact(text.as_bytes()).0).into_owned();
    let words = clean(request.slug.as_deref().unwrap_or(&request.prompt));
    let session = Session::create(&home, &slug(&words).unwrap_or_else(|| "ask".to_owned()))?;
    session.log(&format!("{} to {}", draft.id, engine.destination().shown));
    excluded.iter().for_each(|line| session.log(line));
    // Where the patch goes is where whoever picks it up later has to look.
    let place = flows.rooted(request.automation.as_ref().and_then(|automation| automation.git_root.as_deref()));
    let record = Record::begin(&place, &engine, &clean(&request.prompt), options(request));
    let terms = talk::Terms {
        session: &session,
        engine: &engine,
        guard: &guard,
        config: &config,
        patience: request.patience,
        listener,
        purpose: "ask",
        limit: request.automation.as_ref().map_or(1, |automation| automation.retries.saturating_add(1)),
    };
    let mut talk = Talk::new(terms, record);
    talk.write_record("running")?;
    let mode = request.automation.as_ref().and_then(|automation| automation.terms.mode).unwrap_or(ApplyMode::None);
    let mut outcome = Outcome::new(mode, &session.slug);
    // What is kept for later is kept without secrets, whatever a repository's own rules say.
    let scanner = Scanner::built_in();
    let mut answer = None;
    let ended = match &request.automation {
        None => talk.say(&draft, &mut outcome).and_then(|heard| {
            answer = heard.answer;
            heard.trouble.map_or(Ok(()), Err)
        }),
        Some(automation) => {
            let task = Task { flows: &place, home: &home, automation, session: &session, person, scanner: &scanner };
            let ended = task.carry_out(&mut talk, &draft, mode, &mut outcome);
            answer = talk.take_answer();
            ended
        }
    };
    talk.close();
    apply::conclude(&mut outcome, ended, began);
    if request.automation.is_some() {
        outcome.redact(&scanner);
        apply::clean_files(&session, &scanner)?;
    }
    session.log(outcome.status.as_str());
    files.write_diff(&session, &mut outcome)?;
    files.write_documents(&session, &outcome)?;
    talk.write_record(outcome.status.as_str())?;
    Ok(Answered { outcome, answer })
}

/// Diff automation: what is done with the patch in an answer.
struct Task<'a> {
    flows: &'a Flows,
    home: &'a Path,
    automation: &'a Automation,
    session: &'a Session,
    person: &'a Person<'a>,
    scanner: &'a Scanner,
}

impl Task<'_> {
    fn carry_out(
        &self,
        talk: &mut Talk<'_>,
        draft: &Draft,
        mode: ApplyMode,
        outcome: &mut Outcome,
    ) -> Result<(), Trouble> {
        let Task { flows, home, automation, session, person, scanner } = self;
        let found = flows.repository();
        let repository = found.map_err(|failure| Trouble { kind: "not_a_repository", ..Trouble::from(failure) })?;
        outcome.branch = repository.branch()?;
        let ground = repository.head()?.ok_or_else(apply::no_commit)?;
        let terms = &automation.terms;
        let work = Work::new(flows, home, Some(&repository), session, (terms, mode), person, scanner);
        // What would stop it at the end is found out before anything is sent.
        let law = work.law()?;
        if mode > ApplyMode::None {
            work.approve(&law)?;
        }
        let briefing = Briefing { own: automation.followup.clone(), ..Briefing::of(law.contract(), "", ground) };
        let follows = if automation.retries > 0 { Follows::NoPatch } else { Follows::Never };
        talk.record.about(ground);
        let trial = Trial { work: &work, repository: &repository, ground };
        let mut rounds = Rounds { talk, trial, follows, briefing: &briefing };
        rounds.ask(draft, outcome)?.land(&work, outcome)
    }
}

/// Returns what would be sent and where. Nothing is sent, and no session is made.
pub fn preview(flows: &Flows, request: &Request, attended: bool) -> Result<Value, Failure> {
    let config = flows.person()?;
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let guard = talk::rules(flows)?;
    let (draft, excluded) = draft(flows, request, &engine, guard.scanner())?;
    let mut preview = talk::preview("ask", &draft, &engine, attended, &config.transfers);
    preview["bundleFormat"] = json!(request.context.as_ref().map(|context| context.format.as_str()));
    preview["excluded"] = json!(excluded);
    Ok(preview)
}

/// Makes what is sent, and says which files stay out.
fn draft(
    flows: &Flows,
    request: &Request,
    engine: &Engine,
    scanner: &Scanner,
) -> Result<(Draft, Vec<String>), Failure> {
    if request.prompt.trim().is_empty() {
        return Err(Failure::new(Kind::Usage, "the prompt is empty").hinted("git oracle ask -p \"…\""));
    }
    let (package, excluded) = bundle::context(flows, request.context.as_ref())?;
    let prompt = Prompt { text: &request.prompt, package: package.as_ref(), ..Prompt::default() };
    Ok((Draft::make(&prompt, engine.room(), scanner, request.sanitize)?, excluded))
}

/// Returns what a session says about how it was asked.
fn options(request: &Request) -> Value {
    json!({
        "files": request.context.as_ref().map(|context| &context.patterns),
        "bundleFormat": request.context.as_ref().map(|context| context.format.as_str()),
        "timeoutSec": request.patience.timeout.map(|limit| limit.as_secs()),
        "stallTimeoutSec": request.patience.stall.map(|limit| limit.as_secs()),
        "sanitizePrompt": request.sanitize,
        "attach": request.engine.attach,
        "terms": request.automation.as_ref().map(|automation| automation.terms.to_json()),
    })
}
