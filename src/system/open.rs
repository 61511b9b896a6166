//! Files that are read piece by piece.

use std::fs;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use crate::system::FileError;
use crate::system::files::open_regular;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    File {
        size: u64,
    },
    Directory,
    Link {
        target: Vec<u8>,
    },
    /// A pipe, a socket, a device: reading it may never end.
    Other,
}

/// Returns what is at a path, without following it.
pub fn node_at(path: &Path) -> Result<Node, FileError> {
    let failed = |source: io::Error| FileError::Io { action: "read", path: path.to_owned(), source };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    let kind = metadata.file_type();
    Ok(match () {
        () if kind.is_symlink() => {
            Node::Link { target: fs::read_link(path).map_err(failed)?.as_os_str().as_bytes().to_vec() }
        }
        () if kind.is_dir() => Node::Directory,
        () if kind.is_file() => Node::File { size: metadata.len() },
        () => Node::Other,
    })
}

/// Returns what is in a directory, sorted by name.
pub fn entries_of(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let failed = |source: io::Error| FileError::Io { action: "list", path: path.to_owned(), source };
    let entries = fs::read_dir(path).map_err(failed)?.map(|entry| Ok(entry.map_err(failed)?.path()));
    let mut entries = entries.collect::<Result<Vec<PathBuf>, FileError>>()?;
    entries.sort();
    Ok(entries)
}

/// Calls back for each piece of a regular file. A pipe or a device is refused, so nothing can hang.
pub fn read_pieces(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), FileError> {
    let failed = |source: io::Error| FileError::Io { action: "read", path: path.to_owned(), source };
    let mut file = open_regular(path)?;
    let mut piece = vec![0; 256 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
