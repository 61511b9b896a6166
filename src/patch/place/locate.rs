//! The place of one hunk in a file.
//!
//! Shapes and levels are tried in order, the closest first; the first at which the hunk is found decides. If it is found
//! several times there, the line number decides when it points exactly at one of them, and behind an anchor the first
//! place does. Everything else is ambiguous.

use super::compare::FileText;
use super::compare::LEVELS;
use super::compare::Level;
use super::compare::is_typographic;
use super::edit::Edit;
use super::mend::Mend;
use crate::patch::reply::LooseHunk;
use crate::patch::reply::LooseLine;
use crate::patch::reply::Op;
use crate::patch::reply::Style;

/// A hunk that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// First and last line of the file that the hunk names, 0-based, the end not included
    pub start: usize,
    pub end: usize,
    pub edits: Vec<Edit>,
    pub mends: Vec<Mend>,
}

/// Why a hunk has no place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// Nothing but added lines, so only a number would say where
    NoContext,
    /// The file does not have these lines
    NotFound,
    /// The file has them at these lines (0-based)
    Ambiguous(Vec<usize>),
    /// It was found, but what would be written is not certain
    Uncertain(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Whole,
    /// Without the empty lines at the end, which may be no part of it
    Trimmed,
    /// With gaps where the context says `...`
    Elided,
    /// Empty lines of the file may be missing in the context
    Blanks,
}

/// What the search is told besides the hunk.
#[derive(Clone, Copy)]
pub struct Hints {
    pub style: Style,
    /// Hunks of a Begin-Patch block come in order
    pub cursor: usize,
    /// Added lines of all hunks for this file show that tabs were kept
    pub tabs_are_kept: bool,
    /// Something was undone in the spaces at the start of lines, so these must now agree
    pub spaces_count: bool,
}

/// Finds a hunk.
pub fn locate(text: &FileText, hunk: &LooseHunk, hints: Hints) -> Result<Placed, Lost> {
    if !hunk.has_changes() {
        return Err(Lost::Uncertain("it changes nothing"));
    }
    let is_known = |line: &LooseLine| line.op != Op::Added && !line.soft;
    if !hunk.lines.iter().any(is_known) {
        return Err(Lost::NoContext);
    }
    let is_ascii = hunk.lines.iter().all(|line| line.text.is_ascii());
    for shape in [Shape::Whole, Shape::Trimmed, Shape::Elided, Shape::Blanks] {
        let Some(segments) = segments(hunk, shape) else { continue };
        if shape == Shape::Elided && !may_be_elided(text, hunk, &segments) {
            continue;
        }
        let apt = |level: &Level| text.needs(*level, is_ascii) && (!hints.spaces_count || !level.folds_tabs());
        for level in LEVELS.into_iter().filter(apt) {
            let found = match shape {
                Shape::Blanks => find_with_blanks(text, hunk, &segments[0], level),
                _ => find(text, hunk, &segments, level, hints, shape),
            };
            let map = match found {
                Ok(Some(map)) => map,
                Ok(None) => continue,
                Err(lost) => return Err(lost),
            };
            return settle(text, hunk, &map, level, shape, hints);
        }
    }
    Err(Lost::NotFound)
}

/// Returns the numbers of the hunk's lines in each run of lines that stand together; `None` if the shape does not apply.
fn segments(hunk: &LooseHunk, shape: Shape) -> Option<Vec<Vec<usize>>> {
    let last = hunk.lines.iter().rposition(|line| !line.soft).map_or(0, |at| at + 1);
    let end = if shape == Shape::Whole { hunk.lines.len() } else { last };
    match shape {
        Shape::Trimmed if last == hunk.lines.len() => return None,
        Shape::Elided if !hunk.lines.iter().any(is_elision) => return None,
        _ => {}
    }
    let mut runs = vec![Vec::new()];
    for (at, line) in hunk.lines[..end].iter().enumerate() {
        if shape == Shape::Elided && is_elision(line) {
            runs.push(Vec::new());
        } else if let Some(run) = runs.last_mut() {
            run.push(at);
        }
    }
    // A gap at either end is no gap.
    runs.retain(|run| !run.is_empty());
    let is_old = |at: &usize| hunk.lines[*at].op != Op::Added;
    let complete = runs.iter().all(|run| run.iter().any(is_old));
    (complete && !runs.is_empty()).then_some(runs)
}

/// Tells whether what looks like gaps can be some: no line of the file reads like that, and the lines around each gap say
/// enough to find them by.
fn may_be_elided(text: &FileText, hunk: &LooseHunk, runs: &[Vec<usize>]) -> bool {
    let index = text.index(Level::Trailing);
    let known = |line: &LooseLine| {
        let spaced = [&b" "[..], &line.text].concat();
        [line.text.as_slice(), line.text.trim_ascii_start(), &spaced]
            .iter()
            .any(|text_of| index.places.contains_key(&text.hash(Level::Trailing, text_of)))
    };
    let says_enough = |run: &Vec<usize>| {
        let lines = || run.iter().map(|at| &hunk.lines[*at]);
        let old = lines().filter(|line| line.op != Op::Added).count();
        // Context alone changes nothing, wherever it is found.
        old > 1 || !lines().any(|line| line.op == Op::Added) || lines().any(|line| line.op == Op::Removed)
    };
    !hunk.lines.iter().filter(|line| is_elision(line)).any(known) && runs.iter().all(says_enough)
}

/// Tells whether a context line stands for lines that were left out.
pub fn is_elision(line: &LooseLine) -> bool {
    line.op == Op::Context && !line.soft && elision_words(&line.text).is_some()
}

/// Returns the words around an ellipsis that is all a line says.
fn elision_words(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim();
    if text.len() > 80 {
        return None;
    }
    let inner =
        ["//", "/*", "<!--", "--", "#", ";", "%", "*"].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    let inner = inner.trim_end_matches("*/").trim_end_matches("-->").trim();
    let inner = inner.trim_start_matches(['(', '[', '{']).trim_end_matches([')', ']', '}']).trim();
    let words = inner.strip_prefix("...").or_else(|| inner.strip_prefix('\u{2026}'))?;
    let words = words.trim_start_matches('.').trim();
    let words =
        words.strip_suffix("...").or_else(|| words.strip_suffix('\u{2026}')).unwrap_or(words).trim().to_lowercase();
    let prose = words.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '\'' | ',' | '-' | '(' | ')' | '/'));
    prose.then_some(words)
}

/// Tells whether an added line stands for code that was left out: writing it would lose that code.
pub fn is_lazy_addition(line: &LooseLine) -> bool {
    const SAYS: [&str; 9] = [
        "existing",
        "rest of",
        "unchanged",
        "remain",
        "omitted",
        "same as",
        "as before",
        "other code",
        "previous code",
    ];
    line.op == Op::Added && elision_words(&line.text).is_some_and(|words| SAYS.iter().any(|say| words.contains(say)))
}

/// The line of the file for every old line of a hunk.
type Map = Vec<(usize, usize)>;

fn old_of(hunk: &LooseHunk, run: &[usize]) -> Vec<usize> {
    run.iter().copied().filter(|at| hunk.lines[*at].op != Op::Added).collect()
}

fn find(
    text: &FileText,
    hunk: &LooseHunk,
    runs: &[Vec<usize>],
    level: Level,
    hints: Hints,
    shape: Shape,
) -> Result<Option<Map>, Lost> {
    let mut map = Map::new();
    let mut from = 0;
    for (number, run) in runs.iter().enumerate() {
        let old = old_of(hunk, run);
        // The number is that of the first line, if that one was not left out.
        let stated = hunk.old_start.filter(|_| number == 0 && run.first() == Some(&0));
        let stated = stated.and_then(|start| usize::try_from(start).ok()?.checked_sub(1));
        let search = Search { text, hunk, old: &old, level };
        let place = match stated.filter(|at| search.fits(*at)) {
            Some(place) => place,
            None => {
                let anchored = if number == 0 && shape != Shape::Elided { search.behind_anchor(hints) } else { None };
                match anchored {
                    Some(place) => place,
                    None => match search.only(hints)? {
                        Some(place) => place,
                        None => return Ok(None),
                    },
                }
            }
        };
        if place < from {
            return Ok(None);
        }
        map.extend(old.iter().copied().zip(place..));
        from = place + old.len();
    }
    Ok(Some(map))
}

struct Search<'s, 'f> {
    text: &'s FileText<'f>,
    hunk: &'s LooseHunk,
    old: &'s [usize],
    level: Level,
}

impl Search<'_, '_> {
    fn fits(&self, at: usize) -> bool {
        let lines = &self.text.lines;
        let fits = |(offset, line): (usize, &usize)| {
            let line = &self.hunk.lines[*line];
            lines.get(at + offset).is_some_and(|found| self.level.key(found) == self.level.key(&line.text))
                // A line without newline can only be the last one.
                && (line.newline || at + offset + 1 == lines.len())
        };
        let ends = !self.hunk.at_end || at + self.old.len() == lines.len();
        ends && self.old.iter().enumerate().all(fits)
    }

    /// Calls back with every place, in order, until told to stop; false when there is too much to look through.
    fn each(&self, mut found: impl FnMut(usize) -> bool) -> bool {
        let index = self.text.index(self.level);
        let mut rarest: Option<(usize, &[u32])> = None;
        for (offset, line) in self.old.iter().enumerate() {
            let hash = self.text.hash(self.level, &self.hunk.lines[*line].text);
            let places = index.places.get(&hash).map_or(&[][..], Vec::as_slice);
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((offset, places));
            }
        }
        let Some((offset, places)) = rarest else { return true };
        for place in places {
            let Some(at) = (*place as usize).checked_sub(offset) else { continue };
            if !self.text.spend(1 + self.old.len() / 8) {
                return false;
            }
            if self.fits(at) && !found(at) {
                break;
            }
        }
        true
    }

    /// Returns the only place; of several, the only one behind the hunk before, if the format keeps an order.
    fn only(&self, hints: Hints) -> Result<Option<usize>, Lost> {
        let mut places = Vec::new();
        let complete = self.each(|at| {
            places.push(at);
            places.len() < 16
        });
        let behind: Vec<usize> = places.iter().copied().filter(|at| *at >= hints.cursor).collect();
        match (places.as_slice(), behind.as_slice()) {
            _ if !complete => Err(Lost::Ambiguous(places)),
            ([], _) => Ok(None),
            ([place], _) => Ok(Some(*place)),
            (_, [place]) if hints.style == Style::BeginPatch && places.len() < 16 => Ok(Some(*place)),
            _ => Err(Lost::Ambiguous(places)),
        }
    }

    /// Returns the first place behind the lines that the hunk's `@@` names.
    fn behind_anchor(&self, hints: Hints) -> Option<usize> {
        if self.hunk.anchors.is_empty() || hints.style != Style::BeginPatch {
            return None;
        }
        let mut from = hints.cursor;
        let mut anchor_at = None;
        for anchor in &self.hunk.anchors {
            let find = |level| self.text.places(level, anchor).into_iter().find(|at| *at >= from);
            let at = find(Level::Exact).or_else(|| find(Level::Trimmed))?;
            anchor_at = Some(at);
            from = at + 1;
        }
        let mut first = None;
        let least = anchor_at?;
        // Some repeat the named line as the first one of the hunk.
        let mut repeated = None;
        self.each(|at| {
            if at == least {
                repeated = Some(at);
            }
            if at > least {
                first = Some(at);
            }
            first.is_none()
        });
        first.or(repeated)
    }
}

/// Finds a hunk whose context may lack empty lines of the file.
fn find_with_blanks(text: &FileText, hunk: &LooseHunk, run: &[usize], level: Level) -> Result<Option<Map>, Lost> {
    if !text.spend(text.lines.len()) {
        return Err(Lost::Uncertain("there is too much to look through"));
    }
    let is_blank = |line: &[u8]| line.trim_ascii().is_empty();
    let file: Vec<usize> = (0..text.lines.len()).filter(|at| !is_blank(text.lines[*at])).collect();
    let old: Vec<usize> = old_of(hunk, run).into_iter().filter(|at| !is_blank(&hunk.lines[*at].text)).collect();
    // One line says little about what is around it.
    if old.len() < 2 || file.len() == text.lines.len() {
        return Ok(None);
    }
    let index = text.index(level);
    let pattern: Vec<u64> = old.iter().map(|at| text.hash(level, &hunk.lines[*at].text)).collect();
    let hashes: Vec<u64> = file.iter().map(|at| index.hashes[*at]).collect();
    let mut maps: Vec<Map> = Vec::new();
    for at in occurrences(&hashes, &pattern) {
        let same = old
            .iter()
            .zip(&file[at..])
            .all(|(line, place)| level.key(&hunk.lines[*line].text) == level.key(text.lines[*place]));
        if same && let Some(map) = fill_blanks(text, hunk, &old, &file[at..at + old.len()]) {
            maps.push(map);
        }
        if maps.len() > 1 {
            break;
        }
    }
    match maps.len() {
        0 => Ok(None),
        1 => Ok(maps.pop()),
        _ => Err(Lost::Ambiguous(maps.iter().filter_map(|map| map.first().map(|(_, at)| *at)).collect())),
    }
}

/// Returns where a pattern occurs, in linear time.
fn occurrences(text: &[u64], pattern: &[u64]) -> Vec<usize> {
    let mut back = vec![0; pattern.len()];
    for at in 1..pattern.len() {
        let mut length: usize = back[at - 1];
        while length > 0 && pattern[length] != pattern[at] {
            length = back[length - 1];
        }
        back[at] = length + usize::from(pattern[length] == pattern[at]);
    }
    let mut found = Vec::new();
    let mut length = 0;
    for (at, hash) in text.iter().enumerate() {
        while length > 0 && (length == pattern.len() || pattern[length] != *hash) {
            length = back[length - 1];
        }
        length += usize::from(pattern[length] == *hash);
        if length == pattern.len() {
            found.push(at + 1 - length);
        }
    }
    found
}

/// Adds the empty lines of the hunk to a map of its other lines; `None` where it is unclear which ones are meant.
fn fill_blanks(text: &FileText, hunk: &LooseHunk, old: &[usize], places: &[usize]) -> Option<Map> {
    let mut map = vec![(old[0], places[0])];
    for (lines, places) in old.windows(2).zip(places.windows(2)) {
        let between = lines[0] + 1..lines[1];
        let blanks: Vec<usize> = between.clone().filter(|at| hunk.lines[*at].op != Op::Added).collect();
        let in_file = places[1] - places[0] - 1;
        let adds = between.clone().any(|at| hunk.lines[at].op == Op::Added);
        let removes_both = lines.iter().all(|at| hunk.lines[*at].op == Op::Removed);
        if blanks.len() == in_file {
            map.extend(blanks.iter().copied().zip(places[0] + 1..));
        } else if !blanks.is_empty() || adds || removes_both {
            return None;
        }
        map.push((lines[1], places[1]));
    }
    // Empty lines before the first and behind the last one must be there.
    let first = old_before(hunk, old[0]);
    for (distance, line) in first.iter().rev().enumerate() {
        let at = places[0].checked_sub(distance + 1).filter(|at| text.lines[*at].trim_ascii().is_empty())?;
        map.insert(0, (*line, at));
    }
    let last = *old.last()?;
    let after = (last + 1..hunk.lines.len()).filter(|at| hunk.lines[*at].op != Op::Added && !hunk.lines[*at].soft);
    for (distance, line) in after.enumerate() {
        let at = places.last()? + distance + 1;
        if !text.lines.get(at)?.trim_ascii().is_empty() {
            return None;
        }
        map.push((line, at));
    }
    Some(map)
}

fn old_before(hunk: &LooseHunk, end: usize) -> Vec<usize> {
    (0..end).filter(|at| hunk.lines[*at].op != Op::Added).collect()
}

/// Turns a place into edits, or finds that what would be written is not certain.
fn settle(
    text: &FileText,
    hunk: &LooseHunk,
    map: &Map,
    level: Level,
    shape: Shape,
    hints: Hints,
) -> Result<Placed, Lost> {
    check_whitespace(text, hunk, map, level, hints)?;
    let ending = line_ending(text, map, level)?;
    let ends_in_change = hunk.lines.iter().rfind(|line| !line.soft).is_some_and(|line| line.op != Op::Context);
    if hunk.short && ends_in_change && map.last().is_some_and(|(_, at)| at + 1 < text.lines.len()) {
        return Err(Lost::Uncertain("it ends inside of a change before its counts are met"));
    }
    let (Some((_, start)), Some((_, last))) = (map.first(), map.last()) else { return Err(Lost::NoContext) };
    let is_blank =
        |at: Option<usize>| at.and_then(|at| text.lines.get(at)).is_some_and(|line| line.trim_ascii().is_empty());
    let adds = |line: Option<&LooseLine>| line.is_some_and(|line| line.op == Op::Added);
    let first_adds = adds(hunk.lines.first()) && is_blank(start.checked_sub(1));
    let last_adds = adds(hunk.lines.iter().rfind(|line| !line.soft)) && is_blank(Some(last + 1));
    if hunk.short && (first_adds || last_adds) {
        return Err(Lost::Uncertain("lines are missing where it adds some, next to an empty line"));
    }
    let mut edits: Vec<Edit> = Vec::new();
    let mut pending: Vec<Vec<u8>> = Vec::new();
    let mut position: Option<usize> = None;
    let mut mapped = map.iter().peekable();
    // Lines that belong to no edit end the one that is open.
    let mut open = false;
    let put = |edits: &mut Vec<Edit>, open: &mut bool, at: usize, removed: usize, added: Vec<Vec<u8>>| {
        match edits.last_mut() {
            Some(edit) if *open && edit.end() == at => {
                edit.removed += removed;
                edit.added.extend(added);
            }
            _ => edits.push(Edit { at, removed, added, final_newline: None }),
        }
        *open = true;
    };
    for (number, line) in hunk.lines.iter().enumerate() {
        if line.op == Op::Added {
            pending.push(with_ending(&line.text, ending));
            continue;
        }
        let Some((_, at)) = mapped.next_if(|(old, _)| *old == number) else {
            // A gap: what was added before it stands behind the last line.
            if shape == Shape::Elided && is_elision(line) {
                if !pending.is_empty() {
                    let at = position.ok_or(Lost::NoContext)?;
                    put(&mut edits, &mut open, at, 0, std::mem::take(&mut pending));
                }
                position = None;
                open = false;
            }
            continue;
        };
        if !pending.is_empty() {
            if position.is_some_and(|position| position != *at) {
                return Err(Lost::Uncertain("it is unclear on which side of an empty line the added lines stand"));
            }
            put(&mut edits, &mut open, *at, 0, std::mem::take(&mut pending));
        }
        if line.op == Op::Removed {
            put(&mut edits, &mut open, *at, 1, Vec::new());
        } else {
            open = false;
        }
        position = Some(at + 1);
    }
    if !pending.is_empty() {
        let at = position.ok_or(Lost::NoContext)?;
        put(&mut edits, &mut open, at, 0, pending);
    }
    let mut mends = level.mends();
    if shape == Shape::Elided {
        mends.push(Mend::ElidedContext);
    }
    if shape == Shape::Blanks {
        mends.push(Mend::DroppedBlankLines);
    }
    if hunk.recounted {
        mends.push(Mend::Counts);
    }
    if hunk.old_start != Some(*start as u64 + 1) {
        mends.push(Mend::LineNumber);
    }
    if hunk.lines.iter().any(|line| line.soft) {
        mends.push(Mend::LostSpaces);
    }
    end_of_file(text, hunk, &mut edits, &mut mends);
    mends.sort_unstable();
    mends.dedup();
    Ok(Placed { start: *start, end: last + 1, edits, mends })
}

/// Says what becomes of the newline at the end of the file.
fn end_of_file(text: &FileText, hunk: &LooseHunk, edits: &mut [Edit], mends: &mut Vec<Mend>) {
    let count = text.lines.len();
    let Some(edit) = edits.last_mut().filter(|edit| edit.end() == count) else { return };
    let stated_old = !hunk.lines.iter().any(|line| line.op != Op::Added && !line.newline);
    let stated_new = !hunk.lines.iter().any(|line| line.op != Op::Removed && !line.newline);
    let newline = match (stated_old == text.final_newline, text.final_newline) {
        (true, _) => stated_new,
        // The marker was lost: what the file has at its end stays.
        (false, false) => {
            mends.push(Mend::FinalNewline);
            false
        }
        (false, true) => true,
    };
    if edit.added.is_empty() {
        return;
    }
    // A last line without newline gets one when lines follow it, so it changes too.
    if edit.removed == 0 && !text.final_newline && count > 0 {
        edit.at -= 1;
        edit.removed = 1;
        edit.added.insert(0, text.lines[count - 1].to_vec());
    }
    edit.final_newline = Some(newline);
}

/// Refuses where the level forgives a difference that the hunk may be about.
fn check_whitespace(text: &FileText, hunk: &LooseHunk, map: &Map, level: Level, hints: Hints) -> Result<(), Lost> {
    if matches!(level, Level::Exact | Level::Ending) {
        return Ok(());
    }
    if map.iter().all(|(line, _)| hunk.lines[*line].text.trim_ascii().is_empty()) {
        return Err(Lost::Uncertain("it has only empty lines of the file in it, and not as the file has them"));
    }
    let added = || hunk.lines.iter().filter(|line| line.op == Op::Added);
    let keys: std::collections::HashSet<Vec<u8>> = added().map(|line| level.key(&line.text).into_owned()).collect();
    for (line, at) in map {
        let line = &hunk.lines[*line];
        let (own, found) = (Level::Ending.key(&line.text).into_owned(), Level::Ending.key(text.lines[*at]));
        if line.op == Op::Removed && own != *found && !own.trim_ascii().is_empty() && keys.contains(&*level.key(&own)) {
            return Err(Lost::Uncertain(
                "the hunk changes only spaces, and the spaces of its lines are not those of the file",
            ));
        }
    }
    // Where a tab is left, tabs were not turned into spaces.
    let kept = |(line, at): &(usize, usize)| {
        let own = &hunk.lines[*line].text;
        own.contains(&b'\t') && Level::Trailing.key(own) != Level::Trailing.key(text.lines[*at])
    };
    if level.folds_tabs() && map.iter().any(kept) {
        return Err(Lost::Uncertain("the tabs of its lines are not those of the file"));
    }
    if level.folds_tabs() && !hints.tabs_are_kept {
        return Err(Lost::Uncertain("tabs of the file became spaces, and the added lines may have lost theirs too"));
    }
    if level.folds_typography() && added().any(|line| is_typographic(&line.text)) {
        return Err(Lost::Uncertain("quotes or spaces were replaced by typographic ones, in the added lines too"));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Ending {
    AsWritten,
    Lf,
    CrLf,
}

/// Returns the ending of added lines, as the lines around them have it.
fn line_ending(text: &FileText, map: &Map, level: Level) -> Result<Ending, Lost> {
    if level == Level::Exact {
        return Ok(Ending::AsWritten);
    }
    let returned = |line: &[u8]| line.ends_with(b"\r");
    // A last line without newline has no ending.
    let ended = |at: &usize| *at + 1 < text.lines.len() || text.final_newline;
    let near: Vec<bool> = map.iter().map(|(_, at)| *at).filter(ended).map(|at| returned(text.lines[at])).collect();
    let uniform = |all: &[bool]| all.first().copied().filter(|first| all.iter().all(|each| each == first));
    if let Some(returned) = uniform(&near) {
        return Ok(if returned { Ending::CrLf } else { Ending::Lf });
    }
    let all: Vec<bool> = (0..text.lines.len()).filter(ended).map(|at| returned(text.lines[at])).collect();
    match uniform(&all) {
        Some(true) => Ok(Ending::CrLf),
        Some(false) => Ok(Ending::Lf),
        None if near.is_empty() => Ok(Ending::AsWritten),
        None => Err(Lost::Uncertain("the lines of the file end in different ways there")),
    }
}

fn with_ending(line: &[u8], ending: Ending) -> Vec<u8> {
    let bare = line.strip_suffix(b"\r").unwrap_or(line);
    match ending {
        Ending::AsWritten => line.to_vec(),
        Ending::Lf => bare.to_vec(),
        Ending::CrLf => [bare, b"\r"].concat(),
    }
}
