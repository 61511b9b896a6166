//! One section of a reply, placed in its file.

use super::compare::FileText;
use super::compare::LEVELS;
use super::compare::Level;
use super::edit::Edit;
use super::locate::Hints;
use super::locate::Lost;
use super::locate::Placed;
use super::locate::is_lazy_addition;
use super::locate::locate;
use super::mend::Mend;
use super::merge::carry_over;
use super::names::Target;
use super::names::look;
use super::names::resolve;
use super::plan::Files;
use super::plan::Found;
use super::plan::HunkState;
use super::plan::Near;
use super::plan::PlannedFile;
use super::plan::PlannedHunk;
use super::plan::Special;
use super::undo::Undo;
use super::undo::looks_escaped;
use crate::base::RepoPath;
use crate::base::visible;
use crate::change::Mode;
use crate::patch::FileKind;
use crate::patch::reply::LooseHunk;
use crate::patch::reply::LooseLine;
use crate::patch::reply::Op;
use crate::patch::reply::Reason;
use crate::patch::reply::Refusal;
use crate::patch::reply::Section;

/// Places a section; `named` is the file that the words before it name.
pub fn place_section(
    section: &Section,
    files: &dyn Files,
    named: Option<&RepoPath>,
    undo: Undo,
) -> Result<PlannedFile, Refusal> {
    let target = resolve(section, files, named)?;
    let mut special = Vec::new();
    for path in target.old_path.iter().chain(&target.new_path) {
        special.extend(through_link(files, path)?);
    }
    for mode in target.old_mode.iter().chain(&target.new_mode) {
        match mode {
            Mode::Symlink => special.push(Special::Symlink),
            Mode::Gitlink => special.push(Special::Gitlink),
            Mode::Regular | Mode::Executable => {}
        }
    }
    let old_bytes = match &target.old_path {
        Some(path) => match look(files, path)? {
            Found::File(_, bytes) => Some(bytes),
            Found::Absent | Found::Directory => None,
        },
        None => None,
    };
    let is_binary = |bytes: &[u8]| bytes.contains(&0);
    let added = section.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.op == Op::Added);
    if section.binary
        || old_bytes.as_ref().is_some_and(|bytes| is_binary(bytes))
        || added.clone().any(|line| is_binary(&line.text))
    {
        special.push(Special::Binary);
    }
    special.sort_unstable();
    special.dedup();
    let hunks = match blocked(&target, files, old_bytes.as_deref(), section)? {
        Some(why) => unplaced_all(section, why),
        None => match target.kind {
            FileKind::Add => add(section, &target)?,
            FileKind::Delete => delete(section, old_bytes.as_deref().map_or(&[], Vec::as_slice)),
            FileKind::Modify | FileKind::Rename | FileKind::Copy => {
                modify(section, &target, files, old_bytes.as_deref().map_or(&[], Vec::as_slice), undo)
            }
        },
    };
    let Target { kind, old_path, new_path, old_mode, new_mode, mends } = target;
    let mut file = PlannedFile { kind, old_path, new_path, old_mode, new_mode, old_bytes, special, hunks };
    for hunk in &mut file.hunks {
        hunk.mends.extend(&mends);
    }
    Ok(file)
}

/// Tells whether a directory on the way is a symlink or a file.
fn through_link(files: &dyn Files, path: &RepoPath) -> Result<Option<Special>, Refusal> {
    let bytes = path.as_bytes();
    for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        if matches!(look(files, &RepoPath::new(&bytes[..end]))?, Found::File(..)) {
            return Ok(Some(Special::ThroughSymlink));
        }
    }
    Ok(None)
}

/// Returns why nothing of a section can be placed.
fn blocked(
    target: &Target,
    files: &dyn Files,
    old: Option<&Vec<u8>>,
    section: &Section,
) -> Result<Option<String>, Refusal> {
    if section.binary {
        return Ok(Some("it is a binary patch".into()));
    }
    if target.old_path.is_some() && old.is_none() {
        return Ok(Some("the file is not there".into()));
    }
    if matches!(target.kind, FileKind::Add | FileKind::Rename | FileKind::Copy)
        && let Some(path) = &target.new_path
        && !matches!(look(files, path)?, Found::Absent)
    {
        return Ok(Some("something is there already".into()));
    }
    let lines = || section.hunks.iter().flat_map(|hunk| &hunk.lines);
    let known = |text: &[u8]| {
        old.is_some_and(|old| old.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == text.trim_ascii()))
    };
    if lines().any(|line| is_lazy_addition(line) && !known(&line.text)) {
        return Ok(Some("an added line stands for code that was left out".into()));
    }
    let nothing = section.hunks.is_empty() && target.kind == FileKind::Modify && target.old_mode == target.new_mode;
    Ok(nothing.then(|| "it changes nothing".into()))
}

fn header_of(hunk: &LooseHunk) -> String {
    visible(&String::from_utf8_lossy(&hunk.header)).into_owned()
}

fn unplaced_all(section: &Section, why: String) -> Vec<PlannedHunk> {
    let unplaced = |header: String| PlannedHunk {
        header,
        mends: Vec::new(),
        state: HunkState::Unplaced { why: why.clone(), nearest: Vec::new() },
    };
    if section.hunks.is_empty() {
        return vec![unplaced(String::new())];
    }
    section.hunks.iter().map(|hunk| unplaced(header_of(hunk))).collect()
}

fn add(section: &Section, target: &Target) -> Result<Vec<PlannedHunk>, Refusal> {
    let path = target.new_path.as_ref().map(ToString::to_string).unwrap_or_default();
    let hunk = match section.hunks.as_slice() {
        [] => return Ok(Vec::new()),
        [hunk] => hunk,
        _ => return Err(Refusal::new(Reason::Malformed, format!("an added file has several hunks: {path}"))),
    };
    let last = hunk.lines.iter().rposition(|line| !line.soft).map_or(0, |at| at + 1);
    let lines = &hunk.lines[..last];
    if lines.iter().any(|line| line.op != Op::Added) {
        return Err(Refusal::new(Reason::Malformed, format!("an added file has old lines: {path}")));
    }
    if hunk.short {
        // Nothing but the counts can tell whether an added file is whole.
        return Ok(unplaced_all(section, "it has fewer lines than its header says".into()));
    }
    let added = lines.iter().map(|line| line.text.clone()).collect();
    let final_newline = Some(lines.last().is_none_or(|line| line.newline));
    let edits = vec![Edit { at: 0, removed: 0, added, final_newline }];
    let mends = if hunk.recounted { vec![Mend::Counts] } else { Vec::new() };
    Ok(vec![PlannedHunk { header: header_of(hunk), mends, state: HunkState::Placed { line: 1, edits } }])
}

fn delete(section: &Section, old: &[u8]) -> Vec<PlannedHunk> {
    let text = FileText::new(old);
    let count = text.lines.len();
    let edits = || vec![Edit { at: 0, removed: count, added: Vec::new(), final_newline: None }];
    let header = section.hunks.first().map(header_of).unwrap_or_default();
    if section.hunks.is_empty() {
        if count == 0 {
            return Vec::new();
        }
        return vec![PlannedHunk { header, mends: Vec::new(), state: HunkState::Placed { line: 1, edits: edits() } }];
    }
    let lines: Vec<_> = section.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| !line.soft).collect();
    let whole = lines.len() == count && lines.iter().all(|line| line.op == Op::Removed);
    let level = LEVELS.into_iter().find(|level| {
        whole && lines.iter().zip(&text.lines).all(|(line, found)| level.key(&line.text) == level.key(found))
    });
    match level {
        Some(level) => {
            vec![PlannedHunk { header, mends: level.mends(), state: HunkState::Placed { line: 1, edits: edits() } }]
        }
        None => unplaced_all(section, "its lines are not all that the file has".into()),
    }
}

fn modify(section: &Section, target: &Target, files: &dyn Files, old: &[u8], undo: Undo) -> Vec<PlannedHunk> {
    let text = FileText::new(old);
    let placed = locate_all(section, &text, undo);
    if placed.iter().any(|hunk| matches!(hunk, Err(Lost::NotFound)))
        && let Some(merged) = three_way(section, target, files, old, undo)
    {
        return merged;
    }
    if placed.iter().all(Result::is_ok) && looks_escaped(&section.hunks, old) {
        return unplaced_all(section, "its added lines look escaped, and no other line shows whether they are".into());
    }
    section.hunks.iter().zip(placed).map(|(hunk, placed)| planned(hunk, placed, &text)).collect()
}

fn locate_all(section: &Section, text: &FileText, undo: Undo) -> Vec<Result<Placed, Lost>> {
    let added = || section.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.op == Op::Added);
    let tabs_are_kept =
        added().any(|line| line.text.contains(&b'\t')) || !added().any(|line| line.text.starts_with(b"  "));
    let spaces_count = matches!(undo, Undo::Indent(_));
    let mut cursor = 0;
    let place = |hunk: &LooseHunk| {
        let placed = locate(text, hunk, Hints { style: section.style, cursor, tabs_are_kept, spaces_count });
        if let Ok(placed) = &placed {
            cursor = placed.end;
        }
        placed
    };
    section.hunks.iter().map(place).collect()
}

fn three_way(
    section: &Section,
    target: &Target,
    files: &dyn Files,
    old: &[u8],
    undo: Undo,
) -> Option<Vec<PlannedHunk>> {
    let by_id =
        section.old_id.as_ref().filter(|id| id.bytes().any(|byte| byte != b'0')).and_then(|id| files.old_content(id));
    let base = by_id.or_else(|| files.base(target.old_path.as_ref()?)).filter(|base| base != old)?;
    let text = FileText::new(&base);
    let placed: Vec<Placed> = locate_all(section, &text, undo).into_iter().collect::<Result<_, _>>().ok()?;
    let mut hunks = Vec::new();
    for (hunk, placed) in section.hunks.iter().zip(placed) {
        let edits = carry_over(&base, old, &placed.edits)?;
        let line = edits.first().map_or(placed.start, |edit| edit.at) + 1;
        let mut mends = placed.mends;
        mends.push(Mend::ThreeWay);
        hunks.push(PlannedHunk { header: header_of(hunk), mends, state: HunkState::Placed { line, edits } });
    }
    Some(hunks)
}

fn planned(hunk: &LooseHunk, placed: Result<Placed, Lost>, text: &FileText) -> PlannedHunk {
    let header = header_of(hunk);
    let near = |at: &usize| Near { line: at + 1, text: shown(text.lines.get(*at).copied().unwrap_or_default()) };
    let lost = |why: &str, nearest| HunkState::Unplaced { why: why.to_owned(), nearest };
    let (mends, state) = match placed {
        Ok(placed) => (placed.mends, HunkState::Placed { line: placed.start + 1, edits: placed.edits }),
        Err(Lost::NoContext) => (Vec::new(), lost("it has no line of the file in it", Vec::new())),
        Err(Lost::Uncertain(why)) => (Vec::new(), lost(why, Vec::new())),
        Err(Lost::Ambiguous(places)) => {
            (Vec::new(), lost("its lines are in the file several times", places.iter().take(5).map(near).collect()))
        }
        Err(Lost::NotFound) => {
            let known = |line: &LooseLine| {
                let says_something = line.text.trim_ascii().len() > 4 && text.spend(1000);
                let places = says_something.then(|| text.places(Level::Trimmed, &line.text))?;
                (!places.is_empty()).then_some(places)
            };
            let places =
                hunk.lines.iter().filter(|line| line.op != Op::Added).take(20).filter_map(known).min_by_key(Vec::len);
            let nearest = places.unwrap_or_default().iter().take(3).map(near).collect();
            (Vec::new(), lost("its lines are not in the file", nearest))
        }
    };
    PlannedHunk { header, mends, state }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let short: String = text.trim().chars().take(80).collect();
    visible(&short).into_owned()
}
