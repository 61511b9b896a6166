//! A candidate: a worktree of ours at one commit, where a patch is tried before it gets near the user's files.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::change::Mode;
use crate::change::diff_trees;
use crate::git::Desk;
use crate::git::GitError;
use crate::git::Pin;
use crate::git::Repository;
use crate::git::program::first_line;
use crate::git::writer::Terms;
use crate::system;
use crate::system::Environment;
use crate::system::Group;

/// The lock that says that a candidate is in use.
const LOCK: &str = "lock";

/// A linked worktree, removed when it is dropped.
pub struct Candidate<'r> {
    repository: &'r Repository,
    commit_id: Oid,
    /// Holds the lock and the worktree.
    folder: PathBuf,
    pub path: PathBuf,
    links: Vec<PathBuf>,
    _lock: File,
}

/// What a path has become: its mode and content; `None` when it is gone.
pub type Became = (RepoPath, Option<(Mode, Vec<u8>)>);

impl<'r> Candidate<'r> {
    /// Makes a candidate at a commit, below `home`. Nothing that the repository configures is run.
    pub fn make(
        repository: &'r Repository,
        home: &Path,
        session: &str,
        name: &str,
        commit_id: Oid,
    ) -> Result<Self, GitError> {
        let folders = home.join("worktrees").join(repository_name(repository));
        remove_left_behind(repository, &folders);
        let folder = folders.join(session);
        system::create_private_dir(&folder)?;
        let lock = system::open_log(&folder.join(LOCK))?;
        let locked = system::lock(&lock);
        if !locked.is_ok_and(|locked| locked) {
            return Err(GitError::Locked { git_dir: folder });
        }
        let path = folder.join(name);
        let candidate = Candidate { repository, commit_id, folder, path, links: Vec::new(), _lock: lock };
        let silently = |dir: Option<&Path>, args: &[&OsStr]| repository.write_silently(dir, args);
        silently(None, &["worktree", "prune"].map(OsStr::new))?;
        let commit = commit_id.to_string();
        let add = ["worktree", "add", "--quiet", "--detach", "--no-checkout"].map(OsStr::new);
        silently(None, &[&add[..], &[candidate.path.as_os_str(), OsStr::new(&commit)]].concat())?;
        silently(Some(&candidate.path), &["read-tree", "-m", "-u", "HEAD"].map(OsStr::new))?;
        Ok(candidate)
    }

    /// Makes a contract the active one of the candidate.
    pub fn pin(&self, environment: &Environment, bytes: &[u8], pin: &Pin) -> Result<(), GitError> {
        let own = Repository::of_worktree(&self.path, environment)?;
        let desk = Desk::of(&own);
        desk.prepare()?;
        desk.activate(bytes, pin)
    }

    /// Links ignored directories of the user's working tree into the candidate. Returns which.
    pub fn borrow(&mut self, names: &[String]) -> Result<Vec<String>, GitError> {
        let top = self.repository.work_tree()?.to_owned();
        let mut borrowed = Vec::new();
        for name in names {
            let name = name.strip_suffix('/').unwrap_or(name);
            let (from, to) = (top.join(name), self.path.join(name));
            let is_directory = fs::symlink_metadata(&from).is_ok_and(|metadata| metadata.is_dir());
            if !is_directory || fs::symlink_metadata(&to).is_ok() || !self.is_ignored(name)? {
                continue;
            }
            let parent = to.parent().unwrap_or(&self.path).to_owned();
            let linked = fs::create_dir_all(&parent).and_then(|()| std::os::unix::fs::symlink(&from, &to));
            linked
                .map_err(|error| GitError::Unreadable { what: to.display().to_string(), reason: error.to_string() })?;
            self.links.push(to);
            borrowed.push(name.to_owned());
        }
        Ok(borrowed)
    }

    fn is_ignored(&self, name: &str) -> Result<bool, GitError> {
        let finished = self.repository.user_git()?.run(&["check-ignore", "--quiet", "--", &format!("{name}/")])?;
        Ok(finished.succeeded())
    }

    /// Applies a patch file to the candidate and its index. `Err` in the result is what git has against it.
    pub fn apply(&self, patch: &Path) -> Result<Result<(), String>, GitError> {
        let args = [OsStr::new("apply"), OsStr::new("--index"), OsStr::new("--"), patch.as_os_str()];
        let command = self.repository.silent_command(Some(&self.path), &args)?;
        let terms = Terms { timeout: None, held: None, group: Group::Own, stoppable: false };
        let wrote = self.repository.write(command, &terms)?;
        Ok(if wrote.succeeded() { Ok(()) } else { Err(wrote.output) })
    }

    /// Returns the tree that the candidate's index makes.
    pub fn tree(&self) -> Result<Oid, GitError> {
        let wrote = self.repository.write_silently(Some(&self.path), &["write-tree"].map(OsStr::new))?;
        let failed = || GitError::Failed { command: "write-tree".to_owned(), reason: first_line(&wrote.output) };
        Oid::from_hex(wrote.output.trim_end()).ok_or_else(failed)
    }

    /// Returns every path that the candidate's tree has otherwise than its commit, and what it has become.
    pub fn changes(&self, tree_id: Oid) -> Result<Vec<Became>, GitError> {
        let repository = self.repository;
        let unreadable = |reason: String| GitError::Unreadable { what: "the candidate".to_owned(), reason };
        // Opened anew: the objects are new too.
        let objects = repository.objects.clone();
        let old = repository.tree_of(&self.commit_id)?;
        let changes =
            diff_trees(&objects, &[Some(old)], Some(tree_id)).map_err(|error| unreadable(error.to_string()))?;
        let content = |id: Oid| objects.blob(&id).map(|bytes| bytes.to_vec()).map_err(unreadable);
        changes
            .into_iter()
            .map(|change| {
                let new = match change.new {
                    Some(entry) if entry.mode == Mode::Gitlink => Some((entry.mode, Vec::new())),
                    Some(entry) => Some((entry.mode, content(entry.id.unwrap_or(Oid::null(repository.hash)))?)),
                    None => None,
                };
                Ok((change.path, new))
            })
            .collect()
    }
}

impl Drop for Candidate<'_> {
    fn drop(&mut self) {
        // A link is taken away by itself, so that nobody who deletes below it reaches what it leads to.
        self.links.iter().for_each(|link| drop(fs::remove_file(link)));
        remove(self.repository, &self.folder);
    }
}

/// Removes a folder with the worktrees in it.
fn remove(repository: &Repository, folder: &Path) {
    let worktrees = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for worktree in worktrees.filter(|path| path.join(".git").exists()) {
        let args = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        let _ = repository.write_silently(None, &[&args[..], &[worktree.as_os_str()]].concat());
    }
    // Links are not followed. What git did not know goes this way, too.
    let _ = fs::remove_dir_all(folder);
    let _ = repository.write_silently(None, &["worktree", "prune"].map(OsStr::new));
    // The folder of the repository, when this was the last candidate.
    let _ = folder.parent().map(fs::remove_dir);
}

/// Removes candidates whose process is gone.
fn remove_left_behind(repository: &Repository, folders: &Path) {
    for folder in fs::read_dir(folders).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            remove(repository, &folder);
        }
    }
}

/// Returns a name for a repository that reads like it and is unlike any other.
fn repository_name(repository: &Repository) -> String {
    let common = &repository.common_dir;
    let named = match common.file_name() == Some(OsStr::new(".git")) {
        true => common.parent().and_then(Path::file_name),
        false => common.file_name(),
    };
    let plain: String = named
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .take(40)
        .collect();
    format!("{plain}-{}", &Sha256Hex::of(common.as_os_str().as_bytes()).as_str()[..8])
}
