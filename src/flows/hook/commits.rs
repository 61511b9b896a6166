//! Commits that are about to get in under a ref.

use std::collections::HashSet;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::change::StepKind;
use crate::contract::Contract;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::active::in_force;
use crate::flows::hook::Decision;
use crate::flows::hook::RefUpdate;
use crate::flows::hook::missing;
use crate::flows::hook::receive;
use crate::flows::hook::updates::NewValue;
use crate::gate;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::git::Look;
use crate::git::News;
use crate::git::Repository;

/// Judges the commits that a transaction brings onto branches.
///
/// Stashes, tags, notes and remote-tracking branches keep whatever they like: nobody's work is lost. A commit that was
/// parked there is judged when a branch or HEAD moves to it.
pub(super) fn judge_transaction(repository: &Repository, updates: &[RefUpdate]) -> Result<Decision, Failure> {
    let is_branch = |update: &&RefUpdate| update.name == "HEAD" || update.name.starts_with("refs/heads/");
    let branches: Vec<RefUpdate> = updates.iter().filter(is_branch).cloned().collect();
    let tips = new_ids(&branches);
    if tips.is_empty() {
        return Ok(Decision::Allowed);
    }
    if passes_at_a_glance(repository, &branches, &tips)? {
        return Ok(Decision::Allowed);
    }
    // Refs still have their old values: the transaction is prepared and not yet committed.
    let known = repository.known_here()?;
    if repository.work_tree.is_some() {
        return judge_new(repository, &tips, known);
    }
    // A bare repository whose worktrees brought the hook: contracts are bound to refs there.
    match repository.news(&tips, &known).tips.is_empty() {
        true => Ok(Decision::Allowed),
        false => receive::judge(repository, &branches),
    }
}

/// Tells whether the commits let themselves be judged without listing refs, and fit. A no says nothing.
fn passes_at_a_glance(repository: &Repository, branches: &[RefUpdate], tips: &[Oid]) -> Result<bool, Failure> {
    let ActiveContract::Active { contract, .. } = ActiveContract::load(repository)? else { return Ok(false) };
    let (protected, guard) = in_force(repository, Some(&contract))?;
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let names: Vec<&str> = branches.iter().map(|update| update.name.as_str()).collect();
    let passes = |id: &Oid| {
        repository
            .glance_at_commit(*id, &names, &Look { in_scope: &in_scope, secrets: Some(&watch) })
            .is_some_and(|set| gate::judge(&set, &contract, &protected).verdict < Verdict::Block)
    };
    Ok(tips.iter().all(passes))
}

/// Returns the objects that refs are to point at, each once.
pub(super) fn new_ids(updates: &[RefUpdate]) -> Vec<Oid> {
    let mut ids = Vec::new();
    for update in updates {
        match update.new {
            NewValue::Object(id) if !ids.contains(&id) => ids.push(id),
            NewValue::Object(_) | NewValue::Deleted | NewValue::Symbolic => {}
        }
    }
    ids
}

/// Judges by the active contract what `tips` reach and `known` does not.
pub(super) fn judge_new(repository: &Repository, tips: &[Oid], mut known: Vec<Oid>) -> Result<Decision, Failure> {
    let state = ActiveContract::load(repository)?;
    if let ActiveContract::Active { pin, .. } = &state {
        known.extend(pin.baseline_commit_id());
    }
    let news = repository.news(tips, &known);
    if news.tips.is_empty() {
        return Ok(Decision::Allowed);
    }
    match &state {
        ActiveContract::Active { contract, .. } => Ok(judge_by(repository, contract, &news)?.into()),
        _ => missing::decide(repository, &state, |look| Ok(collect(repository, &news, look))),
    }
}

/// Judges what is new: each commit, and what they change in all.
pub(super) fn judge_by(repository: &Repository, contract: &Contract, news: &News) -> Result<Report, Failure> {
    let (protected, guard) = in_force(repository, Some(contract))?;
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let set = collect(repository, news, &Look { in_scope: &in_scope, secrets: Some(&watch) });
    Ok(gate::judge(&set, contract, &protected))
}

fn collect(repository: &Repository, news: &News, look: &Look<'_>) -> ChangeSet {
    let mut all = ChangeSet::default();
    let mut seen = HashSet::new();
    for tip in &news.tips {
        let mut set = repository.since(*tip, &news.known, look);
        // Two branches may share commits; each is shown once.
        set.steps.retain(|step| match step.kind {
            StepKind::Commit(id) => seen.insert(id),
            _ => true,
        });
        all.steps.append(&mut set.steps);
        all.faults.append(&mut set.faults);
    }
    all
}
