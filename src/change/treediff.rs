//! What a new tree has that none of the old trees has.
//!
//! With one old tree this is the plain difference of two trees. With the trees of several parents it is what a merge
//! adds of its own; with the boundary commits of a push it is the net change. Only directories that differ from every
//! old one are opened, so the cost follows the change and not the size of the repository.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::Entry;
use crate::change::TreeEntry;
use crate::change::TreeError;
use crate::change::parse_tree;

/// A change set of more paths than this is not judged path by path. A few small trees can name billions of paths.
pub const MAX_CHANGES: usize = 1_000_000;

/// Directories nested deeper than this are refused, as git itself does (core.maxTreeDepth).
pub const MAX_DEPTH: usize = 2048;

/// A source of tree objects.
pub trait Trees {
    fn hash_kind(&self) -> HashKind;

    /// Returns the bytes of a tree object, or the reason why there are none.
    fn tree(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String>;
}

/// Why two trees could not be compared, and in which directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffError {
    #[error("{reason}")]
    Unreadable { directory: RepoPath, reason: String },
    #[error("{error}")]
    Malformed { directory: RepoPath, error: TreeError },
    #[error("directories are nested more than {MAX_DEPTH} levels deep")]
    TooDeep { directory: RepoPath },
    #[error("more than {MAX_CHANGES} paths changed")]
    TooMany { directory: RepoPath },
}

/// Returns the paths at which `new` differs from every tree in `olds`, sorted. `None` is the empty tree: a root commit is
/// compared with `[None]`. The old side of a change is that of the first old tree that has one.
pub fn diff_trees(trees: &impl Trees, olds: &[Option<Oid>], new: Option<Oid>) -> Result<Vec<Change>, DiffError> {
    let mut changes = Vec::new();
    let mut opened = 0;
    let mut open = vec![Directory { path: Vec::new(), depth: 0, olds: olds.to_vec(), new }];
    while let Some(directory) = open.pop() {
        if directory.olds.contains(&directory.new) {
            continue;
        }
        if directory.depth > MAX_DEPTH {
            return Err(DiffError::TooDeep { directory: RepoPath::new(directory.path) });
        }
        directory.compare(trees, &mut changes, &mut open)?;
        // Directories can differ from every old one while no file in them does.
        opened += 1;
        if changes.len() + opened > MAX_CHANGES {
            return Err(DiffError::TooMany { directory: RepoPath::new(directory.path) });
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// A directory that is still to be compared.
struct Directory {
    path: Vec<u8>,
    depth: usize,
    olds: Vec<Option<Oid>>,
    new: Option<Oid>,
}

impl Directory {
    fn compare(
        &self,
        trees: &impl Trees,
        changes: &mut Vec<Change>,
        open: &mut Vec<Directory>,
    ) -> Result<(), DiffError> {
        let new_bytes = self.load(trees, self.new)?;
        let old_bytes = self.olds.iter().map(|id| self.load(trees, *id)).collect::<Result<Vec<_>, _>>()?;
        let new_entries = self.parse(trees, &new_bytes)?;
        // An empty directory shows no path, whatever its name is.
        if self.new.is_some() && self.depth > 0 && new_entries.is_empty() {
            return Err(DiffError::Malformed { directory: RepoPath::new(self.path.clone()), error: TreeError::Empty });
        }
        let old_entries = old_bytes.iter().map(|bytes| self.parse(trees, bytes)).collect::<Result<Vec<_>, _>>()?;

        // One old side is by far the most common, and then most names are the same on both.
        if let [old_entries] = old_entries.as_slice() {
            self.merge_one(old_entries, &new_entries, changes, open);
        } else {
            self.merge_all(&old_entries, &new_entries, changes, open);
        }
        Ok(())
    }

    fn merge_one(
        &self,
        olds: &[TreeEntry<'_>],
        news: &[TreeEntry<'_>],
        changes: &mut Vec<Change>,
        open: &mut Vec<Directory>,
    ) {
        let (mut olds, mut news) = (olds.iter().peekable(), news.iter().peekable());
        loop {
            let (old, new) = match (olds.peek(), news.peek()) {
                (None, None) => return,
                (Some(old), Some(new)) => match old.name.cmp(new.name) {
                    Ordering::Less => (olds.next(), None),
                    Ordering::Greater => (None, news.next()),
                    Ordering::Equal => (olds.next(), news.next()),
                },
                _ => (olds.next(), news.next()),
            };
            if let Some(entry) = old.or(new)
                && !is_same(old, new)
            {
                self.differ(entry.name, &[old], new, changes, open);
            }
        }
    }

    fn merge_all(
        &self,
        olds: &[Vec<TreeEntry<'_>>],
        news: &[TreeEntry<'_>],
        changes: &mut Vec<Change>,
        open: &mut Vec<Directory>,
    ) {
        let mut cursors = vec![0; olds.len()];
        let mut at_names = vec![None; olds.len()];
        let mut news = news.iter().peekable();
        loop {
            // The smallest name that any side has left.
            let heads = olds.iter().zip(&cursors).filter_map(|(entries, cursor)| entries.get(*cursor));
            let Some(name) = heads.chain(news.peek().copied()).map(|entry| entry.name).min() else { return };
            let new = news.next_if(|entry| entry.name == name);
            for ((entries, cursor), at_name) in olds.iter().zip(&mut cursors).zip(&mut at_names) {
                *at_name = entries.get(*cursor).filter(|entry| entry.name == name);
                *cursor += usize::from(at_name.is_some());
            }
            if !at_names.iter().any(|old| is_same(*old, new)) {
                self.differ(name, &at_names, new, changes, open);
            }
        }
    }

    /// Records a name that differs from every old side: as a change, as a directory to open, or both.
    fn differ(
        &self,
        name: &[u8],
        olds: &[Option<&TreeEntry<'_>>],
        new: Option<&TreeEntry<'_>>,
        changes: &mut Vec<Change>,
        open: &mut Vec<Directory>,
    ) {
        let mut path = self.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);

        let entry = |side: Option<&TreeEntry<'_>>| side.and_then(|entry| Some(Entry::object(entry.mode?, entry.oid())));
        let subtree = |side: Option<&TreeEntry<'_>>| side.filter(|entry| entry.is_tree()).map(|entry| entry.oid());

        let old_entries: Vec<_> = olds.iter().map(|old| entry(*old)).collect();
        let new_entry = entry(new);
        // Where some old side has no file here either, the absence of one is nothing new.
        if !old_entries.contains(&new_entry) {
            let old = old_entries.iter().flatten().next().copied();
            changes.push(Change::new(RepoPath::new(path.clone()), old, new_entry));
        }
        let old_trees: Vec<_> = olds.iter().map(|old| subtree(*old)).collect();
        let new_tree = subtree(new);
        if new_tree.is_some() || old_trees.iter().any(Option::is_some) {
            open.push(Directory { path, depth: self.depth + 1, olds: old_trees, new: new_tree });
        }
    }

    fn load(&self, trees: &impl Trees, id: Option<Oid>) -> Result<Arc<Vec<u8>>, DiffError> {
        let Some(id) = id else { return Ok(Arc::default()) };
        trees.tree(&id).map_err(|reason| DiffError::Unreadable { directory: RepoPath::new(self.path.clone()), reason })
    }

    /// Returns the entries sorted by plain name, so that a file and a directory of one name meet.
    fn parse<'a>(&self, trees: &impl Trees, bytes: &'a [u8]) -> Result<Vec<TreeEntry<'a>>, DiffError> {
        let mut entries = parse_tree(bytes, trees.hash_kind())
            .map_err(|error| DiffError::Malformed { directory: RepoPath::new(self.path.clone()), error })?;
        // Mostly they are: only a directory can stand elsewhere.
        if !entries.is_sorted_by(|a, b| a.name.iter().lt(b.name)) {
            entries.sort_unstable_by(|a, b| a.name.cmp(b.name));
        }
        Ok(entries)
    }
}

/// Tells whether two sides have the same thing at a name, or both nothing.
fn is_same(old: Option<&TreeEntry<'_>>, new: Option<&TreeEntry<'_>>) -> bool {
    match (old, new) {
        (None, None) => true,
        (Some(old), Some(new)) => old.id == new.id && old.mode == new.mode,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::base::Sha256Hex;
    use crate::change::Mode;
    use crate::change::write_tree;

    type Files = BTreeMap<String, (Mode, u8)>;

    /// An object store in memory; ids are taken from a SHA-256 because any good hash will do.
    #[derive(Default)]
    struct Store(RefCell<HashMap<Oid, Vec<u8>>>);

    impl Trees for Store {
        fn hash_kind(&self) -> HashKind {
            HashKind::Sha256
        }

        fn tree(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String> {
            self.0.borrow().get(id).cloned().map(Arc::new).ok_or_else(|| "missing".to_owned())
        }
    }

    impl Store {
        fn put(&self, bytes: Vec<u8>) -> Oid {
            let id = Oid::from_hex(Sha256Hex::of(&bytes).as_str()).unwrap();
            self.0.borrow_mut().insert(id, bytes);
            id
        }

        fn write(&self, files: &Files) -> Oid {
            let mut named: BTreeMap<String, (&str, Option<Mode>, Oid)> = BTreeMap::new();
            let mut directories: BTreeMap<&str, Files> = BTreeMap::new();
            for (path, (mode, content)) in files {
                match path.split_once('/') {
                    Some((name, rest)) => {
                        directories.entry(name).or_default().insert(rest.to_owned(), (*mode, *content));
                    }
                    None => {
                        let id = Oid::from_bytes(&[*content; 32]).unwrap();
                        named.insert(path.clone(), (path, Some(*mode), id));
                    }
                }
            }
            for (name, inside) in &directories {
                // A directory and a file cannot share a name; the directory wins in this model.
                named.remove(*name);
                named.insert(format!("{name}/"), (name, None, self.write(inside)));
            }
            let entries: Vec<_> = named
                .values()
                .map(|(name, mode, id)| TreeEntry { name: name.as_bytes(), mode: *mode, id: id.as_bytes() })
                .collect();
            self.put(write_tree(&entries))
        }
    }

    /// Drops files whose name is also a directory, as `Store::write` does.
    fn honest(files: &Files) -> Files {
        let shadowed = |path: &str| files.keys().any(|other| other.starts_with(&format!("{path}/")));
        files.iter().filter(|(path, _)| !shadowed(path)).map(|(path, value)| (path.clone(), *value)).collect()
    }

    fn files() -> impl Strategy<Value = Files> {
        let mode = prop_oneof![Just(Mode::Regular), Just(Mode::Executable), Just(Mode::Symlink), Just(Mode::Gitlink)];
        proptest::collection::btree_map("[ab](/[ab][ab.]?){0,3}", (mode, 0..3u8), 0..10)
    }

    proptest! {
        #[test]
        fn differs_exactly_where_a_list_of_files_differs(news in files(), olds in proptest::collection::vec(files(), 1..4)) {
            let store = Store::default();
            let new_id = store.write(&news);
            let old_ids: Vec<_> = olds.iter().map(|old| Some(store.write(old))).collect();
            let found: BTreeSet<String> = diff_trees(&store, &old_ids, Some(new_id))
                .unwrap()
                .into_iter()
                .map(|change| change.path.to_string())
                .collect();
            let (news, olds) = (honest(&news), olds.iter().map(honest).collect::<Vec<_>>());
            let paths: BTreeSet<&String> = olds.iter().chain([&news]).flat_map(|files| files.keys()).collect();
            let expected: BTreeSet<String> = paths
                .into_iter()
                .filter(|path| olds.iter().all(|old| old.get(*path) != news.get(*path)))
                .cloned()
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_small_tree_that_names_billions_of_paths_is_refused() {
        let store = Store::default();
        let file = Oid::from_bytes(&[1; 32]).unwrap();
        let names: Vec<String> = (0..10).map(|digit| digit.to_string()).collect();
        let leaf: Vec<_> = names
            .iter()
            .map(|name| TreeEntry { name: name.as_bytes(), mode: Some(Mode::Regular), id: file.as_bytes() })
            .collect();
        let mut id = store.put(write_tree(&leaf));
        for _ in 0..10 {
            let level: Vec<_> =
                names.iter().map(|name| TreeEntry { name: name.as_bytes(), mode: None, id: id.as_bytes() }).collect();
            id = store.put(write_tree(&level));
        }
        assert!(matches!(diff_trees(&store, &[None], Some(id)), Err(DiffError::TooMany { .. })));
    }

    #[test]
    fn a_small_merge_that_opens_billions_of_directories_is_refused() {
        let store = Store::default();
        let names: Vec<String> = (0..10).map(|digit| digit.to_string()).collect();
        // Each leaf of the merge equals one of its parents, and no directory does.
        let build = |x: u8, y: u8| {
            let (x, y) = ([x; 32], [y; 32]);
            let leaf = |name: &'static [u8], id| TreeEntry { name, mode: Some(Mode::Regular), id };
            let mut id = store.put(write_tree(&[leaf(b"x", &x), leaf(b"y", &y)]));
            for _ in 0..9 {
                let level: Vec<_> = names
                    .iter()
                    .map(|name| TreeEntry { name: name.as_bytes(), mode: None, id: id.as_bytes() })
                    .collect();
                id = store.put(write_tree(&level));
            }
            Some(id)
        };
        let (merge, parents) = (build(1, 2), [build(1, 3), build(4, 2)]);
        assert!(matches!(diff_trees(&store, &parents, merge), Err(DiffError::TooMany { .. })));
    }

    #[test]
    fn endless_nesting_is_refused_without_a_stack() {
        let store = Store::default();
        let mut id = store.put(Vec::new());
        for _ in 0..=MAX_DEPTH + 1 {
            id = store.put(write_tree(&[TreeEntry { name: b"d", mode: None, id: id.as_bytes() }]));
        }
        assert!(matches!(diff_trees(&store, &[None], Some(id)), Err(DiffError::TooDeep { .. })));
    }

    #[test]
    fn a_missing_tree_names_its_directory() {
        let store = Store::default();
        let missing = Oid::from_bytes(&[9; 32]).unwrap();
        let top = store.put(write_tree(&[TreeEntry { name: b"src", mode: None, id: missing.as_bytes() }]));
        let error = diff_trees(&store, &[None], Some(top)).unwrap_err();
        assert_eq!(error, DiffError::Unreadable { directory: "src".into(), reason: "missing".to_owned() });
    }
}
