//! The exit codes, each named once. `docs/exit-codes.md` is generated from this list.

use std::fmt::Write;
use std::process::ExitCode;

use crate::flows::Kind;
use crate::gate::Verdict;

/// How the program ended. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    Other,
    AgentRefused,
    GateFailed,
    ApprovalRequired,
    Usage,
}

impl Exit {
    const ALL: [Exit; 6] =
        [Exit::Success, Exit::Other, Exit::AgentRefused, Exit::GateFailed, Exit::ApprovalRequired, Exit::Usage];

    pub const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Other => 1,
            Exit::AgentRefused => 2,
            Exit::GateFailed => 7,
            Exit::ApprovalRequired => 8,
            Exit::Usage => 129,
        }
    }

    /// Returns the word for it in documents.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Exit::Success => "success",
            Exit::Other => "error",
            Exit::AgentRefused => "agent_refused",
            Exit::GateFailed => "gate_failed",
            Exit::ApprovalRequired => "approval_required",
            Exit::Usage => "usage",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "success; the gate passed or warned",
            Exit::Other => "any other error: it could not be found out; a hook's refusal",
            Exit::AgentRefused => "`hook agent` refuses; it ends with 0 or 2 and nothing else",
            Exit::GateFailed => "`gate_failed`: a gate said no",
            Exit::ApprovalRequired => "`approval_required`: a person has to decide, and none was there",
            Exit::Usage => "usage error, as in git",
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

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Other => Exit::Other,
            Kind::GateFailed => Exit::GateFailed,
            Kind::ApprovalRequired => Exit::ApprovalRequired,
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
