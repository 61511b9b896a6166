//! Picking up a talk that was cut off: its answer is looked for, and nothing is sent.

use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::evidence::KeptSession;
use crate::evidence::Session;
use crate::evidence::Shelf;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::apply;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Status;
use crate::flows::apply::Terms;
use crate::flows::apply::Trouble;
use crate::flows::apply::Turns;
use crate::flows::apply::Work;
use crate::flows::ask::Answered;
use crate::flows::review;
use crate::flows::rounds::Trial;
use crate::flows::session;
use crate::flows::talk;
use crate::flows::talk::Heard;
use crate::flows::talk::Listener;
use crate::flows::talk::Parcel;
use crate::flows::talk::Progress;
use crate::flows::talk::Turn;
use crate::flows::talk::Wanted;
use crate::flows::talk::engine::Engine;
use crate::flows::talk::left::Left;
use crate::flows::talk::left::ledger;
use crate::flows::talk::page;
use crate::flows::talk::without_id;
use crate::git::Landing;
use crate::secret::REDACTED;
use crate::secret::Scanner;
use crate::system;
use crate::transport::RequestId;
use crate::transport::driver::Endpoint;
use crate::transport::end_remote_session;

/// How often a run that is at work is looked at.
const POLL: Duration = Duration::from_millis(200);

const MAX_TEXT_BYTES: u64 = 256 << 20;

/// What the ledger tells about a talk.
struct Past {
    turns: Vec<PastTurn>,
    address: Option<String>,
    /// A session on a grid that nobody has ended.
    remote: Option<Left>,
    /// What was found out about the last answer that was judged: it fell short.
    fell_short: bool,
    /// A patch of it got into the working tree.
    is_in: bool,
}

/// What the ledger tells about one turn.
#[derive(Clone)]
struct PastTurn {
    number: u32,
    id: RequestId,
    /// The page was told to send it, or may have been.
    is_sent: bool,
    /// Its answer is kept, and whole.
    is_home: bool,
}

/// What became of a talk.
pub enum Attached {
    /// It ended by itself: its result as it was written down, and its answer.
    Ended { result: Value, answer: Option<String> },
    /// It was cut off, and was picked up.
    PickedUp(Box<Answered>),
}

/// Waits for a run that is at work, or brings home the answer of one that was cut off.
pub fn attach(
    flows: &Flows,
    slug: Option<&str>,
    listener: &Listener<'_>,
    person: &Person<'_>,
) -> Result<Attached, Failure> {
    let began = Instant::now();
    let mut kept = match slug {
        Some(_) => session::find(flows, slug)?,
        None => Shelf::of(&flows.home()?)
            .last(|session| session.document["mode"].is_string())?
            .ok_or_else(|| Failure::new(Kind::Other, "nothing was asked yet").hinted("git oracle ask -p \"…\""))?,
    };
    let is_followed = kept.is_at_work();
    while kept.is_at_work() {
        if system::interrupted() {
            return Err(
                Failure::new(Kind::Interrupted, "interrupted; the run goes on").hinted("git oracle session attach")
            );
        }
        let turns = |field: &str| kept.document["turns"][field].as_u64().and_then(|count| count.try_into().ok());
        let state = kept.last_words().unwrap_or_else(|| "another run is at work".to_owned());
        let (turn, limit) = (turns("used").unwrap_or(1), turns("limit").unwrap_or(1));
        (listener.progress)(Progress { turn, limit, state: &state, characters: 0, elapsed: began.elapsed() });
        std::thread::sleep(POLL);
        kept = session::find(flows, Some(&kept.slug))?;
    }
    if !kept.document["mode"].is_string() {
        return refused("nobody was asked in this session", "git oracle session show --last");
    }
    // A run that ended by itself while somebody waited has said all there is; asked again, it is picked up.
    if kept.document["status"] == "success" || is_followed && kept.document["status"] != "running" {
        return as_it_ended(&kept);
    }
    let past = Past::of(&kept);
    if let Some(left) = past.as_ref().and_then(|past| past.remote.as_ref()) {
        // It may be gone by itself.
        let _ = Endpoint::parse(&left.endpoint).and_then(|endpoint| end_remote_session(&endpoint, &left.id));
    }
    let Some((past, last)) = past.and_then(|past| past.last_sent().map(|last| (past, last))) else {
        let command = if is_review(&kept) { "git oracle review" } else { "git oracle ask" };
        return refused("nothing was sent in this session", &format!("Ask again: {command}"));
    };
    if let Some(status) = ended(&kept) {
        let hint = format!("git oracle session show {}", RepoPath::from(kept.slug.as_str()).typed());
        return refused(&format!("this session has come to its end: {status}"), &hint);
    }
    let place = match last.is_home {
        true => None,
        false if kept.document["mode"] != "browser" => {
            return refused("only what was asked on a chat page can be picked up", "git oracle session show --last");
        }
        false => Some(past.address.clone().ok_or_else(|| {
            let message = "the page had given the conversation no address yet, so it cannot be found again";
            let hint = format!("Look for {} in the page's history. It is not sent again.", last.id);
            Failure::new(Kind::Unavailable, message).hinted(hint)
        })?),
    };
    let session = Session::reopen(&kept.directory, &kept.slug, &kept.created_at)?;
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for Ctrl-C: {error}")).hinted("git oracle doctor")
    })?;
    let mut outcome = Outcome::new(ApplyMode::None, &session.slug);
    outcome.heard.platform = kept.document["platform"].as_str().map(str::to_owned);
    outcome.heard.request_id = Some(last.id.to_string());
    let limit = kept.document["turns"]["limit"].as_u64().and_then(|limit| limit.try_into().ok());
    let turns = Turns { used: last.number, limit: limit.unwrap_or(last.number), limit_hit: false };
    outcome.heard.turns = Some(turns);
    let cut_off = CutOff { flows, kept: &kept, session: &session, past: &past, last: &last, person };
    let (mut answer, mut found) = (None, past.address.clone());
    let ended = match cut_off.landed(&mut outcome)? {
        Some(ended) => ended,
        None => cut_off.bring_home(place, listener, &mut found, &mut outcome).and_then(|mut heard| {
            answer.clone_from(&heard.answer);
            match heard.trouble.take() {
                Some(trouble) => Err(trouble),
                None => cut_off.judge(heard, &mut outcome),
            }
        }),
    };
    apply::conclude(&mut outcome, ended, began);
    if outcome.commit.is_some() && outcome.error.is_none() && past.fell_short {
        outcome.status = Status::Partial;
    }
    outcome.redact(&Scanner::built_in());
    apply::clean_files(&session, &Scanner::built_in())?;
    session.log(outcome.status.as_str());
    Files::default().write_documents(&session, &outcome)?;
    let mut document = kept.document.clone();
    document["status"] = json!(outcome.status.as_str());
    document["turns"] = turns.to_json();
    document["options"]["conversation"] = json!(found);
    session.write_json("session.json", &document)?;
    Ok(Attached::PickedUp(Box::new(Answered { outcome, answer })))
}

fn refused<T>(message: &str, hint: &str) -> Result<T, Failure> {
    Err(Failure::new(Kind::Other, message).hinted(hint))
}

/// Returns how a talk ended by itself: then there is nothing to pick up. An answer may still come after a time limit or a
/// fault.
fn ended(kept: &KeptSession) -> Option<&str> {
    let status = kept.document["status"].as_str()?;
    let may_come = match status {
        "running" | "timeout" | "unavailable" | "error" => true,
        "partial" => kept.read("result.json").is_some_and(|result| result["error"]["kind"] == "timed_out"),
        _ => false,
    };
    (!may_come).then_some(status)
}

/// Tells whether a session is one of `review`.
fn is_review(kept: &KeptSession) -> bool {
    kept.document["options"]["maxTurns"].is_number()
}

/// A talk that was cut off, and what is needed to go on with it.
struct CutOff<'a> {
    flows: &'a Flows,
    kept: &'a KeptSession,
    session: &'a Session,
    past: &'a Past,
    /// The last turn that was sent.
    last: &'a PastTurn,
    person: &'a Person<'a>,
}

impl CutOff<'_> {
    /// Tells how it ended when it was cut off while its patch got in, or after that. Files that are half-way in are put back.
    fn landed(&self, outcome: &mut Outcome) -> Result<Option<Result<(), Trouble>>, Failure> {
        let terms = &self.kept.document["options"]["terms"];
        let mode = match terms["applyMode"].as_str() {
            Some("apply") => ApplyMode::Apply,
            Some("commit") => ApplyMode::Commit,
            _ => return Ok(None),
        };
        let flows = self.flows.rooted(self.kept.document["cwd"].as_str().map(Path::new));
        let repository = flows.repository()?;
        let recovered = if Landing::is_there(&repository) { apply::recover(&flows, self.person.ask)? } else { None };
        if let Some(done) = &recovered {
            self.session.log(&done.message);
            outcome.note(&done.message);
        }
        let is_in = self.past.is_in || recovered.is_some_and(|done| done.is_in && done.session == self.kept.slug);
        let commit = match self.ground() {
            Some(ground) => repository.commit_of_session(ground, &self.kept.slug)?,
            None => None,
        };
        if commit.is_none() && !(is_in && mode == ApplyMode::Apply) {
            return Ok(None);
        }
        (outcome.diff_found, outcome.diff_validated, outcome.diff_applied) = (true, true, true);
        (outcome.mode, outcome.branch) = (mode, repository.branch()?);
        let Some(commit) = commit else {
            outcome.note("its patch is in the working tree");
            return Ok(Some(Ok(())));
        };
        outcome.commit = Some(commit.to_string());
        if terms["push"] != true {
            return Ok(Some(Ok(())));
        }
        let destination = outcome.branch.as_deref().map(|branch| repository.destination(branch)).transpose()?.flatten();
        let is_pushed = match destination {
            Some(destination) => repository.has_been_pushed(commit, &destination.remote)?,
            None => false,
        };
        outcome.pushed = Some(is_pushed);
        let message = "the commit is made and not pushed, because the run was cut off";
        Ok(Some(match is_pushed {
            true => Ok(()),
            false => Err(Trouble::new(Status::PushFailed, "push_failed", message).hinted("git push")),
        }))
    }

    /// Returns the commit that was asked about.
    fn ground(&self) -> Option<Oid> {
        self.kept.document["options"]["commit"].as_str().and_then(Oid::from_hex)
    }

    /// Returns the last answer: from the page at this place, else as it is kept.
    fn bring_home(
        &self,
        place: Option<String>,
        listener: &Listener<'_>,
        address: &mut Option<String>,
        outcome: &mut Outcome,
    ) -> Result<Heard, Trouble> {
        let Some(place) = place else {
            let reply = self.kept_reply(self.last.number)?;
            let answer = Some(without_id(&reply, &self.last.id).to_owned());
            return Ok(Heard { reply: Some(reply), answer, trouble: None });
        };
        let text = |field: &str| self.kept.document["options"][field].as_str().map(str::to_owned);
        let wanted = Wanted {
            url: text("url"),
            page: self.kept.document["platform"].as_str().map(str::to_owned),
            attach: text("attach"),
            webdriver_url: None,
            ..Wanted::default()
        };
        let engine = Engine::choose(self.flows, &wanted, &self.flows.person()?)?;
        let Engine::Page(page) = &engine else {
            let hint = format!("git oracle session show {}", RepoPath::from(self.kept.slug.as_str()).typed());
            let message = "only what was asked on a chat page can be picked up";
            return Err(Failure::new(Kind::Other, message).hinted(hint).into());
        };
        let guard = talk::rules(self.flows)?;
        let parcel = Parcel { request: String::new(), typed: String::new(), attachments: Vec::new() };
        let turn = Turn {
            number: self.last.number,
            limit: outcome.heard.turns.map_or(self.last.number, |turns| turns.limit),
            session: self.session,
            parcel: &parcel,
            id: &self.last.id,
            clocks: engine.clocks(None, None),
            snapshots: None,
            scanner: guard.scanner(),
            listener,
        };
        let mut conversation = None;
        let visit = page::Visit { conversation: &mut conversation, address };
        let ended = page::say(page, &page::Act::Resume(place), visit, &turn, outcome);
        if let Some(conversation) = conversation {
            talk::left::close(conversation, self.session);
        }
        turn.hear(ended, outcome)
    }

    /// Reads an answer that came home before.
    fn kept_reply(&self, number: u32) -> Result<String, Trouble> {
        let text = system::read_limited(&self.kept.directory.join(format!("response-{number}.md")), MAX_TEXT_BYTES)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        // What was in its place would get into a file in its name.
        if text.contains(&*String::from_utf8_lossy(REDACTED)) {
            let message =
                format!("a secret was taken out of answer {number} when it was kept, so it cannot be judged again");
            return Err(Trouble::new(Status::SecretDetected, "secret_detected", message).hinted("Ask again."));
        }
        Ok(text)
    }

    /// Takes the patch of a session that was to carry it out as far as a candidate, with what its earlier answers brought.
    fn judge(&self, last: Heard, outcome: &mut Outcome) -> Result<(), Trouble> {
        let options = &self.kept.document["options"];
        let (Some(ground), true) = (self.ground(), options["terms"].is_object()) else { return Ok(()) };
        // How far it goes from here is for the person to say.
        let mode = if options["terms"]["applyMode"] == "none" { ApplyMode::None } else { ApplyMode::Check };
        let terms = Terms::kept(&options["terms"], mode);
        let flows = &self.flows.rooted(self.kept.document["cwd"].as_str().map(Path::new));
        let repository = flows.repository()?;
        let (home, scanner) = (flows.home()?, Scanner::built_in());
        outcome.mode = mode;
        outcome.branch = repository.branch()?;
        let mut replies = Vec::new();
        // An answer that was never looked at for a patch had none that could be trusted.
        for turn in self.past.turns.iter().filter(|turn| turn.number < self.last.number && turn.is_home) {
            let reply = Some(self.kept_reply(turn.number)?);
            replies.push((turn.number, Heard { reply, answer: None, trouble: None }));
        }
        replies.push((self.last.number, last));
        let work = Work::new(flows, &home, Some(&repository), self.session, (&terms, mode), self.person, &scanner);
        let trial = Trial { work: &work, repository: &repository, ground };
        let ended = trial.replay(replies, outcome)?;
        if let Some(tree_id) = ended.tree().filter(|_| is_review(self.kept)) {
            review::keep_record(&repository, tree_id, ground, &work.law()?, outcome)?;
        }
        ended.land(&work, outcome)
    }
}

/// Returns what was written down when it ended.
fn as_it_ended(kept: &KeptSession) -> Result<Attached, Failure> {
    let result = kept.read("result.json").ok_or_else(|| {
        let message = format!("the session says how it ended, but its result.json cannot be read: {}", kept.slug);
        Failure::new(Kind::Other, message).hinted(format!("git oracle session show {}", kept.slug))
    })?;
    let last = Past::of(kept).and_then(|past| past.last_sent());
    let turn = last.as_ref().map_or(1, |last| last.number);
    let text = system::read_limited(&kept.directory.join(format!("response-{turn}.md")), MAX_TEXT_BYTES).ok();
    let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let answer = text.map(|text| last.map_or_else(|| text.clone(), |last| without_id(&text, &last.id).to_owned()));
    Ok(Attached::Ended { result, answer })
}

impl Past {
    fn of(kept: &KeptSession) -> Option<Self> {
        let lines = ledger(kept);
        let remote = Left::of(&lines);
        let mut past = Past { turns: Vec::new(), address: None, remote, fell_short: false, is_in: false };
        for line in &lines {
            past.add(line["step"].as_str().unwrap_or_default(), &line["facts"]);
        }
        Some(past)
    }

    fn add(&mut self, step: &str, facts: &Value) {
        let fact = |name: &str| facts[name].as_str().map(str::to_owned);
        let number = facts["turn"].as_u64().and_then(|turn| turn.try_into().ok());
        match step {
            "intent" => {
                if let Some(id) = fact("requestId").and_then(|id| RequestId::parse(&id)) {
                    self.turns.push(PastTurn { number: number.unwrap_or(1), id, is_sent: false, is_home: false });
                }
            }
            "sending" | "sent" | "committed" => {
                self.turns.last_mut().into_iter().for_each(|turn| turn.is_sent = true);
            }
            // What is looked through for a patch was kept before.
            "extracted" => {
                let turn = self.turns.iter_mut().find(|turn| Some(turn.number) == number);
                turn.into_iter().for_each(|turn| turn.is_home = true);
            }
            "judged" => self.fell_short = !facts["shortfall"].is_null(),
            "applied" => self.is_in = true,
            "address" => self.address = fact("url"),
            _ => {}
        }
    }

    /// Returns the last turn that was sent. Nothing was said after it, or it was not sent.
    fn last_sent(&self) -> Option<PastTurn> {
        self.turns.iter().rev().find(|turn| turn.is_sent).cloned()
    }
}
