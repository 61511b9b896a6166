//! What the gate says.

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::change::ChangeSet;
use crate::change::Mode;
use crate::contract::Contract;
use crate::gate::Rule;

/// The answer. Ordered: the strictest finding decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Pass,
    Warn,
    Block,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Block => "block",
        }
    }
}

/// The verdict on a change set, with every reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub verdict: Verdict,
    pub contract: Option<ContractRef>,
    pub checked: Checked,
    pub violations: Vec<Violation>,
    /// What a person should know although it refuses nothing.
    pub notes: Vec<String>,
}

/// The contract that a change was judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractRef {
    pub task_id: String,
    pub sha256: Sha256Hex,
}

impl From<&Contract> for ContractRef {
    fn from(contract: &Contract) -> Self {
        ContractRef { task_id: contract.file.task_id.clone(), sha256: contract.sha256.clone() }
    }
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    pub changes: usize,
    pub commits: usize,
}

impl From<&ChangeSet> for Checked {
    fn from(set: &ChangeSet) -> Self {
        Checked { changes: set.change_count(), commits: set.commit_count() }
    }
}

/// One reason to refuse one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub rule: Rule,
    pub path: RepoPath,
    pub old_path: Option<RepoPath>,
    pub commit: Option<Oid>,
    pub old_mode: Option<Mode>,
    pub new_mode: Option<Mode>,
    /// Line in the new content, where a rule speaks of one.
    pub line: Option<usize>,
    pub message: String,
    pub hint: String,
}

impl Report {
    /// Returns the report that refuses for one reason which has nothing to do with a particular change.
    pub fn refused(violation: Violation, checked: Checked) -> Self {
        Report { verdict: Verdict::Block, contract: None, checked, violations: vec![violation], notes: Vec::new() }
    }
}

impl Violation {
    /// Returns a violation about a path as such.
    pub fn of_path(rule: Rule, path: RepoPath, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Violation {
            rule,
            path,
            old_path: None,
            commit: None,
            old_mode: None,
            new_mode: None,
            line: None,
            message: message.into(),
            hint: hint.into(),
        }
    }
}
