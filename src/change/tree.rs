//! Tree objects, read strictly.
//!
//! git does not check trees when it fetches them, so a tree may hold what no honest program wrote: the same name twice,
//! a name with a slash, entries out of order. Two readers can then see two different directories.

use memchr::memchr;

use crate::base::HashKind;
use crate::base::Oid;
use crate::change::Mode;

/// One line of a tree object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry<'a> {
    pub name: &'a [u8],
    /// `None` for a directory.
    pub mode: Option<Mode>,
    /// The raw id: most entries are only compared, and an [`Oid`] for each would be most of the work.
    pub id: &'a [u8],
}

impl TreeEntry<'_> {
    /// Returns the object that the entry names.
    pub fn oid(&self) -> Oid {
        Oid::from_bytes(self.id).expect("an entry holds exactly one id")
    }

    /// Adds the entry to the bytes of a tree object.
    pub fn append_to(&self, tree: &mut Vec<u8>) {
        tree.extend_from_slice(self.mode.map_or("40000", Mode::as_str).as_bytes());
        tree.push(b' ');
        tree.extend_from_slice(self.name);
        tree.push(0);
        tree.extend_from_slice(self.id);
    }

    pub const fn is_tree(&self) -> bool {
        self.mode.is_none()
    }
}

/// Why a tree object is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    #[error("the tree is cut off at byte {0}")]
    Truncated(usize),
    #[error("the tree has an entry with the mode {0:o}")]
    BadMode(u32),
    #[error("the tree has an entry whose name is empty, a dot, two dots or has a slash")]
    BadName,
    #[error("the tree has entries that are repeated or out of order")]
    Disorder,
    #[error("the tree is empty, which git never writes below the top")]
    Empty,
}

/// Returns the entries of the tree object in `bytes`, in git's order.
pub fn parse_tree(bytes: &[u8], hash: HashKind) -> Result<Vec<TreeEntry<'_>>, TreeError> {
    // A typical entry is a mode, a short name and an id; this saves most of the growing.
    let mut entries: Vec<TreeEntry<'_>> = Vec::with_capacity(bytes.len() / (hash.byte_len() + 16));
    let mut rest = bytes;
    while !rest.is_empty() {
        let cut = TreeError::Truncated(bytes.len() - rest.len());
        let (mode, after) = parse_mode(rest).ok_or(cut.clone())?;
        let end = memchr(0, after).ok_or(cut.clone())?;
        let (name, after) = (&after[..end], &after[end + 1..]);
        let (id, after) = after.split_at_checked(hash.byte_len()).ok_or(cut)?;
        rest = after;
        if name.is_empty() || name.contains(&b'/') || name == b"." || name == b".." {
            return Err(TreeError::BadName);
        }
        let mode = match mode {
            0o40_000 => None,
            other => Some(Mode::from_octal(other).ok_or(TreeError::BadMode(other))?),
        };
        let entry = TreeEntry { name, mode, id };
        if entries.last().is_some_and(|last| git_order(last, &entry).is_ge()) || has_twin(&entry, &entries) {
            return Err(TreeError::Disorder);
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the bytes of the tree object with these entries, which must be in git's order.
pub fn write_tree(entries: &[TreeEntry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    entries.iter().for_each(|entry| entry.append_to(&mut out));
    out
}

fn parse_mode(bytes: &[u8]) -> Option<(u32, &[u8])> {
    // Nearly every entry has one of these two.
    if let Some(rest) = bytes.strip_prefix(b"100644 ") {
        return Some((0o100_644, rest));
    }
    if let Some(rest) = bytes.strip_prefix(b"40000 ") {
        return Some((0o40_000, rest));
    }
    let end = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let mut mode = 0;
    for digit in &bytes[..end] {
        mode = mode * 8 + (*digit as char).to_digit(8)?;
    }
    Some((mode, &bytes[end + 1..])).filter(|_| end > 0)
}

/// Compares as git does: a directory sorts as if its name ended in a slash.
fn git_order(a: &TreeEntry<'_>, b: &TreeEntry<'_>) -> std::cmp::Ordering {
    // Neighbours differ early, so that this is shorter than calling for a comparison of memory.
    let common = a.name.iter().zip(b.name).take_while(|(a, b)| a == b).count();
    let next = |entry: &TreeEntry<'_>| entry.name.get(common).copied().or(entry.is_tree().then_some(b'/')).unwrap_or(0);
    next(a).cmp(&next(b))
}

/// Tells whether a file before a directory has its name. They need not be neighbours: `a.txt` sorts between `a` and `a/`,
/// but whatever sorts between them begins with the name.
fn has_twin(entry: &TreeEntry<'_>, before: &[TreeEntry<'_>]) -> bool {
    entry.is_tree()
        && before
            .iter()
            .rev()
            .take_while(|other| other.name.starts_with(entry.name))
            .any(|other| other.name == entry.name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (mode, name) in entries {
            out.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            out.extend_from_slice(&[7; 20]);
        }
        out
    }

    #[test]
    fn honest_trees_are_read() {
        let bytes = raw(&[("100644", "a.b"), ("40000", "a"), ("120000", "a0"), ("160000", "sub"), ("100664", "z")]);
        let entries = parse_tree(&bytes, HashKind::Sha1).unwrap();
        let modes: Vec<_> = entries.iter().map(|entry| entry.mode).collect();
        assert_eq!(modes, [Some(Mode::Regular), None, Some(Mode::Symlink), Some(Mode::Gitlink), Some(Mode::Regular)]);
    }

    #[test]
    fn what_no_honest_program_writes_is_refused() {
        let cases: [(&[(&str, &str)], TreeError); 7] = [
            (&[("100644", "a"), ("100644", "a")], TreeError::Disorder),
            (&[("100644", "b"), ("100644", "a")], TreeError::Disorder),
            (&[("100644", "a"), ("40000", "a")], TreeError::Disorder),
            (&[("100644", "a"), ("100644", "a.b"), ("40000", "a")], TreeError::Disorder),
            (&[("100644", "a/b")], TreeError::BadName),
            (&[("100644", "")], TreeError::BadName),
            (&[("100600", "a")], TreeError::BadMode(0o100_600)),
        ];
        for (entries, error) in cases {
            assert_eq!(parse_tree(&raw(entries), HashKind::Sha1), Err(error), "{entries:?}");
        }
        let whole = raw(&[("100644", "name")]);
        for end in 1..whole.len() {
            assert_eq!(parse_tree(&whole[..end], HashKind::Sha1), Err(TreeError::Truncated(0)), "cut at {end}");
        }
    }

    proptest! {
        #[test]
        fn trees_round_trip(files in proptest::collection::btree_map("[a-c0][a-c.\\-0]{0,3}", 0..5usize, 0..12)) {
            let modes = [None, Some(Mode::Regular), Some(Mode::Executable), Some(Mode::Symlink), Some(Mode::Gitlink)];
            let mut entries: Vec<_> = files
                .iter()
                .map(|(name, mode)| TreeEntry { name: name.as_bytes(), mode: modes[*mode], id: &[3; 20] })
                .collect();
            entries.sort_by(git_order);
            let bytes = write_tree(&entries);
            prop_assert_eq!(parse_tree(&bytes, HashKind::Sha1).unwrap(), entries);
        }

        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_tree(&bytes, HashKind::Sha1);
            let _ = parse_tree(&bytes, HashKind::Sha256);
        }
    }
}
