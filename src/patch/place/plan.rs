//! The plan: what a reply's patch would write, file by file and hunk by hunk.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::edit::Edit;
use super::mend::Mend;
use super::names::check_names;
use super::section::place_section;
use super::undo::Undo;
use crate::base::RepoPath;
use crate::change::Mode;
use crate::patch::FileKind;
use crate::patch::reply::Extraction;
use crate::patch::reply::Lead;
use crate::patch::reply::PatchBlock;
use crate::patch::reply::Reason;
use crate::patch::reply::Refusal;
use crate::patch::reply::Style;

/// A file is looked through once for every section about it; all that together stays below this.
const MAX_READ_BYTES: usize = 1 << 30;

/// The files that a patch is placed in.
pub trait Files {
    fn look(&self, path: &RepoPath) -> Result<Found, String>;

    /// Returns the content with this id, which may be shortened, if there is exactly one.
    fn old_content(&self, id: &str) -> Option<Vec<u8>>;

    /// Returns the file as it was when the reply was asked for, if that is known.
    fn base(&self, path: &RepoPath) -> Option<Vec<u8>>;
}

/// What is at a path.
#[derive(Debug, Clone)]
pub enum Found {
    Absent,
    Directory,
    File(Mode, Arc<Vec<u8>>),
}

/// What would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyPlan {
    pub files: Vec<PlannedFile>,
    /// Candidates of the extraction that turned out not to count, and why
    pub dropped: Vec<(usize, &'static str)>,
}

/// One file of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    pub kind: FileKind,
    pub old_path: Option<RepoPath>,
    pub new_path: Option<RepoPath>,
    pub old_mode: Option<Mode>,
    pub new_mode: Option<Mode>,
    pub old_bytes: Option<Arc<Vec<u8>>>,
    /// What a caller may want to refuse
    pub special: Vec<Special>,
    pub hunks: Vec<PlannedHunk>,
}

/// Contents that are not plain text in a plain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Special {
    Symlink,
    /// A directory on the way is a symlink
    ThroughSymlink,
    Gitlink,
    Binary,
}

impl Special {
    pub const fn as_str(self) -> &'static str {
        match self {
            Special::Symlink => "symlink",
            Special::ThroughSymlink => "through_symlink",
            Special::Gitlink => "gitlink",
            Special::Binary => "binary",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedHunk {
    /// The `@@` line as the reply has it
    pub header: String,
    pub mends: Vec<Mend>,
    pub state: HunkState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkState {
    /// `line` is the first line of the old file that the hunk names, 1-based
    Placed {
        line: usize,
        edits: Vec<Edit>,
    },
    Unplaced {
        why: String,
        nearest: Vec<Near>,
    },
}

/// A line of the file that looks like the place of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// 1-based
    pub line: usize,
    pub text: String,
}

impl PlannedFile {
    pub fn path(&self) -> Option<&RepoPath> {
        self.new_path.as_ref().or(self.old_path.as_ref())
    }

    pub fn is_placed(&self) -> bool {
        self.hunks.iter().all(|hunk| matches!(hunk.state, HunkState::Placed { .. }))
    }

    fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.old_path.iter().chain(&self.new_path)
    }
}

impl ApplyPlan {
    /// Returns why the plan cannot be carried out whole: the first hunk without a place.
    pub fn trouble(&self) -> Option<Refusal> {
        for file in &self.files {
            for hunk in &file.hunks {
                if let HunkState::Unplaced { why, .. } = &hunk.state {
                    let path = file.path().map(ToString::to_string).unwrap_or_default();
                    let header = if hunk.header.is_empty() { String::new() } else { format!(" `{}`", hunk.header) };
                    return Some(Refusal::new(
                        Reason::NotPlaceable,
                        format!("the hunk{header} cannot be placed, {why}: {path}"),
                    ));
                }
            }
        }
        None
    }

    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.iter().flat_map(PlannedFile::paths)
    }
}

/// Places what was found in a reply. A refusal is about the whole reply.
pub fn plan(extraction: &Extraction, files: &dyn Files) -> Result<ApplyPlan, Refusal> {
    if let Some(refusal) = &extraction.refusal {
        return Err(refusal.clone());
    }
    for section in extraction.blocks.iter().flat_map(|block| &block.sections) {
        check_names(section)?;
    }
    let mut dropped = Vec::new();
    let mut placed: Vec<(usize, Vec<PlannedFile>)> = Vec::new();
    let mut previous: Option<RepoPath> = None;
    let mut read = 0;
    for (number, block) in extraction.blocks.iter().enumerate() {
        let planned = place_block(block, files, previous.as_ref())?;
        read += planned.iter().filter_map(|file| file.old_bytes.as_ref()).map(|bytes| bytes.len()).sum::<usize>();
        if read > MAX_READ_BYTES {
            return Err(Refusal::new(Reason::Malformed, "the reply has too many blocks for files of this size"));
        }
        previous = planned.last().and_then(|file| file.path().cloned());
        let absent = |file: &PlannedFile| file.kind != FileKind::Add && file.old_bytes.is_none();
        if block.lead == Lead::Doubtful && extraction.blocks.len() > 1 && planned.iter().all(absent) {
            dropped.push((block.candidate, "it is called an example, and its files are not there"));
            continue;
        }
        placed.push((number, planned));
    }
    drop_superseded(extraction, &mut placed, &mut dropped);
    let files = join(placed)?;
    if files.is_empty() {
        return Err(Refusal::new(Reason::NoDiffBlock, "no block of the reply is a patch to apply"));
    }
    Ok(ApplyPlan { files, dropped })
}

/// Places one block, with the first undo that lets every hunk have a place.
fn place_block(
    block: &PatchBlock,
    files: &dyn Files,
    previous: Option<&RepoPath>,
) -> Result<Vec<PlannedFile>, Refusal> {
    let names = if block.sections.iter().any(|section| section.style == Style::Headless) {
        named_files(block, files, previous)?
    } else {
        vec![None]
    };
    let mut first = None;
    let mut fitting = Vec::new();
    for name in &names {
        for undo in Undo::all(&block.sections) {
            let Some(sections) = undo.sections(&block.sections) else { continue };
            let mut planned = Vec::with_capacity(sections.len());
            for section in &sections {
                planned.push(place_section(section, files, name.as_ref(), undo)?);
            }
            for hunk in planned.iter_mut().flat_map(|file: &mut PlannedFile| &mut file.hunks) {
                hunk.mends.extend(block.mends.iter().copied().chain(undo.mend()));
                hunk.mends.sort_unstable();
                hunk.mends.dedup();
            }
            if planned.iter().all(PlannedFile::is_placed) {
                fitting.push(planned);
                break;
            }
            first.get_or_insert(planned);
        }
    }
    if fitting.len() > 1 {
        let message = "a hunk has no file header, and fits in several files that are named before it";
        return Err(Refusal::new(Reason::NotPlaceable, message));
    }
    Ok(fitting.pop().or(first).unwrap_or_default())
}

/// Returns the files that hunks without a header may mean.
fn named_files(
    block: &PatchBlock,
    files: &dyn Files,
    previous: Option<&RepoPath>,
) -> Result<Vec<Option<RepoPath>>, Refusal> {
    let mut found: Vec<Option<RepoPath>> = Vec::new();
    for word in &block.paths {
        let path = RepoPath::from(word.strip_prefix("./").unwrap_or(word));
        let known = super::names::unsafe_reason(path.as_bytes()).is_none()
            && matches!(super::names::look(files, &path)?, Found::File(..));
        if known && !found.contains(&Some(path.clone())) && found.len() < 8 {
            found.push(Some(path));
        }
    }
    if found.is_empty() {
        found.push(previous.cloned());
    }
    Ok(found)
}

type Placed = (usize, Vec<PlannedFile>);

/// Leaves out blocks that a later one replaces, where the reply says so.
fn drop_superseded(extraction: &Extraction, placed: &mut Vec<Placed>, dropped: &mut Vec<(usize, &'static str)>) {
    let paths_of =
        |files: &[PlannedFile]| -> BTreeSet<RepoPath> { files.iter().flat_map(PlannedFile::paths).cloned().collect() };
    let mut by_path: BTreeMap<RepoPath, Vec<usize>> = BTreeMap::new();
    let mut gone = BTreeSet::new();
    for later in 0..placed.len() {
        let block = &extraction.blocks[placed[later].0];
        let paths = paths_of(&placed[later].1);
        if block.supersedes {
            // What is replaced is near.
            let near = |list: &Vec<usize>| list[list.len().saturating_sub(16)..].to_vec();
            let rivals: BTreeSet<usize> = paths.iter().filter_map(|path| by_path.get(path)).flat_map(near).collect();
            for earlier in rivals.into_iter().filter(|earlier| !gone.contains(earlier)).collect::<Vec<_>>() {
                let covered = paths_of(&placed[earlier].1).is_subset(&paths);
                if covered && is_rival(&placed[earlier].1, &placed[later].1) {
                    gone.insert(earlier);
                    dropped.push((extraction.blocks[placed[earlier].0].candidate, "a later block replaces it"));
                }
            }
        }
        for path in paths {
            by_path.entry(path).or_default().push(later);
        }
    }
    let mut number = 0;
    placed.retain(|_| {
        number += 1;
        !gone.contains(&(number - 1))
    });
}

/// Tells whether two blocks cannot both be meant: they change the same lines.
fn is_rival(earlier: &[PlannedFile], later: &[PlannedFile]) -> bool {
    join(vec![(0, earlier.to_vec()), (1, later.to_vec())]).is_err()
}

/// Joins the blocks into one list of files.
fn join(placed: Vec<Placed>) -> Result<Vec<PlannedFile>, Refusal> {
    let mut files: Vec<PlannedFile> = Vec::new();
    let mut at: BTreeMap<RepoPath, usize> = BTreeMap::new();
    for file in placed.into_iter().flat_map(|(_, files)| files) {
        let known = file.paths().find_map(|path| at.get(path).copied());
        match known {
            None => {
                for path in file.paths() {
                    at.insert(path.clone(), files.len());
                }
                files.push(file);
            }
            Some(position) => {
                let same = &mut files[position];
                let both_modify = same.kind == FileKind::Modify && file.kind == FileKind::Modify;
                if both_modify && same.new_mode == file.new_mode {
                    same.special.extend(file.special);
                    same.hunks.extend(file.hunks);
                } else if *same != file {
                    return Err(conflict(&file));
                }
            }
        }
    }
    for file in &mut files {
        settle(file)?;
    }
    Ok(files)
}

fn conflict(file: &PlannedFile) -> Refusal {
    let path = file.path().map(ToString::to_string).unwrap_or_default();
    Refusal::new(Reason::ConflictingBlocks, format!("the reply changes the same lines in two ways: {path}"))
}

/// Leaves out hunks that say the same twice, and refuses those that contradict each other.
fn settle(file: &mut PlannedFile) -> Result<(), Refusal> {
    let edits_of = |hunk: &PlannedHunk| match &hunk.state {
        HunkState::Placed { edits, .. } => edits.clone(),
        HunkState::Unplaced { .. } => Vec::new(),
    };
    let mut seen: Vec<(usize, Edit)> = Vec::new();
    for (number, hunk) in file.hunks.iter().enumerate() {
        seen.extend(edits_of(hunk).into_iter().map(|edit| (number, edit)));
    }
    seen.sort_by_key(|(number, edit)| (edit.at, edit.end(), *number));
    let mut twice: BTreeSet<usize> = BTreeSet::new();
    let mut last: Option<&(usize, Edit)> = None;
    for next in &seen {
        if let Some(last) = last
            && last.1.clashes(&next.1)
        {
            if last.1 != next.1 || last.0 == next.0 || edits_of(&file.hunks[last.0]) != edits_of(&file.hunks[next.0]) {
                return Err(conflict(file));
            }
            twice.insert(next.0);
            continue;
        }
        last = Some(next);
    }
    let mut number = 0;
    file.hunks.retain(|_| {
        number += 1;
        !twice.contains(&(number - 1))
    });
    file.special.sort_unstable();
    file.special.dedup();
    Ok(())
}
