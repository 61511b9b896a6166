//! Which files a directory has, as git sees it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

use crate::git::Git;
use crate::git::GitError;

/// Returns the tracked files below a directory and those that no ignore rule covers; `None` outside of a repository.
pub fn listed_files(directory: &Path) -> Result<Option<Vec<PathBuf>>, GitError> {
    let git = Git::in_dir(directory);
    if !git.run(&["rev-parse", "--is-inside-work-tree"])?.stdout.starts_with(b"true") {
        return Ok(None);
    }
    let finished = git.run(&["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])?;
    if !finished.succeeded() {
        let reason = super::program::first_line(&finished.stderr);
        return Err(GitError::Failed { command: "ls-files".to_owned(), reason });
    }
    let names = finished.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(Some(names.map(|name| directory.join(OsStr::from_bytes(name))).collect()))
}
