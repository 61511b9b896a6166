//! What a patch says about one file.

use super::hunk::Hunk;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub files: Vec<FilePatch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// 1-based line of the first header line
    pub line: usize,
    pub kind: FileKind,
    /// Without the first component (`a/`), unquoted; `None` for an added file
    pub old_path: Option<Vec<u8>>,
    /// Without the first component (`b/`), unquoted; `None` for a deleted file
    pub new_path: Option<Vec<u8>>,
    /// As the patch states it; git takes an unstated mode from the repository
    pub old_mode: Option<u32>,
    pub new_mode: Option<u32>,
    /// The content is a binary patch, or left out as binary; then there are no hunks
    pub binary: bool,
    pub hunks: Vec<Hunk>,
}

/// What the patch claims to do
///
/// A patch without a `diff --git` line cannot always tell: git lets such a `Modify` create a missing file when its
/// only hunk has no old lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Modify,
    Add,
    Delete,
    Rename,
    Copy,
}
