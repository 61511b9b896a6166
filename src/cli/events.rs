//! `git oracle events`.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use crate::base::plural;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::events;
use crate::flows::events::ChainState;
use crate::flows::events::Follower;

/// How often a follower looks for more.
const POLL: Duration = Duration::from_millis(200);

/// Show what the hooks refused and what happened to contracts
///
/// Checks the chain of hashes as well, and ends with 7 when a line was tampered with.
#[derive(clap::Args, Debug)]
pub(super) struct EventsArgs {
    /// Go on and show events as they come, until interrupted
    #[arg(long)]
    follow: bool,

    /// Print one JSON document; with --follow, one JSON object per line
    #[arg(long)]
    json: bool,
}

impl EventsArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json
    }
}

pub(super) fn events(app: &App, args: &EventsArgs) -> Result<Exit, Failure> {
    if args.follow {
        return follow(app, args.json);
    }
    let found = events::run(&app.flows)?;
    let exit = match found.chain {
        Some(ChainState::Broken(_)) => Exit::GateFailed,
        _ => Exit::Success,
    };
    if args.json {
        document::print(&json!({
            "state": state(found.chain.as_ref()),
            "problem": problem(found.chain.as_ref()),
            "events": found.events,
        }));
        return Ok(exit);
    }
    found.events.iter().for_each(|event| render::out(line(event)));
    match problem(found.chain.as_ref()) {
        Some(problem) => render::warning(&problem),
        None if !app.quiet => render::note(match found.events.len() {
            0 => "no events yet".to_owned(),
            count => format!("{}, the chain is intact", plural(count as u64, "event")),
        }),
        None => {}
    }
    if exit != Exit::Success {
        render::hint(
            "Keep the file oracle/events.jsonl of the git directory for whoever investigates, then move it away.",
        );
    }
    Ok(exit)
}

const fn state(chain: Option<&ChainState>) -> &'static str {
    match chain {
        None => "empty",
        Some(ChainState::Intact { .. }) => "intact",
        Some(ChainState::Torn { .. }) => "torn",
        Some(ChainState::Broken(_)) => "broken",
    }
}

/// Returns what is wrong with the log, when something is.
fn problem(chain: Option<&ChainState>) -> Option<String> {
    match chain? {
        ChainState::Intact { .. } => None,
        ChainState::Torn { bytes, .. } => Some(format!(
            "the log is torn: its last {bytes} bytes were cut off by a crash; the next event sets them aside"
        )),
        ChainState::Broken(broken) => {
            Some(format!("the log was tampered with: line {}: {}", broken.line, broken.reason))
        }
    }
}

/// Shows events until nobody reads them any more.
fn follow(app: &App, json: bool) -> Result<Exit, Failure> {
    let mut follower = Follower::start(&app.flows)?;
    loop {
        for event in follower.more()? {
            let line = if json { document::compact(&event) } else { line(&event) };
            let mut out = std::io::stdout().lock();
            if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                return Ok(Exit::Success);
            }
        }
        std::thread::sleep(POLL);
    }
}

/// Returns an event as a line: when, what, which task, and what it was about.
fn line(event: &Value) -> String {
    let text = |value: &Value| visible(value.as_str().unwrap_or("-")).replace(['\n', '\t'], " ");
    let payload = &event["payload"];
    let about = match event["event_type"].as_str() {
        Some("policy_violation") => match payload["error"].as_str() {
            Some(error) => format!("{}: {}", text(&payload["hook"]), visible(error).replace(['\n', '\t'], " ")),
            None => {
                let first = &payload["violations"][0];
                let more = payload["count"].as_u64().unwrap_or(1).saturating_sub(1);
                let more = if more == 0 { String::new() } else { format!(", and {more} more") };
                format!("{}: {}: {}{more}", text(&payload["hook"]), text(&first["path"]), text(&first["rule"]))
            }
        },
        Some("HOOKS_INSTALLED" | "HOOKS_REMOVED") => text(&payload["directory"]),
        _ => text(&payload["worktree"]),
    };
    format!("{}  {}  {}  {about}", text(&event["ts"]), text(&event["event_type"]), text(&event["task_id"]))
}
