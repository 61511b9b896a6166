//! Why a patch was refused.

/// A patch that cannot be read in exactly one way
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse the patch at line {line}: {kind}")]
pub struct PatchError {
    /// 1-based; what the header lines say together is reported at the first of them
    pub line: usize,
    pub kind: PatchErrorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatchErrorKind {
    #[error("there is no file header in it")]
    Empty,
    #[error("the last line is incomplete, it has no newline")]
    CutOff,
    #[error("combined diffs of a merge cannot be applied")]
    Combined,

    #[error("no header line follows the `diff --git` line")]
    BareHeader,
    #[error("a header line is repeated")]
    RepeatedHeader,
    #[error("the header lines state different kinds of change")]
    KindsDisagree,
    #[error("the header lines name different files")]
    NamesDisagree,
    #[error("the header lines state different or incomplete modes")]
    ModesDisagree,
    #[error("no header line tells the file name")]
    NoName,
    #[error("it is unclear where the file name ends")]
    UnclearName,
    #[error("the file name has no first component to strip")]
    NoComponent,
    #[error("the file name is absolute")]
    Absolute,
    #[error("the file name is empty")]
    EmptyName,
    #[error("the file name contains a nul byte")]
    NulInName,
    #[error("the quoting of the file name is broken")]
    BadQuoting,
    #[error("the file mode is not one that git stores")]
    BadMode,
    #[error("the index line is malformed")]
    BadIndex,

    #[error("a hunk has no file header before it")]
    HunkWithoutFile,
    #[error("a hunk must follow the file header")]
    HunkExpected,
    #[error("the line is neither a file header nor a hunk")]
    UnexpectedLine,
    #[error("the file header changes nothing")]
    ChangesNothing,
    #[error("the hunk header is malformed")]
    BadHunkHeader,
    #[error("the number is too large")]
    Overflow,
    #[error("the hunk ends before its line counts are met")]
    ShortHunk,
    #[error("the hunk goes on after its line counts are met")]
    LongHunk,
    #[error("the hunk changes nothing")]
    IdleHunk,
    #[error("the hunk has old lines of an added file or new lines of a deleted one")]
    WrongSide,
    #[error("a line of the hunk starts with none of space, plus, minus and backslash")]
    UnknownMarker,
    #[error("the no-newline marker is malformed or not at the end of the file")]
    MisplacedMarker,
    #[error("the binary patch is malformed")]
    BadBinary,
}

impl PatchErrorKind {
    pub(super) fn at(self, line: usize) -> PatchError {
        PatchError { line, kind: self }
    }
}
