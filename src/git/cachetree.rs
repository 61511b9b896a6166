//! The cache tree of an index, found and read without trusting anything in it.
//!
//! git commits the trees that this extension names. It reads the extension leniently, so a strict reader that gives up on
//! an odd one would see no cache where git sees a forged one; and it is nested, so a recursive reader can be made to
//! overflow. This one reads the canonical form only, in a loop.

use crate::base::HashKind;
use crate::base::Oid;
use crate::change::MAX_DEPTH;

/// A directory for which the cache names a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedTree {
    pub path: Vec<u8>,
    pub entries: u32,
    pub id: Oid,
}

/// What the extensions of an index say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    pub cached_trees: Vec<CachedTree>,
    /// The index that this one is a difference from.
    pub shared: Option<Oid>,
}

/// Reads the extensions of an index file that matter to us, or says what is wrong with the file.
pub fn read_extensions(index: &[u8], hash: HashKind) -> Result<Extensions, &'static str> {
    let (cache, shared) = find_extensions(skip_entries(index, hash).ok_or("its entries are cut off")?, hash)?;
    let mut cached_trees = Vec::new();
    if let Some(content) = cache {
        let mut path: Vec<&[u8]> = Vec::new();
        walk_cache(content, hash, |depth, name, tree| {
            path.truncate(depth.saturating_sub(1));
            path.extend((depth > 0).then_some(name));
            if let Some((entries, id)) = tree {
                cached_trees.push(CachedTree { path: path.join(&b'/'), entries, id });
            }
        })?;
    }
    Ok(Extensions { cached_trees, shared })
}

/// Returns how many entries the index has and the tree that committing it would make, out of what follows the entries.
/// `None` when there is no such tree, or the cache is odd.
pub fn read_root(rest: &[u8], hash: HashKind) -> Option<(u32, Oid)> {
    let mut root = None;
    // All of it is read, because git drops the whole of a cache that is malformed anywhere.
    walk_cache(find_extensions(rest, hash).ok()?.0?, hash, |depth, _, tree| {
        if depth == 0 {
            root = tree;
        }
    })
    .ok()?;
    root
}

type Found<'a> = (Option<&'a [u8]>, Option<Oid>);

/// Returns the cache tree and the index that this one is a difference from, out of what follows the entries.
fn find_extensions(rest: &[u8], hash: HashKind) -> Result<Found<'_>, &'static str> {
    let mut rest = rest.get(..rest.len().saturating_sub(hash.byte_len())).ok_or("it has no checksum")?;
    let (mut cache, mut shared) = (None, None);
    while let [a, b, c, d, size @ ..] = rest {
        let (length, body) = size.split_first_chunk::<4>().ok_or("an extension is cut off")?;
        let length = u32::from_be_bytes(*length) as usize;
        let content = body.get(..length).ok_or("an extension is cut off")?;
        match &[*a, *b, *c, *d] {
            b"TREE" if cache.is_some() => return Err("it has two cache trees"),
            b"TREE" => cache = Some(content),
            b"link" => {
                let id = content.get(..hash.byte_len()).and_then(Oid::from_bytes).ok_or("its link is cut off")?;
                shared = Some(id).filter(|id| !id.is_null());
            }
            _ => {}
        }
        rest = &body[length..];
    }
    if !rest.is_empty() {
        return Err("an extension is cut off");
    }
    Ok((cache, shared))
}

/// Returns what follows the entries.
fn skip_entries(index: &[u8], hash: HashKind) -> Option<&[u8]> {
    let (header, mut rest) = index.split_first_chunk::<12>()?;
    let version = u32::from_be_bytes(*header[4..].first_chunk()?);
    let count = u32::from_be_bytes(*header[8..].first_chunk()?);
    if &header[..4] != b"DIRC" {
        return None;
    }
    for _ in 0..count {
        let flags_at = 40 + hash.byte_len();
        let flags = u16::from_be_bytes(*rest.get(flags_at..)?.first_chunk()?);
        // An extended entry has two more bytes of flags.
        let name_at = flags_at + if flags & 0x4000 != 0 { 4 } else { 2 };
        let name = rest.get(name_at..)?;
        if version == 4 {
            // How much of the last name is dropped, seven bits a byte; then the rest of the name.
            let number = name.iter().position(|byte| byte & 0x80 == 0)? + 1;
            let end = name[number..].iter().position(|byte| *byte == 0)?;
            rest = &name[number + end + 1..];
        } else {
            let length = match usize::from(flags & 0xfff) {
                0xfff => name.iter().position(|byte| *byte == 0)?,
                length => length,
            };
            // Padded with one to eight NULs to a multiple of eight.
            rest = rest.get((name_at + length + 8) & !7..)?;
        }
    }
    Some(rest)
}

/// Calls `visit` for each directory with its depth, its name and its tree, if it has one. They come depth first:
/// `name NUL count SP children LF [id]`. A count of -1 has no id.
fn walk_cache<'a>(
    mut rest: &'a [u8],
    hash: HashKind,
    mut visit: impl FnMut(usize, &'a [u8], Option<(u32, Oid)>),
) -> Result<(), &'static str> {
    const MALFORMED: &str = "its cache tree is malformed";
    // How many children each open directory still has to come.
    let mut open: Vec<u64> = vec![1];
    while let Some(missing) = open.last_mut() {
        if *missing == 0 {
            open.pop();
            continue;
        }
        *missing -= 1;
        let end = memchr::memchr(0, rest).ok_or(MALFORMED)?;
        let (name, after) = (&rest[..end], &rest[end + 1..]);
        let line_end = memchr::memchr(b'\n', after).ok_or(MALFORMED)?;
        let line = std::str::from_utf8(&after[..line_end]).map_err(|_| MALFORMED)?;
        rest = &after[line_end + 1..];
        let (count, children) = line.split_once(' ').ok_or(MALFORMED)?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let children: u64 = plain(children).ok_or(MALFORMED)?;
        let depth = open.len() - 1;
        // Only the root has no name, and no name has a border in it.
        if name.is_empty() != (depth == 0) || name.contains(&b'/') || depth >= MAX_DEPTH {
            return Err(MALFORMED);
        }
        let mut tree = None;
        if count != "-1" {
            let entries = plain(count).and_then(|count| u32::try_from(count).ok()).ok_or(MALFORMED)?;
            let id = rest.get(..hash.byte_len()).and_then(Oid::from_bytes).ok_or(MALFORMED)?;
            rest = &rest[hash.byte_len()..];
            tree = Some((entries, id));
        }
        visit(depth, name, tree);
        open.push(children);
    }
    if rest.is_empty() { Ok(()) } else { Err(MALFORMED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that has a tree: its depth, its name, its number of entries.
    type Seen<'a> = (usize, &'a [u8], u32);

    fn cache(text: &[u8]) -> Result<Vec<Seen<'_>>, &'static str> {
        let mut found = Vec::new();
        walk_cache(text, HashKind::Sha1, |depth, name, tree| {
            found.extend(tree.map(|(entries, _)| (depth, name, entries)));
        })?;
        Ok(found)
    }

    #[test]
    fn the_canonical_form_is_read() {
        let id = [7; 20];
        let text = [b"\x003 2\n", &id[..], b"a\x00-1 0\n", b"b\x001 0\n", &id[..]].concat();
        assert_eq!(cache(&text).unwrap(), [(0, &b""[..], 3), (1, b"b", 1)]);
    }

    #[test]
    fn what_git_reads_leniently_is_refused() {
        let id = [7; 20];
        for start in [
            &b"\x00 3 0\n"[..],
            b"\x003  0\n",
            b"\x003\t0\n",
            b"\x003 0junk\n",
            b"\x00+3 0\n",
            b"\x004294967299 0\n",
            b"x\x003 0\n",
        ] {
            assert!(cache(&[start, &id[..]].concat()).is_err(), "{start:?}");
        }
        assert!(cache(&[b"\x003 0\n", &id[..], b"xx"].concat()).is_err(), "bytes after the end");
        assert!(cache(b"\x003 0\n1234").is_err(), "no whole id");
        assert!(cache(b"").is_err());
    }

    #[test]
    fn a_deep_cache_overflows_nothing() {
        let text = [b"\x00-1 1\n".to_vec(), b"a\x00-1 1\n".repeat(200_000), b"a\x00-1 0\n".to_vec()].concat();
        assert!(cache(&text).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let _ = read_extensions(&bytes, HashKind::Sha1);
            let _ = read_root(&bytes, HashKind::Sha1);
            let _ = cache(&bytes);
        }
    }
}
