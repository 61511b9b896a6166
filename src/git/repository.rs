//! Where a repository is and what it is made of.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::unquote;
use crate::base::visible;
use crate::git::Git;
use crate::git::GitError;
use crate::git::layout::Layout;
use crate::git::layout::plain_hash_of;
use crate::git::objects::Objects;
use crate::git::program::first_line;
use crate::git::refs::Head;
use crate::git::refs::Refs;
use crate::system;
use crate::system::Environment;
use crate::system::FileError;

/// One repository as seen from one worktree.
pub struct Repository {
    pub(super) git: Git,
    pub(super) objects: Objects,
    pub(super) hash: HashKind,
    /// The worktree's own git directory.
    pub git_dir: PathBuf,
    /// The git directory that all linked worktrees share.
    pub common_dir: PathBuf,
    /// The top of the working tree; `None` in a bare repository.
    pub work_tree: Option<PathBuf>,
    pub(super) index_path: PathBuf,
    /// The environment names the place, perhaps from another directory.
    pub(super) named: bool,
    /// The hooks directory in use, `core.hooksPath` respected.
    pub hooks_dir: PathBuf,
    /// The refs, where they are known to be files.
    pub(super) refs: Option<Refs>,
}

impl Repository {
    /// Finds the repository that git itself would use here.
    ///
    /// git decides, because its rules are long: the environment, linked worktrees, submodules, ownership, ceilings,
    /// embedded bare repositories. It reads configuration for it and runs nothing.
    pub fn discover(environment: &Environment) -> Result<Self, GitError> {
        Self::open(Git::in_dir(&environment.current_dir), environment)
    }

    /// Finds the repository and the commits that revisions name in it, with both questions to git at once.
    pub fn discover_with<const N: usize>(
        environment: &Environment,
        revisions: [&str; N],
    ) -> Result<(Self, [Oid; N]), GitError> {
        let git = Git::in_dir(&environment.current_dir);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| ask_revisions(&git, revisions));
            let repository = Self::discover(environment)?;
            let found = asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            Ok((repository, found))
        })
    }

    /// Finds the repository that git runs a hook for.
    ///
    /// git runs some hooks inside the git directory: whoever pushes into a repository with a working tree moves its
    /// branches from there. The contract that holds for them is the one beside that git directory.
    ///
    /// A hook knows the directory that it lies in; then git need not be asked where the repository is as it makes it.
    pub fn discover_for_hook(environment: &Environment, hooks_dir: Option<&Path>) -> Result<Self, GitError> {
        if let Some(hooks_dir) = hooks_dir
            && let Ok(hooks_dir) = environment.current_dir.join(hooks_dir).canonicalize()
            && let Some(layout) = Layout::of_hook(environment)
        {
            return Self::of_layout(layout, hooks_dir);
        }
        let outside = match Self::discover(environment) {
            Err(GitError::OutsideWorkTree { git_dir }) => git_dir,
            found => return found,
        };
        match outside.parent().filter(|_| outside.file_name() == Some(OsStr::new(".git"))) {
            Some(top) => {
                let environment = Environment { current_dir: top.to_owned(), ..environment.clone() };
                Self::open(Git::at(top, &outside), &environment)
            }
            None => Err(GitError::OutsideWorkTree { git_dir: outside }),
        }
    }

    /// Finds the repository around the current directory for somebody who reads objects, the index and our own files. Where
    /// everything is as git makes it, git is not asked, and where its hooks are is not known.
    pub fn discover_to_read(environment: &Environment) -> Result<Self, GitError> {
        match Layout::around(environment) {
            Some(layout) => {
                let hooks_dir = layout.git_dir.join("hooks");
                Self::of_layout(layout, hooks_dir)
            }
            None => Self::discover(environment),
        }
    }

    fn of_layout(layout: Layout, hooks_dir: PathBuf) -> Result<Self, GitError> {
        Ok(Repository {
            git: Git::in_dir(&layout.work_tree),
            objects: Objects::open(&[layout.common_dir.join("objects")], layout.hash)?,
            hash: layout.hash,
            refs: Some(Refs::new(&layout.git_dir, &layout.common_dir, layout.hash)),
            git_dir: layout.git_dir,
            common_dir: layout.common_dir,
            work_tree: Some(layout.work_tree),
            index_path: layout.index_path,
            hooks_dir,
            named: true,
        })
    }

    /// Opens the linked worktree at `top`, whatever the environment names.
    pub(super) fn of_worktree(top: &Path, environment: &Environment) -> Result<Self, GitError> {
        let broken = || GitError::NotARepository { reason: format!("{} is not a worktree", top.display()) };
        let pointer = system::read_limited(&top.join(".git"), 1 << 16)?;
        let git_dir = pointer.strip_prefix(b"gitdir: ").ok_or_else(broken)?;
        let git_dir = Path::new(OsStr::from_bytes(git_dir.strip_suffix(b"\n").unwrap_or(git_dir)));
        let environment = Environment { current_dir: top.to_owned(), ..environment.clone() };
        Self::open(Git::at(top, git_dir), &environment)
    }

    fn open(git: Git, environment: &Environment) -> Result<Self, GitError> {
        let finished = git.run(&[
            "rev-parse",
            "--path-format=absolute",
            "--is-bare-repository",
            "--show-object-format",
            "--absolute-git-dir",
            "--git-common-dir",
            "--git-path",
            "index",
            "--git-path",
            "objects",
            "--git-path",
            "hooks",
            "--show-toplevel",
        ])?;
        let lines: Vec<&[u8]> =
            finished.stdout.strip_suffix(b"\n").unwrap_or(&[]).split(|byte| *byte == b'\n').collect();
        let [bare, format, git_dir, common_dir, index, objects, hooks, rest @ ..] = lines.as_slice() else {
            return Err(GitError::NotARepository { reason: first_line(&finished.stderr) });
        };
        let path = |line: &[u8]| PathBuf::from(OsStr::from_bytes(line));
        // In a bare repository, and inside a git directory, the last question fails. Where git names its directory as `.`,
        // as it does for whoever pushes into this repository, it takes that directory for the working tree.
        let work_tree = match rest {
            [top] if finished.succeeded() => Some(path(top)).filter(|_| top != git_dir),
            [] => None,
            _ => {
                return Err(GitError::NotARepository {
                    reason: "a path of this repository has a line break in it".into(),
                });
            }
        };
        // Inside the git directory of a repository that has a working tree, git does not say where that is. Taking the
        // repository for a bare one would judge less than is there.
        if *bare == b"false" && work_tree.is_none() {
            return Err(GitError::OutsideWorkTree { git_dir: path(git_dir) });
        }
        if !matches!(*bare, b"true" | b"false") || work_tree.is_some() && *bare == b"true" {
            return Err(GitError::NotARepository { reason: "git gave an unexpected answer about this place".into() });
        }
        let hash = match *format {
            b"sha1" => HashKind::Sha1,
            b"sha256" => HashKind::Sha256,
            other => {
                let reason =
                    format!("objects are named by {}, which is not known here", String::from_utf8_lossy(other));
                return Err(GitError::NotARepository { reason });
            }
        };
        // A relative hooks path is meant from the top of the working tree, wherever we were called.
        let hooks_dir = match &work_tree {
            Some(top) if !environment.current_dir.starts_with(top) => {
                let finished = Git::in_dir(top).run(&["rev-parse", "--path-format=absolute", "--git-path", "hooks"])?;
                path(finished.stdout.strip_suffix(b"\n").unwrap_or(hooks))
            }
            _ => path(hooks),
        };
        let mut directories = vec![path(objects)];
        if let Some(more) = &environment.alternate_object_dirs {
            directories.extend(split_alternates(more.as_bytes()).into_iter().filter(|directory| directory.is_dir()));
        }
        let (git_dir, common_dir) = (path(git_dir), path(common_dir));
        // Where refs are files, nobody need be asked what HEAD is.
        let is_plain = plain_hash_of(&common_dir) == Some(hash);
        Ok(Repository {
            objects: Objects::open(&directories, hash)?,
            hash,
            refs: is_plain.then(|| Refs::new(&git_dir, &common_dir, hash)),
            git_dir,
            common_dir,
            work_tree,
            index_path: path(index),
            named: environment.git.names_place(),
            hooks_dir,
            git,
        })
    }

    /// Returns the top of the working tree, or an error where there is none.
    pub fn work_tree(&self) -> Result<&Path, GitError> {
        self.work_tree.as_deref().ok_or_else(|| GitError::NoWorkTree { git_dir: self.git_dir.clone() })
    }

    pub const fn hash_kind(&self) -> HashKind {
        self.hash
    }

    /// Returns the hooks directory in use as a path of the tree, when it lies in the working tree.
    pub fn tracked_hooks_dir(&self) -> Option<RepoPath> {
        let inside = self.hooks_dir.strip_prefix(self.work_tree.as_ref()?).ok()?;
        let path = RepoPath::new(inside.as_os_str().as_bytes());
        (!path.as_bytes().is_empty() && !path.is_within(b".git")).then_some(path)
    }

    /// Returns the commit that HEAD names; `None` before the first commit.
    pub fn head(&self) -> Result<Option<Oid>, GitError> {
        match self.refs.as_ref().and_then(Refs::head) {
            Some(Head::Unborn) => return Ok(None),
            Some(Head::Branch(id) | Head::Detached(id)) if self.objects.commit(&id).is_ok() => return Ok(Some(id)),
            _ => {}
        }
        // Asked by itself: HEAD means HEAD, even where a branch has that name.
        let finished = self.git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"])?;
        let id = Oid::from_hex(String::from_utf8_lossy(&finished.stdout).trim_end());
        match id.ok_or_else(|| GitError::UnknownRevision { name: "HEAD".to_owned() }) {
            Ok(id) => Ok(Some(id)),
            // Only an unborn branch has a symbolic HEAD whose target does not exist.
            Err(error) => match self.git.run(&["symbolic-ref", "--quiet", "HEAD"])? {
                finished if finished.succeeded() && !self.ref_exists(&finished.stdout)? => Ok(None),
                _ => Err(error),
            },
        }
    }

    fn ref_exists(&self, name: &[u8]) -> Result<bool, GitError> {
        let name = String::from_utf8_lossy(name);
        Ok(self.git.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", name.trim_end()])?.succeeded())
    }

    /// Returns the branch that is checked out, such as `main`; `None` when HEAD is detached.
    pub fn branch(&self) -> Result<Option<String>, GitError> {
        let finished = self.git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
        Ok(finished.succeeded().then(|| String::from_utf8_lossy(&finished.stdout).trim_end().to_owned()))
    }

    /// Returns the commit that a revision names, in any of git's spellings.
    pub fn resolve(&self, revision: &str) -> Result<Oid, GitError> {
        // A full id that is a commit needs no interpretation.
        match Oid::from_hex(revision).filter(|id| self.objects.commit(id).is_ok()) {
            Some(id) => Ok(id),
            None => Ok(ask_revisions(&self.git, [revision])?[0]),
        }
    }

    /// Returns the content of `path` in a commit; `None` when it has no such file.
    pub fn file_at(&self, commit_id: &Oid, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        let read = || {
            let tree_id = self.objects.commit(commit_id)?.tree_id;
            match super::origin::entry_at(&self.objects, tree_id, path)? {
                Some(entry) => self.objects.blob(&entry.id).map(|content| Some(content.to_vec())),
                None => Ok(None),
            }
        };
        read().map_err(|reason| GitError::Unreadable { what: format!("{path} in {commit_id}"), reason })
    }

    /// Returns the ids of all remote-tracking branches.
    pub fn remote_tips(&self) -> Result<Vec<Oid>, GitError> {
        let finished = self.git.run(&["for-each-ref", "--format=%(objectname)", "refs/remotes/"])?;
        if !finished.succeeded() {
            return Err(GitError::Failed { command: "for-each-ref".into(), reason: first_line(&finished.stderr) });
        }
        Ok(String::from_utf8_lossy(&finished.stdout).lines().filter_map(Oid::from_hex).collect())
    }

    /// Returns the other parents of the merge that is under way.
    pub fn merge_heads(&self) -> Result<Vec<Oid>, GitError> {
        match system::read_limited(&self.git_dir.join("MERGE_HEAD"), 1 << 20) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().filter_map(Oid::from_hex).collect()),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells whether history or objects are known to be incomplete here.
    pub fn is_incomplete(&self) -> Result<bool, GitError> {
        let shallow = self.common_dir.join("shallow").exists();
        Ok(shallow || self.git.config("extensions.partialClone")?.is_some())
    }

    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Returns the text of a file of the git directory; `None` when there is none.
    pub fn read_optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        match system::read_limited(path, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Asks git for the commits that revisions name.
fn ask_revisions<const N: usize>(git: &Git, revisions: [&str; N]) -> Result<[Oid; N], GitError> {
    let unknown = |name: &str| GitError::UnknownRevision { name: visible(name).into_owned() };
    if let Some(name) = revisions.iter().find(|name| name.contains('\n') || name.is_empty()) {
        return Err(unknown(name));
    }
    let input: String = revisions.iter().map(|name| format!("{name}^{{commit}}\n")).collect();
    let finished = git.run_with_input(&["cat-file", "--batch-check=%(objectname)"], input.as_bytes())?;
    // A tag that is named like a branch would silently move an end of the range.
    if finished.stderr.contains("ambiguous") {
        return Err(GitError::AmbiguousRevision { names: visible(&revisions.join(", ")).into_owned() });
    }
    let answers = String::from_utf8_lossy(&finished.stdout).into_owned();
    let mut ids = [Oid::null(HashKind::Sha1); N];
    let mut answers = answers.lines();
    for (slot, name) in ids.iter_mut().zip(revisions) {
        *slot = answers.next().and_then(Oid::from_hex).ok_or_else(|| unknown(name))?;
    }
    Ok(ids)
}

/// Returns the directories in a list as git writes it: separated by colons, and quoted where a path has one in it.
fn split_alternates(list: &[u8]) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let (path, tail) = unquote(rest).unwrap_or_else(|| {
            let end = rest.iter().position(|byte| *byte == b':').unwrap_or(rest.len());
            (rest[..end].to_vec(), &rest[end..])
        });
        if !path.is_empty() {
            directories.push(PathBuf::from(OsStr::from_bytes(&path)));
        }
        rest = tail.strip_prefix(b":").unwrap_or(tail);
        // After a quoted path only a colon makes sense; anything else would be read again and again.
        if rest.len() == tail.len() && !rest.is_empty() {
            break;
        }
    }
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_directories_are_split_as_git_joins_them() {
        let cases: [(&str, &[&str]); 5] = [
            ("/a:/b", &["/a", "/b"]),
            ("", &[]),
            (":/a::", &["/a"]),
            ("\"/with:colon\":/b", &["/with:colon", "/b"]),
            ("\"/a\"rest:/b", &["/a"]),
        ];
        for (list, expected) in cases {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(split_alternates(list.as_bytes()), expected, "{list}");
        }
    }
}
