//! The files of the working tree: what git tracks, and what it would show as untracked.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::base::RepoPath;
use crate::change::Mode;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::ignore::Ignores;
use crate::git::index::Index;
use crate::git::index::Tracked;
use crate::system::Beneath;
use crate::system::Environment;
use crate::system::Listed;
use crate::system::ListedKind;
use crate::system::Unread;

/// A larger ignore file is an error: what it hides would get out.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// No directory lies deeper. The walk opens every directory from the top down.
const MAX_DEPTH: usize = 256;

/// Something in the working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The path of a directory ends with a slash.
    pub path: RepoPath,
    pub kind: FoundKind,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundKind {
    File {
        size: u64,
    },
    /// A file or a whole directory that is ignored and not tracked.
    Ignored,
    Symlink,
    Special,
    Submodule,
    /// Somebody else's repository inside of this one.
    Nested,
    Unreadable(String),
}

impl Repository {
    /// Lists the working tree by path. Links are not followed, and directories that `reaches` does not want are left out.
    pub fn working_files(
        &self,
        environment: &Environment,
        reaches: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Vec<Found>, GitError> {
        let top = self.work_tree()?;
        let index = Index::read(self)?;
        let unreadable = |reason: String| GitError::Unreadable { what: self.index_path.display().to_string(), reason };
        let mut tracked: Vec<Tracked<'_>> =
            index.entries().collect::<Result<_, _>>().map_err(|fault| unreadable(fault.message))?;
        tracked.dedup_by(|a, b| a.path == b.path);
        // An index is sorted, unless somebody forged it.
        tracked.sort_unstable_by(|a, b| a.path.cmp(b.path));
        // A git directory has another name than `.git` where somebody wanted it so.
        let own = [&self.git_dir, &self.common_dir].into_iter().filter_map(|path| path.strip_prefix(top).ok());
        let mut walk = Walk {
            beneath: Beneath::open(top)?,
            tracked: &tracked,
            own: own.map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
            reaches,
            found: Vec::new(),
        };
        walk.run(self.general_ignores(environment)?)?;
        walk.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(walk.found)
    }

    /// Returns the rules of the person and of this repository that are in no `.gitignore`.
    fn general_ignores(&self, environment: &Environment) -> Result<Ignores, GitError> {
        let mut ignores = Ignores::default();
        for path in [self.excludes_file(environment)?, Some(self.common_dir.join("info/exclude"))].into_iter().flatten()
        {
            // As git does, a file that may not be read is not obeyed silently: it stops us.
            if let Some(content) = Self::read_optional(&path, MAX_IGNORE_BYTES)? {
                ignores = ignores.with(&content, b"");
            }
        }
        Ok(ignores)
    }

    /// Returns the person's own ignore file, as `core.excludesFile` or by its usual name.
    fn excludes_file(&self, environment: &Environment) -> Result<Option<PathBuf>, GitError> {
        let finished = self.git.run(&["config", "--type=path", "--null", "--get", "core.excludesFile"])?;
        if let Some(path) = finished.stdout.strip_suffix(b"\0").filter(|_| finished.succeeded()) {
            let path = OsStr::from_bytes(path);
            return Ok((!path.is_empty()).then(|| self.work_tree.as_ref().map(|top| top.join(path))).flatten());
        }
        let variable = |name: &str| {
            let found = environment.inherited.iter().find(|(key, value)| key == name && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let directory = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        Ok(directory.map(|directory| directory.join("git/ignore")))
    }
}

struct Walk<'a> {
    beneath: Beneath,
    /// Sorted by path.
    tracked: &'a [Tracked<'a>],
    /// Git directories inside of the working tree.
    own: Vec<Vec<u8>>,
    reaches: &'a dyn Fn(&[u8]) -> bool,
    found: Vec<Found>,
}

/// A directory that is still to be listed.
struct Job {
    directory: Vec<u8>,
    depth: usize,
    tracked: Range<usize>,
    ignores: Ignores,
    /// The directory itself is ignored, and so is everything untracked in it.
    hidden: bool,
}

impl Walk<'_> {
    fn run(&mut self, ignores: Ignores) -> Result<(), GitError> {
        let top = Job { directory: Vec::new(), depth: 0, tracked: 0..self.tracked.len(), ignores, hidden: false };
        let mut waiting = vec![top];
        while let Some(job) = waiting.pop() {
            self.list(&job, &mut waiting)?;
        }
        Ok(())
    }

    fn list(&mut self, job: &Job, waiting: &mut Vec<Job>) -> Result<(), GitError> {
        let listed = match self.beneath.list(&job.directory) {
            Ok(listed) => listed,
            // Nothing is left of it.
            Err(Unread::Gone) => return Ok(()),
            Err(error) if job.directory.is_empty() => {
                return Err(GitError::Unreadable { what: "the working tree".into(), reason: error.to_string() });
            }
            Err(error) => {
                self.push(directory_path(&job.directory), FoundKind::Unreadable(error.to_string()));
                return Ok(());
            }
        };
        let is_nested = !job.directory.is_empty() && listed.iter().any(|entry| entry.name == b".git");
        if is_nested && job.tracked.is_empty() {
            self.push(directory_path(&job.directory), FoundKind::Nested);
            return Ok(());
        }
        let ignores = self.with_ignore_file(job, &listed)?;
        for entry in &listed {
            if entry.name == b".git" {
                continue;
            }
            let path = match job.directory.is_empty() {
                true => entry.name.clone(),
                false => [&job.directory, &b"/"[..], &entry.name].concat(),
            };
            if entry.kind == ListedKind::Directory {
                self.directory(job, path, &ignores, waiting);
                continue;
            }
            let is_tracked = self.position(&path).is_some();
            let kind = match entry.kind {
                _ if !is_tracked && (job.hidden || ignores.hides(&path, false)) => FoundKind::Ignored,
                ListedKind::File { size } => FoundKind::File { size },
                ListedKind::Symlink => FoundKind::Symlink,
                ListedKind::Special | ListedKind::Directory => FoundKind::Special,
            };
            self.push(path, kind);
        }
        Ok(())
    }

    fn directory(&mut self, job: &Job, path: Vec<u8>, ignores: &Ignores, waiting: &mut Vec<Job>) {
        if self.own.contains(&path) || !(self.reaches)(&path) {
            return;
        }
        if self.position(&path).is_some_and(|position| self.tracked[position].mode == Some(Mode::Gitlink)) {
            return self.push(directory_path(&path), FoundKind::Submodule);
        }
        let tracked = self.below(&path, job.tracked.clone());
        if tracked.is_empty() && path == b".oracle" {
            // Our own directory is nobody's file.
            return;
        }
        let hidden = job.hidden || ignores.hides(&path, true) || path == b".oracle";
        if hidden && tracked.is_empty() {
            return self.push(directory_path(&path), FoundKind::Ignored);
        }
        if job.depth + 1 > MAX_DEPTH {
            let reason = format!("it lies deeper than {MAX_DEPTH} directories");
            return self.push(directory_path(&path), FoundKind::Unreadable(reason));
        }
        waiting.push(Job { directory: path, depth: job.depth + 1, tracked, ignores: ignores.clone(), hidden });
    }

    /// Returns the rules that hold in a directory.
    fn with_ignore_file(&mut self, job: &Job, listed: &[Listed]) -> Result<Ignores, GitError> {
        let is_ignore_file =
            |entry: &Listed| entry.name == b".gitignore" && matches!(entry.kind, ListedKind::File { .. });
        // git does not follow a link here either.
        if !listed.iter().any(is_ignore_file) {
            return Ok(job.ignores.clone());
        }
        let path = match job.directory.is_empty() {
            true => b".gitignore".to_vec(),
            false => [&job.directory, &b"/.gitignore"[..]].concat(),
        };
        match self.beneath.read(&path, MAX_IGNORE_BYTES) {
            Ok(content) => Ok(job.ignores.with(&content, &job.directory)),
            Err(Unread::Gone | Unread::Symlink) => Ok(job.ignores.clone()),
            Err(error) => {
                let what = RepoPath::new(path).to_string();
                Err(GitError::Unreadable { what, reason: error.to_string() })
            }
        }
    }

    fn push(&mut self, path: Vec<u8>, kind: FoundKind) {
        self.found.push(Found { path: RepoPath::new(path), kind });
    }

    fn position(&self, path: &[u8]) -> Option<usize> {
        self.tracked.binary_search_by(|entry| entry.path.cmp(path)).ok()
    }

    /// Returns the tracked paths below a directory.
    fn below(&self, directory: &[u8], within: Range<usize>) -> Range<usize> {
        let prefix = directory_path(directory);
        let entries = &self.tracked[within.clone()];
        let start = within.start + entries.partition_point(|entry| entry.path < prefix.as_slice());
        let length = self.tracked[start..within.end].partition_point(|entry| entry.path.starts_with(&prefix));
        start..start + length
    }
}

fn directory_path(directory: &[u8]) -> Vec<u8> {
    [directory, b"/"].concat()
}
