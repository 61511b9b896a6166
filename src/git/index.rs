//! The index, and the tree that committing it would make.
//!
//! git commits the tree that the index's cache names and not what its entries say. A forged cache commits files that
//! no entry shows, so every tree is built here from the entries and compared with the cache.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use gix::index::entry::Flags;
use gix::index::entry::Stage;
use gix::objs::Kind;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::is_within;
use crate::change::Entry;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Mode;
use crate::change::TreeEntry;
use crate::change::Trees;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::cachetree;
use crate::git::cachetree::CachedTree;
use crate::git::cachetree::Extensions;
use crate::git::objects::Objects;
use crate::git::objects::to_gix_kind;

/// The index of a worktree.
pub struct Index {
    file: gix::index::File,
    cached_trees: Vec<CachedTree>,
}

/// No index is longer than this.
const MAX_INDEX_BYTES: u64 = 4 << 30;

/// Looks through an index before anybody else parses it.
fn read_extensions_of(path: &Path, hash: HashKind) -> Result<Extensions, GitError> {
    let Some(bytes) = Repository::read_optional(path, MAX_INDEX_BYTES)? else { return Ok(Extensions::default()) };
    let unreadable =
        |reason: &str| GitError::Unreadable { what: path.display().to_string(), reason: reason.to_owned() };
    cachetree::read_extensions(&bytes, hash).map_err(unreadable)
}

/// One path that the index tracks.
#[derive(Debug, Clone, Copy)]
pub struct Tracked<'a> {
    pub path: &'a [u8],
    /// `None` for a directory that a sparse index has collapsed into its tree.
    pub mode: Option<Mode>,
    pub id: Oid,
    pub stat: gix::index::entry::Stat,
    /// Marked to be left out of the working tree.
    pub skipped: bool,
    /// Announced by `git add -N`, without content.
    pub announced: bool,
    /// Part of a merge that is not resolved.
    pub unmerged: bool,
}

impl Index {
    /// Reads the index that git would use; one that is not there is empty.
    pub fn read(repository: &Repository) -> Result<Self, GitError> {
        let unreadable =
            |reason: String| GitError::Unreadable { what: repository.index_path.display().to_string(), reason };
        let extensions = read_extensions_of(&repository.index_path, repository.hash)?;
        if let Some(shared) = extensions.shared {
            let beside = repository.index_path.with_file_name(format!("sharedindex.{shared}"));
            read_extensions_of(&beside, repository.hash)?;
        }
        // The checksum is not verified: git does not either, and `index.skipHash` leaves it out.
        let hash = to_gix_kind(repository.hash);
        let options = gix::index::decode::Options { alloc_limit_bytes: Some(4 << 30), ..Default::default() };
        gix::index::File::at_or_default(&repository.index_path, hash, true, options)
            .map(|file| Index { file, cached_trees: extensions.cached_trees })
            .map_err(|error| unreadable(error.to_string()))
    }

    /// Returns when the index was written: a file that changed since then may have an entry that looks fresh.
    pub fn written_at(&self) -> (i64, u32) {
        let time = self.file.timestamp();
        (time.unix_seconds(), time.nanoseconds())
    }

    /// Returns the entries in the order of their paths.
    pub fn entries(&self) -> impl Iterator<Item = Result<Tracked<'_>, Fault>> {
        self.file.entries().iter().map(|entry| {
            let path: &[u8] = entry.path(&self.file);
            let malformed = |message: String| Fault {
                kind: FaultKind::Malformed,
                path: RepoPath::new(path),
                commit: None,
                message,
            };
            let directory = entry.mode.is_sparse();
            let mode = match Mode::from_octal(entry.mode.bits()) {
                Some(mode) => Some(mode),
                None if directory => None,
                None => return Err(malformed(format!("the index has an entry with the mode {:o}", entry.mode.bits()))),
            };
            Ok(Tracked {
                path: if directory { path.strip_suffix(b"/").unwrap_or(path) } else { path },
                mode,
                id: Oid::from_bytes(entry.id.as_slice())
                    .ok_or_else(|| malformed("the index has an id of unknown length".into()))?,
                stat: entry.stat,
                skipped: entry.flags.contains(Flags::SKIP_WORKTREE),
                announced: entry.flags.contains(Flags::INTENT_TO_ADD),
                unmerged: entry.stage() != Stage::Unconflicted,
            })
        })
    }

    /// Builds the trees that committing this index would write.
    pub fn build_trees(&self, objects: &Objects) -> Result<BuiltTrees, Fault> {
        let mut builder = Builder::new(objects);
        let mut last: &[u8] = b"";
        for (position, entry) in self.entries().enumerate() {
            let entry = entry?;
            if position > 0 && (entry.path < last || entry.path == last && !entry.unmerged) {
                let message = "the index has entries that are repeated or out of order".to_owned();
                return Err(Fault {
                    kind: FaultKind::Malformed,
                    path: RepoPath::new(entry.path),
                    commit: None,
                    message,
                });
            }
            last = entry.path;
            builder.add(&entry)?;
        }
        builder.finish()
    }

    /// Returns the directories whose cached tree is not the one that the entries make.
    pub fn forged_directories(&self, built: &BuiltTrees) -> Vec<Fault> {
        let is_honest = |cached: &&CachedTree| match built.directories.get(&cached.path) {
            Some(made) => made.entries == cached.entries && made.id == cached.id,
            // A directory without entries is not made by us, and nothing refers to its node.
            None => cached.entries == 0,
        };
        let message = "the tree that would be committed is not what the index entries say";
        let fault = |cached: &CachedTree| Fault {
            kind: FaultKind::Hidden,
            path: RepoPath::new(cached.path.clone()),
            commit: None,
            message: message.to_owned(),
        };
        self.cached_trees.iter().filter(|cached| !is_honest(cached)).map(fault).collect()
    }
}

/// The trees that an index makes, by id and by directory.
pub struct BuiltTrees {
    pub root: Oid,
    /// Paths of an unresolved merge: no commit can be made while there are any.
    pub unmerged: Vec<RepoPath>,
    trees: HashMap<Oid, Arc<Vec<u8>>>,
    directories: HashMap<Vec<u8>, Built>,
}

struct Built {
    id: Oid,
    entries: u32,
}

impl BuiltTrees {
    /// Returns a source of trees that knows these besides the stored ones.
    pub fn over<'a>(&'a self, objects: &'a Objects) -> Overlay<'a> {
        Overlay { built: self, objects }
    }
}

/// Stored trees and the ones that an index would make.
pub struct Overlay<'a> {
    built: &'a BuiltTrees,
    objects: &'a Objects,
}

impl Trees for Overlay<'_> {
    fn hash_kind(&self) -> HashKind {
        self.objects.hash_kind()
    }

    fn tree(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String> {
        self.built.trees.get(id).map_or_else(|| self.objects.tree(id), |bytes| Ok(bytes.clone()))
    }
}

/// Builds trees from entries in path order, one open directory per level.
struct Builder<'a> {
    objects: &'a Objects,
    open: Vec<OpenDirectory>,
    path: Vec<u8>,
    made: BuiltTrees,
}

#[derive(Default)]
struct OpenDirectory {
    /// Length of the directory's own path.
    path_len: usize,
    bytes: Vec<u8>,
    entries: u32,
}

impl<'a> Builder<'a> {
    fn new(objects: &'a Objects) -> Self {
        let made = BuiltTrees {
            root: Oid::null(objects.hash_kind()),
            unmerged: Vec::new(),
            trees: HashMap::new(),
            directories: HashMap::new(),
        };
        Builder { objects, open: vec![OpenDirectory::default()], path: Vec::new(), made }
    }

    fn add(&mut self, entry: &Tracked<'_>) -> Result<(), Fault> {
        if entry.unmerged {
            if self.made.unmerged.last().map(RepoPath::as_bytes) != Some(entry.path) {
                self.made.unmerged.push(RepoPath::new(entry.path));
            }
            return Ok(());
        }
        if entry.announced {
            return Ok(());
        }
        let directory_len = entry.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.enter(&entry.path[..directory_len])?;
        let name = if directory_len == 0 { entry.path } else { &entry.path[directory_len + 1..] };
        self.append(&TreeEntry { name, mode: entry.mode, id: entry.id.as_bytes() }, 1);
        if entry.mode.is_none() {
            // A collapsed directory is its own tree, and the cache knows it as one.
            self.made.directories.insert(entry.path.to_vec(), Built { id: entry.id, entries: 1 });
        }
        Ok(())
    }

    /// Closes and opens directories until `directory` is the innermost open one.
    fn enter(&mut self, directory: &[u8]) -> Result<(), Fault> {
        while !is_within(directory, &self.path) {
            self.close()?;
        }
        while self.path.len() < directory.len() {
            let start = if self.path.is_empty() { 0 } else { self.path.len() + 1 };
            let end = directory[start..].iter().position(|byte| *byte == b'/').map_or(directory.len(), |at| start + at);
            self.path = directory[..end].to_vec();
            self.open.push(OpenDirectory { path_len: end, ..Default::default() });
        }
        Ok(())
    }

    fn append(&mut self, entry: &TreeEntry<'_>, entries: u32) {
        if let Some(directory) = self.open.last_mut() {
            entry.append_to(&mut directory.bytes);
            directory.entries += entries;
        }
    }

    /// Closes the innermost directory and hangs it into its parent.
    fn close(&mut self) -> Result<(), Fault> {
        let Some(directory) = self.open.pop() else { return Ok(()) };
        let path = std::mem::take(&mut self.path);
        let id = self.objects.hash(Kind::Tree, &directory.bytes).map_err(|message| Fault {
            kind: FaultKind::Unreadable,
            path: RepoPath::new(path.clone()),
            commit: None,
            message,
        })?;
        self.made.trees.insert(id, Arc::new(directory.bytes));
        self.made.directories.insert(path.clone(), Built { id, entries: directory.entries });
        match self.open.last().map(|parent| parent.path_len) {
            Some(parent_len) => {
                self.path = path[..parent_len].to_vec();
                let name_start = if parent_len == 0 { 0 } else { parent_len + 1 };
                let entry = TreeEntry { name: &path[name_start..], mode: None, id: id.as_bytes() };
                self.append(&entry, directory.entries);
            }
            None => self.made.root = id,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<BuiltTrees, Fault> {
        while !self.open.is_empty() {
            self.close()?;
        }
        Ok(self.made)
    }
}

impl Tracked<'_> {
    /// Returns the entry as one side of a change; `None` for a collapsed directory.
    pub fn entry(&self) -> Option<Entry> {
        self.mode.map(|mode| Entry::object(mode, self.id))
    }
}
