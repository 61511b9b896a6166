//! The working tree, after a call and at the end.

use crate::agent::Recipe;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::active::in_force;
use crate::flows::gate::refused as without_contract;
use crate::flows::hook::agent::Refused;
use crate::flows::hook::agent::refused;
use crate::flows::hook::missing;
use crate::gate;
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
    let (protected, guard) = in_force(repository, Some(contract))?;
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let set = repository.worktree(&Look { in_scope: &in_scope, secrets: Some(&watch) })?;
    let mut report = gate::judge(&set, contract, &protected);
    let installed = installed(repository);
    report.violations.retain(|violation| !installed.iter().any(|place| violation.path.is_within(place.as_bytes())));
    Ok(refused(report, contract.scope.entries()))
}

/// Returns the settings that `hooks install --agent` wrote and nobody has changed since, and what the agent's own program
/// puts beside them. The person did that, and the agent can do nothing about it.
fn installed(repository: &Repository) -> Vec<&'static str> {
    let agents = Agents::of(repository);
    let is_as_left = |recipe: &&Recipe| {
        let setup = agents.setup(recipe.agent).ok().flatten();
        let text = agents.settings(recipe.file).ok().flatten().unwrap_or_default();
        setup.is_some_and(|setup| setup.sha256 == Sha256Hex::of(text.as_bytes()))
    };
    let recipes = Recipe::all().iter().filter(is_as_left);
    recipes.flat_map(|recipe| [recipe.file].into_iter().chain(recipe.byproducts.iter().copied())).collect()
}
