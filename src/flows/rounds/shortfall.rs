//! How an answer fell short of what was asked for.

use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;

/// What is missing, as far as it decides what is said next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// There is no patch.
    Missing,
    /// There are questions in its place.
    Questions,
    /// There is a patch that cannot be used.
    Unusable,
    /// A part of the patch may not get in, or all of it.
    Rejected,
    /// What the patch makes fails a test of the contract.
    Failing,
}

/// How an answer fell short. The trouble is how the command ends when nobody asks again.
#[derive(Debug)]
pub(super) struct Shortfall {
    pub why: Why,
    pub trouble: Trouble,
}

impl Why {
    pub const fn as_str(self) -> &'static str {
        match self {
            Why::Missing => "missing",
            Why::Questions => "questions",
            Why::Unusable => "unusable",
            Why::Rejected => "rejected",
            Why::Failing => "failing",
        }
    }
}

impl Shortfall {
    /// Returns what trouble with an answer's patch means; trouble of another kind is handed back.
    pub fn of(trouble: Trouble, outcome: &Outcome) -> Result<Self, Trouble> {
        let why = match trouble.status {
            Status::DiffMissing if outcome.diff_reason == Some("questions") => Why::Questions,
            Status::DiffMissing => Why::Missing,
            Status::InvalidDiff | Status::ApplyFailed => Why::Unusable,
            Status::GateFailed | Status::SecretDetected => Why::Rejected,
            _ => return Err(trouble),
        };
        Ok(Shortfall { why, trouble })
    }

    pub const fn failing(trouble: Trouble) -> Self {
        Shortfall { why: Why::Failing, trouble }
    }
}
