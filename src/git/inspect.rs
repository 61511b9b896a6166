//! What is in the contents of a change: binary or text, bidirectional controls, where a symlink leads.

use std::collections::HashMap;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Kind;
use crate::change::Link;
use crate::change::added_bidi_lines;
use crate::change::has_bidi;
use crate::git::Look;
use crate::git::Watch;
use crate::git::objects::Objects;
use crate::git::store::Hints;
use crate::system;

/// A file on disk larger than this is looked through once and not loaded.
const MAX_LOADED_BYTES: u64 = 256 << 20;

/// Links are followed this far, as Linux does.
const MAX_LINK_HOPS: usize = 40;

/// How many removed files are read to see what was moved out of them, and up to which size.
const MAX_REMOVED: usize = 64;
const MAX_REMOVED_BYTES: u64 = 1 << 20;

/// Fewer contents than this are not worth a second thread.
const MIN_PER_THREAD: usize = 64;

/// Contents by id: stored objects, and contents that have an id but are not stored.
pub struct Contents<'a> {
    pub objects: &'a Objects,
    pub unstored: HashMap<Oid, Unstored>,
}

/// A content that git has not stored yet.
pub struct Unstored {
    pub place: Place,
    pub size: u64,
    pub traits: Traits,
}

/// Where an unstored content is.
pub enum Place {
    Disk(PathBuf),
    Memory(Vec<u8>),
}

impl Unstored {
    pub fn in_memory(bytes: Vec<u8>) -> Self {
        Unstored { size: bytes.len() as u64, traits: Traits::of(&bytes), place: Place::Memory(bytes) }
    }
}

/// What one look through a content tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    pub binary: bool,
    pub bidi: bool,
    /// Whether there may be a secret in it; only asked of what is new.
    pub secret: bool,
}

impl Traits {
    pub fn of(bytes: &[u8]) -> Self {
        // Binary is decided by the whole content: attributes can lie and a NUL can come late.
        Traits { binary: bytes.contains(&0), bidi: has_bidi(bytes), secret: false }
    }
}

impl Contents<'_> {
    pub fn read(&self, id: &Oid) -> Result<Vec<u8>, String> {
        let Some(content) = self.unstored.get(id) else { return self.objects.blob(id).map(Arc::unwrap_or_clone) };
        if content.size > MAX_LOADED_BYTES {
            return Err(format!("{} bytes are too many to compare", content.size));
        }
        match &content.place {
            Place::Memory(bytes) => Ok(bytes.clone()),
            Place::Disk(path) => {
                if let Ok(target) = std::fs::read_link(path) {
                    return Ok(target.as_os_str().as_bytes().to_vec());
                }
                system::read_limited(path, MAX_LOADED_BYTES).map_err(|error| error.to_string())
            }
        }
    }

    pub fn size(&self, id: &Oid) -> Option<u64> {
        self.unstored.get(id).map(|content| content.size).or_else(|| self.objects.size(id))
    }
}

/// Follows symlinks in the new state of one step.
pub trait Links {
    /// Returns the target of the symlink at `path`; `None` when there is no symlink.
    fn link_at(&self, step: usize, path: &RepoPath) -> Result<Option<Vec<u8>>, String>;
}

/// Fills in the facts of every change inside the scope.
pub fn inspect(set: &mut ChangeSet, contents: &Contents<'_>, links: &dyn Links, look: &Look<'_>) {
    let seen = look_through(set, contents, look);
    note_facts(set, &seen, contents, links, look);
}

/// Fills in the facts of every change inside the scope, once its contents have been looked through.
pub fn note_facts(set: &mut ChangeSet, seen: &Seen, contents: &Contents<'_>, links: &dyn Links, look: &Look<'_>) {
    for (number, step) in set.steps.iter_mut().enumerate() {
        for change in step.changes.iter_mut().filter(|change| (look.in_scope)(&change.path)) {
            if let Err(reason) = inspect_change(change, number, seen, contents, links, look) {
                change.facts.unreadable = Some(reason);
            }
        }
    }
}

fn inspect_change(
    change: &mut Change,
    step: usize,
    traits: &Seen,
    contents: &Contents<'_>,
    links: &dyn Links,
    look: &Look<'_>,
) -> Result<(), String> {
    if let Some(new) = change.new
        && new.mode.kind() == Kind::Symlink
        && change.facts.link.is_none()
    {
        change.facts.link = Some(follow(&change.path, step, links)?);
    }
    if change.same_content() {
        return Ok(());
    }
    let mut seen = [Traits::default(); 2];
    for (side, seen) in [change.old, change.new].into_iter().zip(&mut seen) {
        if let Some(id) = file_id(side) {
            *seen = traits.get(&id).cloned().unwrap_or_else(|| Err(format!("object {id} was not read")))?;
        }
    }
    change.facts.binary |= seen.iter().any(|traits| traits.binary);
    let is_link = change.new.is_some_and(|new| new.mode.kind() == Kind::Symlink);
    let watch = look.secrets.filter(|_| seen[1].secret || is_link);
    if seen[1].bidi || watch.is_some() {
        let read = |id: Option<Oid>| id.map_or(Ok(Vec::new()), |id| contents.read(&id));
        let old = read(change.old.filter(|old| old.mode.kind() == Kind::File).and_then(|old| old.id))?;
        let new = read(change.new.and_then(|new| new.id))?;
        if seen[1].bidi {
            change.facts.bidi_lines = added_bidi_lines(&old, &new);
        }
        if let Some(watch) = watch {
            (change.facts.secrets, change.facts.allowed_secrets) = watch.added(&change.path, &old, &new);
        }
    }
    Ok(())
}

/// Looks through a stored content; a watch is there for new ones, which are put together for it.
fn stored_traits(objects: &Objects, id: &Oid, watch: Option<&dyn Watch>) -> Result<Traits, String> {
    match objects.blob_hints(id).filter(|_| watch.is_none()) {
        Some(Hints { nul: false, lead: false }) => Ok(Traits::default()),
        _ => objects.blob(id).map(|content| traits_of(&content, watch)),
    }
}

fn traits_of(content: &[u8], watch: Option<&dyn Watch>) -> Traits {
    Traits { secret: watch.is_some_and(|watch| watch.suspects(content)), ..Traits::of(content) }
}

/// What was seen in contents.
pub type Seen = HashMap<Oid, Result<Traits, String>>;

/// A content that is to be looked through.
struct Wanted<'a> {
    path: &'a RepoPath,
    id: Oid,
    /// What is new is also looked through for secrets.
    watch: Option<&'a dyn Watch>,
}

/// Looks through every content of the set once, on all processors when there are many.
pub fn look_through(set: &ChangeSet, contents: &Contents<'_>, look: &Look<'_>) -> Seen {
    let mut wanted = wanted(set, look);
    let (unstored, mut stored): (Vec<_>, Vec<_>) =
        wanted.drain(..).partition(|wanted| contents.unstored.contains_key(&wanted.id));
    // The versions of a file are packed as differences from each other: one after the other they are cheap.
    stored.sort_by_key(|wanted| wanted.path);
    let threads = system::threads_for(stored.len() / MIN_PER_THREAD);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Seen::with_capacity(stored.len() + unstored.len()));
    let work = |objects: &Objects| {
        while let Some(rest) = stored.get(next.fetch_add(MIN_PER_THREAD, Ordering::Relaxed)..) {
            let part = rest.iter().take(MIN_PER_THREAD);
            let part: Vec<_> =
                part.map(|wanted| (wanted.id, stored_traits(objects, &wanted.id, wanted.watch))).collect();
            found.lock().unwrap_or_else(PoisonError::into_inner).extend(part);
            if rest.len() <= MIN_PER_THREAD {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let objects = contents.objects.clone();
            let work = &work;
            scope.spawn(move || work(&objects));
        }
        work(contents.objects);
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    for Wanted { id, watch, .. } in unstored {
        let traits = contents.unstored[&id].traits;
        let seen = match watch {
            None => Ok(traits),
            Some(_) => contents.read(&id).map(|bytes| Traits { secret: traits_of(&bytes, watch).secret, ..traits }),
        };
        found.insert(id, seen);
    }
    found
}

/// Returns the contents that matter, each once: what is new before what was there.
fn wanted<'a>(set: &'a ChangeSet, look: &Look<'a>) -> Vec<Wanted<'a>> {
    let changes = set.steps.iter().flat_map(|step| &step.changes);
    let changes: Vec<&Change> =
        changes.filter(|change| !change.same_content() && (look.in_scope)(&change.path)).collect();
    let mut met = HashSet::with_capacity(2 * changes.len());
    let mut wanted = Vec::with_capacity(2 * changes.len());
    // What is new in one step can be old in the next.
    for (change, side, watch) in changes
        .iter()
        .map(|change| (change, change.new, look.secrets))
        .chain(changes.iter().map(|change| (change, change.old, None)))
    {
        if let Some(id) = file_id(side)
            && met.insert(id)
        {
            wanted.push(Wanted { path: &change.path, id, watch });
        }
    }
    wanted
}

/// Returns the content of a file.
fn file_id(side: Option<Entry>) -> Option<Oid> {
    side.filter(|side| side.mode.kind() == Kind::File)?.id
}

/// Takes back what was said about lines that were in a file which the same step removes: moving a file adds nothing.
pub fn forgive_moved(set: &mut ChangeSet, contents: &Contents<'_>, look: &Look<'_>) {
    let Some(watch) = look.secrets else { return };
    for step in &mut set.steps {
        let is_suspect = |change: &Change| change.old.is_none() && !change.facts.secrets.is_empty();
        if !step.changes.iter().any(is_suspect) {
            continue;
        }
        let removed = step.changes.iter().filter(|change| change.new.is_none()).filter_map(|change| change.old?.id);
        let mut before = Vec::new();
        for id in removed.take(MAX_REMOVED) {
            if contents.size(&id).is_some_and(|size| size <= MAX_REMOVED_BYTES)
                && let Ok(content) = contents.read(&id)
            {
                before.extend(content);
                before.push(b'\n');
            }
        }
        for change in step.changes.iter_mut().filter(|change| is_suspect(change)) {
            if let Some(Ok(new)) = change.new.and_then(|new| new.id).map(|id| contents.read(&id)) {
                (change.facts.secrets, change.facts.allowed_secrets) = watch.added(&change.path, &before, &new);
            }
        }
    }
}

/// Follows the symlink at `path` through the new state, component by component, without leaving the tree.
fn follow(path: &RepoPath, step: usize, links: &dyn Links) -> Result<Link, String> {
    let mut resolved: Vec<Vec<u8>> = Vec::new();
    let mut waiting: Vec<Vec<u8>> = path.components().rev().map(<[u8]>::to_vec).collect();
    let mut target = path.clone();
    let mut hops = 0;
    while let Some(component) = waiting.pop() {
        match component.as_slice() {
            b"" | b"." => continue,
            b".." => {
                if resolved.pop().is_none() {
                    return Ok(Link::Escapes { target });
                }
                continue;
            }
            _ => resolved.push(component),
        }
        let here = RepoPath::new(resolved.join(&b'/'));
        if let Some(next) = links.link_at(step, &here)? {
            target = RepoPath::new(next.clone());
            hops += 1;
            // A file system ends the target at a NUL, wherever the rest of it would lead.
            if next.starts_with(b"/") || next.is_empty() || next.contains(&0) || hops > MAX_LINK_HOPS {
                return Ok(Link::Escapes { target });
            }
            resolved.pop();
            waiting.extend(next.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        }
    }
    match resolved.is_empty() {
        true => Ok(Link::Escapes { target }),
        false => Ok(Link::Inside(RepoPath::new(resolved.join(&b'/')))),
    }
}
