//! The push: to the branch's upstream or to a new one, never by force, never to a branch that is everybody's.

use globset::Glob;

use crate::base::visible;
use crate::flows::Failure;
use crate::flows::apply::land::first_line;
use crate::flows::apply::land::said;
use crate::flows::apply::result::Outcome;
use crate::flows::apply::result::Status;
use crate::flows::apply::result::Trouble;
use crate::git::ApplyLock;
use crate::git::Repository;
use crate::git::Wrote;
use crate::system::Ended;
use crate::system::Environment;

/// Branches that belong to everybody.
const SHARED: [&str; 2] = ["main", "master"];

/// Pushes a branch. What was committed stays whatever happens; `standing` says so.
pub(in crate::flows) fn push(
    repository: &Repository,
    environment: &Environment,
    protected: &[String],
    lock: &ApplyLock,
    (branch, standing): (Option<&str>, &str),
    outcome: &mut Outcome,
) -> Result<(), Trouble> {
    outcome.pushed = Some(false);
    let refused = |message: &str, hint: &str| {
        Trouble::new(Status::PushFailed, "branch_refused", format!("{standing} not pushed: {message}")).hinted(hint)
    };
    let Some(branch) = branch else {
        return Err(refused("HEAD is detached, so there is no branch to push", "git switch -c NAME"));
    };
    let Some(destination) = repository.destination(branch)? else {
        return Err(refused("there is no remote to push to", "git remote add origin URL"));
    };
    let place = format!("{}/{}", visible(&destination.remote), visible(destination.branch()));
    let elsewhere = format!("Push it to a branch of its own: git push -u {} HEAD:NAME", visible(&destination.remote));
    if destination.remote == "." || !destination.reference.starts_with("refs/heads/") {
        return Err(refused(&format!("the upstream of this branch is not on a remote: {place}"), &elsewhere));
    }
    let shared = match why_shared(repository, environment, protected, &destination.remote, destination.branch())? {
        Ok(shared) => shared,
        Err(wrote) => return Err(failed(&wrote, &place, standing, outcome)),
    };
    if let Some(why) = shared {
        return Err(refused(&format!("{place} is never pushed to: {why}"), &elsewhere));
    }
    let wrote = repository.push(branch, &destination, &lock.file, environment)?;
    if !wrote.succeeded() {
        return Err(failed(&wrote, &place, standing, outcome));
    }
    outcome.pushed = Some(true);
    outcome.notes.push(format!("pushed to {place}"));
    Ok(())
}

/// Returns why a branch belongs to everybody; `None` when it does not. Inside is what the remote said when it could not be
/// asked for its default branch.
pub(in crate::flows) fn why_shared(
    repository: &Repository,
    environment: &Environment,
    protected: &[String],
    remote: &str,
    branch: &str,
) -> Result<Result<Option<String>, Wrote>, Failure> {
    if let Some(why) = why_protected(branch, protected) {
        return Ok(Ok(Some(why)));
    }
    let default = match repository.ask_default_branch(remote, environment)? {
        Ok(name) => name.or(repository.known_default_branch(remote)?),
        Err(wrote) => return Ok(Err(wrote)),
    };
    Ok(Ok((default.as_deref() == Some(branch)).then(|| "it is the remote's default branch".to_owned())))
}

/// Returns why a branch belongs to everybody, as far as its name tells.
pub(in crate::flows) fn why_protected(name: &str, protected: &[String]) -> Option<String> {
    if SHARED.contains(&name) {
        return Some("it is everybody's".to_owned());
    }
    // A pattern was checked when it was read; one that cannot be used protects everything.
    let matches = |pattern: &&String| Glob::new(pattern).map_or(true, |glob| glob.compile_matcher().is_match(name));
    protected.iter().find(matches).map(|pattern| format!("{} is protected here", visible(pattern)))
}

fn failed(wrote: &Wrote, place: &str, standing: &str, outcome: &mut Outcome) -> Trouble {
    let text = said(wrote);
    let why = match wrote.ended {
        Ended::TimedOut => "it took too long".to_owned(),
        Ended::Interrupted => "it was interrupted".to_owned(),
        // git tells in the middle of its words what a server's hook or a rejected update is about.
        _ => {
            let telling = |line: &&str| line.starts_with('!') || line.contains("rejected") || line.contains("fatal:");
            text.lines().find(telling).map_or_else(|| first_line(wrote), str::to_owned)
        }
    };
    outcome.push_error = Some(if text.is_empty() { why.clone() } else { text.clone() });
    let hint = match text.contains("fetch first") || text.contains("non-fast-forward") {
        true => "git pull --rebase, then git push".to_owned(),
        false => "git push, when the reason is gone".to_owned(),
    };
    let message = format!("{standing} not pushed to {place}: {}", why.replace('\t', " "));
    Trouble::new(Status::PushFailed, "push_failed", message).hinted(hint)
}
