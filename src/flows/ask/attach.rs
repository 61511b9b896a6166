//! Picking up a talk that was cut off: its answer is looked for, and nothing is sent.

use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use crate::base::Oid;
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
use crate::flows::apply::Terms;
use crate::flows::apply::Trouble;
use crate::flows::apply::Work;
use crate::flows::ask::Answered;
use crate::flows::rounds::Trial;
use crate::flows::session;
use crate::flows::talk;
use crate::flows::talk::Heard;
use crate::flows::talk::Listener;
use crate::flows::talk::Parcel;
use crate::flows::talk::Progress;
use crate::flows::talk::Turn;
use crate::flows::talk::Wanted;
use crate::flows::talk::conclude;
use crate::flows::talk::engine::Engine;
use crate::flows::talk::left::Left;
use crate::flows::talk::left::ledger;
use crate::flows::talk::page;
use crate::flows::talk::without_id;
use crate::secret::Scanner;
use crate::system;
use crate::transport::RequestId;
use crate::transport::driver::Endpoint;
use crate::transport::end_remote_session;

/// How often a run that is at work is looked at.
const POLL: Duration = Duration::from_millis(200);

const MAX_TEXT_BYTES: u64 = 256 << 20;

/// What the ledger tells about the last turn of a talk.
struct Past {
    id: RequestId,
    turn: u32,
    /// The page was told to send it, or may have been.
    is_sent: bool,
    address: Option<String>,
    /// A session on a grid that nobody has ended.
    remote: Option<Left>,
}

/// Waits for a run that is at work, or brings home the answer of one that was cut off.
pub fn attach(
    flows: &Flows,
    slug: Option<&str>,
    listener: &Listener<'_>,
    person: &Person<'_>,
) -> Result<Answered, Failure> {
    let began = Instant::now();
    let mut kept = match slug {
        Some(_) => session::find(flows, slug)?,
        None => Shelf::of(&flows.home()?)
            .last(|session| session.document["mode"].is_string())?
            .ok_or_else(|| Failure::new(Kind::Other, "nothing was asked yet").hinted("git oracle ask -p \"…\""))?,
    };
    while kept.is_at_work() {
        if system::interrupted() {
            return Err(
                Failure::new(Kind::Interrupted, "interrupted; the run goes on").hinted("git oracle session attach")
            );
        }
        let elapsed = began.elapsed();
        (listener.progress)(Progress { turn: 1, limit: 1, state: "another run is at work", characters: 0, elapsed });
        std::thread::sleep(POLL);
        kept = session::find(flows, Some(&kept.slug))?;
    }
    let refused = |message: &str, hint: &str| Err(Failure::new(Kind::Other, message).hinted(hint));
    if kept.document["status"] == "success" {
        return finished(&kept);
    }
    if kept.document["mode"] != "browser" {
        return refused("only what was asked on a chat page can be picked up", "git oracle session show --last");
    }
    let Some(past) = Past::of(&kept) else {
        return refused("nothing was sent in this session", "Ask again: git oracle ask");
    };
    if let Some(left) = &past.remote {
        // It may be gone by itself.
        let _ = Endpoint::parse(&left.endpoint).and_then(|endpoint| end_remote_session(&endpoint, &left.id));
    }
    if !past.is_sent {
        return refused("nothing was sent in this session", "Ask again: git oracle ask");
    }
    let Some(address) = past.address else {
        let message = "the page had given the conversation no address yet, so it cannot be found again";
        let hint = format!("Look for {} in the page's history. It is not sent again.", past.id);
        return Err(Failure::new(Kind::Unavailable, message).hinted(hint));
    };
    let text = |field: &str| kept.document["options"][field].as_str().map(str::to_owned);
    let wanted = Wanted {
        url: text("url"),
        page: kept.document["platform"].as_str().map(str::to_owned),
        attach: text("attach"),
        webdriver_url: None,
        ..Wanted::default()
    };
    let config = flows.person()?;
    let engine = Engine::choose(flows, &wanted, &config)?;
    let Engine::Page(place) = &engine else {
        return refused("only what was asked on a chat page can be picked up", "git oracle session show --last");
    };
    let session = Session::reopen(&kept.directory, &kept.slug, &kept.created_at)?;
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for Ctrl-C: {error}")).hinted("git oracle doctor")
    })?;
    let guard = talk::rules(flows)?;
    let mut outcome = Outcome::new(ApplyMode::None, &session.slug);
    outcome.heard.platform = Some(place.profile.name.clone());
    outcome.heard.request_id = Some(past.id.to_string());
    let parcel = Parcel { request: String::new(), typed: String::new(), attachments: Vec::new() };
    let turn = Turn {
        number: past.turn,
        limit: past.turn,
        session: &session,
        parcel: &parcel,
        id: &past.id,
        clocks: engine.clocks(None, None),
        snapshots: None,
        scanner: guard.scanner(),
        listener,
    };
    let (mut conversation, mut found) = (None, Some(address.clone()));
    let visit = page::Visit { conversation: &mut conversation, address: &mut found };
    let ended = page::say(place, &page::Act::Resume(address), visit, &turn, &mut outcome);
    if let Some(conversation) = conversation {
        talk::left::close(conversation, &session);
    }
    let mut answer = None;
    let ended = turn.hear(ended, &mut outcome).and_then(|mut heard| {
        answer.clone_from(&heard.answer);
        match heard.trouble.take() {
            Some(trouble) => Err(trouble),
            None => judge(flows, &kept, past.turn, heard, (&session, person), &mut outcome),
        }
    });
    apply::conclude(&mut outcome, ended, began);
    outcome.redact(&Scanner::built_in());
    apply::clean_files(&session, &Scanner::built_in())?;
    session.log(outcome.status.as_str());
    Files::default().write_documents(&session, &outcome)?;
    let mut document = kept.document.clone();
    document["status"] = json!(outcome.status.as_str());
    document["options"]["conversation"] = json!(found);
    session.write_json("session.json", &document)?;
    Ok(Answered { outcome, answer })
}

/// Takes the patch of a session that was to carry it out as far as a candidate, with what its earlier answers brought.
fn judge(
    flows: &Flows,
    kept: &KeptSession,
    turn: u32,
    last: Heard,
    (session, person): (&Session, &Person<'_>),
    outcome: &mut Outcome,
) -> Result<(), Trouble> {
    let options = &kept.document["options"];
    let commit = options["commit"].as_str().and_then(Oid::from_hex);
    let (Some(ground), true) = (commit, options["terms"].is_object()) else { return Ok(()) };
    // How far it goes from here is for the person to say.
    let mode = if options["terms"]["applyMode"] == "none" { ApplyMode::None } else { ApplyMode::Check };
    let terms = Terms::kept(&options["terms"], mode);
    let flows = &flows.rooted(kept.document["cwd"].as_str().map(Path::new));
    let repository = flows.repository()?;
    let (home, scanner) = (flows.home()?, Scanner::built_in());
    outcome.mode = mode;
    outcome.branch = repository.branch()?;
    let mut replies = Vec::new();
    for number in 1..turn {
        let text = system::read_limited(&kept.directory.join(format!("response-{number}.md")), MAX_TEXT_BYTES)?;
        let reply = Some(String::from_utf8_lossy(&text).into_owned());
        replies.push(Heard { reply, answer: None, trouble: None });
    }
    replies.push(last);
    let work = Work::new(flows, &home, Some(&repository), session, (&terms, mode), person, &scanner);
    let trial = Trial { work: &work, repository: &repository, ground };
    trial.replay(replies, outcome)?.land(&work, outcome)
}

/// Returns an answer that came home before.
fn finished(kept: &KeptSession) -> Result<Answered, Failure> {
    let past = Past::of(kept);
    let turn = past.as_ref().map_or(1, |past| past.turn);
    let text = system::read_limited(&kept.directory.join(format!("response-{turn}.md")), MAX_TEXT_BYTES)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut outcome = Outcome::new(ApplyMode::None, &kept.slug);
    conclude(Ok(()), &mut outcome);
    let answer = past.map_or_else(|| text.clone(), |past| without_id(&text, &past.id).to_owned());
    Ok(Answered { outcome, answer: Some(answer) })
}

impl Past {
    fn of(kept: &KeptSession) -> Option<Self> {
        let lines = ledger(kept);
        let id = RequestId::parse(kept.document["options"]["requestId"].as_str()?)?;
        let mut past = Past { id, turn: 1, is_sent: false, address: None, remote: Left::of(&lines) };
        for line in &lines {
            let fact = |name: &str| line["facts"][name].as_str().map(str::to_owned);
            match line["step"].as_str() {
                Some("intent") => {
                    past.id = fact("requestId").and_then(|id| RequestId::parse(&id)).unwrap_or(past.id);
                    past.turn = line["facts"]["turn"].as_u64().and_then(|turn| turn.try_into().ok()).unwrap_or(1);
                    past.is_sent = false;
                }
                Some("sending" | "sent" | "committed") => past.is_sent = true,
                Some("address") => past.address = fact("url"),
                _ => {}
            }
        }
        Some(past)
    }
}
