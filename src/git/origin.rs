//! Looking things up in trees: one path, and the old files that a new one may have been made from.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;
use std::collections::hash_map::Entry;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change;
use crate::change::Candidate;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Fingerprint;
use crate::change::Kind;
use crate::change::MAX_DEPTH;
use crate::change::Mode;
use crate::change::Source;
use crate::change::SourceKind;
use crate::change::Trees;
use crate::change::find_source;
use crate::change::parse_tree;
use crate::git::Look;
use crate::git::inspect::Contents;

/// Similar copies are looked for in change sets of up to this many paths; exact ones always.
const MAX_SIMILAR_PATHS: usize = 200;

/// How many old files are compared with the new ones, those of the same name first.
const MAX_COMPARED_FILES: usize = 1_000;

/// Below this, two files have nothing to do with each other.
const MIN_SIMILARITY: u8 = 50;

/// How many paths of the scope are asked whether they had a content before.
const MAX_EXCUSES: usize = 64;

/// Larger files are compared by their id only.
const MAX_COMPARED_BYTES: u64 = 1 << 20;

/// More directories than any honest repository has.
const MAX_VISITED_DIRECTORIES: usize = 500_000;

/// A file found in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub mode: Mode,
    pub id: Oid,
}

/// Returns the file at `path` in a tree; `None` when there is none.
pub fn entry_at(trees: &impl Trees, tree_id: Oid, path: &RepoPath) -> Result<Option<Found>, String> {
    let mut tree_id = tree_id;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let bytes = trees.tree(&tree_id)?;
        let entries = parse_tree(&bytes, trees.hash_kind()).map_err(|error| error.to_string())?;
        match entries.iter().find(|entry| entry.name == component) {
            Some(entry) if components.peek().is_none() => {
                return Ok(entry.mode.map(|mode| Found { mode, id: entry.oid() }));
            }
            Some(entry) if entry.is_tree() => tree_id = entry.oid(),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// Calls `visit` for every file of a tree. A directory that several trees share at one place is visited once.
pub fn visit_files(
    trees: &impl Trees,
    tree_id: Oid,
    seen: &mut HashSet<(Vec<u8>, Oid)>,
    visit: &mut dyn FnMut(&[u8], Mode, Oid),
) -> Result<(), String> {
    let mut open = vec![(Vec::new(), tree_id, 0)];
    while let Some((path, id, depth)) = open.pop() {
        if !seen.insert((path.clone(), id)) {
            continue;
        }
        // A few small trees can name billions of paths.
        if depth > MAX_DEPTH || seen.len() > MAX_VISITED_DIRECTORIES {
            return Err("its trees name more directories than can be looked through".to_owned());
        }
        let bytes = trees.tree(&id)?;
        let mut child = path;
        if !child.is_empty() {
            child.push(b'/');
        }
        let directory_len = child.len();
        for entry in parse_tree(&bytes, trees.hash_kind()).map_err(|error| error.to_string())? {
            child.truncate(directory_len);
            child.extend_from_slice(entry.name);
            match entry.mode {
                Some(mode) => visit(&child, mode, entry.oid()),
                None => open.push((child.clone(), entry.oid(), depth + 1)),
            }
        }
    }
    Ok(())
}

/// The files that were there before, listed on demand.
pub trait OldFiles {
    /// Calls `visit` for every file of the old states.
    fn visit(&self, visit: &mut dyn FnMut(&[u8], Mode, Oid)) -> Result<(), String>;

    /// Tells whether the old state of one step had this content at this path.
    fn had(&self, step: usize, path: &RepoPath, id: &Oid) -> Result<bool, String>;
}

/// Tells whether a change brings a file to a path inside the scope that had none, so that it may be a copy of another.
pub fn may_be_copy(change: &Change, look: &Look<'_>) -> bool {
    let is_file = |side: Option<change::Entry>| side.is_some_and(|side| side.mode.kind() == Kind::File);
    is_file(change.new) && !is_file(change.old) && (look.in_scope)(&change.path)
}

/// Finds out where files inside the scope came from. As with git, what is put over a file is an edit of that file.
pub fn find_sources(
    set: &mut ChangeSet,
    old_files: &dyn OldFiles,
    contents: &Contents<'_>,
    look: &Look<'_>,
) -> Result<(), String> {
    match Olds::collect(set, old_files, look)? {
        Some(olds) => note_sources(set, &olds, old_files, contents, look),
        None => Ok(()),
    }
}

/// Finds out where files inside the scope came from, once the old files have been looked through.
pub fn note_sources(
    set: &mut ChangeSet,
    olds: &Olds,
    old_files: &dyn OldFiles,
    contents: &Contents<'_>,
    look: &Look<'_>,
) -> Result<(), String> {
    let mut prints = Fingerprints { contents, sizes: HashMap::new(), known: HashMap::new() };
    for (number, step) in set.steps.iter_mut().enumerate() {
        let gone: HashSet<RepoPath> =
            step.changes.iter().filter(|change| change.new.is_none()).map(|change| change.path.clone()).collect();
        // Many new files may have the same content: where it came from is found out once.
        let mut known: HashMap<Oid, Exact> = HashMap::new();
        for change in &mut step.changes {
            let Some(id) = new_content(change, look).filter(|id| !id.is_empty_blob()) else { continue };
            let had = |path: &RepoPath, id: &Oid| old_files.had(number, path, id);
            let exact = match known.entry(id) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(olds.exact_source(&id, &gone, &had, look)?),
            };
            match exact {
                Exact::Blamed(source) if source.path != change.path => {
                    change.source = Some(source.clone());
                    continue;
                }
                Exact::Blamed(_) | Exact::Excused => continue,
                Exact::Unknown => {}
            }
            let mut candidates = Vec::new();
            for (path, old_id) in &olds.comparable {
                let similarity = prints.similarity(&id, old_id);
                if similarity >= MIN_SIMILARITY && *path != change.path && had(path, old_id)? {
                    candidates.push(Candidate { path: path.clone(), gone: gone.contains(path), similarity });
                }
            }
            change.source = find_source(&candidates, look.in_scope);
        }
    }
    Ok(())
}

/// A question to the old state of a step: was this content at this path?
type Had<'a> = &'a dyn Fn(&RepoPath, &Oid) -> Result<bool, String>;

/// What is known about the origin of a content.
enum Exact {
    /// A file outside the scope had it.
    Blamed(Source),
    /// The scope had it.
    Excused,
    Unknown,
}

/// Returns the content of a file that may be a copy.
fn new_content(change: &Change, look: &Look<'_>) -> Option<Oid> {
    change.new.filter(|_| may_be_copy(change, look))?.id
}

/// Old files that matter: those with wanted content, and those worth comparing.
#[derive(Default)]
pub struct Olds {
    exact: HashMap<Oid, BTreeSet<RepoPath>>,
    /// Files that a new one may resemble, of the same name first.
    comparable: Vec<(RepoPath, Oid)>,
    others: Vec<(RepoPath, Oid)>,
}

impl Olds {
    /// Looks through the old files for those from which a file of the set may have been made; `None` when it has none
    /// that may be a copy.
    pub fn collect(set: &ChangeSet, old_files: &dyn OldFiles, look: &Look<'_>) -> Result<Option<Self>, String> {
        let all_changes = || set.steps.iter().flat_map(|step| &step.changes);
        let wanted: HashSet<Oid> = all_changes().filter_map(|change| new_content(change, look)).collect();
        if wanted.is_empty() {
            return Ok(None);
        }
        let similar = all_changes().count() <= MAX_SIMILAR_PATHS;
        let is_new = |change: &&Change| may_be_copy(change, look);
        let names: HashSet<&[u8]> = all_changes().filter(is_new).map(|change| change.path.file_name()).collect();
        let mut olds = Olds::default();
        let mut note = |path: &[u8], mode: Mode, id: Oid| {
            if mode.kind() == Kind::File {
                olds.note(path, id, &wanted, similar.then_some(&names));
            }
        };
        old_files.visit(&mut note)?;
        // What one commit of a range brought is an old file to the commits after it.
        if set.steps.len() > 1 {
            for (change, side) in all_changes().flat_map(|change| Some(change).into_iter().zip(change.new)) {
                if let Some(id) = side.id {
                    note(change.path.as_bytes(), side.mode, id);
                }
            }
        }
        olds.settle();
        Ok(Some(olds))
    }

    fn note(&mut self, path: &[u8], id: Oid, wanted: &HashSet<Oid>, names: Option<&HashSet<&[u8]>>) {
        if wanted.contains(&id) {
            self.exact.entry(id).or_default().insert(RepoPath::new(path));
            return;
        }
        let Some(names) = names else { return };
        let path = RepoPath::new(path);
        if names.contains(path.file_name()) {
            self.comparable.push((path, id));
        } else if self.others.len() < MAX_COMPARED_FILES {
            self.others.push((path, id));
        }
    }

    /// Returns the file outside the scope whose content a new file has, unless the scope had it too.
    fn exact_source(&self, id: &Oid, gone: &HashSet<RepoPath>, had: Had<'_>, look: &Look<'_>) -> Result<Exact, String> {
        let paths = self.exact.get(id);
        let (inside, outside): (Vec<_>, Vec<_>) = paths.into_iter().flatten().partition(|path| (look.in_scope)(path));
        let find = |paths: Vec<&RepoPath>| -> Result<Option<RepoPath>, String> {
            for path in paths {
                if had(path, id)? {
                    return Ok(Some(path.clone()));
                }
            }
            Ok(None)
        };
        let blamed = find(outside)?;
        if blamed.is_none() && self.comparable.is_empty() {
            return Ok(Exact::Unknown);
        }
        // Looking for an excuse has an end; without one the file is blamed.
        if find(inside.into_iter().take(MAX_EXCUSES).collect())?.is_some() {
            return Ok(Exact::Excused);
        }
        Ok(blamed.map_or(Exact::Unknown, |path| {
            let kind = if gone.contains(&path) { SourceKind::Rename } else { SourceKind::Copy };
            Exact::Blamed(Source { kind, path, similarity: 100 })
        }))
    }

    fn settle(&mut self) {
        self.comparable.append(&mut self.others);
        self.comparable.truncate(MAX_COMPARED_FILES);
    }
}

/// Fingerprints of the contents compared so far.
struct Fingerprints<'a> {
    contents: &'a Contents<'a>,
    sizes: HashMap<Oid, Option<u64>>,
    known: HashMap<Oid, Option<Fingerprint>>,
}

impl Fingerprints<'_> {
    fn size(&mut self, id: &Oid) -> Option<u64> {
        let contents = self.contents;
        *self.sizes.entry(*id).or_insert_with(|| contents.size(id))
    }

    fn similarity(&mut self, a: &Oid, b: &Oid) -> u8 {
        let (Some(long), Some(short)) = (self.size(a), self.size(b)) else { return 0 };
        let (long, short) = (long.max(short), long.min(short));
        // The score is at most the ratio of the sizes, and a low one interests nobody.
        if long > MAX_COMPARED_BYTES || short * 2 < long || short == 0 {
            return 0;
        }
        for id in [a, b] {
            let contents = self.contents;
            self.known.entry(*id).or_insert_with(|| contents.read(id).ok().map(|bytes| Fingerprint::of(&bytes)));
        }
        match (&self.known[a], &self.known[b]) {
            (Some(a), Some(b)) => a.similarity(b),
            _ => 0,
        }
    }
}
