//! The change set and its parts.

use crate::base::Oid;
use crate::base::RepoPath;

/// Everything that one judgement is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    pub steps: Vec<Step>,
    /// What was wrong with the repository itself while we looked.
    pub faults: Vec<Fault>,
}

impl ChangeSet {
    /// Returns the number of changes in all steps but the net change, which repeats them.
    pub fn change_count(&self) -> usize {
        let listed: usize =
            self.steps.iter().filter(|step| step.kind != StepKind::Net).map(|step| step.changes.len()).sum();
        if listed > 0 { listed } else { self.steps.iter().map(|step| step.changes.len()).sum() }
    }

    /// Returns the number of commits that were looked at.
    pub fn commit_count(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step.kind, StepKind::Commit(_))).count()
    }
}

/// The changes between one old state and one new state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    pub changes: Vec<Change>,
}

/// Which two states a step compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// The index against HEAD.
    Staged,
    /// The files on disk against HEAD.
    Worktree,
    /// A commit against its parents.
    Commit(Oid),
    /// The end of a range against its beginning.
    Net,
    /// A patch file.
    Patch,
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: RepoPath,
    pub old: Option<Entry>,
    pub new: Option<Entry>,
    /// Where the content of a new path came from, when that is known.
    pub source: Option<Source>,
    pub facts: Facts,
}

impl Change {
    pub fn new(path: impl Into<RepoPath>, old: Option<Entry>, new: Option<Entry>) -> Self {
        Change { path: path.into(), old, new, source: None, facts: Facts::default() }
    }

    /// Tells whether old and new have the same content, so that at most the mode differs.
    pub fn same_content(&self) -> bool {
        matches!((&self.old, &self.new), (Some(old), Some(new)) if old.id.is_some() && old.id == new.id)
    }
}

/// One side of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    /// `None` when the content has no object id yet: a file on disk, a patch.
    pub id: Option<Oid>,
}

impl Entry {
    pub fn object(mode: Mode, id: Oid) -> Self {
        Entry { mode, id: Some(id) }
    }
}

/// The modes git stores in a tree, directories aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Regular,
    Executable,
    Symlink,
    Gitlink,
}

/// What sort of thing a mode stands for; a difference of kind is a type change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Symlink,
    Gitlink,
}

impl Mode {
    /// Returns the mode for the octal number in a tree, an index or a patch.
    pub const fn from_octal(mode: u32) -> Option<Self> {
        match mode {
            // Very old versions of git wrote 100664; git itself reads it as 100644.
            0o100_644 | 0o100_664 => Some(Mode::Regular),
            0o100_755 => Some(Mode::Executable),
            0o120_000 => Some(Mode::Symlink),
            0o160_000 => Some(Mode::Gitlink),
            _ => None,
        }
    }

    pub const fn kind(self) -> Kind {
        match self {
            Mode::Regular | Mode::Executable => Kind::File,
            Mode::Symlink => Kind::Symlink,
            Mode::Gitlink => Kind::Gitlink,
        }
    }

    /// Returns the six octal digits that git prints.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Regular => "100644",
            Mode::Executable => "100755",
            Mode::Symlink => "120000",
            Mode::Gitlink => "160000",
        }
    }
}

/// Where the content of a new path came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub kind: SourceKind,
    pub path: RepoPath,
    /// 0 to 100; 100 is the same content.
    pub similarity: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    Rename,
    Copy,
}

/// What was found out about the contents of a change. Only changes inside the scope are looked into: the others are
/// refused for their path alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The old or the new content has a NUL byte, or a patch says it is binary.
    pub binary: bool,
    /// Line numbers of added lines with bidirectional control characters.
    pub bidi_lines: Vec<usize>,
    /// Secrets in what is added.
    pub secrets: Vec<Secret>,
    /// How many more there are that somebody allowed.
    pub allowed_secrets: usize,
    /// Where a new symlink leads.
    pub link: Option<Link>,
    /// Why the content could not be read.
    pub unreadable: Option<String>,
}

/// Where a secret is and of which kind, without the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The exact kind, and the family.
    pub rule: String,
    pub label: String,
    /// Where it begins in the new content, counted from one, and the line on which it ends.
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    /// At most the prefix that all secrets of its kind have.
    pub preview: String,
}

/// Where a symlink leads when it is followed through the new state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// To this path of the repository, whether it exists or not.
    Inside(RepoPath),
    /// Out of the repository, or round in a circle.
    Escapes { target: RepoPath },
}

/// Something about the repository that keeps us from trusting what we see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    pub path: RepoPath,
    pub commit: Option<Oid>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// Something could not be read, so nothing can be said about it.
    Unreadable,
    /// A merge that is not resolved, so that there is no result to judge.
    Conflict,
    /// A tree that git would not have written.
    Malformed,
    /// What would be committed is not what the index shows.
    Hidden,
    /// A repository inside the working tree whose files git does not show.
    Nested,
}
