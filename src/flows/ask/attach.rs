//! Picking up a talk that was cut off: its answer is looked for, and nothing is sent.

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::evidence::KeptSession;
use crate::evidence::Session;
use crate::evidence::Shelf;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Outcome;
use crate::flows::apply::millis;
use crate::flows::ask::Answered;
use crate::flows::ask::Listener;
use crate::flows::ask::Progress;
use crate::flows::ask::Talk;
use crate::flows::ask::Wanted;
use crate::flows::ask::conclude;
use crate::flows::ask::engine::Engine;
use crate::flows::ask::page;
use crate::flows::ask::parcel;
use crate::flows::ask::parcel::Parcel;
use crate::flows::ask::transfer;
use crate::flows::session;
use crate::system;
use crate::transport::RequestId;
use crate::transport::driver::Endpoint;
use crate::transport::end_remote_session;

/// How often a run that is at work is looked at.
const POLL: Duration = Duration::from_millis(200);

const MAX_TEXT_BYTES: u64 = 256 << 20;

/// What the ledger tells about a talk.
struct Past {
    id: RequestId,
    /// The page was told to send it, or may have been.
    is_sent: bool,
    address: Option<String>,
    /// A session on a grid that nobody has ended.
    remote: Option<(String, String)>,
}

/// Waits for a run that is at work, or brings home the answer of one that was cut off.
pub fn attach(flows: &Flows, slug: Option<&str>, listener: &Listener<'_>) -> Result<Answered, Failure> {
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
        (listener.progress)(Progress { state: "another run is at work", characters: 0, elapsed: began.elapsed() });
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
        return refused("the session does not say what was asked", "Ask again: git oracle ask");
    };
    if let Some((endpoint, session_id)) = &past.remote {
        // It may be gone by itself.
        let _ = Endpoint::parse(endpoint).and_then(|endpoint| end_remote_session(&endpoint, session_id));
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
    let guard = transfer::rules(flows)?;
    let mut outcome = Outcome::new(ApplyMode::None, &session.slug);
    outcome.heard.platform = Some(place.profile.name.clone());
    outcome.heard.request_id = Some(past.id.to_string());
    let parcel = Parcel { request: String::new(), typed: String::new(), attachments: Vec::new() };
    let clocks = engine.clocks(None, None);
    let talk = Talk {
        session: &session,
        parcel: &parcel,
        id: &past.id,
        clocks,
        snapshots: None,
        scanner: guard.scanner(),
        listener,
    };
    let mut found = Some(address.clone());
    let ended = page::talk(place, &page::Act::Resume(address), &talk, &mut outcome, &mut found);
    let heard = talk.hear(ended.text, &mut outcome);
    let (answer, kept_well) = match heard {
        Ok(answer) => (answer, Ok(())),
        Err(trouble) => (None, Err(trouble)),
    };
    conclude(kept_well.and(ended.trouble.map_or(Ok(()), Err)), &mut outcome);
    outcome.elapsed_ms = millis(began);
    session.log(outcome.status.as_str());
    Files::default().write_documents(&session, &outcome)?;
    let mut document = kept.document.clone();
    document["status"] = json!(outcome.status.as_str());
    document["options"]["conversation"] = json!(found);
    session.write_json("session.json", &document)?;
    Ok(Answered { outcome, answer })
}

/// Returns an answer that came home before.
fn finished(kept: &KeptSession) -> Result<Answered, Failure> {
    let text = system::read_limited(&kept.directory.join("response-1.md"), MAX_TEXT_BYTES)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut outcome = Outcome::new(ApplyMode::None, &kept.slug);
    conclude(Ok(()), &mut outcome);
    let id = Past::of(kept).map(|past| past.id);
    let answer = id.map_or_else(|| text.clone(), |id| parcel::without_id(&text, &id).to_owned());
    Ok(Answered { outcome, answer: Some(answer) })
}

impl Past {
    fn of(kept: &KeptSession) -> Option<Self> {
        let bytes = system::read_limited(&kept.directory.join("ledger.jsonl"), MAX_TEXT_BYTES).unwrap_or_default();
        // A last line that was cut off by a kill says nothing.
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let id = RequestId::parse(kept.document["options"]["requestId"].as_str()?)?;
        let mut past = Past { id, is_sent: false, address: None, remote: None };
        for line in lines {
            let fact = |name: &str| line["facts"][name].as_str().map(str::to_owned);
            match line["step"].as_str() {
                Some("sending" | "sent" | "committed") => past.is_sent = true,
                Some("address") => past.address = fact("url"),
                Some("remote") => past.remote = fact("endpoint").zip(fact("sessionId")),
                _ => {}
            }
        }
        Some(past)
    }
}
