//! Where refs point, and which commits they do not reach yet.

use std::collections::HashMap;
use std::collections::HashSet;

use crate::base::Oid;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::history::History;
use crate::git::program::first_line;
use crate::git::refs::Head;

/// Where branches are, and what follows those of a remote.
const BRANCHES: [&str; 2] = ["refs/heads/", "refs/remotes/"];

/// Where one ref points; an annotated tag to what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    pub name: String,
    pub id: Oid,
}

/// What an object that somebody wants to put under a ref is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A commit, or an annotated tag of this commit.
    Commit(Oid),
    /// Content without a commit: a blob, a tree, or a tag of one.
    Content(String),
}

/// What would be new under some refs.
pub struct News {
    /// Those that reach new commits.
    pub tips: Vec<Oid>,
    /// The known commits that the new ones build upon. Every way out of the new ones leads through them, so they say the
    /// same as all that is known, which may be thousands of refs.
    pub known: Vec<Oid>,
}

impl Repository {
    /// Returns where every ref points.
    pub fn tips(&self) -> Result<Vec<Tip>, GitError> {
        let lines = self.list_refs("--format=%(objectname) %(*objectname) %(refname)", &[])?;
        let tip = |line: &String| {
            let mut fields = line.splitn(3, ' ');
            let (id, peeled, name) = (fields.next()?, fields.next()?, fields.next()?);
            Some(Tip { name: name.to_owned(), id: Oid::from_hex(peeled).or_else(|| Oid::from_hex(id))? })
        };
        Ok(lines.iter().filter_map(tip).collect())
    }

    /// Returns where branches point. A branch that is another name for a ref says nothing of its own: that ref need not be
    /// a branch, and then nobody has judged what it points at.
    fn branch_tips(&self, patterns: &[&str]) -> Result<Vec<Oid>, GitError> {
        let lines = self.list_refs("--format=%(objectname) %(symref)", patterns)?;
        Ok(lines.iter().filter_map(|line| Oid::from_hex(line.strip_suffix(' ')?)).collect())
    }

    fn list_refs(&self, format: &str, patterns: &[&str]) -> Result<Vec<String>, GitError> {
        let finished = self.git.run(&[&["for-each-ref", format], patterns].concat())?;
        if !finished.succeeded() {
            return Err(GitError::Failed { command: "for-each-ref".into(), reason: first_line(&finished.stderr) });
        }
        Ok(String::from_utf8_lossy(&finished.stdout).lines().map(str::to_owned).collect())
    }

    /// Returns what counts as known before a branch moves here: every branch, every remote-tracking branch, HEAD.
    pub fn known_here(&self) -> Result<Vec<Oid>, GitError> {
        if let Some(refs) = &self.refs
            && let Some(head) = refs.head()
            && let Some(mut known) = refs.tips(&BRANCHES)
        {
            known.extend(match head {
                Head::Detached(id) => Some(id),
                Head::Branch(_) | Head::Unborn => None,
            });
            return Ok(known);
        }
        let mut known = self.branch_tips(&BRANCHES)?;
        // A HEAD that names a branch adds nothing, and one that names another ref nothing that was judged.
        if !self.git.run(&["symbolic-ref", "--quiet", "HEAD"])?.succeeded() {
            known.extend(self.head()?);
        }
        Ok(known)
    }

    /// Returns what a remote is known to have: the branches that follow it.
    pub fn tracking_tips(&self, remote: &str, url: &str) -> Result<Vec<Oid>, GitError> {
        let remotes = self.git.remotes()?;
        // A push to a plain address names no remote, but the address may be that of one.
        let followed = |name: &str, urls: &[String]| name == remote || urls.iter().any(|known| known == url);
        let mut patterns: Vec<String> = Vec::new();
        for (name, config) in &remotes {
            if followed(name, &config.urls) {
                patterns.extend(config.fetch.iter().filter_map(|refspec| tracking_pattern(refspec)));
                if config.fetch.is_empty() {
                    patterns.push(format!("refs/remotes/{name}/"));
                }
            }
        }
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        self.branch_tips(&patterns.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Tells whether a remote has a commit, as far as its branches that are followed here tell.
    pub fn has_been_pushed(&self, commit_id: Oid, remote: &str) -> Result<bool, GitError> {
        Ok(self.tracking_tips(remote, "")?.iter().any(|tip| self.is_ancestor(commit_id, *tip)))
    }

    /// Returns which of `tips` reach commits that none of `known` reaches.
    pub fn news(&self, tips: &[Oid], known: &[Oid]) -> News {
        let mut history = History::new(&self.objects);
        let Ok(commits) = history.range_of(tips, known) else {
            // Whoever judges them finds out what cannot be read.
            return News { tips: tips.to_vec(), known: known.to_vec() };
        };
        let new: HashSet<Oid> = commits.iter().copied().collect();
        let mut border = HashSet::new();
        for id in &commits {
            let parents = history.commit(*id).map(|commit| commit.parent_ids.clone()).unwrap_or_default();
            border.extend(parents.into_iter().filter(|parent| !new.contains(parent)));
        }
        let tips = tips.iter().copied().filter(|tip| new.contains(tip)).collect();
        News { tips, known: border.into_iter().collect() }
    }

    /// Returns what each of these objects is.
    pub fn targets(&self, ids: &[Oid]) -> Result<HashMap<Oid, Target>, GitError> {
        let mut targets = HashMap::new();
        let mut others = Vec::new();
        for id in ids {
            match self.objects.commit(id) {
                Ok(_) => drop(targets.insert(*id, Target::Commit(*id))),
                Err(_) => others.push(*id),
            }
        }
        if others.is_empty() {
            return Ok(targets);
        }
        let input: String = others.iter().map(|id| format!("{id}^{{}}\n")).collect();
        let finished =
            self.git.run_with_input(&["cat-file", "--batch-check=%(objecttype) %(objectname)"], input.as_bytes())?;
        let answers = String::from_utf8_lossy(&finished.stdout).into_owned();
        for (id, answer) in others.iter().zip(answers.lines()) {
            let target = match answer.split_once(' ').map(|(kind, id)| (kind, Oid::from_hex(id))) {
                Some(("commit", Some(commit_id))) => Target::Commit(commit_id),
                Some((kind, Some(_))) => Target::Content(kind.to_owned()),
                // It may be a commit that cannot be read: whoever judges it finds out.
                _ => Target::Commit(*id),
            };
            targets.insert(*id, target);
        }
        if targets.len() < ids.iter().collect::<HashSet<_>>().len() {
            return Err(GitError::Failed { command: "cat-file".into(), reason: first_line(&finished.stderr) });
        }
        Ok(targets)
    }
}

/// Returns the remote-tracking branches that a refspec fills, such as `refs/remotes/origin/`.
fn tracking_pattern(refspec: &str) -> Option<String> {
    let (_, destination) = refspec.split_once(':')?;
    // A refspec that fills local branches says nothing about the remote: they hold our own work.
    let inside = destination.strip_prefix("refs/remotes/")?;
    Some(match inside.split_once('*') {
        None => destination.to_owned(),
        Some((before, _)) => format!("refs/remotes/{}", &before[..before.rfind('/').map_or(0, |at| at + 1)]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_remote_tracking_branches_speak_for_a_remote() {
        let cases = [
            ("+refs/heads/*:refs/remotes/origin/*", Some("refs/remotes/origin/")),
            ("refs/heads/main:refs/remotes/origin/main", Some("refs/remotes/origin/main")),
            ("+refs/heads/*:refs/remotes/a/b/x*", Some("refs/remotes/a/b/")),
            ("+refs/heads/*:refs/heads/*", None),
            ("+refs/*:refs/*", None),
            ("refs/heads/main", None),
        ];
        for (refspec, expected) in cases {
            assert_eq!(tracking_pattern(refspec).as_deref(), expected, "{refspec}");
        }
    }
}
