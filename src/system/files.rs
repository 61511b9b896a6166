//! Files that appear whole or not at all, and directories that are ours.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::BufWriter;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// What could not be done with which file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("failed to {action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is {size} bytes long, more than the {limit} bytes that are read", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error("{} is not {expected}", path.display())]
    WrongType { path: PathBuf, expected: &'static str },
}

impl FileError {
    pub fn is_already_there(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }

    pub fn is_not_found(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn io_error<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> FileError + use<'a> {
    move |source| FileError::Io { action, path: path.to_owned(), source }
}

/// Opens a regular file for reading. A pipe or a device is refused, so nothing can hang.
pub(super) fn open_regular(path: &Path) -> Result<File, FileError> {
    // O_NONBLOCK: opening a pipe for reading would wait for a writer.
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(io_error("read", path))?;
    match file.metadata().map_err(io_error("read", path))?.is_file() {
        true => Ok(file),
        false => Err(FileError::WrongType { path: path.to_owned(), expected: "a regular file" }),
    }
}

/// Returns the content of a regular file of at most `limit` bytes. A pipe or a device is refused, so nothing can hang.
pub fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open_regular(path)?;
    let metadata = file.metadata().map_err(io_error("read", path))?;
    if metadata.len() > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), size: metadata.len(), limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1);
    // One more than the limit, so that a file that grows meanwhile is noticed.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    match bytes.len() as u64 {
        size if size > limit => Err(FileError::TooLarge { path: path.to_owned(), size, limit }),
        _ => Ok(bytes),
    }
}

/// Replaces `path` by a file that only its owner may read.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace(path, 0o600, &mut |out| out.write_all(bytes))
}

/// Replaces `path` by a file with the permissions that the umask leaves.
pub fn write_shared(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace(path, 0o666, &mut |out| out.write_all(bytes))
}

/// Replaces a file that somebody named by what `content` writes, with the permissions that the umask leaves. A link or a
/// device in its place is refused: `/dev/null` is not ours to replace.
pub fn stream_shared(path: &Path, content: Content<'_>) -> Result<(), FileError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(FileError::WrongType { path: path.to_owned(), expected: "a regular file" })
        }
        _ => replace(path, 0o666, content),
    }
}

/// Replaces `path` by a program that everybody may run, as far as the umask leaves it.
pub fn write_executable(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    replace(path, 0o777, &mut |out| out.write_all(bytes))
}

/// Writes the content of a file, piece by piece.
pub type Content<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Gives a file or link a second name, where that name is free. Where files can have one name only, the file is moved.
pub fn link_or_move(path: &Path, second: &Path) -> Result<(), FileError> {
    match fs::hard_link(path, second) {
        Ok(()) => sync_directory(second),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(io_error("create", second)(error)),
        Err(_) => move_file(path, second),
    }
}

/// Renames a file or link over `to`, with its mode and times as they are.
pub fn move_file(from: &Path, to: &Path) -> Result<(), FileError> {
    match fs::rename(from, to) {
        Ok(()) => {
            // Renaming one name of a file over its other name leaves both.
            let _ = fs::symlink_metadata(from).map(|_| fs::remove_file(from));
            sync_directory(to)
        }
        Err(error) => Err(io_error("move", from)(error)),
    }
}

fn sync_directory(path: &Path) -> Result<(), FileError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(io_error("record", path))
}

/// Creates `path` with the permissions that the umask leaves, unless something is there already.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let temporary = directory.join(temporary_name(path));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // A second name, unlike a new name, never takes the place of what is there.
        fs::hard_link(&temporary, path)?;
        File::open(directory)?.sync_all()
    };
    let written = write();
    let _ = fs::remove_file(&temporary);
    written.map_err(io_error("create", path))
}

/// Adds bytes to the end of a file that somebody else reads, such as a step summary.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(io_error("write", path))
}

/// Writes a temporary file beside `path`, makes it durable and renames it over `path`.
fn replace(path: &Path, mode: u32, content: Content<'_>) -> Result<(), FileError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let temporary = directory.join(temporary_name(path));
    let mut write = || {
        // A name that is already there belongs to somebody else; it is neither followed nor overwritten.
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        let mut out = BufWriter::new(file);
        content(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(&temporary, path)?;
        File::open(directory)?.sync_all()
    };
    write().map_err(|source| {
        let _ = fs::remove_file(&temporary);
        FileError::Io { action: "write", path: path.to_owned(), source }
    })
}

/// Returns a name that no other process or thread uses at this moment.
fn temporary_name(path: &Path) -> String {
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}.{}.{nanos:x}.{number}.tmp", std::process::id())
}

/// A file in a directory of its own that nobody else may enter. Both are removed when this is dropped.
#[derive(Debug)]
pub struct TemporaryFile {
    directory: PathBuf,
    path: PathBuf,
}

impl TemporaryFile {
    /// Makes a file of this name, with what `content` writes, where temporary files belong.
    pub fn new(name: &str, content: Content<'_>) -> Result<Self, FileError> {
        let directory = std::env::temp_dir().join(temporary_name(Path::new("git-oracle")));
        create_new_private_dir(&directory)?;
        let made = TemporaryFile { path: directory.join(name), directory };
        replace(&made.path, 0o600, content)?;
        Ok(made)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Returns a file without a name in this directory: it is gone when nobody has it open.
pub fn scratch_file(directory: &Path) -> Result<File, FileError> {
    let path = directory.join(temporary_name(Path::new("scratch")));
    let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path);
    let file = file.map_err(io_error("create", &path))?;
    remove_file(&path)?;
    Ok(file)
}

/// Opens a file that only its owner may read, to add to its end.
pub fn open_log(path: &Path) -> Result<File, FileError> {
    let options = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    options.map_err(io_error("open", path))
}

/// Removes a file; a file that is not there is fine.
pub fn remove_file(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Creates a directory that only its owner may enter, with its parents.
pub fn create_private_dir(path: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error("create", path))?;
    refuse_link(path)
}

/// Creates a directory that only its owner may enter; something that is there already is an error.
pub fn create_new_private_dir(path: &Path) -> Result<(), FileError> {
    fs::DirBuilder::new().mode(0o700).create(path).map_err(io_error("create", path))
}

/// Creates a directory with the permissions that the umask leaves; a symlink in its place is refused, because a cloned
/// repository could make us write somewhere else.
pub fn ensure_real_dir(path: &Path) -> Result<(), FileError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io_error("create", path)(error)),
        _ => refuse_link(path),
    }
}

fn refuse_link(path: &Path) -> Result<(), FileError> {
    let metadata = fs::symlink_metadata(path).map_err(io_error("read", path))?;
    if metadata.is_dir() {
        return Ok(());
    }
    Err(FileError::WrongType { path: path.to_owned(), expected: "a directory" })
}

#[cfg(target_os = "linux")]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(target_os = "linux"))]
const O_NONBLOCK: i32 = 0x4;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_private_file_is_replaced_whole_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pin.json");
        write_private(&path, b"one").unwrap();
        write_private(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_temporary_file_is_private_and_goes_away() {
        let made = TemporaryFile::new("context.zip", &mut |out| out.write_all(b"bytes")).unwrap();
        let (path, directory) = (made.path().to_owned(), made.path().parent().unwrap().to_owned());
        assert_eq!(fs::read(&path).unwrap(), b"bytes");
        assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
        drop(made);
        assert!(!path.exists() && !directory.exists());
        let failed = TemporaryFile::new("context.zip", &mut |_| Err(io::Error::other("no")));
        assert!(failed.is_err());
    }

    #[test]
    fn a_file_that_cannot_be_finished_leaves_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("package.zip");
        write_shared(&path, b"old").unwrap();
        let failed = stream_shared(&path, &mut |out| {
            out.write_all(&[0; 100_000])?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_limited(&path, 5).unwrap(), b"12345");
        assert!(matches!(read_limited(&path, 4), Err(FileError::TooLarge { size: 5, limit: 4, .. })));
        assert!(matches!(read_limited(dir.path(), 4), Err(FileError::WrongType { .. })));
        assert!(read_limited(&dir.path().join("none"), 4).unwrap_err().is_not_found());
    }

    #[test]
    fn a_directory_that_is_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/tmp", dir.path().join("link")).unwrap();
        assert!(matches!(ensure_real_dir(&dir.path().join("link")), Err(FileError::WrongType { .. })));
        ensure_real_dir(&dir.path().join("real")).unwrap();
        ensure_real_dir(&dir.path().join("real")).unwrap();
    }
}
