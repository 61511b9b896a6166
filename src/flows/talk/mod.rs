//! A talk: prompts go out one after the other, to a chat page or an API, and the answers come home.
//!
//! - `engine`: which of the two, and where; `parcel`: exactly what is sent in one turn
//! - `transfer`: what is sent, looked through, written down and approved before
//! - `page`, `api`: one turn with either
//! - `record`: what `session.json` says about it; `left`: what killed runs left elsewhere
//!
//! Nothing is sent that was not scanned, and what was scanned is what is sent: a parcel is made once and never again.
//! Whoever talks makes a [`Draft`] for each turn and hands it to [`Talk::say`].

mod api;
pub(in crate::flows) mod engine;
pub(in crate::flows) mod left;
pub(in crate::flows) mod page;
mod parcel;
mod record;
mod transfer;

use std::time::Duration;

use crate::base::plural;
use crate::evidence::Session;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply::Outcome;
use crate::flows::apply::Trouble;
use crate::flows::apply::Turns;
use crate::flows::secrets::Guard;
use crate::policy::PersonConfig;
use crate::secret::Scanner;
use crate::system;
use crate::transport::RequestId;
use crate::transport::api::Turn as Said;
use crate::transport::conversation::Conversation;

use engine::Engine;
use transfer::FoundSecrets;
use transfer::Transfer;

pub use engine::EngineKind;
pub use engine::Wanted;
pub(in crate::flows) use parcel::Change;
pub(in crate::flows) use parcel::Parcel;
pub(in crate::flows) use parcel::Prompt;
pub(in crate::flows) use parcel::Room;
pub(in crate::flows) use parcel::without_id;
pub(in crate::flows) use record::Record;
pub(in crate::flows) use transfer::preview;
pub(in crate::flows) use transfer::rules;

/// How it looks from outside while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    pub turn: u32,
    /// How many turns there may be.
    pub limit: u32,
    pub state: &'a str,
    pub characters: usize,
    pub elapsed: Duration,
}

/// How a flow reaches whoever asked.
pub struct Listener<'a> {
    /// Somebody sits at the terminal, and by typing the command approves where it sends to.
    pub attended: bool,
    /// Takes what happens, as it happens.
    pub tell: &'a dyn Fn(&str),
    pub progress: &'a dyn Fn(Progress<'_>),
    /// Is told the session's name when nothing more can be refused and nothing is sent yet.
    pub begun: &'a dyn Fn(&str) -> std::io::Result<()>,
}

/// How long to wait, as the command line says; `None` is as the model needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    pub timeout: Option<Duration>,
    pub stall: Option<Duration>,
    /// How often a copy of the page is kept while the answer is waited for.
    pub snapshots: Option<Duration>,
}

/// How long an answer may take, and how long nothing may move.
#[derive(Debug, Clone, Copy)]
pub(in crate::flows) struct Clocks {
    answer: Duration,
    stall: Duration,
}

/// What is to be sent in one turn: made, looked through, not sent yet.
pub(in crate::flows) struct Draft {
    pub id: RequestId,
    pub parcel: Parcel,
    pub found: FoundSecrets,
}

impl Draft {
    /// Puts together what is sent. With `sanitize` secrets are taken out instead of refused.
    pub fn make(prompt: &Prompt<'_>, room: Room, scanner: &Scanner, sanitize: bool) -> Result<Self, Failure> {
        let id = RequestId::random().map_err(no_random_numbers)?;
        let mut parcel = Parcel::make(&id, prompt, room)?;
        let found = transfer::look_through(scanner, &mut parcel, sanitize);
        Ok(Draft { id, parcel, found })
    }

    /// Refuses to go on with a secret in it.
    pub fn check(&self) -> Result<(), Trouble> {
        if self.found.stops() { Err(self.found.refusal()) } else { Ok(()) }
    }
}

/// What every turn of a talk works with.
pub(in crate::flows) struct Terms<'a> {
    pub session: &'a Session,
    pub engine: &'a Engine,
    pub guard: &'a Guard,
    pub config: &'a PersonConfig,
    pub patience: Patience,
    pub listener: &'a Listener<'a>,
    /// What it is for, as the transfer manifest says it.
    pub purpose: &'static str,
    /// How many turns there may be.
    pub limit: u32,
}

/// A talk that goes on.
pub(in crate::flows) struct Talk<'a> {
    terms: Terms<'a>,
    pub record: Record,
    /// The page, from the first turn on.
    conversation: Option<Conversation>,
    /// What was said so far, where the other side does not remember it.
    said: Vec<Said>,
    turn: u32,
    limit_hit: bool,
    /// What was answered last, for a reader.
    answer: Option<String>,
}

/// What one turn brought.
pub(in crate::flows) struct Heard {
    /// Exactly what was answered; kept nowhere.
    pub reply: Option<String>,
    /// Without secrets, and without the lines that only carry the request id.
    pub answer: Option<String>,
    /// A text may be there although something went wrong.
    pub trouble: Option<Trouble>,
}

impl<'a> Talk<'a> {
    pub const fn new(terms: Terms<'a>, record: Record) -> Self {
        Talk { terms, record, conversation: None, said: Vec::new(), turn: 0, limit_hit: false, answer: None }
    }

    /// Returns how many turns there were and may be.
    pub const fn turns(&self) -> Turns {
        Turns { used: self.turn, limit: self.terms.limit, limit_hit: self.limit_hit }
    }

    /// Writes `session.json`. It is there from the beginning, and true at every moment.
    pub fn write_record(&self, status: &str) -> Result<(), Failure> {
        Ok(self.record.write(self.terms.session, status, self.turns())?)
    }

    /// Notes that there was more to ask when the limit was reached.
    pub fn hit_limit(&mut self, hit: bool, outcome: &mut Outcome) {
        self.limit_hit = hit;
        outcome.heard.turns = Some(self.turns());
    }

    /// Makes what is said next of our own words, and of what was found out here: secrets in that are taken out.
    pub fn draft(&self, prompt: &Prompt<'_>) -> Result<Draft, Failure> {
        Draft::make(prompt, self.terms.engine.room(), self.terms.guard.scanner(), true)
    }

    /// Makes sure that something may be sent at all, before anything else is done for it.
    pub fn check_destination(&self) -> Result<(), Trouble> {
        let Terms { engine, config, listener, purpose, .. } = &self.terms;
        let (id, nothing) = (RequestId::random().map_err(no_random_numbers)?, Parcel::default());
        Transfer::new(purpose, engine.destination(), &id, &nothing).approve(listener.attended, &config.transfers)?;
        Ok(())
    }

    /// Says something and waits for the answer.
    pub fn say(&mut self, draft: &Draft, outcome: &mut Outcome) -> Result<Heard, Trouble> {
        let Terms { session, engine, guard, config, patience, listener, .. } = self.terms;
        let number = self.turn + 1;
        outcome.heard.platform = Some(engine.platform().to_owned());
        outcome.heard.request_id = Some(draft.id.to_string());
        outcome.heard.prompt_chars = Some(draft.parcel.typed.chars().count() as u64);
        outcome.heard.turns = Some(self.turns());
        outcome.secrets = Some(draft.found.labels.clone());
        // What is refused for a secret in it is kept without.
        session.write(&format!("request-{number}.md"), &guard.scanner().redact(draft.parcel.request.as_bytes()).0)?;
        draft.check()?;
        let history = self.said.iter().map(Said::text).collect::<Vec<_>>().join("\n\n");
        let transfer =
            Transfer::new(self.terms.purpose, engine.destination(), &draft.id, &draft.parcel).after(&history);
        let approval = transfer.approve(listener.attended, &config.transfers)?;
        session.write_json(&format!("transfer-{number}.json"), &transfer.to_json(&approval))?;
        system::watch_interrupts().map_err(|error| {
            Failure::new(Kind::Other, format!("failed to watch for Ctrl-C: {error}")).hinted("git oracle doctor")
        })?;
        self.record.begin_turn(draft);
        self.turn = number;
        self.write_record("running")?;
        if number == 1 {
            (listener.begun)(&session.slug).map_err(|error| {
                Failure::new(Kind::Other, format!("failed to go to the background: {error}"))
                    .hinted("Leave out --detach.")
            })?;
        }
        outcome.heard.turns = Some(self.turns());
        let configured = |seconds: Option<u64>| seconds.map(Duration::from_secs);
        let clocks = engine.clocks(
            patience.timeout.or(configured(config.engine.timeout)),
            patience.stall.or(configured(config.engine.stall_timeout)),
        );
        let turn = Turn {
            number,
            limit: self.terms.limit,
            session,
            parcel: &draft.parcel,
            id: &draft.id,
            clocks,
            snapshots: patience.snapshots,
            scanner: guard.scanner(),
            listener,
        };
        let ended = match engine {
            Engine::Page(place) => {
                let visit = page::Visit { conversation: &mut self.conversation, address: &mut self.record.address };
                page::say(place, &page::Act::Ask, visit, &turn, outcome)
            }
            Engine::Api(place) => api::say(place, &turn, &self.said, outcome, &mut self.record),
        };
        let heard = turn.hear(ended, outcome)?;
        self.answer.clone_from(&heard.answer);
        if let (Engine::Api(_), Some(kept)) = (engine, &heard.answer) {
            self.said.push(Said::User(draft.parcel.typed.clone()));
            self.said.push(Said::Assistant(kept.clone()));
        }
        Ok(heard)
    }

    /// Returns the last answer, for a reader.
    pub fn take_answer(&mut self) -> Option<String> {
        self.answer.take()
    }

    /// Keeps a picture of the page as it stands. What cannot be kept is no trouble.
    pub fn keep_picture(&self, outcome: &mut Outcome) {
        let Some(conversation) = &self.conversation else { return };
        let name = format!("screenshot-{:03}.png", self.turn);
        let kept = conversation.screenshot().map(|picture| self.terms.session.write(&name, &picture));
        if let Ok(Ok(path)) = kept {
            outcome.heard.snapshots.push(path.display().to_string());
        }
    }

    /// Ends the browser, or leaves the one that was attached to.
    pub fn close(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            left::close(conversation, self.terms.session);
        }
    }
}

/// One turn: what is sent, and what it is done with.
pub(in crate::flows) struct Turn<'a> {
    pub number: u32,
    pub limit: u32,
    pub session: &'a Session,
    pub parcel: &'a Parcel,
    pub id: &'a RequestId,
    pub clocks: Clocks,
    pub snapshots: Option<Duration>,
    pub scanner: &'a Scanner,
    pub listener: &'a Listener<'a>,
}

impl Turn<'_> {
    /// Writes down what was heard. What a model writes may hold a secret, too: it is kept nowhere.
    fn keep_response(&self, text: &str) -> Result<(String, usize), Trouble> {
        let (clean, secrets) = self.scanner.redact(text.as_bytes());
        self.session.write(&format!("response-{}.md", self.number), &clean)?;
        Ok((String::from_utf8_lossy(&clean).into_owned(), secrets.len()))
    }

    /// Keeps an answer and returns it, for a reader and as it was.
    pub fn hear(&self, ended: Ended, outcome: &mut Outcome) -> Result<Heard, Trouble> {
        let Ended { text, trouble } = ended;
        let Some(reply) = text else { return Ok(Heard { reply: None, answer: None, trouble }) };
        let (clean, secrets) = self.keep_response(&reply)?;
        if secrets > 0 {
            outcome.notes.push(format!("{} taken out of the answer", plural(secrets as u64, "secret")));
        }
        outcome.found.response_chars = Some(clean.chars().count() as u64);
        let answer = Some(without_id(&clean, self.id).to_owned());
        Ok(Heard { reply: Some(reply), answer, trouble })
    }

    fn tell(&self, text: &str) {
        self.session.log(text);
        (self.listener.tell)(text);
    }

    fn show(&self, state: &'static str, characters: usize, elapsed: Duration) {
        (self.listener.progress)(Progress { turn: self.number, limit: self.limit, state, characters, elapsed });
    }
}

/// How a turn ended. A text may be there although something went wrong: what was heard is kept.
pub(in crate::flows) struct Ended {
    text: Option<String>,
    trouble: Option<Trouble>,
}

impl Ended {
    fn early(trouble: impl Into<Trouble>) -> Self {
        Ended { text: None, trouble: Some(trouble.into()) }
    }
}

fn no_random_numbers(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::Other, format!("the system gives no random numbers: {error}")).hinted("git oracle doctor")
}
