//! Change sets that are seen at a glance: those of nearly every commit.
//!
//! git has written the tree of the next commit before it runs pre-commit, and the index names it; a commit names its
//! own. So two trees are compared, and nothing is read but the directories that differ. Where that does not settle
//! everything there is no answer here, and the general path is taken: a file is new and may be a copy, the index and its
//! trees say different things, a merge is under way, something is odd.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use crate::base::HashKind;
use crate::base::Oid;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Mode;
use crate::change::StepKind;
use crate::git::Look;
use crate::git::Repository;
use crate::git::cachetree::read_root;
use crate::git::collect::push_step;
use crate::git::inspect::Contents;
use crate::git::inspect::inspect;
use crate::git::origin::may_be_copy;
use crate::git::refs::Head;
use crate::git::state::State;
use crate::git::state::StepTrees;

impl Repository {
    /// Returns the change that committing the index would make, where that is seen at a glance.
    pub fn glance_at_index(&self, look: &Look<'_>) -> Option<ChangeSet> {
        let old = match self.refs.as_ref()?.head()? {
            Head::Unborn => None,
            Head::Branch(id) | Head::Detached(id) => Some(self.objects.commit(&id).ok()?.tree_id),
        };
        let index = File::open(&self.index_path).ok()?;
        let outline = Outline::read(&index, self.hash)?;
        let set = self.glance(StepKind::Staged, vec![old], outline.root, look)?;
        // The trees are what git commits; the entries are what a person is shown.
        let entries = Entries { index: &index, starts: &outline.starts, hash: self.hash };
        set.steps.iter().flat_map(|step| &step.changes).all(|change| entries.agree(change)).then_some(set)
    }

    /// Returns the change that a commit makes, where all that it builds upon is where HEAD or the branch is now.
    /// Returns an empty one for a commit that is there already.
    pub fn glance_at_commit(&self, id: Oid, branches: &[&str], look: &Look<'_>) -> Option<ChangeSet> {
        let refs = self.refs.as_ref()?;
        let mut known = Vec::new();
        match refs.head()? {
            Head::Unborn => {}
            Head::Branch(id) | Head::Detached(id) => known.push(id),
        }
        for name in branches.iter().filter(|name| name.starts_with("refs/heads/")) {
            known.extend(refs.branch(name)?);
        }
        if known.contains(&id) {
            return Some(ChangeSet::default());
        }
        let commit = self.objects.commit(&id).ok()?;
        if commit.parent_ids.is_empty() || commit.parent_ids.iter().any(|parent_id| !known.contains(parent_id)) {
            return None;
        }
        let mut olds = Vec::new();
        for parent_id in &commit.parent_ids {
            olds.push(Some(self.objects.commit(parent_id).ok()?.tree_id));
        }
        self.glance(StepKind::Commit(id), olds, commit.tree_id, look)
    }

    fn glance(&self, kind: StepKind, olds: Vec<Option<Oid>>, new: Oid, look: &Look<'_>) -> Option<ChangeSet> {
        let steps = [StepTrees { olds, new: Some(new) }];
        let mut set = ChangeSet::default();
        push_step(&mut set, kind, &self.objects, &steps[0]);
        if set.steps.iter().flat_map(|step| &step.changes).any(|change| may_be_copy(change, look)) {
            return None;
        }
        let contents = Contents { objects: &self.objects, unstored: HashMap::new() };
        let state = State { trees: &self.objects, objects: &self.objects, steps: &steps };
        inspect(&mut set, &contents, &state, look);
        Some(set)
    }
}

/// Where the entries of an index begin, and the tree that committing it would make.
#[derive(Debug, PartialEq, Eq)]
pub struct Outline {
    starts: Vec<u32>,
    root: Oid,
}

/// How much of an index is looked at once. Memory that is used again and again is cheaper than as much as there is.
const WINDOW_BYTES: usize = 256 << 10;

/// Names of this length or more do not say how long they are.
const LONG_NAME: usize = 0xfff;

impl Outline {
    /// Reads no more of an index than where things are in it; `None` when anything about it is odd.
    pub fn read(index: impl Read, hash: HashKind) -> Option<Self> {
        let mut window = Window { source: index, bytes: vec![0; WINDOW_BYTES], start: 0, end: 0, before: 0 };
        let header: [u8; 12] = *window.take(12)?.first_chunk()?;
        let [version, count] = [4, 8].map(|at| u32::from_be_bytes([0, 1, 2, 3].map(|byte| header[at + byte])));
        // In version 4 the names cannot be read one by one.
        if !header.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
            return None;
        }
        let flags_at = 40 + hash.byte_len();
        let mut starts = Vec::new();
        for _ in 0..count {
            starts.push(u32::try_from(window.position()).ok()?);
            let flags = u16::from_be_bytes(*window.peek(flags_at + 2)?.get(flags_at..)?.first_chunk()?);
            let name_at = flags_at + if flags & EXTENDED != 0 { 4 } else { 2 };
            let length = Some(usize::from(flags) & LONG_NAME).filter(|length| *length < LONG_NAME)?;
            // Padded with one to eight NULs to a multiple of eight.
            window.take((name_at + length + 8) & !7)?;
        }
        let (entries, root) = read_root(&window.rest()?, hash)?;
        (entries == count).then_some(Outline { starts, root })
    }
}

/// An entry with two more bytes of flags.
const EXTENDED: u16 = 0x4000;

/// A part of a file that moves through it.
struct Window<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// How much of the file lies before the bytes.
    before: u64,
}

impl<R: Read> Window<R> {
    const fn position(&self) -> u64 {
        self.before + self.start as u64
    }

    /// Returns the next `count` bytes, which are few.
    fn peek(&mut self, count: usize) -> Option<&[u8]> {
        if self.end - self.start < count {
            self.bytes.copy_within(self.start..self.end, 0);
            self.before += self.start as u64;
            (self.start, self.end) = (0, self.end - self.start);
            while self.end < count {
                match self.source.read(&mut self.bytes[self.end..]).ok()? {
                    0 => return None,
                    read => self.end += read,
                }
            }
        }
        self.bytes.get(self.start..self.start + count)
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        self.peek(count)?;
        self.start += count;
        self.bytes.get(self.start - count..self.start)
    }

    fn rest(mut self) -> Option<Vec<u8>> {
        let mut rest = self.bytes[self.start..self.end].to_vec();
        self.source.read_to_end(&mut rest).ok()?;
        Some(rest)
    }
}

/// The entries of an index, read where its outline says.
struct Entries<'a> {
    index: &'a File,
    starts: &'a [u32],
    hash: HashKind,
}

impl Entries<'_> {
    /// Tells whether the index has at a path what the change puts there.
    fn agree(&self, change: &Change) -> bool {
        let path = change.path.as_bytes();
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(entry) = self.read(self.starts[middle]) else { return false };
            match entry.path.as_slice().cmp(path) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return change.new == Some(Entry::object(entry.mode, entry.id)),
            }
        }
        change.new.is_none()
    }

    fn read(&self, start: u32) -> Option<Named> {
        // Few names need more than the first try.
        self.read_in(&mut [0; 256], start).or_else(|| self.read_in(&mut [0; 76 + LONG_NAME], start))
    }

    fn read_in(&self, bytes: &mut [u8], start: u32) -> Option<Named> {
        let count = self.index.read_at(bytes, u64::from(start)).ok()?;
        let (fixed, rest) = bytes.get(..count)?.split_at_checked(40 + self.hash.byte_len())?;
        let flags = u16::from_be_bytes(*rest.first_chunk()?);
        let name_at = if flags & EXTENDED != 0 { 4 } else { 2 };
        Some(Named {
            path: rest.get(name_at..name_at + (usize::from(flags) & LONG_NAME))?.to_vec(),
            mode: Mode::from_octal(u32::from_be_bytes(*fixed.get(24..)?.first_chunk()?))?,
            id: Oid::from_bytes(&fixed[40..])?,
        })
    }
}

/// An entry of the index as far as it matters here.
struct Named {
    path: Vec<u8>,
    mode: Mode,
    id: Oid,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an index with these paths and a cache for the whole of it.
    fn index(paths: &[&str], cached: u32) -> Vec<u8> {
        let mut bytes = [b"DIRC\0\0\0\x02", &(paths.len() as u32).to_be_bytes()[..]].concat();
        for path in paths {
            let start = bytes.len();
            bytes.extend([0; 60]);
            bytes.extend((path.len().min(LONG_NAME) as u16).to_be_bytes());
            bytes.extend(path.as_bytes());
            bytes.resize(start + ((62 + path.len() + 8) & !7), 0);
        }
        let cache = [format!("\0{cached} 0\n").as_bytes(), &[7; 20]].concat();
        bytes.extend([b"TREE", &(cache.len() as u32).to_be_bytes()[..], &cache, &[0; 20]].concat());
        bytes
    }

    #[test]
    fn an_outline_says_where_entries_begin() {
        let root = Oid::from_bytes(&[7; 20]).unwrap();
        let read = |bytes: &[u8]| Outline::read(bytes, HashKind::Sha1);
        assert_eq!(read(&index(&["a", "some/longer/name"], 2)), Some(Outline { starts: vec![12, 76], root }));
        assert_eq!(read(&index(&[], 0)), Some(Outline { starts: vec![], root }));
        let many: Vec<String> = (0..20_000).map(|number| format!("directory/{number:0100}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(read(&index(&many, 20_000)).map(|outline| outline.starts.len()), Some(20_000));
    }

    #[test]
    fn an_odd_index_has_no_outline() {
        let read = |bytes: &[u8]| Outline::read(bytes, HashKind::Sha1);
        assert_eq!(read(&index(&["a"], 2)), None, "the cache counts other entries");
        assert_eq!(read(&index(&[&"x".repeat(5000)], 1)), None, "a very long name");
        let plain = index(&["a", "b"], 2);
        for length in 0..plain.len() {
            assert_eq!(read(&plain[..length]), None, "cut off at {length}");
        }
        let mut fourth = plain.clone();
        fourth[7] = 4;
        assert_eq!(read(&fourth), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let _ = Outline::read(bytes.as_slice(), HashKind::Sha1);
            let _ = Outline::read([b"DIRC\0\0\0\x02\0\0\0\x01", bytes.as_slice()].concat().as_slice(), HashKind::Sha1);
        }
    }
}
