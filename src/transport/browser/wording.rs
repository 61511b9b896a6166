//! What a driver's errors mean.
//!
//! The driver gives many causes one message, and says some things in ways of its own; all of that is known here.

use fantoccini::error::CmdError;
use fantoccini::error::ErrorStatus;
use fantoccini::error::NewSessionError;
use serde_json::Value;

use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::Source;

/// The rest of a message is the driver's own stack.
const MAX_SHOWN: usize = 300;

pub(super) fn crashed(message: impl Into<String>) -> Fault {
    let hint = "Start the command again. If it happens again, look for a lack of memory, and for `git oracle doctor --browser`.";
    Fault::new(FaultKind::BrowserCrashed, message, hint)
}

pub(super) fn drifted(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::PageDrifted, message, "git oracle doctor --page NAME shows what was found on the page.")
}

pub(super) fn lost(message: impl Into<String>) -> Fault {
    Fault::new(FaultKind::NavigationLost, message, "Check the address and the network, then start the command again.")
}

/// Returns what a command's error means.
pub(super) fn fault(doing: &str, error: CmdError) -> Fault {
    match error {
        CmdError::Standard(error) => {
            let said = shown(&error.message);
            match error.error {
                ErrorStatus::InvalidSessionId | ErrorStatus::NoSuchWindow => {
                    crashed(format!("the browser or its tab was closed while we tried to {doing}: {said}"))
                }
                ErrorStatus::ScriptTimeout => lost(format!("the page was left while we tried to {doing}")),
                ErrorStatus::Timeout => {
                    let hint = "Try again, with a longer --timeout if the page is slow.";
                    Fault::new(FaultKind::TimedOut, format!("it took too long to {doing}: {said}"), hint)
                }
                ErrorStatus::UnknownError if said.contains("net::ERR_") => {
                    lost(format!("failed to {doing}: {}", said.trim_start_matches("unknown error: ")))
                }
                ErrorStatus::UnknownError if is_gone(&said) => {
                    crashed(format!("the browser ended while we tried to {doing}: {said}"))
                }
                _ => drifted(format!("failed to {doing}: {said}")),
            }
        }
        // A tab that crashed is reported in a form of its own.
        CmdError::NotW3C(value) if text_of(&value).contains("tab crashed") => {
            crashed(format!("the page's process crashed while we tried to {doing}"))
        }
        CmdError::NotW3C(value) => {
            let said = shown(&text_of(&value));
            match is_gone(&said) {
                true => crashed(format!("the browser ended while we tried to {doing}: {said}")),
                false => drifted(format!("failed to {doing}: {said}")),
            }
        }
        CmdError::Failed(_) | CmdError::FailedC(_) | CmdError::Lost(_) | CmdError::NotJson(_) | CmdError::Json(_) => {
            crashed(format!("the driver ended, or cannot be reached any more, while we tried to {doing}"))
        }
        // Anything else is ours: an address that is none, an argument that makes no sense.
        other => drifted(format!("failed to {doing}: {}", shown(&other.to_string()))),
    }
}

/// Returns why there is no session.
pub(super) fn no_session(source: &Source, error: NewSessionError) -> Fault {
    let said = match &error {
        NewSessionError::SessionNotCreated(error) => shown(&error.message),
        NewSessionError::NotW3C(value) => shown(&text_of(value)),
        NewSessionError::UnexpectedError(CmdError::Standard(error)) => shown(&error.message),
        NewSessionError::UnexpectedError(CmdError::NotW3C(value)) => shown(&text_of(value)),
        // What these say may hold the address, and that may hold a password.
        _ => "it cannot be reached, or is no WebDriver".to_owned(),
    };
    match source {
        Source::Remote(endpoint) => Fault::new(
            FaultKind::DriverMissing,
            format!("the WebDriver at {endpoint} gave no session: {said}"),
            "Check that it runs, and that it offers the browser chrome.",
        ),
        Source::Visited { address, .. } => Fault::new(
            FaultKind::AttachFailed,
            format!("the browser at {address} cannot be attached to: {said}"),
            "The driver must be of the browser's version.",
        ),
        Source::Own { .. } if said.contains("only supports") => Fault::new(
            FaultKind::DriverMissing,
            format!("the driver does not fit the browser: {said}"),
            "Install chromedriver of the browser's version, or name one with CHROMEDRIVER_PATH.",
        ),
        Source::Own { profile, .. } => Fault::new(
            FaultKind::BrowserCrashed,
            format!("the browser did not start: {said}"),
            format!(
                "Run it by hand on the same profile: its own words say more. Google Chrome refuses a driver on a profile in its usual place: {}",
                profile.data_dir.display()
            ),
        ),
    }
}

/// Recognises what the driver says when its browser is no more.
fn is_gone(said: &str) -> bool {
    ["disconnected", "not connected to DevTools", "chrome not reachable", "Chrome instance exited", "session deleted"]
        .iter()
        .any(|words| said.contains(words))
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => map.get("message").and_then(Value::as_str).unwrap_or("it answered strangely").to_owned(),
        _ => "it answered strangely".to_owned(),
    }
}

/// Returns the first line of what a driver said, fit for a terminal.
fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    visible(&line.chars().take(MAX_SHOWN).collect::<String>()).into_owned()
}
