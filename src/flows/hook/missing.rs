//! What holds while no contract does.

use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::evidence::EventLog;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::activate::removed_task;
use crate::flows::active::repo_config;
use crate::flows::gate::only_our_files;
use crate::flows::gate::refused;
use crate::flows::hook::Decision;
use crate::git::GitError;
use crate::git::Look;
use crate::git::Repository;
use crate::policy::MissingContract;

/// Decides about a change that there is no contract for. `changes` returns it.
///
/// A team may share its own `.oracle/` files, and may want the hooks only while a task is active. Neither excuses a
/// contract that was pinned and then deleted, edited or unpinned by hand.
pub(super) fn decide(
    repository: &Repository,
    state: &ActiveContract,
    changes: impl FnOnce(&Look<'_>) -> Result<ChangeSet, GitError>,
) -> Result<Decision, Failure> {
    if matches!(state, ActiveContract::Missing) && repository.work_tree.is_some() {
        let nowhere = |_: &RepoPath| false;
        if only_our_files(&changes(&Look { in_scope: &nowhere, secrets: None })?) {
            return Ok(Decision::Allowed);
        }
        if is_excused(repository, state)? {
            return Ok(Decision::Warned("no contract is active, so this change was not judged"));
        }
    }
    Ok(refused(state).into())
}

/// Tells whether the repository wants to be judged only while a task is active, and none is.
pub(super) fn is_excused(repository: &Repository, state: &ActiveContract) -> Result<bool, Failure> {
    Ok(matches!(state, ActiveContract::Missing)
        && repo_config(repository)?.missing_contract == MissingContract::Warn
        && removed_task(repository, &EventLog::of(&repository.common_dir))?.is_none())
}
