//! The working tree, after a call and at the end.

use crate::agent::Recipe;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::active::protected;
use crate::flows::gate::refused as without_contract;
use crate::flows::hook::agent::Refused;
use crate::flows::hook::agent::refused;
use crate::flows::hook::missing;
use crate::gate;
use crate::gate::Violation;
use crate::git::Agents;
use crate::git::Look;
use crate::git::Repository;

/// Judges the files on disk. `None` when nothing is against them.
pub(super) fn judge(repository: &Repository) -> Result<Option<Refused>, Failure> {
    repository.work_tree()?;
    let state = ActiveContract::load(repository)?;
    let ActiveContract::Active { contract, .. } = &state else {
        return Ok(match missing::is_excused(repository, &state)? {
            true => None,
            false => refused(without_contract(&state), &[]),
        });
    };
    let protected = protected(repository, Some(contract))?;
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let set = repository.worktree(&Look { in_scope: &in_scope })?;
    let mut report = gate::judge(&set, contract, &protected);
    report.violations.retain(|violation| !is_installed(repository, violation));
    Ok(refused(report, contract.scope.entries()))
}

/// Tells whether a violation is about settings that `hooks install --agent` wrote and nobody has changed since. The
/// person did that, and the agent can do nothing about it.
fn is_installed(repository: &Repository, violation: &Violation) -> bool {
    let agents = Agents::of(repository);
    Recipe::all().iter().filter(|recipe| violation.path == RepoPath::from(recipe.file)).any(|recipe| {
        let setup = agents.setup(recipe.agent).ok().flatten();
        let text = agents.settings(recipe.file).ok().flatten().unwrap_or_default();
        setup.is_some_and(|setup| setup.sha256 == Sha256Hex::of(text.as_bytes()))
    })
}
