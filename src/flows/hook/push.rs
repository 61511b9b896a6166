//! What a remote would get.

use crate::base::Oid;
use crate::base::RepoPath;
use crate::flows::Failure;
use crate::flows::hook::Decision;
use crate::flows::hook::PushUpdate;
use crate::flows::hook::commits;
use crate::flows::review;
use crate::gate::Checked;
use crate::gate::Report;
use crate::gate::Rule;
use crate::gate::Violation;
use crate::git::REVIEWS;
use crate::git::Repository;
use crate::git::Target;

/// Judges every commit that the remote does not have. Deleting a ref changes no path.
///
/// What the remote has is known from the branches that follow it and from what it said it has. Both can be forged
/// locally; the same gate on the server closes that gap.
pub(super) fn judge(
    repository: &Repository,
    remote: &str,
    url: &str,
    updates: &[PushUpdate],
) -> Result<Decision, Failure> {
    let named: Vec<(&str, Oid)> =
        updates.iter().filter_map(|update| Some((update.remote_name.as_str(), update.local_id?))).collect();
    if named.is_empty() {
        return Ok(Decision::Allowed);
    }
    if review::is_required(repository, None)? {
        let mut unreviewed = Vec::new();
        for (name, id) in named.iter().filter(|(name, _)| name.starts_with("refs/heads/")) {
            if let Some(Target::Commit(commit_id)) = repository.targets(&[*id])?.get(id) {
                unreviewed.extend(review::violation(repository, name, *commit_id)?);
            }
        }
        if let Some(first) = unreviewed.first().cloned() {
            return Ok(Report { violations: unreviewed, ..Report::refused(first, Checked::default()) }.into());
        }
    }
    let tips = match commits_of(repository, &named)? {
        Ok(tips) if tips.is_empty() => return Ok(Decision::Allowed),
        Ok(tips) => tips,
        Err(report) => return Ok(report.into()),
    };
    let mut known = repository.tracking_tips(remote, url)?;
    known.extend(updates.iter().filter_map(|update| update.remote_id));
    commits::judge_new(repository, &tips, known)
}

fn is_review(repository: &Repository, name: &str, id: Oid) -> bool {
    let record = name.strip_prefix(REVIEWS).and_then(|tree| Some((tree, repository.review_at(id)?)));
    record.is_some_and(|(tree, record)| review::is_record_of(&record, tree))
}

/// Returns the commits under these refs, or the refusal of a ref that has none: content without a commit cannot be
/// judged.
pub(super) fn commits_of(repository: &Repository, named: &[(&str, Oid)]) -> Result<Result<Vec<Oid>, Report>, Failure> {
    let ids: Vec<Oid> = named.iter().map(|(_, id)| *id).collect();
    let targets = repository.targets(&ids)?;
    let mut tips = Vec::new();
    let mut violations = Vec::new();
    for (name, id) in named {
        match &targets[id] {
            Target::Commit(commit_id) if tips.contains(commit_id) => {}
            Target::Commit(commit_id) => tips.push(*commit_id),
            // What a review left behind is no change of anything.
            Target::Content(_) if is_review(repository, name, *id) => {}
            Target::Content(kind) => violations.push(Violation::of_path(
                Rule::Unreadable,
                RepoPath::new(name.as_bytes()),
                format!("it names a {kind}, and there is no commit to judge"),
                "Leave this ref out of the push, or tag the commit that has the content.",
            )),
        }
    }
    let Some(first) = violations.first().cloned() else { return Ok(Ok(tips)) };
    Ok(Err(Report { violations, ..Report::refused(first, Checked::default()) }))
}
