//! The rules about one change. Each file keeps a rule with changes that it must let pass and changes that it must block.

mod bidi_control;
mod binary;
#[cfg(test)]
mod example;
mod mode_change;
mod out_of_scope;
mod protected_path;
mod read_only;
mod secret;
mod source;
mod submodule;
mod symlink;
mod unreadable;
mod unsafe_path;

use crate::base::RepoPath;
use crate::change::Change;
use crate::contract::Contract;
use crate::contract::DiffPolicy;
use crate::gate::Rule;
use crate::policy::Protected;

/// What a rule has against a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub rule: Rule,
    pub message: String,
    pub old_path: Option<RepoPath>,
    pub line: Option<usize>,
}

impl Finding {
    fn new(rule: Rule, message: impl Into<String>) -> Self {
        Finding { rule, message: message.into(), old_path: None, line: None }
    }
}

/// What a rule may look at.
struct Context<'a> {
    change: &'a Change,
    /// Without one, only the rules that always hold speak.
    contract: Option<&'a Contract>,
    protected: &'a Protected,
}

impl Context<'_> {
    fn is_in_scope(&self, path: &RepoPath) -> bool {
        self.contract.is_none_or(|contract| contract.scope.covers(path))
    }

    fn policy(&self) -> Option<&DiffPolicy> {
        self.contract?.file.diff_policy.as_ref()
    }
}

type Check = fn(&Context<'_>) -> Vec<Finding>;

/// Rules about where a change is. The first that speaks is enough: what lies outside is not looked into.
const PLACE: [Check; 4] = [unsafe_path::check, read_only::check, protected_path::check, out_of_scope::check];

/// Rules about what a change inside the scope is. All of them speak.
const NATURE: [Check; 8] = [
    unreadable::check,
    source::check,
    submodule::check,
    symlink::check,
    binary::check,
    mode_change::check,
    bidi_control::check,
    secret::check,
];

/// Returns everything that the rules have against a change.
pub(super) fn findings(change: &Change, contract: Option<&Contract>, protected: &Protected) -> Vec<Finding> {
    let context = Context { change, contract, protected };
    let place = PLACE.iter().map(|check| check(&context)).find(|findings| !findings.is_empty());
    place.unwrap_or_else(|| NATURE.iter().flat_map(|check| check(&context)).collect())
}

/// Returns the verb for what happened to a path.
fn verb(change: &Change) -> &'static str {
    match (&change.old, &change.new) {
        (None, _) => "added",
        (_, None) => "deleted",
        _ => "changed",
    }
}

#[cfg(test)]
mod tests {
    use super::example::Examples;
    use super::*;

    fn examples() -> Vec<Examples> {
        vec![
            bidi_control::examples(),
            binary::examples(),
            mode_change::examples(),
            out_of_scope::examples(),
            protected_path::path_examples(),
            protected_path::test_examples(),
            read_only::examples(),
            secret::examples(),
            source::rename_examples(),
            source::copy_examples(),
            submodule::examples(),
            symlink::examples(),
            symlink::escape_examples(),
            symlink::type_examples(),
            unreadable::examples(),
            unsafe_path::examples(),
        ]
    }

    #[test]
    fn every_rule_lets_its_good_examples_pass_and_blocks_its_bad_ones() {
        for examples in examples() {
            assert!(!examples.passes.is_empty() && !examples.blocks.is_empty(), "{} needs both kinds", examples.rule);
            for case in &examples.passes {
                let found = case.findings();
                assert_eq!(found, [], "{} must let this pass: {:?}", examples.rule, case.change);
            }
            for case in &examples.blocks {
                let rules: Vec<Rule> = case.findings().iter().map(|finding| finding.rule).collect();
                assert!(
                    rules.contains(&examples.rule),
                    "{} must block this: {:?}, found {rules:?}",
                    examples.rule,
                    case.change
                );
            }
        }
    }

    #[test]
    fn without_a_contract_the_rules_that_always_hold_speak() {
        let protected = Protected::new(None, Vec::new()).unwrap();
        let entry = |mode| Some(crate::change::Entry { mode, id: None });
        let rules = |path: &str, mode| {
            let change = Change::new(path, None, entry(mode));
            findings(&change, None, &protected).into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
        };
        use crate::change::Mode;
        let cases = [
            ("anywhere/a.rs", Mode::Regular, None),
            ("tests/a.rs", Mode::Executable, None),
            (".oracle/config.toml", Mode::Regular, Some(Rule::ProtectedPath)),
            ("src/.env", Mode::Regular, Some(Rule::ProtectedPath)),
            (".claude/settings.json", Mode::Regular, Some(Rule::ProtectedPath)),
            ("src/link", Mode::Symlink, Some(Rule::Symlink)),
            ("sub", Mode::Gitlink, Some(Rule::Submodule)),
            ("../a", Mode::Regular, Some(Rule::UnsafePath)),
        ];
        for (path, mode, rule) in cases {
            assert_eq!(rules(path, mode), rule.into_iter().collect::<Vec<_>>(), "{path}");
        }
    }
}
