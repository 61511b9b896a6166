//! The index, before a commit is made of it.

use crate::base::Oid;
use crate::base::RepoPath;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::active::in_force;
use crate::flows::hook::Decision;
use crate::flows::hook::missing;
use crate::gate;
use crate::gate::Verdict;
use crate::git::Look;
use crate::git::Repository;

/// Judges what committing the index would change, with these commits as parents besides HEAD.
pub(super) fn judge(repository: &Repository, other_parent_ids: &[Oid]) -> Result<Decision, Failure> {
    repository.work_tree()?;
    let state = ActiveContract::load(repository)?;
    let ActiveContract::Active { contract, .. } = &state else {
        return missing::decide(repository, &state, |look| repository.staged_onto(other_parent_ids, look));
    };
    let (protected, guard) = in_force(repository, Some(contract))?;
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let look = Look { in_scope: &in_scope, secrets: Some(&watch) };
    // What is seen at a glance only lets a change in. A refusal and its reasons come from the general path.
    if other_parent_ids.is_empty()
        && let Some(set) = repository.glance_at_index(&look)
        && gate::judge(&set, contract, &protected).verdict < Verdict::Block
    {
        return Ok(Decision::Allowed);
    }
    let set = repository.staged_onto(other_parent_ids, &look)?;
    Ok(gate::judge(&set, contract, &protected).into())
}

/// Judges what a merge would change of its own.
///
/// git runs this hook before it writes MERGE_HEAD and announces the other parents in its environment. Forging them gains
/// nothing: when the branch moves, the parents are read from the commit.
pub(super) fn judge_merge(repository: &Repository, announced: &[Oid]) -> Result<Decision, Failure> {
    let written = repository.merge_heads()?;
    judge(repository, if written.is_empty() { announced } else { &written })
}
