//! `hook`: what git asks before it commits, moves a branch, pushes or receives.
//!
//! `pre-commit` and `pre-merge-commit` judge the index and answer early. `reference-transaction` judges the commits
//! themselves when a branch is about to move, so it also sees what never went through the other two. `pre-push` judges
//! what a remote would get, `pre-receive` what a server has been sent.
//!
//! The answer is always one of three: allowed, allowed with a word of warning, refused. Whatever keeps us from deciding
//! is a refusal, and every refusal is an event.

pub mod agent;
mod bindings;
mod commits;
mod index;
mod missing;
mod push;
mod receive;
mod record;
mod updates;

use std::path::Path;

use crate::flows::Failure;
use crate::flows::Flows;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::git::Repository;

pub use updates::PushUpdate;
pub use updates::RefUpdate;
pub use updates::parse_push_updates;
pub use updates::parse_ref_updates;

/// What git asks, with what it said.
#[derive(Debug)]
pub enum Hook {
    PreCommit,
    PreMergeCommit,
    PrePush {
        /// The remote's name, or its address where it has none.
        remote: String,
        url: String,
        input: Vec<u8>,
    },
    ReferenceTransaction {
        state: String,
        input: Vec<u8>,
    },
    PreReceive {
        input: Vec<u8>,
    },
}

impl Hook {
    /// Returns the name of the hook as git knows it.
    pub const fn name(&self) -> &'static str {
        match self {
            Hook::PreCommit => "pre-commit",
            Hook::PreMergeCommit => "pre-merge-commit",
            Hook::PrePush { .. } => "pre-push",
            Hook::ReferenceTransaction { .. } => "reference-transaction",
            Hook::PreReceive { .. } => "pre-receive",
        }
    }
}

/// What git is told.
pub enum Answer {
    Allowed,
    /// Allowed, and somebody should know why it was not judged.
    Warned(&'static str),
    Refused(Refusal),
}

/// A no, and what became of its event.
pub struct Refusal {
    pub reason: Reason,
    /// Why there is no event of it, when there is none.
    pub unrecorded: Option<String>,
}

/// Why the answer is no.
pub enum Reason {
    /// The change does not fit.
    Judged(Box<Report>),
    /// It could not be found out whether it fits.
    Undecided(Failure),
}

/// What a judgement came to, before it is recorded.
pub(super) enum Decision {
    Allowed,
    Warned(&'static str),
    Refused(Box<Report>),
}

impl From<Report> for Decision {
    fn from(report: Report) -> Self {
        match report.verdict {
            Verdict::Pass | Verdict::Warn => Decision::Allowed,
            Verdict::Block => Decision::Refused(Box::new(report)),
        }
    }
}

/// Answers git. The hook may know the directory that it lies in.
pub fn run(flows: &Flows, hooks_dir: Option<&Path>, hook: &Hook) -> Answer {
    if is_never_judged(hook) {
        return Answer::Allowed;
    }
    let repository = match flows.hooked_repository(hooks_dir) {
        Ok(repository) => repository,
        Err(failure) => {
            let unrecorded = Some("the repository was not found".to_owned());
            return Answer::Refused(Refusal { reason: Reason::Undecided(failure), unrecorded });
        }
    };
    let reason = match decide(flows, &repository, hook) {
        Ok(Decision::Allowed) => return Answer::Allowed,
        Ok(Decision::Warned(why)) => return Answer::Warned(why),
        Ok(Decision::Refused(report)) => Reason::Judged(report),
        Err(failure) => Reason::Undecided(failure),
    };
    let unrecorded = record::refusal(&repository, hook.name(), &reason).err();
    Answer::Refused(Refusal { reason, unrecorded })
}

/// Tells whether there is nothing to judge, whatever the repository is.
fn is_never_judged(hook: &Hook) -> bool {
    match hook {
        // Only in this state can the transaction still be stopped, with every lock held.
        Hook::ReferenceTransaction { state, .. } => state != "prepared",
        Hook::PrePush { input, .. } | Hook::PreReceive { input } => input.is_empty(),
        Hook::PreCommit | Hook::PreMergeCommit => false,
    }
}

fn decide(flows: &Flows, repository: &Repository, hook: &Hook) -> Result<Decision, Failure> {
    match hook {
        Hook::PreCommit => index::judge(repository, &repository.merge_heads()?),
        Hook::PreMergeCommit => index::judge_merge(repository, &flows.environment.merge_heads),
        Hook::PrePush { remote, url, input } => push::judge(repository, remote, url, &parse_push_updates(input)?),
        Hook::ReferenceTransaction { input, .. } => commits::judge_transaction(repository, &parse_ref_updates(input)?),
        Hook::PreReceive { input } => receive::judge(repository, &parse_ref_updates(input)?),
    }
}
