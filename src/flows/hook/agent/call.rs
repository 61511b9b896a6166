//! A tool call, before it runs.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent::Claim;
use crate::agent::Wish;
use crate::base::RepoPath;
use crate::base::is_dotgit;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Mode;
use crate::change::Step;
use crate::change::StepKind;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::active::protected;
use crate::flows::gate::refused as without_contract;
use crate::flows::hook::agent::Refused;
use crate::flows::hook::agent::refused;
use crate::flows::hook::missing;
use crate::gate;
use crate::gate::Rule;
use crate::gate::Violation;
use crate::git::Repository;

/// Judges what a call says it would do. `None` when nothing is against it.
pub(super) fn judge(repository: &Repository, directory: &Path, wish: &Wish) -> Result<Option<Refused>, Failure> {
    repository.work_tree()?;
    let state = ActiveContract::load(repository)?;
    let ActiveContract::Active { contract, .. } = &state else {
        return Ok(match missing::is_excused(repository, &state)? {
            true => None,
            false => refused(without_contract(&state), &[]),
        });
    };
    let mut others: Vec<Violation> = wish
        .evasions
        .iter()
        .map(|evasion| Violation::of_path(Rule::ProtectedPath, evasion.place.into(), evasion.message.clone(), ""))
        .collect();
    // A path that only a shell command names counts for less.
    let mut changes: BTreeMap<RepoPath, (Change, bool)> = BTreeMap::new();
    for touch in &wish.touches {
        let from = directory.join(touch.from.as_deref().unwrap_or_default());
        let named = repository.named(&from, &touch.path)?;
        if touch.claim == Claim::Argument && named.is_directory && !named.outside {
            continue;
        }
        let reaches_git = || touch.path.split('/').any(|name| is_dotgit(name.as_bytes()));
        if named.outside && (touch.claim != Claim::Shell || reaches_git()) {
            let message = "it lies or leads outside of the working tree";
            others.push(Violation::of_path(Rule::UnsafePath, touch.path.as_str().into(), message, ""));
        }
        let entry = Some(Entry { mode: Mode::Regular, id: None });
        for path in named.inside {
            let change = Change::new(path.clone(), entry.filter(|_| named.exists), entry.filter(|_| !touch.deletes));
            let known = changes.entry(path).or_insert((change, true));
            known.1 &= touch.claim == Claim::Shell;
        }
    }
    let listed = changes.values().map(|(change, _)| change.clone()).collect();
    let set = ChangeSet { steps: vec![Step { kind: StepKind::Worktree, changes: listed }], faults: Vec::new() };
    let mut report = gate::judge(&set, contract, &protected(repository, Some(contract))?);
    // A program may write what git ignores, as it does when it builds: no change would show it.
    let is_soft = |violation: &Violation| {
        matches!(violation.rule, Rule::OutOfScope | Rule::ProtectedTest)
            && changes.get(&violation.path).is_some_and(|(_, by_shell)| *by_shell)
    };
    let soft: Vec<RepoPath> = report
        .violations
        .iter()
        .filter(|violation| is_soft(violation))
        .map(|violation| violation.path.clone())
        .collect();
    let ignored = repository.ignored(&soft)?;
    report.violations.retain(|violation| !(is_soft(violation) && ignored.contains(&violation.path)));
    others.append(&mut report.violations);
    report.violations = others;
    Ok(refused(report, contract.scope.entries()))
}
