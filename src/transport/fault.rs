//! How a conversation fails: a name that scripts rely on, what happened, and what to do next.

use serde::Deserialize;
use serde::Serialize;

/// The names are those of `error.kind` in `result.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    DriverMissing,
    BrowserMissing,
    ProfileInUse,
    SignedOut,
    Challenge,
    ModelNotOffered,
    RateLimited,
    PageDrifted,
    NavigationLost,
    BrowserCrashed,
    AttachFailed,
    SendUnclear,
    ProviderError,
    TimedOut,
    Interrupted,
}

impl FaultKind {
    pub const ALL: [FaultKind; 15] = [
        FaultKind::DriverMissing,
        FaultKind::BrowserMissing,
        FaultKind::ProfileInUse,
        FaultKind::SignedOut,
        FaultKind::Challenge,
        FaultKind::ModelNotOffered,
        FaultKind::RateLimited,
        FaultKind::PageDrifted,
        FaultKind::NavigationLost,
        FaultKind::BrowserCrashed,
        FaultKind::AttachFailed,
        FaultKind::SendUnclear,
        FaultKind::ProviderError,
        FaultKind::TimedOut,
        FaultKind::Interrupted,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            FaultKind::DriverMissing => "driver_missing",
            FaultKind::BrowserMissing => "browser_missing",
            FaultKind::ProfileInUse => "profile_in_use",
            FaultKind::SignedOut => "signed_out",
            FaultKind::Challenge => "challenge",
            FaultKind::ModelNotOffered => "model_not_offered",
            FaultKind::RateLimited => "rate_limited",
            FaultKind::PageDrifted => "page_drifted",
            FaultKind::NavigationLost => "navigation_lost",
            FaultKind::BrowserCrashed => "browser_crashed",
            FaultKind::AttachFailed => "attach_failed",
            FaultKind::SendUnclear => "send_unclear",
            FaultKind::ProviderError => "provider_error",
            FaultKind::TimedOut => "timed_out",
            FaultKind::Interrupted => "interrupted",
        }
    }
}

/// A conversation, or a step of it, that did not reach its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    /// The next step, as a sentence of its own.
    pub hint: String,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Fault { kind, message: message.into(), hint: hint.into() }
    }

    pub(super) fn interrupted() -> Self {
        Fault::new(FaultKind::Interrupted, "somebody asked to stop", "Start the command again to go on.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_stored_under_its_name() {
        for kind in FaultKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
