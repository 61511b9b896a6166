//! How a flow fails: what happened, of which kind, and what to do next.

use std::error::Error;
use std::path::Path;

use crate::contract::Problem;
use crate::contract::RegistryError;
use crate::evidence::EvidenceError;
use crate::gate::Report;
use crate::git::GitError;
use crate::patch::reply::Reason;
use crate::patch::reply::Refusal;
use crate::policy::ConfigError;
use crate::system::FileError;
use crate::transport::Fault;
use crate::transport::FaultKind;

/// The kind decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// We could not find out.
    Other,
    /// The reply has no patch.
    DiffMissing,
    /// The reply has a patch that cannot be used.
    InvalidDiff,
    /// There is a secret where none may be.
    SecretDetected,
    /// A gate said no.
    GateFailed,
    /// A person has to decide, and none was there.
    ApprovalRequired,
    /// The browser, the driver, the sign-in or the provider cannot be used.
    Unavailable,
    /// Nothing was answered in the time there was.
    TimedOut,
    /// Somebody asked us to stop.
    Interrupted,
    /// The command line makes no sense.
    Usage,
}

/// A flow that did not reach its end.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
    pub hints: Vec<String>,
    /// What is wrong with a contract, when that is the reason.
    pub problems: Vec<Problem>,
    /// What the gate said, when that is the reason.
    pub report: Option<Box<Report>>,
}

impl Failure {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Failure { kind, message: message.into(), hints: Vec::new(), problems: Vec::new(), report: None }
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the failure of a contract that is not valid.
    pub fn contract(name: &str, problems: Vec<Problem>) -> Self {
        let message = format!("the contract is not valid: {name}");
        Failure { problems, ..Failure::new(Kind::GateFailed, message) }
    }

    pub fn config(path: &Path, error: &ConfigError) -> Self {
        Failure::new(Kind::Other, format!("the configuration cannot be used, {error}: {}", path.display()))
            .hinted("docs/configuration.md lists every key.")
    }

    pub fn no_contract() -> Self {
        Failure::new(Kind::Other, "no contract is active here")
            .hinted("git oracle contract new --task \"…\" --allow PATH --test CMD --activate")
    }
}

/// Joins an error and its causes into one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

impl From<&Refusal> for Failure {
    fn from(refusal: &Refusal) -> Self {
        let kind = if refusal.reason.is_missing() { Kind::DiffMissing } else { Kind::InvalidDiff };
        let hint = match refusal.reason {
            Reason::NoFencedBlocks | Reason::NoDiffBlock => {
                "Ask for the change as one unified diff in a ```diff block."
            }
            Reason::Questions => "Answer the questions in the conversation, then ask for the patch.",
            Reason::PartialFence => "The reply was cut off: ask for the rest, or for the whole patch again.",
            Reason::SidebarBleed => "Copy the answer alone, with the page's own copy button.",
            Reason::ConflictingBlocks => "Ask which of the patches is meant, or delete the others from the reply.",
            Reason::NotPlaceable => {
                "git oracle extract --json shows every hunk; ask for a patch of the files as they are now."
            }
            Reason::UnsafePath => "Nothing of such a reply is used. Read it before you ask again.",
            Reason::Malformed => "Ask for the patch again, as `git diff` prints it.",
        };
        Failure::new(kind, format!("{} ({})", refusal.message, refusal.reason.as_str())).hinted(hint)
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Self {
        let failure = Failure::new(Kind::Other, chain(&error));
        match error {
            GitError::NotARepository { .. } => {
                failure.hinted("Run this inside a git repository, or make one with `git init`.")
            }
            GitError::NoWorkTree { .. } => {
                failure.hinted("In a bare repository, judge commits: git oracle gate --range A..B")
            }
            GitError::OutsideWorkTree { .. } => failure.hinted("Run this in the working tree."),
            GitError::Locked { .. } => failure.hinted("Try again when the other git-oracle has ended."),
            GitError::UnknownRevision { .. } => failure
                .hinted("In CI, fetch the whole history (fetch-depth: 0) so that both ends of the range are there."),
            GitError::AmbiguousRevision { .. } => {
                failure.hinted("Write the full name, such as refs/remotes/origin/main, or a commit id.")
            }
            GitError::Process(_) => failure.hinted("git-oracle needs the git program on PATH."),
            _ => failure.hinted("git oracle doctor"),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let hint = match &error {
            FileError::Io { .. } => "Check that the path is right and that you may use it.",
            FileError::TooLarge { .. } => "Check that this is the file you mean.",
            FileError::WrongType { .. } => {
                "Put a file or directory of your own there; links and devices are not followed."
            }
        };
        Failure::new(Kind::Other, chain(&error)).hinted(hint)
    }
}

impl From<EvidenceError> for Failure {
    fn from(error: EvidenceError) -> Self {
        let hint = match &error {
            EvidenceError::Locked { .. } => "Try again when the other git-oracle has ended.",
            EvidenceError::Damaged { .. } => "Keep the file for whoever investigates, move it away and try again.",
            _ => "git oracle doctor",
        };
        Failure::new(Kind::Other, chain(&error)).hinted(hint)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            FaultKind::TimedOut => Kind::TimedOut,
            FaultKind::Interrupted => Kind::Interrupted,
            _ => Kind::Unavailable,
        };
        Failure::new(kind, fault.message).hinted(fault.hint)
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        Failure::new(Kind::Other, chain(&error))
            .hinted("Mend .oracle/agent_registry.json; schemas/agent_registry.v1.json says how.")
    }
}
