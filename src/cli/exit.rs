//! The exit codes, each named once. `docs/exit-codes.md` is generated from this list.

use std::fmt::Write;
use std::process::ExitCode;

use crate::flows::Kind;
use crate::flows::apply::Status;
use crate::gate::Verdict;

/// How the program ended. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    Other,
    AgentRefused,
    DiffMissing,
    InvalidDiff,
    Partial,
    SecretDetected,
    ApplyFailed,
    CommitFailed,
    Timeout,
    GateFailed,
    ApprovalRequired,
    PushFailed,
    Unavailable,
    Usage,
    Interrupted,
}

impl Exit {
    const ALL: [Exit; 16] = [
        Exit::Success,
        Exit::Other,
        Exit::AgentRefused,
        Exit::DiffMissing,
        Exit::InvalidDiff,
        Exit::Partial,
        Exit::SecretDetected,
        Exit::ApplyFailed,
        Exit::CommitFailed,
        Exit::Timeout,
        Exit::GateFailed,
        Exit::ApprovalRequired,
        Exit::PushFailed,
        Exit::Unavailable,
        Exit::Usage,
        Exit::Interrupted,
    ];

    pub const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Other => 1,
            Exit::AgentRefused | Exit::DiffMissing | Exit::InvalidDiff | Exit::Partial => 2,
            Exit::SecretDetected => 3,
            Exit::ApplyFailed => 4,
            Exit::CommitFailed => 5,
            Exit::Timeout => 6,
            Exit::GateFailed => 7,
            Exit::ApprovalRequired => 8,
            Exit::PushFailed => 9,
            Exit::Unavailable => 10,
            Exit::Usage => 129,
            Exit::Interrupted => 130,
        }
    }

    /// Returns how a program of ours ended that ended with this code; `None` is a signal.
    pub(super) fn of_code(code: Option<i32>) -> Self {
        Exit::ALL.into_iter().find(|exit| Some(i32::from(exit.code())) == code).unwrap_or(Exit::Other)
    }

    /// Returns the exit with this word in documents.
    pub(super) fn of_status(status: &str) -> Self {
        Exit::ALL.into_iter().find(|exit| exit.name() == status).unwrap_or(Exit::Other)
    }

    /// Returns the word for it in documents.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Other => "error",
            Exit::AgentRefused => "agent_refused",
            Exit::DiffMissing => "diff_missing",
            Exit::InvalidDiff => "invalid_diff",
            Exit::Partial => "partial",
            Exit::SecretDetected => "secret_detected",
            Exit::ApplyFailed => "apply_failed",
            Exit::CommitFailed => "commit_failed",
            Exit::Timeout => "timeout",
            Exit::GateFailed => "gate_failed",
            Exit::ApprovalRequired => "approval_required",
            Exit::PushFailed => "push_failed",
            Exit::Unavailable => "unavailable",
            Exit::Usage => "usage",
            Exit::Interrupted => "interrupted",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success; the gate passed or warned",
            Exit::Other => "any other error: it could not be found out; a hook's refusal",
            Exit::AgentRefused => "`hook agent` refuses; it ends with 0 or 2 and nothing else",
            Exit::DiffMissing => "`diff_missing`: there is no patch",
            Exit::InvalidDiff => "`invalid_diff`: there is a patch that cannot be used",
            Exit::Partial => "`partial`: a part of the patch is in, the rest was left out",
            Exit::SecretDetected => "`secret_detected`: there is a secret where none may be",
            Exit::ApplyFailed => "`apply_failed`: the patch does not apply, or the working tree is not clean",
            Exit::CommitFailed => "`commit_failed`: the commit failed, and the working tree is as it was before",
            Exit::Timeout => "`timeout`: nothing was answered in the time there was",
            Exit::GateFailed => "`gate_failed`: a gate said no",
            Exit::ApprovalRequired => "`approval_required`: a person has to decide, and none was there",
            Exit::PushFailed => "`push_failed`: the push failed; the commit exists",
            Exit::Unavailable => "`unavailable`: the browser, the driver, the sign-in or the provider cannot be used",
            Exit::Usage => "usage error, as in git",
            Exit::Interrupted => "interrupted (Ctrl-C)",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass | Verdict::Warn => Exit::Success,
            Verdict::Block => Exit::GateFailed,
        }
    }
}

impl From<Status> for Exit {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Exit::Success,
            Status::DiffMissing => Exit::DiffMissing,
            Status::InvalidDiff => Exit::InvalidDiff,
            Status::Partial => Exit::Partial,
            Status::ApplyFailed => Exit::ApplyFailed,
            Status::CommitFailed => Exit::CommitFailed,
            Status::GateFailed => Exit::GateFailed,
            Status::SecretDetected => Exit::SecretDetected,
            Status::ApprovalRequired => Exit::ApprovalRequired,
            Status::PushFailed => Exit::PushFailed,
            Status::Timeout => Exit::Timeout,
            Status::Unavailable => Exit::Unavailable,
            Status::Interrupted => Exit::Interrupted,
            Status::Error => Exit::Other,
        }
    }
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Other => Exit::Other,
            Kind::DiffMissing => Exit::DiffMissing,
            Kind::InvalidDiff => Exit::InvalidDiff,
            Kind::GateFailed => Exit::GateFailed,
            Kind::SecretDetected => Exit::SecretDetected,
            Kind::ApprovalRequired => Exit::ApprovalRequired,
            Kind::Unavailable => Exit::Unavailable,
            Kind::TimedOut => Exit::Timeout,
            Kind::Interrupted => Exit::Interrupted,
            Kind::Usage => Exit::Usage,
        }
    }
}

/// Returns the table of `docs/exit-codes.md`.
pub fn exit_code_table() -> String {
    let mut table = String::from("| code | meaning |\n|---|---|\n");
    for exit in Exit::ALL {
        let _ = writeln!(table, "| {} | {} |", exit.code(), exit.meaning());
    }
    table
}
