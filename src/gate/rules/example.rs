//! Changes in a few words, for the examples of the rules.

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::Entry;
use crate::change::Mode;
use crate::contract::Contract;
use crate::contract::Scaffold;
use crate::gate::Rule;
use crate::gate::rules::Finding;
use crate::gate::rules::findings;
use crate::policy::Protected;

/// A rule with what it must let pass and what it must block.
pub(super) struct Examples {
    pub rule: Rule,
    pub passes: Vec<Case>,
    pub blocks: Vec<Case>,
}

/// One change under one contract.
pub(super) struct Case {
    pub change: Change,
    allow: Vec<String>,
    edit: fn(&mut serde_json::Value),
}

/// Returns a change of `path` under a contract that allows `src/`.
pub(super) fn change(path: &str, old: Option<Mode>, new: Option<Mode>) -> Case {
    let entry = |mode: Mode, byte: u8| Entry::object(mode, Oid::from_bytes(&[byte; 20]).unwrap());
    let change = Change::new(RepoPath::from(path), old.map(|mode| entry(mode, 1)), new.map(|mode| entry(mode, 2)));
    Case { change, allow: vec!["src/".into()], edit: |_| {} }
}

/// Returns an edit of a text file.
pub(super) fn edit(path: &str) -> Case {
    change(path, Some(Mode::Regular), Some(Mode::Regular))
}

/// Returns a new text file.
pub(super) fn add(path: &str) -> Case {
    change(path, None, Some(Mode::Regular))
}

/// Returns a deleted text file.
pub(super) fn delete(path: &str) -> Case {
    change(path, Some(Mode::Regular), None)
}

impl Case {
    pub fn allow(mut self, paths: &[&str]) -> Self {
        self.allow = paths.iter().map(|path| (*path).to_owned()).collect();
        self
    }

    /// Edits the contract as JSON.
    pub fn contract(mut self, edit: fn(&mut serde_json::Value)) -> Self {
        self.edit = edit;
        self
    }

    pub fn with(mut self, edit: impl FnOnce(&mut Change)) -> Self {
        edit(&mut self.change);
        self
    }

    pub fn findings(&self) -> Vec<Finding> {
        let file = Scaffold {
            task: "example".into(),
            allow: self.allow.clone(),
            tests: vec!["cargo test".into()],
            baseline_commit_id: Oid::null(HashKind::Sha1),
            created_at: String::new(),
        }
        .contract();
        let mut value = serde_json::to_value(file).unwrap();
        (self.edit)(&mut value);
        let contract = Contract::from_pinned(value.to_string().as_bytes()).unwrap();
        let globs = contract.file.diff_policy.iter().flat_map(|policy| policy.protected_extra.clone()).collect();
        findings(&self.change, Some(&contract), &Protected::new(Some("tools/hooks".into()), globs).unwrap())
    }
}
