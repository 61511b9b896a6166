//! Asking every rule about every change.

use std::collections::HashSet;

use crate::base::RepoPath;
use crate::base::plural;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::StepKind;
use crate::contract::Contract;
use crate::gate::Checked;
use crate::gate::ContractRef;
use crate::gate::Report;
use crate::gate::Rule;
use crate::gate::Verdict;
use crate::gate::Violation;
use crate::gate::rules;
use crate::policy::Protected;

/// Judges a change set by a contract and by what is protected.
pub fn judge(set: &ChangeSet, contract: &Contract, protected: &Protected) -> Report {
    judge_by(set, Some(contract), protected)
}

/// Judges a change set where no contract is active, by the rules that always hold: paths must be safe, control files and
/// agents' settings stay as they are, and symlinks, submodules, binaries, bidirectional controls and secrets do not get in.
pub fn judge_without_contract(set: &ChangeSet, protected: &Protected) -> Report {
    judge_by(set, None, protected)
}

fn judge_by(set: &ChangeSet, contract: Option<&Contract>, protected: &Protected) -> Report {
    let mut violations: Vec<Violation> = set.faults.iter().map(of_fault).collect();
    let mut seen: HashSet<(Rule, RepoPath)> = HashSet::new();
    for step in &set.steps {
        let commit = match step.kind {
            StepKind::Commit(id) => Some(id),
            _ => None,
        };
        for change in &step.changes {
            for finding in rules::findings(change, contract, protected) {
                let known = !seen.insert((finding.rule, change.path.clone()));
                // The net change repeats what the commits show; only what it alone shows is news.
                if step.kind == StepKind::Net && known {
                    continue;
                }
                violations.push(Violation {
                    rule: finding.rule,
                    path: change.path.clone(),
                    old_path: finding.old_path,
                    commit,
                    old_mode: change.old.map(|old| old.mode),
                    new_mode: change.new.map(|new| new.mode),
                    line: finding.line,
                    message: finding.message,
                    hint: hint(finding.rule, change, step.kind),
                });
            }
        }
    }
    let verdict = if violations.is_empty() { Verdict::Pass } else { Verdict::Block };
    Report {
        verdict,
        contract: contract.map(ContractRef::from),
        checked: Checked::from(set),
        violations,
        notes: notes(set),
    }
}

/// Says how often something was let pass because somebody allowed it.
fn notes(set: &ChangeSet) -> Vec<String> {
    let commits = set.commit_count() > 0;
    let steps = set.steps.iter().filter(|step| step.kind != StepKind::Net || !commits);
    match steps.flat_map(|step| &step.changes).map(|change| change.facts.allowed_secrets).sum::<usize>() {
        0 => Vec::new(),
        count => vec![format!("{} let pass, as allowed", plural(count as u64, "secret"))],
    }
}

fn of_fault(fault: &Fault) -> Violation {
    let (rule, hint) = match fault.kind {
        FaultKind::Unreadable => (
            Rule::Unreadable,
            "Fetch what is missing (`git fetch --unshallow`, `git fetch --refetch --no-filter`), or mend what cannot be read.",
        ),
        FaultKind::Malformed => {
            (Rule::UnsafePath, "Make the commit again with git itself; `git fsck` shows what is wrong.")
        }
        FaultKind::Conflict => (Rule::Unreadable, "Resolve the conflict and stage the result with `git add`."),
        FaultKind::Hidden => (Rule::HiddenChange, "Run `git read-tree HEAD` and stage the change again."),
        FaultKind::Nested => {
            (Rule::NestedRepository, "Move the inner repository out of the working tree, or remove its `.git`.")
        }
    };
    let path = if fault.path.as_bytes().is_empty() { RepoPath::from(".") } else { fault.path.clone() };
    Violation { commit: fault.commit, ..Violation::of_path(rule, path, fault.message.clone(), hint) }
}

/// Returns the next command to type.
fn hint(rule: Rule, change: &Change, step: StepKind) -> String {
    let path = change.path.typed();
    match (rule, step) {
        (Rule::Secret, StepKind::Commit(_) | StepKind::Net) => {
            "Take it out of the commit with `git rebase -i` or `git commit --amend`, and revoke it if anybody has it."
                .to_owned()
        }
        (Rule::Secret, _) => {
            "Take it out and read it from the environment; docs/secrets.md says how to allow a harmless one.".to_owned()
        }
        (Rule::BidiControl, _) => "Write the characters as escapes, or remove them.".to_owned(),
        (Rule::Unreadable, _) => "Fetch the missing objects, then judge again.".to_owned(),
        (Rule::OutOfScope | Rule::ProtectedPath | Rule::ProtectedTest, StepKind::Staged) => {
            format!("git restore --staged {path}; git oracle contract explain {path}")
        }
        (_, StepKind::Staged) => format!("git restore --staged {path}"),
        (Rule::OutOfScope | Rule::ProtectedPath | Rule::ProtectedTest, _) => {
            format!("git oracle contract explain {path}")
        }
        (_, StepKind::Worktree) if change.old.is_none() => format!("rm {path}"),
        (_, StepKind::Worktree) => format!("git restore {path}"),
        (_, StepKind::Commit(_) | StepKind::Net) => {
            "Change the commit with `git rebase -i` or `git commit --amend`.".to_owned()
        }
        (_, StepKind::Patch) => "Leave this file out of the patch.".to_owned(),
    }
}
