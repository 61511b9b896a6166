//! Files of the working tree: their kind, whether they still are what the index says, and their id.

use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use gix::index::entry::Stat;

use crate::base::HashKind;
use crate::base::Oid;
use crate::change::Mode;
use crate::git::inspect::Traits;
use crate::git::objects::to_gix_kind;

/// What the repository says about its working tree.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// `core.fileMode`: the executable bit on disk means something.
    pub file_mode: bool,
    /// `core.symlinks`: links are links and not files with the target in them.
    pub symlinks: bool,
    pub hash: HashKind,
}

/// What a file on disk is, in git's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDiskKind {
    File(Mode),
    Directory,
    /// A pipe, a socket, a device: nothing git can store.
    Special,
}

impl OnDiskKind {
    /// Returns the kind of a file that the index tracks with `tracked`.
    pub fn of(metadata: &Metadata, tracked: Option<Mode>, rules: Rules) -> Self {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            return OnDiskKind::File(Mode::Symlink);
        }
        if kind.is_dir() {
            return OnDiskKind::Directory;
        }
        if !kind.is_file() {
            return OnDiskKind::Special;
        }
        let executable = metadata.permissions().mode() & 0o100 != 0;
        OnDiskKind::File(match tracked {
            Some(Mode::Symlink) if !rules.symlinks => Mode::Symlink,
            Some(mode @ (Mode::Regular | Mode::Executable)) if !rules.file_mode => mode,
            _ if executable && rules.file_mode => Mode::Executable,
            _ => Mode::Regular,
        })
    }
}

/// Tells whether a file is certainly still the one that the index entry was made from.
///
/// Every recorded field must agree, whatever `core.checkStat` and `core.trustctime` say: a difference only costs a look
/// into the file. An entry as young as the index itself proves nothing.
pub fn is_unchanged(stat: &Stat, metadata: &Metadata, index_written_at: (i64, u32)) -> bool {
    let modified = (i64::from(stat.mtime.secs), stat.mtime.nsecs);
    modified < index_written_at
        && stat.mtime.secs == metadata.mtime() as u32
        && stat.mtime.nsecs == metadata.mtime_nsec() as u32
        && stat.ctime.secs == metadata.ctime() as u32
        && stat.ctime.nsecs == metadata.ctime_nsec() as u32
        && stat.size == metadata.size() as u32
        && stat.dev == metadata.dev() as u32
        && stat.ino == metadata.ino() as u32
        && stat.uid == metadata.uid()
        && stat.gid == metadata.gid()
}

/// The id and nature of a content.
#[derive(Debug, Clone, Copy)]
pub struct Digested {
    pub id: Oid,
    pub size: u64,
    pub traits: Traits,
    /// It has carriage returns, so git may store something else than what is on disk.
    pub carriage_returns: bool,
}

/// Reads a file or link once and returns what it is.
pub fn digest(path: &Path, mode: Mode, metadata: &Metadata, rules: Rules) -> io::Result<Digested> {
    if metadata.file_type().is_symlink() {
        let target = std::fs::read_link(path)?;
        return digest_stream(target.as_os_str().as_bytes(), target.as_os_str().len() as u64, rules.hash);
    }
    let digested = digest_stream(File::open(path)?, metadata.len(), rules.hash)?;
    Ok(if mode == Mode::Symlink { Digested { traits: Traits::default(), ..digested } } else { digested })
}

fn digest_stream(mut content: impl Read, size: u64, hash: HashKind) -> io::Result<Digested> {
    let mut hasher = gix::hash::hasher(to_gix_kind(hash));
    hasher.update(format!("blob {size}\0").as_bytes());
    let mut traits = Traits::default();
    let mut carriage_returns = false;
    let mut buffer = vec![0; 64 << 10];
    let mut kept = 0;
    let mut total = 0;
    loop {
        let read = content.read(&mut buffer[kept..])?;
        if read == 0 {
            break;
        }
        total += read as u64;
        let end = kept + read;
        hasher.update(&buffer[kept..end]);
        // Two bytes of the last piece stay in front, so that a character cut in two is still seen.
        let seen = Traits::of(&buffer[..end]);
        traits = Traits { binary: traits.binary || seen.binary, bidi: traits.bidi || seen.bidi, secret: false };
        carriage_returns |= buffer[kept..end].contains(&b'\r');
        let tail = end.min(2);
        buffer.copy_within(end - tail..end, 0);
        kept = tail;
    }
    if total != size {
        return Err(io::Error::other("it changed while it was read"));
    }
    let id = hasher.try_finalize().map_err(io::Error::other)?;
    let id = Oid::from_bytes(id.as_slice()).ok_or_else(|| io::Error::other("the hash has an unknown length"))?;
    Ok(Digested { id, size, traits, carriage_returns })
}

/// A content with its line endings as line feeds.
pub struct Converted {
    pub id: Oid,
    /// git's own guess: a NUL, a lone carriage return, or too many control characters.
    pub looks_binary: bool,
}

/// Returns the id that a text has when its line endings are stored as line feeds, as git does on request.
pub fn digest_with_line_feeds(path: &Path, rules: Rules) -> io::Result<Converted> {
    let bytes = std::fs::read(path)?;
    let mut text = Vec::with_capacity(bytes.len());
    for (position, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(position + 1) != Some(&b'\n') {
            text.push(*byte);
        }
    }
    let is_odd = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\n' | b'\t' | 0x08 | 0x1b | 0x0c) || **byte == 0x7f;
    let odd = text.iter().filter(is_odd).count();
    let looks_binary = text.contains(&0) || text.contains(&b'\r') || (text.len() - odd) / 128 < odd;
    Ok(Converted { id: digest_stream(text.as_slice(), text.len() as u64, rules.hash)?.id, looks_binary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_the_id_that_git_gives_it() {
        let digested = digest_stream(&b"hello\n"[..], 6, HashKind::Sha1).unwrap();
        assert_eq!(digested.id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(digested.traits, Traits::default());
    }

    #[test]
    fn what_spans_two_pieces_is_seen() {
        // The control character starts at the last byte of the first piece.
        let mut text = vec![b'a'; (64 << 10) - 1];
        text.extend_from_slice("\u{202e}".as_bytes());
        let digested = digest_stream(text.as_slice(), text.len() as u64, HashKind::Sha1).unwrap();
        assert!(digested.traits.bidi && !digested.traits.binary);
        text.push(0);
        assert!(digest_stream(text.as_slice(), text.len() as u64, HashKind::Sha1).unwrap().traits.binary);
    }

    #[test]
    fn every_recorded_field_counts_and_a_young_entry_proves_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let metadata = file.path().metadata().unwrap();
        let time = |secs: i64, nsecs: i64| gix::index::entry::stat::Time { secs: secs as u32, nsecs: nsecs as u32 };
        let stat = Stat {
            mtime: time(metadata.mtime(), metadata.mtime_nsec()),
            ctime: time(metadata.ctime(), metadata.ctime_nsec()),
            dev: metadata.dev() as u32,
            ino: metadata.ino() as u32,
            uid: metadata.uid(),
            gid: metadata.gid(),
            size: metadata.size() as u32,
        };
        let written = (metadata.mtime(), metadata.mtime_nsec() as u32);
        let later = (written.0 + 1, 0);
        assert!(is_unchanged(&stat, &metadata, later));
        assert!(!is_unchanged(&stat, &metadata, written), "as young as the index");
        let other = |edit: fn(&mut Stat)| {
            let mut stat = stat;
            edit(&mut stat);
            stat
        };
        for changed in [
            other(|stat| stat.mtime.nsecs ^= 1),
            other(|stat| stat.ctime.nsecs ^= 1),
            other(|stat| stat.ctime.secs ^= 1),
            other(|stat| stat.size += 1),
            other(|stat| stat.ino ^= 1),
            other(|stat| stat.dev ^= 1),
            other(|stat| stat.uid ^= 1),
            other(|stat| stat.gid ^= 1),
        ] {
            assert!(!is_unchanged(&changed, &metadata, later), "{changed:?}");
        }
    }

    #[test]
    fn a_file_that_changes_while_it_is_read_is_an_error() {
        assert!(digest_stream(&b"hello"[..], 6, HashKind::Sha1).is_err());
    }
}
