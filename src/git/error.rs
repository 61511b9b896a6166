//! Why the repository could not be asked.

use std::path::PathBuf;

use crate::system::FileError;
use crate::system::ProcessError;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{reason}")]
    NotARepository { reason: String },
    #[error("this needs a working tree, and {} has none", git_dir.display())]
    NoWorkTree { git_dir: PathBuf },
    #[error("this is inside a git directory, not in its working tree: {}", git_dir.display())]
    OutsideWorkTree { git_dir: PathBuf },
    #[error("another git-oracle is at work in {}", git_dir.display())]
    Locked { git_dir: PathBuf },
    #[error("there is no such commit here: {name}")]
    UnknownRevision { name: String },
    #[error("a name means more than one thing here: {names}")]
    AmbiguousRevision { names: String },
    #[error("failed to read {what}: {reason}")]
    Unreadable { what: String, reason: String },
    #[error("git {command} failed: {reason}")]
    Failed { command: String, reason: String },
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    File(#[from] FileError),
}
