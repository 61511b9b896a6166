//! Landing a patch in the user's working tree, so that it is wholly in or not at all.
//!
//! `git apply` writes one file after the other, and a process can be killed between two of them. So before anything is
//! touched, what is there is copied into the worktree's git directory, together with what the patch will make of it and,
//! for a commit, the index. The journal that says so is written last and removed first: while it is there, a landing is
//! under way or was cut off, and [`Landing::left_behind`] finds it.
//!
//! Whoever lands holds a lock, and hands it to each git that it starts: a killed process may leave a git behind that is
//! still at work.

use std::fs;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use data_encoding::BASE64;
use serde::Deserialize;
use serde::Serialize;

use crate::base::RepoPath;
use crate::change::Mode;
use crate::git::Became;
use crate::git::GitError;
use crate::git::Repository;
use crate::system;
use crate::system::Neighbours;

/// No file that a patch touches is longer.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The form of the journal that this program writes.
const VERSION: u32 = 1;

/// Held while somebody lands a patch in a worktree.
pub struct ApplyLock {
    pub file: File,
}

impl ApplyLock {
    pub fn take(repository: &Repository) -> Result<Self, GitError> {
        let directory = repository.git_dir.join("oracle");
        system::create_private_dir(&directory)?;
        let path = directory.join("apply.lock");
        let file = system::open_log(&path)?;
        match system::lock(&file) {
            Ok(true) => Ok(ApplyLock { file }),
            Ok(false) => Err(GitError::Locked { git_dir: repository.git_dir.clone() }),
            Err(error) => Err(unreadable(&path)(error)),
        }
    }
}

/// How far a landing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LandingMode {
    Apply,
    Commit,
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    version: u32,
    session: String,
    mode: LandingMode,
    /// Where HEAD was.
    head: String,
    branch: Option<String>,
    files: Vec<Entry>,
    /// Directories that were not there, outermost first.
    made: Vec<String>,
    /// There was an index, and its copy lies beside the journal.
    index: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// In base64: names are bytes.
    path: String,
    before: Snapshot,
    after: Snapshot,
}

/// What was, or will be, at a path. Contents lie beside the journal under these names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum Snapshot {
    Absent,
    File { copy: String, mode: Option<u32>, modified: Option<(u64, u32)> },
    Link { target: String },
}

/// A landing that is under way, or that was cut off.
pub struct Landing<'r> {
    repository: &'r Repository,
    directory: PathBuf,
    journal: Journal,
}

/// How a cut off landing stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// Everything is in, and nothing is left to do.
    Done,
    /// It stopped on the way and can be put back.
    HalfWay,
    /// These files are neither what they were nor what the patch made of them.
    Changed(Vec<RepoPath>),
}

impl<'r> Landing<'r> {
    /// Copies what is there and writes the journal. From here on every way out leads through `undo` or `finish`.
    pub fn begin(
        repository: &'r Repository,
        session: &str,
        mode: LandingMode,
        head: String,
        became: &[Became],
    ) -> Result<Self, GitError> {
        let top = repository.work_tree()?;
        let directory = directory_of(repository);
        // What a landing left that never got to its journal.
        let _ = fs::remove_dir_all(&directory);
        system::create_private_dir(&directory)?;
        let mut files = Vec::new();
        let mut made = Vec::new();
        for (number, (path, after)) in became.iter().enumerate() {
            let before = snapshot(&on_disk(top, path), &directory, &format!("{number}.before"))?;
            let after = match after {
                None => Snapshot::Absent,
                Some((Mode::Symlink, target)) => Snapshot::Link { target: BASE64.encode(target) },
                Some((_, bytes)) => {
                    let copy = format!("{number}.after");
                    system::write_private(&directory.join(&copy), bytes)?;
                    Snapshot::File { copy, mode: None, modified: None }
                }
            };
            if after != Snapshot::Absent {
                made.extend(missing_parents(top, path));
            }
            files.push(Entry { path: BASE64.encode(path.as_bytes()), before, after });
        }
        made.sort();
        made.dedup();
        let made = made.iter().map(|path| BASE64.encode(path.as_bytes())).collect();
        let index = match Repository::read_optional(&repository.index_path, MAX_FILE_BYTES)? {
            Some(bytes) if mode == LandingMode::Commit => {
                system::write_private(&directory.join("index"), &bytes)?;
                true
            }
            _ => false,
        };
        let branch = repository.branch()?;
        let journal = Journal { version: VERSION, session: session.to_owned(), mode, head, branch, files, made, index };
        let bytes = serde_json::to_vec_pretty(&journal).map_err(|error| GitError::Unreadable {
            what: directory.display().to_string(),
            reason: error.to_string(),
        })?;
        system::write_private(&directory.join("journal.json"), &bytes)?;
        Ok(Landing { repository, directory, journal })
    }

    /// Tells whether a landing is under way, or was cut off.
    pub fn is_there(repository: &Repository) -> bool {
        directory_of(repository).join("journal.json").exists()
    }

    /// Returns the landing that somebody did not bring to its end. The caller holds the lock.
    pub fn left_behind(repository: &'r Repository) -> Result<Option<Self>, GitError> {
        let directory = directory_of(repository);
        let path = directory.join("journal.json");
        let Some(bytes) = Repository::read_optional(&path, MAX_FILE_BYTES)? else {
            // Killed before it had touched anything, or after it was done.
            let _ = fs::remove_dir_all(&directory);
            return Ok(None);
        };
        let broken = |reason: String| GitError::Unreadable { what: path.display().to_string(), reason };
        let journal: Journal = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
        if journal.version != VERSION {
            return Err(broken(format!("it is of version {}, which this program does not know", journal.version)));
        }
        Ok(Some(Landing { repository, directory, journal }))
    }

    pub fn session(&self) -> &str {
        &self.journal.session
    }

    /// Returns how a landing stands that was cut off.
    pub fn look(&self) -> Result<Left, GitError> {
        let top = self.repository.work_tree()?;
        let head = self.repository.head()?.map(|id| id.to_string()).unwrap_or_default();
        let committed = self.journal.mode == LandingMode::Commit && head != self.journal.head;
        let mut changed = Vec::new();
        let mut all_after = true;
        for (path, entry) in self.entries()? {
            let place = on_disk(top, &path);
            let is_after = self.is(&entry.after, &place)?;
            all_after &= is_after;
            if !is_after && !self.is(&entry.before, &place)? && !self.is_part_of(&entry.after, &place)? {
                changed.push(path);
            }
        }
        // A commit that was made stands, whatever became of the files since.
        if committed || all_after && self.journal.mode == LandingMode::Apply {
            return Ok(Left::Done);
        }
        Ok(if changed.is_empty() { Left::HalfWay } else { Left::Changed(changed) })
    }

    /// Returns a path that is not what the patch makes of it; `None` when everything is in.
    pub fn not_in(&self) -> Result<Option<RepoPath>, GitError> {
        let top = self.repository.work_tree()?;
        for (path, entry) in self.entries()? {
            if !self.is(&entry.after, &on_disk(top, &path))? && !self.is_after_filters(entry, &path)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Tells whether git would store a file as the patch has it, although a filter has it otherwise on disk.
    fn is_after_filters(&self, entry: &Entry, path: &RepoPath) -> Result<bool, GitError> {
        let (Snapshot::File { copy, .. }, Some(name)) = (&entry.after, path.to_str()) else { return Ok(false) };
        let unreadable = |reason| GitError::Unreadable { what: path.to_string(), reason };
        let expected = self.repository.objects.hash(gix::objs::Kind::Blob, &self.copy(copy)?).map_err(unreadable)?;
        let finished = self.repository.user_git()?.run(&["hash-object", "--", name])?;
        Ok(finished.succeeded() && String::from_utf8_lossy(&finished.stdout).trim_end() == expected.to_string())
    }

    /// Puts everything back as it was and ends the landing. A file that somebody else wrote meanwhile is moved into `aside`.
    /// Returns those.
    pub fn undo(self, aside: &Path) -> Result<Vec<RepoPath>, GitError> {
        let top = self.repository.work_tree()?.to_owned();
        let entries = self.entries()?;
        let mut moved = Vec::new();
        for (number, (path, entry)) in entries.iter().enumerate() {
            let place = on_disk(&top, path);
            let ours = self.is(&entry.before, &place)?
                || self.is(&entry.after, &place)?
                || self.is_part_of(&entry.after, &place)?;
            if !ours && let Ok(bytes) = fs::read(&place) {
                system::create_private_dir(aside)?;
                system::write_private(&aside.join(format!("{number}.kept")), &bytes)?;
                moved.push(path.clone());
            }
        }
        // First what was not there, innermost first, then the directories for it, then what was.
        for (path, entry) in entries.iter().rev() {
            if entry.before == Snapshot::Absent {
                remove(&on_disk(&top, path))?;
            }
        }
        for made in self.journal.made.iter().rev() {
            let made = RepoPath::new(BASE64.decode(made.as_bytes()).unwrap_or_default());
            // One that somebody put something into stays.
            let _ = fs::remove_dir(on_disk(&top, &made));
        }
        for (path, entry) in &entries {
            let place = on_disk(&top, path);
            if !self.is(&entry.before, &place)? {
                self.put_back(&entry.before, &place)?;
            }
        }
        self.put_back_index()?;
        self.finish()?;
        Ok(moved)
    }

    /// Ends the landing: what is there now is what shall be.
    pub fn finish(self) -> Result<(), GitError> {
        system::remove_file(&self.directory.join("journal.json"))?;
        let _ = fs::remove_dir_all(&self.directory);
        Ok(())
    }

    /// Removes the locks of a git that was killed. One that a living git may hold stays, and is an error.
    pub fn break_stale_locks(&self) -> Result<(), GitError> {
        if self.journal.mode == LandingMode::Apply {
            return Ok(());
        }
        let began = fs::metadata(self.directory.join("journal.json")).and_then(|metadata| metadata.modified());
        let mut locks = vec![lock_of(&self.repository.index_path), self.repository.git_dir.join("HEAD.lock")];
        if let Some(branch) = &self.journal.branch {
            locks.push(self.repository.common_dir.join("refs/heads").join(format!("{branch}.lock")));
        }
        for lock in locks {
            let Ok(written) = fs::symlink_metadata(&lock).and_then(|metadata| metadata.modified()) else { continue };
            let here = [self.repository.work_tree()?, &self.repository.git_dir, &self.repository.common_dir];
            // A git that was killed with us may not be quite gone yet, and one that lives may be done in a moment.
            let neighbours = system::neighbours("git", &here);
            if !lock.exists() {
                continue;
            }
            let why = match neighbours {
                Neighbours::Quiet if began.as_ref().is_ok_and(|began| written >= *began) => {
                    system::remove_file(&lock)?;
                    continue;
                }
                Neighbours::Quiet => "is older than the patch".to_owned(),
                Neighbours::Busy(pid) => format!("is there, and git is at work here, process {pid}"),
                Neighbours::Unknown => "is there, and the system does not say whether git is at work here".to_owned(),
            };
            return Err(GitError::Failed {
                command: "lock".to_owned(),
                reason: format!("{} {why}; remove it when no git is at work here", lock.display()),
            });
        }
        Ok(())
    }

    fn entries(&self) -> Result<Vec<(RepoPath, &Entry)>, GitError> {
        let decode = |entry: &Entry| BASE64.decode(entry.path.as_bytes()).map(RepoPath::new);
        self.journal
            .files
            .iter()
            .map(|entry| decode(entry).map(|path| (path, entry)))
            .collect::<Result<_, _>>()
            .map_err(|error| GitError::Unreadable {
                what: self.directory.display().to_string(),
                reason: error.to_string(),
            })
    }

    fn copy(&self, name: &str) -> Result<Vec<u8>, GitError> {
        Ok(system::read_limited(&self.directory.join(name), MAX_FILE_BYTES)?)
    }

    /// Tells whether a path is as a snapshot has it. What git converts on the way to disk does not count.
    fn is(&self, snapshot: &Snapshot, place: &Path) -> Result<bool, GitError> {
        let metadata = match fs::symlink_metadata(place) {
            Ok(metadata) => metadata,
            Err(error) if is_gone(&error) => return Ok(*snapshot == Snapshot::Absent),
            Err(error) => return Err(unreadable(place)(error)),
        };
        Ok(match snapshot {
            // A directory is where the files in it are.
            Snapshot::Absent => metadata.is_dir(),
            Snapshot::Link { target } => {
                metadata.is_symlink()
                    && fs::read_link(place).is_ok_and(|found| BASE64.encode(found.as_os_str().as_bytes()) == *target)
            }
            Snapshot::File { copy, mode, .. } => {
                let same_mode = mode.is_none_or(|mode| metadata.permissions().mode() & 0o7777 == mode);
                metadata.is_file() && same_mode && {
                    let (found, expected) = (fs::read(place).map_err(unreadable(place))?, self.copy(copy)?);
                    found == expected || mode.is_none() && with_line_feeds(&found) == with_line_feeds(&expected)
                }
            }
        })
    }

    /// Tells whether git was cut off while it made a path into what a snapshot has: it is missing, or only its beginning
    /// is there.
    fn is_part_of(&self, snapshot: &Snapshot, place: &Path) -> Result<bool, GitError> {
        match fs::symlink_metadata(place) {
            Err(error) if is_gone(&error) => Ok(true),
            Err(error) => Err(unreadable(place)(error)),
            Ok(metadata) if !metadata.is_file() => Ok(false),
            Ok(_) => match snapshot {
                Snapshot::File { copy, .. } => {
                    let found = with_line_feeds(&fs::read(place).map_err(unreadable(place))?);
                    Ok(with_line_feeds(&self.copy(copy)?).starts_with(found.strip_suffix(b"\r").unwrap_or(&found)))
                }
                _ => Ok(false),
            },
        }
    }

    fn put_back(&self, snapshot: &Snapshot, place: &Path) -> Result<(), GitError> {
        let directory = place.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(unreadable(directory))?;
        match snapshot {
            Snapshot::Absent => remove(place),
            Snapshot::Link { target } => {
                remove(place)?;
                let target = BASE64.decode(target.as_bytes()).unwrap_or_default();
                std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&target), place).map_err(unreadable(place))
            }
            Snapshot::File { copy, mode, modified } => {
                let bytes = self.copy(copy)?;
                // Made whole under another name: a kill leaves the old or the new, never a part.
                let temporary = self.directory.join("put-back");
                system::write_private(&temporary, &bytes)?;
                let file = File::options().write(true).open(&temporary).map_err(unreadable(&temporary))?;
                if let Some(mode) = mode {
                    file.set_permissions(fs::Permissions::from_mode(*mode)).map_err(unreadable(&temporary))?;
                }
                if let Some((seconds, nanos)) = modified {
                    let when = SystemTime::UNIX_EPOCH + std::time::Duration::new(*seconds, *nanos);
                    file.set_modified(when).map_err(unreadable(&temporary))?;
                }
                match fs::rename(&temporary, place) {
                    // The working tree may be on another file system than the git directory.
                    Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                        let beside = directory.join(format!(".oracle-{}", std::process::id()));
                        fs::copy(&temporary, &beside)
                            .and_then(|_| fs::rename(&beside, place))
                            .map_err(unreadable(place))
                    }
                    renamed => renamed.map_err(unreadable(place)),
                }
            }
        }
    }

    /// Puts the index back under git's own lock.
    fn put_back_index(&self) -> Result<(), GitError> {
        if !self.journal.index {
            return Ok(());
        }
        let place = &self.repository.index_path;
        let bytes = self.copy("index")?;
        if fs::read(place).is_ok_and(|found| found == bytes) {
            return Ok(());
        }
        // The lock is a second name of the new content: it is there with all of it, or not at all.
        let temporary = place.with_file_name(format!("index.oracle-{}", std::process::id()));
        system::write_private(&temporary, &bytes)?;
        let mode = fs::metadata(place).map_or(0o644, |metadata| metadata.permissions().mode() & 0o777);
        let _ = fs::set_permissions(&temporary, fs::Permissions::from_mode(mode));
        let lock = lock_of(place);
        let linked = fs::hard_link(&temporary, &lock);
        let _ = fs::remove_file(&temporary);
        linked.and_then(|()| fs::rename(&lock, place)).map_err(unreadable(&lock))
    }
}

fn directory_of(repository: &Repository) -> PathBuf {
    repository.git_dir.join("oracle").join("apply")
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

fn on_disk(top: &Path, path: &RepoPath) -> PathBuf {
    top.join(std::ffi::OsStr::from_bytes(path.as_bytes()))
}

/// Copies what is at a place.
fn snapshot(place: &Path, directory: &Path, copy: &str) -> Result<Snapshot, GitError> {
    let metadata = match fs::symlink_metadata(place) {
        Ok(metadata) => metadata,
        Err(error) if is_gone(&error) => return Ok(Snapshot::Absent),
        Err(error) => return Err(unreadable(place)(error)),
    };
    if metadata.is_dir() {
        return Ok(Snapshot::Absent);
    }
    if metadata.is_symlink() {
        let target = fs::read_link(place).map_err(unreadable(place))?;
        return Ok(Snapshot::Link { target: BASE64.encode(target.as_os_str().as_bytes()) });
    }
    system::write_private(&directory.join(copy), &system::read_limited(place, MAX_FILE_BYTES)?)?;
    let modified = metadata.modified().ok().and_then(|when| when.duration_since(SystemTime::UNIX_EPOCH).ok());
    Ok(Snapshot::File {
        copy: copy.to_owned(),
        mode: Some(metadata.permissions().mode() & 0o7777),
        modified: modified.map(|since| (since.as_secs(), since.subsec_nanos())),
    })
}

/// Returns the directories above a path that are not there.
fn missing_parents(top: &Path, path: &RepoPath) -> Vec<RepoPath> {
    let slashes = path.as_bytes().iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let parents = slashes.map(|(end, _)| RepoPath::new(&path.as_bytes()[..end]));
    parents.filter(|parent| !on_disk(top, parent).is_dir()).collect()
}

fn remove(place: &Path) -> Result<(), GitError> {
    match fs::symlink_metadata(place) {
        Ok(metadata) if !metadata.is_dir() => fs::remove_file(place).map_err(unreadable(place)),
        _ => Ok(()),
    }
}

/// Tells whether there is nothing at a path: its name is not there, or a name above it is no directory.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn with_line_feeds(bytes: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            result.push(*byte);
        }
    }
    result
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> GitError + use<> {
    let what = path.display().to_string();
    move |error| GitError::Unreadable { what, reason: error.to_string() }
}
