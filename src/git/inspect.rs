//! What is in the contents of a change: binary or text, bidirectional controls, where a symlink leads.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
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
    let traits = read_traits(set, contents, look);
    for (number, step) in set.steps.iter_mut().enumerate() {
        for change in step.changes.iter_mut().filter(|change| (look.in_scope)(&change.path)) {
            if let Err(reason) = inspect_change(change, number, &traits, contents, links, look) {
                change.facts.unreadable = Some(reason);
            }
        }
    }
}

fn inspect_change(
    change: &mut Change,
    step: usize,
    traits: &HashMap<Oid, Result<Traits, String>>,
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
        if let Some(id) = side.filter(|side| side.mode.kind() == Kind::File).and_then(|side| side.id) {
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

/// Looks through every content of the set once, on all processors when there are many.
fn read_traits(set: &ChangeSet, contents: &Contents<'_>, look: &Look<'_>) -> HashMap<Oid, Result<Traits, String>> {
    let mut traits: HashMap<Oid, Result<Traits, String>> = HashMap::new();
    let mut wanted = Vec::new();
    let changes = || {
        let changes = set.steps.iter().flat_map(|step| &step.changes);
        changes.filter(|change| !change.same_content() && (look.in_scope)(&change.path))
    };
    // What is new is also looked through for secrets; what is new in one step can be old in the next.
    for (is_new, change) in changes().map(|change| (true, change)).chain(changes().map(|change| (false, change))) {
        let side = if is_new { change.new } else { change.old };
        let Some(id) = side.filter(|side| side.mode.kind() == Kind::File).and_then(|side| side.id) else { continue };
        let watch = look.secrets.filter(|_| is_new);
        if let std::collections::hash_map::Entry::Vacant(vacant) = traits.entry(id) {
            match contents.unstored.get(&id) {
                Some(content) if watch.is_none() => {
                    vacant.insert(Ok(content.traits));
                }
                Some(content) => {
                    let secret = contents.read(&id).map(|bytes| traits_of(&bytes, watch).secret);
                    vacant.insert(secret.map(|secret| Traits { secret, ..content.traits }));
                }
                None => {
                    vacant.insert(Ok(Traits::default()));
                    wanted.push((&change.path, id, watch));
                }
            }
        }
    }
    // The versions of a file are packed as differences from each other: one after the other they are cheap.
    wanted.sort_by_key(|(path, ..)| *path);
    let threads = system::threads_for(wanted.len() / MIN_PER_THREAD);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(wanted.len()));
    let work = |objects: &Objects| {
        let mut mine = Vec::new();
        while let Some(rest) = wanted.get(next.fetch_add(MIN_PER_THREAD, Ordering::Relaxed)..) {
            for (_, id, watch) in rest.iter().take(MIN_PER_THREAD) {
                mine.push((*id, stored_traits(objects, id, *watch)));
            }
        }
        if let Ok(mut found) = found.lock() {
            found.extend(mine);
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
    traits.extend(found.into_inner().unwrap_or_default());
    traits
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
