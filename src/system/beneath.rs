//! Files below a directory, reached without following a single link.
//!
//! A path is walked one component at a time from an open directory, and each is opened only if it is no link. Whatever
//! somebody swaps meanwhile, nothing outside of the directory is read.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::AtFlags;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::system::FileError;

/// A directory, and what is below it.
pub struct Beneath {
    top: Arc<OwnedFd>,
    /// The directory that was used last: the next path is most often in it or below it.
    near: Option<(Vec<u8>, OwnedFd)>,
}

/// One name in a directory.
pub struct Listed {
    pub name: Vec<u8>,
    pub kind: ListedKind,
}

/// What a name in a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    File {
        size: u64,
    },
    Directory,
    Symlink,
    /// A pipe, a socket, a device.
    Special,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error("it is a symlink")]
    Symlink,
    #[error("it is no regular file")]
    Special,
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: u64 },
    /// It was there a moment ago.
    #[error("it is gone")]
    Gone,
    #[error("it changed while it was read")]
    Changed,
    #[error(transparent)]
    Io(io::Error),
}

impl Beneath {
    /// Opens a directory. Links on the way to it are followed: it is the one that the user named.
    pub fn open(top: &Path) -> Result<Self, FileError> {
        let opened = rustix::fs::open(top, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let top =
            opened.map_err(|error| FileError::Io { action: "open", path: top.to_owned(), source: error.into() })?;
        Ok(Beneath { top: Arc::new(top), near: None })
    }

    /// Returns the same directory for another thread.
    pub fn fork(&self) -> Self {
        Beneath { top: Arc::clone(&self.top), near: None }
    }

    /// Returns what is in a directory, sorted by name; the top is the empty path.
    pub fn list(&mut self, directory: &[u8]) -> Result<Vec<Listed>, Unread> {
        let opened = self.directory(directory)?;
        let mut listed = Vec::new();
        for entry in rustix::fs::Dir::read_from(opened).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Directory => ListedKind::Directory,
                FileType::Symlink => ListedKind::Symlink,
                // The size is in the inode; some file systems do not say the kind here either.
                FileType::RegularFile | FileType::Unknown => {
                    match rustix::fs::statat(opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                            FileType::RegularFile => {
                                ListedKind::File { size: u64::try_from(stat.st_size).unwrap_or(u64::MAX) }
                            }
                            FileType::Directory => ListedKind::Directory,
                            FileType::Symlink => ListedKind::Symlink,
                            _ => ListedKind::Special,
                        },
                        // It vanished meanwhile.
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(unread(error)),
                    }
                }
                _ => ListedKind::Special,
            };
            listed.push(Listed { name: name.to_bytes().to_vec(), kind });
        }
        listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// Returns the content of a regular file of at most `limit` bytes, or why it cannot be had. A pipe is not waited for.
    pub fn read(&mut self, path: &[u8], limit: u64) -> Result<Vec<u8>, Unread> {
        let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&path[..0], path),
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self.directory(directory)?, OsStr::from_bytes(name), flags, Mode::empty());
        let mut file = match opened {
            Ok(file) => File::from(file),
            // A link that may not be followed.
            Err(Errno::LOOP | Errno::MLINK) => return Err(Unread::Symlink),
            // A socket, or a device without a driver.
            Err(Errno::NXIO | Errno::NODEV) => return Err(Unread::Special),
            Err(error) => return Err(unread(error)),
        };
        let before = file.metadata().map_err(Unread::Io)?;
        if !before.is_file() {
            return Err(Unread::Special);
        }
        if before.len() > limit {
            return Err(Unread::TooLarge { limit });
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
        // One more than it has, so that a file that grows meanwhile is noticed.
        let read = Read::by_ref(&mut file).take(before.len() + 1).read_to_end(&mut bytes).map_err(Unread::Io)?;
        let after = file.metadata().map_err(Unread::Io)?;
        let times = |metadata: &std::fs::Metadata| {
            (metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec(), metadata.len())
        };
        match read as u64 == before.len() && times(&before) == times(&after) {
            true => Ok(bytes),
            false => Err(Unread::Changed),
        }
    }

    /// Opens a directory by its path from the top.
    fn directory(&mut self, path: &[u8]) -> Result<&OwnedFd, Unread> {
        if path.is_empty() {
            return Ok(&self.top);
        }
        if self.near.as_ref().is_none_or(|(near, _)| near != path) {
            let from = self
                .near
                .take()
                .filter(|(near, _)| path.strip_prefix(near.as_slice()).is_some_and(|rest| rest.first() == Some(&b'/')));
            let (rest, mut opened) = match from {
                Some((near, opened)) => (&path[near.len() + 1..], Some(opened)),
                None => (path, None),
            };
            for component in rest.split(|byte| *byte == b'/') {
                // `..` and an empty name would lead somewhere else than they say.
                if matches!(component, b"" | b"." | b"..") {
                    return Err(Unread::Io(io::ErrorKind::InvalidInput.into()));
                }
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let above = opened.as_ref().unwrap_or(&self.top);
                let next = rustix::fs::openat(above, OsStr::from_bytes(component), flags, Mode::empty());
                opened = Some(next.map_err(|error| match error {
                    // A link, or no directory any more.
                    Errno::LOOP | Errno::MLINK | Errno::NOTDIR => Unread::Changed,
                    error => unread(error),
                })?);
            }
            self.near = opened.map(|opened| (path.to_vec(), opened));
        }
        self.near.as_ref().map(|(_, opened)| opened).ok_or(Unread::Gone)
    }
}

fn unread(error: Errno) -> Unread {
    match error {
        Errno::NOENT => Unread::Gone,
        error => Unread::Io(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_reached_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("top");
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::fs::create_dir(root.path().join("outside")).unwrap();
        std::fs::write(root.path().join("outside/file"), "outside").unwrap();
        std::fs::write(top.join("a/b/file"), "inside").unwrap();
        symlink("../outside", top.join("out")).unwrap();
        symlink("b/file", top.join("a/link")).unwrap();
        symlink("round", top.join("round")).unwrap();
        let mut beneath = Beneath::open(&top).unwrap();
        assert_eq!(beneath.read(b"a/b/file", 6).unwrap(), b"inside");
        assert_eq!(beneath.read(b"a/b/file", 6).unwrap(), b"inside", "from the directory that is open");
        assert!(matches!(beneath.read(b"a/b/file", 5), Err(Unread::TooLarge { limit: 5 })));
        assert!(matches!(beneath.read(b"a/link", 9), Err(Unread::Symlink)));
        assert!(matches!(beneath.read(b"round", 9), Err(Unread::Symlink)));
        assert!(matches!(beneath.read(b"out/file", 9), Err(Unread::Changed)));
        assert!(matches!(beneath.list(b"out"), Err(Unread::Changed)));
        assert!(matches!(beneath.read(b"a/b/none", 9), Err(Unread::Gone)));
        assert!(matches!(beneath.read(b"a", 9), Err(Unread::Special)));
        assert!(matches!(beneath.read(b"a/../../outside/file", 9), Err(Unread::Io(_))));
        assert!(beneath.read(b"..", 9).is_err() && beneath.read(b"", 9).is_err());
    }

    #[test]
    fn a_directory_is_listed_with_kinds_and_in_order() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("b")).unwrap();
        std::fs::write(top.path().join("c"), "123").unwrap();
        symlink("c", top.path().join("a")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(top.path().join("d")).unwrap();
        let mut beneath = Beneath::open(top.path()).unwrap();
        let listed: Vec<_> = beneath.list(b"").unwrap().into_iter().map(|entry| (entry.name, entry.kind)).collect();
        let expected = [
            (b"a".to_vec(), ListedKind::Symlink),
            (b"b".to_vec(), ListedKind::Directory),
            (b"c".to_vec(), ListedKind::File { size: 3 }),
            (b"d".to_vec(), ListedKind::Special),
        ];
        assert_eq!(listed, expected);
        assert!(matches!(beneath.read(b"d", 9), Err(Unread::Special)));
    }
}
