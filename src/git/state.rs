//! The old and new states of the steps of a change set, for those who follow links or look for sources.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::Mode;
use crate::change::Trees;
use crate::git::index::Index;
use crate::git::inspect::Links;
use crate::git::objects::Objects;
use crate::git::origin::OldFiles;
use crate::git::origin::entry_at;
use crate::git::origin::visit_files;
use crate::system;

/// The trees that one step compares.
pub struct StepTrees {
    pub olds: Vec<Option<Oid>>,
    pub new: Option<Oid>,
}

/// The states of all steps.
pub struct State<'a, T> {
    pub trees: &'a T,
    pub objects: &'a Objects,
    pub steps: &'a [StepTrees],
}

impl<T: Trees> State<'_, T> {
    fn had(&self, step: usize, path: &RepoPath, id: &Oid) -> Result<bool, String> {
        for tree_id in self.steps.get(step).into_iter().flat_map(|step| &step.olds).flatten() {
            if entry_at(self.trees, *tree_id, path)?.is_some_and(|found| found.id == *id) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<T: Trees> Links for State<'_, T> {
    fn link_at(&self, step: usize, path: &RepoPath) -> Result<Option<Vec<u8>>, String> {
        let Some(tree_id) = self.steps.get(step).and_then(|step| step.new) else { return Ok(None) };
        match entry_at(self.trees, tree_id, path)? {
            Some(found) if found.mode == Mode::Symlink => {
                self.objects.blob(&found.id).map(|target| Some(target.to_vec()))
            }
            _ => Ok(None),
        }
    }
}

/// No target is longer.
const MAX_TARGET_BYTES: u64 = 64 << 10;

/// Links as they are on disk.
pub struct DiskLinks<'a> {
    pub root: &'a Path,
    /// Paths that git takes for links. Where `core.symlinks` is off they are files with the target in them.
    pub links: HashSet<RepoPath>,
}

impl Links for DiskLinks<'_> {
    fn link_at(&self, _: usize, path: &RepoPath) -> Result<Option<Vec<u8>>, String> {
        let location = self.root.join(OsStr::from_bytes(path.as_bytes()));
        match std::fs::read_link(&location) {
            Ok(target) => Ok(Some(target.as_os_str().as_bytes().to_vec())),
            Err(_) if self.links.contains(path) => {
                system::read_limited(&location, MAX_TARGET_BYTES).map(Some).map_err(|error| error.to_string())
            }
            Err(_) => Ok(None),
        }
    }
}

/// Links that a patch makes, before those of HEAD.
pub struct PatchLinks<'a, T> {
    pub links: HashMap<RepoPath, Vec<u8>>,
    pub state: &'a State<'a, T>,
}

impl<T: Trees> Links for PatchLinks<'_, T> {
    fn link_at(&self, step: usize, path: &RepoPath) -> Result<Option<Vec<u8>>, String> {
        match self.links.get(path) {
            Some(target) => Ok(Some(target.clone())),
            None => self.state.link_at(step, path),
        }
    }
}

/// The files of old trees.
pub struct TreeFiles<'a, T> {
    pub tree_ids: Vec<Oid>,
    pub state: &'a State<'a, T>,
}

impl<T: Trees> OldFiles for TreeFiles<'_, T> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], Mode, Oid)) -> Result<(), String> {
        let mut seen = HashSet::new();
        self.tree_ids.iter().try_for_each(|tree_id| visit_files(self.state.trees, *tree_id, &mut seen, visit))
    }

    fn had(&self, step: usize, path: &RepoPath, id: &Oid) -> Result<bool, String> {
        self.state.had(step, path, id)
    }
}

/// The files of HEAD as the index knows them, which saves reading every tree.
pub struct IndexFiles<'a, T> {
    pub index: &'a Index,
    pub state: &'a State<'a, T>,
    /// Where the index differs from HEAD.
    pub changes: Vec<Change>,
}

impl<T: Trees> OldFiles for IndexFiles<'_, T> {
    fn visit(&self, visit: &mut dyn FnMut(&[u8], Mode, Oid)) -> Result<(), String> {
        for entry in self.index.entries() {
            let entry = entry.map_err(|fault| fault.message)?;
            match entry.mode {
                Some(mode) => visit(entry.path, mode, entry.id),
                None => {
                    let mut inside =
                        |path: &[u8], mode: Mode, id: Oid| visit(&[entry.path, b"/", path].concat(), mode, id);
                    visit_files(self.state.trees, entry.id, &mut HashSet::new(), &mut inside)?;
                }
            }
        }
        for change in &self.changes {
            if let Some((old, id)) = change.old.and_then(|old| Some((old, old.id?))) {
                visit(change.path.as_bytes(), old.mode, id);
            }
        }
        Ok(())
    }

    fn had(&self, step: usize, path: &RepoPath, id: &Oid) -> Result<bool, String> {
        self.state.had(step, path, id)
    }
}

/// Trees that are asked for again and again: a commit's trees are its child's old ones.
pub struct CachedTrees<'a> {
    objects: &'a Objects,
    kept: RefCell<HashMap<Oid, Arc<Vec<u8>>>>,
    bytes: RefCell<usize>,
}

/// When this much is kept, the cache starts anew.
const MAX_KEPT_BYTES: usize = 32 << 20;

impl<'a> CachedTrees<'a> {
    pub fn new(objects: &'a Objects) -> Self {
        CachedTrees { objects, kept: RefCell::default(), bytes: RefCell::default() }
    }
}

impl Trees for CachedTrees<'_> {
    fn hash_kind(&self) -> HashKind {
        self.objects.hash_kind()
    }

    fn tree(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String> {
        if let Some(bytes) = self.kept.borrow().get(id) {
            return Ok(bytes.clone());
        }
        let bytes = self.objects.tree(id)?;
        let mut total = self.bytes.borrow_mut();
        if *total + bytes.len() > MAX_KEPT_BYTES {
            self.kept.borrow_mut().clear();
            *total = 0;
        }
        *total += bytes.len();
        self.kept.borrow_mut().insert(*id, bytes.clone());
        Ok(bytes)
    }
}
