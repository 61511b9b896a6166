//! The branch under review: whose it is, whether everything of it is committed and can be seen, and what it changes.

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::visible;
use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::push::push;
use crate::flows::apply::push::why_protected;
use crate::flows::apply::push::why_shared;
use crate::git::ApplyLock;
use crate::git::Destination;
use crate::git::Landing;
use crate::git::Repository;
use crate::policy::RepoConfig;
use crate::system::Environment;

/// Names of branches that a remote may have instead of one that it calls its default.
const USUAL: [&str; 2] = ["main", "master"];

/// A message names so many files, then a count.
const SHOWN_FILES: usize = 10;

/// What is to be done about a branch that cannot be reviewed as it is.
pub(super) struct Wishes<'a> {
    pub create: Option<&'a str>,
    pub push_first: bool,
    /// Nobody has to see the branch: the request goes by hand, or no push is let through before a review.
    pub unseen: bool,
    /// Asked before anything is made or pushed for a request that nobody lets go.
    pub may_send: &'a dyn Fn() -> Result<(), Trouble>,
}

/// A branch that can be reviewed.
#[derive(Debug)]
pub(super) struct Place {
    /// Its repository, as its remote calls it.
    pub repository: String,
    pub branch: String,
    pub head: Oid,
    /// Where it is pushed to.
    pub upstream: Option<String>,
    /// Where it parts from the branch that it is for: that branch's name, and the commit.
    pub base: Option<(String, Oid)>,
    pub files: Vec<(char, RepoPath)>,
}

impl Place {
    pub fn base_name(&self) -> String {
        match &self.base {
            Some((name, id)) => format!("{} at {id}", visible(name)),
            None => "nothing: no other branch is known".to_owned(),
        }
    }
}

/// Makes sure that the branch can be reviewed. A refusal names the command that mends it.
pub(super) fn prepare(
    repository: &Repository,
    environment: &Environment,
    config: &RepoConfig,
    wishes: &Wishes<'_>,
    outcome: &mut Outcome,
) -> Result<Place, Trouble> {
    let head = repository.head()?.ok_or_else(|| {
        refused("there is no commit yet that could be reviewed").hinted("git commit --allow-empty -m Begin")
    })?;
    let elsewhere = "git oracle review --create-branch NAME";
    let not_reviewed =
        |branch: &str, why: &str| refused(&format!("{} is not reviewed, {why}", visible(branch))).hinted(elsewhere);
    // Running the command again is no reason to make it again.
    let now = repository.branch()?;
    let create = wishes.create.filter(|name| now.as_deref() != Some(*name));
    // Nobody should be told to commit on a branch that is everybody's.
    if let (None, Some(branch)) = (create, &now)
        && let Some(why) = why_protected(branch, &config.protected_branches)
    {
        return Err(not_reviewed(branch, &why));
    }
    check_clean(repository)?;
    if let Some(name) = create {
        let protected = why_protected(name, &config.protected_branches);
        if let Some(why) = protected {
            return Err(refused(&format!("{} is no branch for a review: {why}", visible(name)))
                .hinted("--create-branch feature/NAME"));
        }
        (wishes.may_send)()?;
        if let Err(reason) = repository.create_branch(name)? {
            let message = format!("the branch {} cannot be made: {}", visible(name), visible(&reason));
            return Err(refused(&message).hinted("Choose another name."));
        }
    }
    let Some(branch) = repository.branch()? else {
        return Err(refused("HEAD is detached, so there is no branch to review").hinted(elsewhere));
    };
    outcome.branch = Some(branch.clone());
    let destination = repository.destination(&branch)?.filter(|destination| destination.remote != ".");
    let shared = match &destination {
        Some(Destination { remote, .. }) => {
            match why_shared(repository, environment, &config.protected_branches, remote, &branch)? {
                Ok(shared) => shared,
                // A remote that does not answer now may have told before what its default branch is.
                Err(_) if repository.known_default_branch(remote)?.is_some() => {
                    let default = repository.known_default_branch(remote)?;
                    (default.as_deref() == Some(&branch)).then(|| "it is the remote's default branch".to_owned())
                }
                Err(wrote) => {
                    let said = visible(wrote.output.lines().next().unwrap_or("it does not answer")).into_owned();
                    let message =
                        format!("the remote {} cannot be asked for its default branch: {said}", visible(remote));
                    let hint = "names it without asking; NAME is its default branch";
                    return Err(
                        refused(&message).hinted(format!("git remote set-head {} NAME {hint}", visible(remote)))
                    );
                }
            }
        }
        None => None,
    };
    if let Some(why) = shared {
        return Err(not_reviewed(&branch, &why));
    }
    if !wishes.unseen {
        make_seen(repository, environment, config, (&branch, head), destination.as_ref(), wishes, outcome)?;
    }
    let base = base(repository, &branch, head, destination.as_ref())?;
    let files = match &base {
        Some((_, base)) => repository.changed_paths(*base, head)?,
        None => Vec::new(),
    };
    Ok(Place {
        repository: repository_name(repository, destination.as_ref())?,
        upstream: destination
            .map(|destination| format!("{}/{}", visible(&destination.remote), visible(destination.branch()))),
        branch,
        head,
        base,
        files,
    })
}

fn refused(message: &str) -> Trouble {
    Trouble::new(Status::Error, "branch_refused", message)
}

/// What is not committed would not be reviewed, and would be in the way of what comes back.
fn check_clean(repository: &Repository) -> Result<(), Trouble> {
    let dirty = |message: String| Trouble::new(Status::Error, "dirty_tree", message);
    if Landing::is_there(repository) {
        let message = "a patch was cut off while it got into the working tree".to_owned();
        return Err(dirty(message).hinted("git oracle apply --recover"));
    }
    if let Some(what) = repository.under_way() {
        return Err(dirty(format!("{what} is under way here")).hinted("Finish or abort it: git status"));
    }
    let files = repository.dirty()?;
    if files.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = files.iter().take(SHOWN_FILES).map(RepoPath::to_string).collect();
    let more = match files.len().saturating_sub(SHOWN_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(dirty(format!("there are uncommitted or untracked files: {}{more}", shown.join(", ")))
        .hinted("Commit them: git add -A && git commit; or put them aside: git stash -u"))
}

/// Makes sure that the remote has every commit of the branch.
fn make_seen(
    repository: &Repository,
    environment: &Environment,
    config: &RepoConfig,
    (branch, head): (&str, Oid),
    destination: Option<&Destination>,
    wishes: &Wishes<'_>,
    outcome: &mut Outcome,
) -> Result<(), Trouble> {
    let Some(destination) = destination else {
        return Err(refused("the branch is not pushed, and there is no remote to push it to")
            .hinted("git remote add origin URL, then git oracle review --push-first"));
    };
    if repository.has_been_pushed(head, &destination.remote)? {
        return Ok(());
    }
    if !wishes.push_first {
        let message = format!("{} has commits that {} does not have", visible(branch), visible(&destination.remote));
        return Err(refused(&message).hinted("git oracle review --push-first"));
    }
    (wishes.may_send)()?;
    let lock = ApplyLock::take(repository)?;
    let pushed = push(
        repository,
        environment,
        &config.protected_branches,
        &lock,
        (Some(branch), "nothing was sent, because the branch is"),
        outcome,
    );
    outcome.pushed = None;
    pushed
}

/// Finds the branch that this one is for, and where they part.
fn base(
    repository: &Repository,
    branch: &str,
    head: Oid,
    destination: Option<&Destination>,
) -> Result<Option<(String, Oid)>, Trouble> {
    let remote = destination.map(|destination| destination.remote.as_str());
    let default = match remote {
        Some(remote) => repository.known_default_branch(remote)?,
        None => None,
    };
    let names: Vec<&str> = default.iter().map(String::as_str).chain(USUAL).filter(|name| *name != branch).collect();
    let there = remote.iter().flat_map(|remote| {
        names.iter().map(move |name| (format!("{remote}/{name}"), format!("refs/remotes/{remote}/{name}")))
    });
    let here = names.iter().map(|name| ((*name).to_owned(), format!("refs/heads/{name}")));
    for (name, reference) in there.chain(here) {
        if let Ok(tip) = repository.resolve(&reference)
            && let Some(base) = repository.merge_base(head, tip)
        {
            return Ok(Some((name, base)));
        }
    }
    Ok(None)
}

/// Returns the repository's name as its remote's address tells it; never the rest of the address.
fn repository_name(repository: &Repository, destination: Option<&Destination>) -> Result<String, Trouble> {
    let url = match destination {
        Some(destination) => repository.git().config(&format!("remote.{}.url", destination.remote))?,
        None => None,
    };
    Ok(url.as_deref().and_then(name_in_address).unwrap_or_else(|| "this repository".to_owned()))
}

/// Returns `owner/repo` of an address on a network, and the last part of a path on this machine.
fn name_in_address(url: &str) -> Option<String> {
    let (path, parts) = match url.split_once("://") {
        Some(("file", path)) => (path, 1),
        Some((_, rest)) => (rest.split_once('/')?.1, 2),
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => (path, 2),
            _ => (url, 1),
        },
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let names: Vec<&str> = path.rsplit('/').filter(|name| !name.is_empty()).take(parts).collect();
    let name = names.into_iter().rev().collect::<Vec<_>>().join("/");
    (!name.is_empty()).then(|| visible(&name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_a_name_and_nothing_else() {
        for (url, expected) in [
            ("https://user:word@github.com/owner/repo.git", Some("owner/repo")),
            ("git@github.com:owner/repo.git", Some("owner/repo")),
            ("ssh://git@host:2222/group/sub/repo", Some("sub/repo")),
            ("https://host/repo.git?token=x", Some("repo")),
            ("/home/me/remotes/repo.git", Some("repo")),
            ("file:///home/me/repo.git/", Some("repo")),
            ("../repo", Some("repo")),
            ("https://host", None),
            ("", None),
        ] {
            assert_eq!(name_in_address(url).as_deref(), expected, "{url}");
        }
    }
}
