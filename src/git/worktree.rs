//! What is on disk, against what the index tracks.
//!
//! One walk over the directories sees both edits and untracked files. Flags that ask git not to look (assume-unchanged,
//! skip-worktree) are not obeyed; a file that is meant to be absent is no deletion. Nothing is executed: no filter, no
//! monitor, no hook of the repository.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::fs::DirEntry;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::base::RepoPath;
use crate::change::Change;
use crate::change::Entry;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Kind;
use crate::change::Mode;
use crate::git::Git;
use crate::git::Look;
use crate::git::disk;
use crate::git::disk::OnDiskKind;
use crate::git::disk::Rules;
use crate::git::ignore::Ignores;
use crate::git::index::Tracked;
use crate::git::inspect::Place;
use crate::git::inspect::Unstored;
use crate::git::objects::Objects;

/// An ignore file larger than this hides nothing.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// A path that is on disk otherwise than the index has it.
pub struct Differing {
    pub path: RepoPath,
    /// What the index tracks there.
    pub tracked: Option<Entry>,
    /// What is on disk.
    pub new: Option<Entry>,
    pub content: Option<Unstored>,
    /// The content is the tracked one except for line endings; whether that counts is up to the attributes.
    pub line_endings_only: bool,
    /// git would take the content for binary and convert nothing by itself.
    pub looks_binary: bool,
}

/// The result of a walk.
#[derive(Default)]
pub struct Walked {
    pub differing: Vec<Differing>,
    pub faults: Vec<Fault>,
}

/// A walk over a working tree.
pub struct Walker<'a> {
    pub root: &'a Path,
    /// Sorted by path; several stages of one path follow each other.
    pub entries: &'a [Tracked<'a>],
    pub index_written_at: (i64, u32),
    pub rules: Rules,
    pub look: &'a Look<'a>,
    /// The contents of tracked ignore files, by their place among the entries.
    pub ignore_files: HashMap<usize, Vec<u8>>,
}

/// Reads the ignore files that the index tracks, as they were staged: an edit on disk must not hide what it was made to
/// hide, and a link is not followed.
pub fn read_ignore_files(entries: &[Tracked<'_>], objects: &Objects) -> HashMap<usize, Vec<u8>> {
    let is_ignore_file =
        |path: &[u8]| path.strip_suffix(b".gitignore").is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"));
    let found = entries.iter().enumerate().filter(|(_, entry)| is_ignore_file(entry.path));
    found
        .filter_map(|(position, entry)| {
            let id = entry.entry().filter(|entry| entry.mode.kind() == Kind::File)?.id?;
            let size = objects.size(&id)?;
            Some((position, objects.blob(&id).ok().filter(|_| size <= MAX_IGNORE_BYTES)?.to_vec()))
        })
        .collect()
}

/// A directory that is still to be read.
struct Job {
    directory: Vec<u8>,
    entries: Range<usize>,
    ignores: Ignores,
    /// The directory itself is ignored, and so is everything untracked in it.
    hidden: bool,
}

/// What the index has directly in a directory.
enum Child {
    File(usize),
    Directory(Range<usize>),
}

struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<Job>,
    working: usize,
}

impl Walked {
    /// Returns what a worker that did not come back leaves: the certainty that something was not looked at.
    fn lost() -> Self {
        let message = "a part of the working tree could not be looked at".to_owned();
        Walked { differing: Vec::new(), faults: vec![fault(FaultKind::Unreadable, b"", message)] }
    }
}

/// Says that a worker has finished a directory, however it did.
struct Done<'a> {
    queue: &'a Queue,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().unwrap_or_else(PoisonError::into_inner).working -= 1;
        self.queue.changed.notify_all();
    }
}

impl Walker<'_> {
    /// Walks the whole tree on all processors.
    pub fn walk(&self) -> Walked {
        let top =
            Job { directory: Vec::new(), entries: 0..self.entries.len(), ignores: Ignores::default(), hidden: false };
        let queue = Queue { state: Mutex::new(QueueState { waiting: vec![top], working: 0 }), changed: Condvar::new() };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let parts: Vec<Walked> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.work(&queue))).collect();
            let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Walked::lost()));
            joined.collect()
        });
        let mut walked = Walked::default();
        for part in parts {
            walked.differing.extend(part.differing);
            walked.faults.extend(part.faults);
        }
        walked.differing.sort_by(|a, b| a.path.cmp(&b.path));
        walked.faults.sort_by(|a, b| a.path.cmp(&b.path));
        walked
    }

    fn work(&self, queue: &Queue) -> Walked {
        let mut walked = Walked::default();
        let mut state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = state.waiting.pop() {
                state.working += 1;
                drop(state);
                let done = Done { queue };
                let found = self.read_directory(&job, &mut walked);
                queue.state.lock().unwrap_or_else(PoisonError::into_inner).waiting.extend(found);
                drop(done);
                state = queue.state.lock().unwrap_or_else(PoisonError::into_inner);
            } else if state.working == 0 {
                return walked;
            } else {
                state = queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Compares one directory and returns the directories below it.
    fn read_directory(&self, job: &Job, walked: &mut Walked) -> Vec<Job> {
        let mut children = self.children(job);
        let location = self.root.join(OsStr::from_bytes(&job.directory));
        let listed = match fs::read_dir(&location) {
            Ok(listed) => listed.collect::<Result<Vec<_>, _>>(),
            Err(error) => Err(error),
        };
        let listed = match listed {
            Ok(listed) => listed,
            // It vanished while we looked: everything tracked in it is gone.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                walked.faults.push(fault(
                    FaultKind::Unreadable,
                    &job.directory,
                    format!("the directory cannot be read: {error}"),
                ));
                return Vec::new();
            }
        };
        if !job.directory.is_empty() && listed.iter().any(|entry| entry.file_name() == ".git") {
            let message = "a git repository inside the working tree hides its files".to_owned();
            walked.faults.push(fault(FaultKind::Nested, &job.directory, message));
            if job.entries.is_empty() {
                return Vec::new();
            }
        }
        let ignores = match find(&mut children, b".gitignore") {
            Some(Slot { child: Child::File(position), .. }) if self.ignore_files.contains_key(position) => {
                job.ignores.with(&self.ignore_files[position], &job.directory)
            }
            _ => job.ignores.clone(),
        };
        let mut jobs = Vec::new();
        for entry in listed {
            let name = entry.file_name();
            let name = name.as_bytes();
            if name == b".git" {
                continue;
            }
            let path = join(&job.directory, name);
            let slot = find(&mut children, name);
            // Our own directory is the one place where untracked files are nobody's change.
            if slot.is_none() && (path == b".oracle" || path.starts_with(b".oracle/")) {
                continue;
            }
            let mut below = |entries: Range<usize>, hidden: bool| {
                jobs.push(Job { directory: path.clone(), entries, ignores: ignores.clone(), hidden });
            };
            match slot {
                Some(slot) => {
                    slot.seen = true;
                    match &slot.child {
                        Child::File(position) => {
                            if self.compare_file(*position, &entry, walked) {
                                below(0..0, false);
                            }
                        }
                        Child::Directory(range) => match entry.file_type() {
                            Ok(kind) if kind.is_dir() => {
                                below(range.clone(), job.hidden || ignores.hides(&path, true));
                            }
                            _ => {
                                self.all_deleted(range.clone(), walked);
                                self.untracked_file(&path, &entry, walked);
                            }
                        },
                    }
                }
                None => {
                    let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    if job.hidden || ignores.hides(&path, is_dir) {
                        continue;
                    }
                    if is_dir {
                        below(0..0, false);
                    } else {
                        self.untracked_file(&path, &entry, walked);
                    }
                }
            }
        }
        for slot in children.iter().filter(|slot| !slot.seen) {
            match &slot.child {
                Child::File(position) => self.all_deleted(*position..*position + 1, walked),
                Child::Directory(range) => self.all_deleted(range.clone(), walked),
            }
        }
        jobs
    }

    /// Returns what the index has directly in a directory, sorted by name.
    fn children(&self, job: &Job) -> Vec<Slot<'_>> {
        let prefix = if job.directory.is_empty() { 0 } else { job.directory.len() + 1 };
        let mut children = Vec::new();
        let mut position = job.entries.start;
        while position < job.entries.end {
            let rest = &self.entries[position].path[prefix..];
            match rest.iter().position(|byte| *byte == b'/') {
                None => {
                    children.push(Slot { name: rest, child: Child::File(position), seen: false });
                    // The stages of an unresolved merge are one path.
                    let path = self.entries[position].path;
                    position += 1;
                    while position < job.entries.end && self.entries[position].path == path {
                        position += 1;
                    }
                }
                Some(length) => {
                    let directory = &self.entries[position].path[..prefix + length + 1];
                    let within = &self.entries[position..job.entries.end];
                    let end = position + within.partition_point(|entry| entry.path.starts_with(directory));
                    children.push(Slot { name: &rest[..length], child: Child::Directory(position..end), seen: false });
                    position = end;
                }
            }
        }
        children.sort_unstable_by(|a, b| a.name.cmp(b.name));
        children
    }

    /// Compares a tracked file with what is on disk. Returns true when a directory stands in its place.
    fn compare_file(&self, position: usize, on_disk: &DirEntry, walked: &mut Walked) -> bool {
        let tracked = &self.entries[position];
        // A collapsed directory whose place is taken was expanded before the walk.
        let Some(tracked_mode) = tracked.mode else { return false };
        let metadata = match on_disk.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                walked.faults.push(fault(FaultKind::Unreadable, tracked.path, format!("it cannot be read: {error}")));
                return false;
            }
        };
        let settled = !tracked.unmerged && !tracked.announced;
        match OnDiskKind::of(&metadata, Some(tracked_mode), self.rules) {
            OnDiskKind::Directory if tracked_mode == Mode::Gitlink => {
                self.compare_submodule(tracked, &on_disk.path(), walked);
                false
            }
            OnDiskKind::Directory => {
                self.all_deleted(position..position + 1, walked);
                true
            }
            OnDiskKind::Special => {
                let message = "it is a pipe, a socket or a device".to_owned();
                walked.faults.push(fault(FaultKind::Unreadable, tracked.path, message));
                false
            }
            OnDiskKind::File(mode) => {
                if settled
                    && mode == tracked_mode
                    && disk::is_unchanged(&tracked.stat, &metadata, self.index_written_at)
                {
                    return false;
                }
                match self.digest(tracked.path, &on_disk.path(), mode, &metadata) {
                    Ok((new, content, carriage_returns)) => {
                        if settled && Some(new) == tracked.entry() {
                            return false;
                        }
                        let converted = (settled && carriage_returns && mode == tracked_mode)
                            .then(|| disk::digest_with_line_feeds(&on_disk.path(), self.rules).ok())
                            .flatten()
                            .filter(|converted| converted.id == tracked.id);
                        walked.differing.push(Differing {
                            path: RepoPath::new(tracked.path),
                            tracked: tracked.entry().filter(|_| settled),
                            new: Some(new),
                            content: Some(content),
                            line_endings_only: converted.is_some(),
                            looks_binary: converted.is_some_and(|converted| converted.looks_binary),
                        });
                    }
                    Err(fault) => walked.faults.push(fault),
                }
                false
            }
        }
    }

    /// Compares the commit that a submodule has checked out with the one that is tracked.
    fn compare_submodule(&self, tracked: &Tracked<'_>, location: &Path, walked: &mut Walked) {
        if fs::symlink_metadata(location.join(".git")).is_err() {
            // Not populated, which is how a submodule begins.
            return;
        }
        match Git::in_dir(location).submodule_head() {
            Ok(id) if id == tracked.id => {}
            Ok(id) => walked.differing.push(Differing {
                path: RepoPath::new(tracked.path),
                tracked: tracked.entry(),
                new: Some(Entry::object(Mode::Gitlink, id)),
                content: None,
                line_endings_only: false,
                looks_binary: false,
            }),
            Err(error) => walked.faults.push(fault(FaultKind::Unreadable, tracked.path, error.to_string())),
        }
    }

    fn untracked_file(&self, path: &[u8], on_disk: &DirEntry, walked: &mut Walked) {
        let metadata = match on_disk.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                walked.faults.push(fault(FaultKind::Unreadable, path, format!("it cannot be read: {error}")));
                return;
            }
        };
        // git does not see untracked pipes, sockets and devices either.
        let OnDiskKind::File(mode) = OnDiskKind::of(&metadata, None, self.rules) else { return };
        let path = RepoPath::new(path);
        let mut differing = Differing {
            path,
            tracked: None,
            new: Some(Entry { mode, id: None }),
            content: None,
            line_endings_only: false,
            looks_binary: false,
        };
        // Outside the scope the path alone decides; the content need not be read.
        if (self.look.in_scope)(&differing.path) {
            match self.digest(differing.path.as_bytes(), &on_disk.path(), mode, &metadata) {
                Ok((new, content, _)) => {
                    differing.new = Some(new);
                    differing.content = Some(content);
                }
                Err(fault) => walked.faults.push(fault),
            }
        }
        walked.differing.push(differing);
    }

    /// Reads the files that HEAD has and the index no longer tracks: their path alone does not say that they changed.
    pub fn digest_untracked(&self, staged: &[Change], walked: &mut Walked) {
        let in_head: HashSet<&RepoPath> =
            staged.iter().filter(|change| change.old.is_some()).map(|change| &change.path).collect();
        for found in &mut walked.differing {
            let Some(mode) =
                found.new.filter(|new| new.id.is_none() && in_head.contains(&found.path)).map(|new| new.mode)
            else {
                continue;
            };
            let location = self.root.join(OsStr::from_bytes(found.path.as_bytes()));
            let digested = fs::symlink_metadata(&location)
                .map_err(|error| {
                    fault(FaultKind::Unreadable, found.path.as_bytes(), format!("it cannot be read: {error}"))
                })
                .and_then(|metadata| self.digest(found.path.as_bytes(), &location, mode, &metadata));
            match digested {
                Ok((new, content, _)) => {
                    found.new = Some(new);
                    found.content = Some(content);
                }
                Err(fault) => walked.faults.push(fault),
            }
        }
    }

    fn digest(
        &self,
        path: &[u8],
        location: &Path,
        mode: Mode,
        metadata: &fs::Metadata,
    ) -> Result<(Entry, Unstored, bool), Fault> {
        let digested = disk::digest(location, mode, metadata, self.rules)
            .map_err(|error| fault(FaultKind::Unreadable, path, format!("it cannot be read: {error}")))?;
        let place = Place::Disk(PathBuf::from(location));
        let content = Unstored { place, size: digested.size, traits: digested.traits };
        Ok((Entry::object(mode, digested.id), content, digested.carriage_returns))
    }

    /// Records files that are no longer on disk, unless they are meant to be absent.
    fn all_deleted(&self, entries: Range<usize>, walked: &mut Walked) {
        for tracked in self.entries[entries].iter().filter(|tracked| !tracked.skipped && !tracked.announced) {
            // A collapsed directory is absent by design.
            let Some(entry) = tracked.entry() else { continue };
            walked.differing.push(Differing {
                path: RepoPath::new(tracked.path),
                tracked: Some(entry).filter(|_| !tracked.unmerged),
                new: None,
                content: None,
                line_endings_only: false,
                looks_binary: false,
            });
        }
    }
}

struct Slot<'a> {
    name: &'a [u8],
    child: Child,
    seen: bool,
}

fn find<'s, 'a>(children: &'s mut [Slot<'a>], name: &[u8]) -> Option<&'s mut Slot<'a>> {
    let position = children.binary_search_by(|slot| slot.name.cmp(name)).ok()?;
    children.get_mut(position)
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

fn fault(kind: FaultKind, path: &[u8], message: String) -> Fault {
    Fault { kind, path: RepoPath::new(path), commit: None, message }
}
