//! What a server has been sent.

use crate::base::Oid;
use crate::contract::Contract;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::gate::refused;
use crate::flows::hook::Decision;
use crate::flows::hook::RefUpdate;
use crate::flows::hook::bindings::Bindings;
use crate::flows::hook::bindings::Holding;
use crate::flows::hook::commits::judge_by;
use crate::flows::hook::commits::judge_new;
use crate::flows::hook::push::commits_of;
use crate::flows::hook::updates::NewValue;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::git::Pin;
use crate::git::Repository;
use crate::git::Tip;

/// Judges what every ref would get that the server does not have. One bad update refuses them all.
pub(super) fn judge(repository: &Repository, updates: &[RefUpdate]) -> Result<Decision, Failure> {
    let named: Vec<(&str, Oid)> = updates
        .iter()
        .filter_map(|update| match update.new {
            NewValue::Object(id) => Some((update.name.as_str(), id)),
            NewValue::Deleted | NewValue::Symbolic => None,
        })
        .collect();
    if named.is_empty() {
        return Ok(Decision::Allowed);
    }
    let tips = repository.tips()?;
    if repository.work_tree.is_some() {
        // Somebody uses the server's hook where people work: the worktree's own contract holds for every ref.
        return match commits_of(repository, &named)? {
            Ok(new) => judge_new(repository, &new, tips.into_iter().map(|tip| tip.id).collect()),
            Err(report) => Ok(report.into()),
        };
    }
    let bindings = Bindings::load(repository)?;
    // Refs that are held to the same are judged together.
    let mut groups: Vec<(Holding<'_>, Vec<(&str, Oid)>)> = Vec::new();
    for (name, id) in named {
        let holding = bindings.of(name);
        match groups.iter_mut().find(|(known, _)| known.is_like(&holding)) {
            Some((_, refs)) => refs.push((name, id)),
            None => groups.push((holding, vec![(name, id)])),
        }
    }
    let mut reports = Vec::new();
    for (holding, refs) in &groups {
        reports.extend(judge_group(repository, &bindings, &tips, holding, refs)?);
    }
    Ok(reports.into_iter().reduce(join).map_or(Decision::Allowed, Decision::from))
}

/// Returns the reports of every contract that holds for these refs.
fn judge_group(
    repository: &Repository,
    bindings: &Bindings,
    tips: &[Tip],
    holding: &Holding<'_>,
    refs: &[(&str, Oid)],
) -> Result<Vec<Report>, Failure> {
    let new = match commits_of(repository, refs)? {
        Ok(new) => new,
        Err(report) => return Ok(vec![report]),
    };
    let contracts = holding.contracts(repository)?;
    if contracts.is_empty() {
        return Ok(vec![match holding {
            Holding::ForAll(state) => refused(state),
            Holding::Bound(_) => refused(&ActiveContract::Missing),
        }]);
    }
    // What a ref under another contract has was judged by that one, if at all. Otherwise a commit could take the way
    // through the ref with the widest contract.
    let is_known = |tip: &&Tip| {
        let other = bindings.of(&tip.name);
        other.is_closed() || other.is_like(holding)
    };
    let known: Vec<Oid> = tips.iter().filter(is_known).map(|tip| tip.id).collect();
    let judge = |(contract, pin): &(Contract, Pin)| {
        let known: Vec<Oid> = known.iter().copied().chain(pin.baseline_commit_id()).collect();
        judge_by(repository, contract, &repository.news(&new, &known))
    };
    contracts.iter().map(judge).collect()
}

/// Joins two reports; the strictest decides, and its contract is the one that is named.
fn join(mut a: Report, b: Report) -> Report {
    if a.verdict < Verdict::Block && b.verdict == Verdict::Block {
        a.contract = b.contract;
    }
    a.verdict = a.verdict.max(b.verdict);
    a.checked.changes += b.checked.changes;
    a.checked.commits += b.checked.commits;
    a.violations.extend(b.violations);
    a.notes.extend(b.notes);
    a
}
