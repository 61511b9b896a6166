//! What a reply says about one file, as written: names and numbers may be wrong, and nothing is decided yet.

/// One file of a patch in a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// 1-based line within its block
    pub line: usize,
    pub style: Style,
    /// The rest of the `diff --git` line
    pub git: Option<Vec<u8>>,
    pub old: Option<Name>,
    pub new: Option<Name>,
    /// `rename from` and `rename to`, or the names of a copy
    pub moved: Option<Moved>,
    pub operation: Option<Operation>,
    pub old_mode: Option<Vec<u8>>,
    pub new_mode: Option<Vec<u8>>,
    /// The id of the old content in the `index` line, maybe shortened
    pub old_id: Option<String>,
    pub binary: bool,
    pub hunks: Vec<LooseHunk>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Unified,
    BeginPatch,
    /// Hunks without a file header
    Headless,
}

/// A name in a header line, with its `a/` or `b/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    Null,
    Path(Vec<u8>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    pub from: Option<Vec<u8>>,
    pub to: Option<Vec<u8>>,
    pub copy: bool,
}

/// What a header line says outright.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Delete,
    Update,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LooseHunk {
    /// 1-based line within its block
    pub line: usize,
    pub header: Vec<u8>,
    pub old_start: Option<u64>,
    pub counts: Option<(u64, u64)>,
    /// Lines of the file that stand somewhere before the hunk
    pub anchors: Vec<Vec<u8>>,
    /// The hunk ends with the file
    pub at_end: bool,
    /// The lines are fewer than the counts say
    pub short: bool,
    /// The counts were wrong
    pub recounted: bool,
    pub lines: Vec<LooseLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooseLine {
    pub op: Op,
    pub text: Vec<u8>,
    pub newline: bool,
    /// The line was wholly empty: a context line that lost its space, or no line of the patch at all
    pub soft: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Context,
    Added,
    Removed,
}

impl LooseHunk {
    pub fn has_changes(&self) -> bool {
        self.lines.iter().any(|line| line.op != Op::Context)
    }
}
