//! One turn on a chat page.
//!
//! The ledger of the session is written before each act: `intent`, `typed`, `sending`, `sent`, `committed`, `captured`. A
//! run that is killed leaves it behind, so that nobody has to guess whether something was sent.

use std::cell::RefCell;
use std::time::Instant;

use serde_json::json;

use crate::base::visible;
use crate::evidence::EvidenceError;
use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::millis;
use crate::flows::talk::Ended;
use crate::flows::talk::Turn;
use crate::flows::talk::engine::ChatPage;
use crate::flows::talk::left;
use crate::transport::Browser;
use crate::transport::CompletionPath;
use crate::transport::Enclosure;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::conversation::Answer;
use crate::transport::conversation::Broken;
use crate::transport::conversation::Clocks;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Message;
use crate::transport::conversation::Phase;
use crate::transport::conversation::Step;
use crate::transport::conversation::Whereabouts;

/// What is done on the page.
pub(in crate::flows) enum Act {
    Ask,
    /// Nothing is sent: the answer is looked for at this address.
    Resume(String),
}

/// The page between turns: open or not, and where the conversation is found again.
pub(in crate::flows) struct Visit<'a> {
    pub conversation: &'a mut Option<Conversation>,
    pub address: &'a mut Option<String>,
}

/// Puts the question on the page and brings the answer home. After a fault the page is closed.
pub(in crate::flows) fn say(
    page: &ChatPage,
    act: &Act,
    visit: Visit<'_>,
    turn: &Turn<'_>,
    outcome: &mut Outcome,
) -> Ended {
    let ledger = Ledger { turn, began: Instant::now(), last: RefCell::default(), snapshots: RefCell::default() };
    let (step, url) = match act {
        Act::Ask => ("intent", &page.url),
        Act::Resume(url) => ("resumed", url),
    };
    if let Err(fault) = ledger.record(step, json!({"requestId": turn.id.as_str(), "url": url})) {
        return Ended::early(trouble_of(fault, false));
    }
    let is_new = visit.conversation.is_none();
    let mut conversation = match visit.conversation.take() {
        Some(open) => open,
        None => match start(page, &ledger, outcome) {
            Ok(conversation) => conversation,
            Err(fault) => return Ended::early(trouble_of(fault, false)),
        },
    };
    let ended = match act {
        Act::Ask => ask(&mut conversation, is_new.then_some(page), &ledger),
        Act::Resume(url) => conversation.resume(url, turn.id, &ledger.clocks(), &mut |step| ledger.follow(step)),
    };
    if let Some(found) = conversation.address() {
        *visit.address = Some(found.to_owned());
    }
    let (answer, trouble) = match ended {
        Ok(answer) => {
            *visit.conversation = Some(conversation);
            (Some(answer), None)
        }
        Err(broken) => {
            keep_picture(&conversation, &ledger, outcome);
            left::close(conversation, turn.session);
            let has_text = broken.partial.is_some();
            (broken.partial.map(|answer| *answer), Some(trouble_of(broken.fault, has_text)))
        }
    };
    outcome.heard.snapshots.extend(ledger.snapshots.take());
    if let Some(answer) = &answer {
        note(answer, turn, outcome);
    }
    Ended { text: answer.map(|answer| answer.text), trouble }
}

/// Starts the browser.
fn start(page: &ChatPage, ledger: &Ledger<'_>, outcome: &mut Outcome) -> Result<Conversation, Fault> {
    if let Some(endpoint) = page.launch.endpoint() {
        left::end_all(ledger.turn.session, endpoint);
    }
    if let Some(pid) = page.launch.waits_for() {
        ledger.turn.tell(&format!("waiting for process {pid}, which uses the browser's profile"));
    }
    ledger.turn.tell("starting the browser");
    let browser = Browser::start(&page.launch)?;
    outcome.heard.start_ms = Some(millis(ledger.began));
    if let Some((endpoint, session_id)) = browser.remote_session() {
        ledger.record("remote", json!({"endpoint": endpoint.to_string(), "sessionId": session_id}))?;
    }
    let mut conversation = Conversation::new(browser, page.profile.clone());
    if let Some(every) = ledger.turn.snapshots {
        conversation.take_snapshots(every);
    }
    Ok(conversation)
}

/// Sends one prompt; `page` is opened before if it is not open yet.
fn ask(conversation: &mut Conversation, page: Option<&ChatPage>, ledger: &Ledger<'_>) -> Result<Answer, Broken> {
    let turn = ledger.turn;
    let attachments = turn.parcel.attachments.iter();
    let files: Vec<_> = attachments.map(|file| Enclosure { name: file.name, bytes: &file.bytes }).collect();
    let message = Message { request_id: turn.id, text: &turn.parcel.typed, files: &files };
    let mut follow = |step: &Step| ledger.follow(step);
    if let Some(page) = page {
        let unsent = |fault| Broken { fault, whereabouts: Whereabouts::Unsent, partial: None };
        conversation.open(&page.url, page.model.as_deref(), &mut follow).map_err(unsent)?;
    }
    conversation.ask(&message, &ledger.clocks(), &mut follow)
}

/// What is written down while the turn goes on.
struct Ledger<'a> {
    turn: &'a Turn<'a>,
    began: Instant,
    last: RefCell<Option<&'static str>>,
    /// Where copies of the page lie.
    snapshots: RefCell<Vec<String>>,
}

impl Ledger<'_> {
    const fn clocks(&self) -> Clocks {
        Clocks { answer: self.turn.clocks.answer, stall: self.turn.clocks.stall }
    }

    /// Keeps the page as it stands. What cannot be kept is no trouble.
    fn keep_snapshot(&self, html: &str) {
        let mut snapshots = self.snapshots.borrow_mut();
        let name = format!("snapshot-{:03}.html", snapshots.len() + 1);
        if let Ok(path) = self.turn.session.write(&name, html.as_bytes()) {
            snapshots.push(path.display().to_string());
        }
    }

    fn record(&self, step: &str, mut facts: serde_json::Value) -> Result<(), Fault> {
        facts["turn"] = json!(self.turn.number);
        self.turn.session.record(step, facts).map_err(|error: EvidenceError| {
            let hint = "Check that there is room on the disk and that the session's folder is yours.";
            Fault::new(FaultKind::SendUnclear, format!("the step {step} could not be written down: {error}"), hint)
        })
    }

    /// Writes a step down, and shows where the talk is. An error ends the talk: what is not written is not done.
    fn follow(&self, step: &Step) -> Result<(), Fault> {
        if let Step::Watching { phase, characters, elapsed_ms, .. } = step {
            let state = match phase {
                Phase::Waiting => "waiting",
                Phase::Thinking => "thinking",
                Phase::Streaming => "answering",
                Phase::Lost => "looking for the answer",
                Phase::Throttled => "asked to wait",
            };
            if self.last.replace(Some(state)) != Some(state) {
                self.turn.session.log(&format!("{state} after {elapsed_ms} ms, {characters} characters"));
            }
            self.turn.show(state, *characters, self.began.elapsed());
            return Ok(());
        }
        match step {
            Step::Snapshot { html, .. } => {
                self.keep_snapshot(html);
                return Ok(());
            }
            Step::Partial { text, .. } => {
                // If everything ends now, this is what is left.
                let _ = self.turn.keep_response(text);
                return Ok(());
            }
            _ => {}
        }
        let facts = serde_json::to_value(step).unwrap_or_default();
        let name = facts["step"].as_str().unwrap_or_default().to_owned();
        self.turn.session.log(&visible(&facts.to_string()));
        let state = match step {
            Step::Opening { .. } => Some("opening the page"),
            Step::Challenged => Some("waiting for the page to let go"),
            Step::Attaching { .. } => Some("attaching files"),
            Step::Typing { .. } => Some("typing"),
            Step::Sending => Some("sending"),
            _ => None,
        };
        if let Some(state) = state {
            self.turn.show(state, 0, self.began.elapsed());
        }
        // These are what a later run relies on; the others are for reading.
        match step {
            Step::Typed { .. }
            | Step::Sending
            | Step::Sent
            | Step::Committed { .. }
            | Step::Address { .. }
            | Step::Captured { .. } => self.record(&name, facts),
            _ => Ok(()),
        }
    }
}

/// Keeps the page as it was when something went wrong. What cannot be kept is no further trouble.
fn keep_picture(conversation: &Conversation, ledger: &Ledger<'_>, outcome: &mut Outcome) {
    let kept = conversation.screenshot().map(|picture| ledger.turn.session.write("screenshot-001.png", &picture));
    if let Ok(Ok(path)) = kept {
        outcome.heard.snapshots.push(path.display().to_string());
    }
    if let Ok(html) = conversation.snapshot() {
        ledger.keep_snapshot(&html);
    }
}

/// Puts down how an answer was come by.
fn note(answer: &Answer, turn: &Turn<'_>, outcome: &mut Outcome) {
    let word = |value: serde_json::Value| value.as_str().map(str::to_owned);
    let heard = &mut outcome.heard;
    heard.capture = serde_json::to_value(answer.capture).ok().and_then(word);
    heard.completion_path = serde_json::to_value(answer.path).ok().and_then(word);
    heard.signals = serde_json::to_value(&answer.signals).ok();
    heard.sidebar = Some(answer.sidebar);
    heard.request_id_seen = Some(answer.id_seen);
    heard.ready_ms = Some(answer.timing.ready_ms);
    heard.type_ms = Some(answer.timing.type_ms);
    heard.first_token_ms = Some(answer.timing.first_ms);
    heard.stream_ms = Some(answer.timing.stream_ms);
    heard.quiet_ms = Some(answer.timing.quiet_ms);
    heard.capture_ms = Some(answer.timing.capture_ms);
    heard.mutations = Some(answer.mutations);
    heard.response_bytes = Some(answer.text.len() as u64);
    heard.prompt_bytes = Some(turn.parcel.typed.len() as u64);
    heard.attachments = Some(turn.parcel.attachments.len() as u64);
    if !answer.sealed && answer.path != CompletionPath::TimeoutPartial {
        outcome.notes.push(
            "the answer does not carry the request id on its first and last line; the page itself shows whose it is"
                .to_owned(),
        );
    }
    if answer.clipped {
        outcome
            .notes
            .push("the page shows a part of the answer cut short, and no way was found to the rest".to_owned());
    }
}

/// Returns how a fault ends a run. What arrived before a time limit makes it a partial one.
pub(super) fn trouble_of(fault: Fault, has_text: bool) -> Trouble {
    let status = match fault.kind {
        FaultKind::TimedOut if has_text => Status::Partial,
        FaultKind::TimedOut => Status::Timeout,
        FaultKind::Interrupted => Status::Interrupted,
        _ => Status::Unavailable,
    };
    Trouble::new(status, fault.kind.as_str(), fault.message).hinted(fault.hint)
}
