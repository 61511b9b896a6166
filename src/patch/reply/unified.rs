//! Unified diffs as assistants write them: counts may be wrong, numbers missing, spaces lost.
//!
//! The reader takes what is there and judges nothing; what it cannot make sense of becomes a context line, which must
//! then be found in the file.

use super::section::LooseHunk;
use super::section::LooseLine;
use super::section::Moved;
use super::section::Name;
use super::section::Op;
use super::section::Operation;
use super::section::Section;
use super::section::Style;
use crate::base::unquote;

/// What was read, and how many lines it took.
pub struct Read {
    pub sections: Vec<Section>,
    pub taken: usize,
}

/// What a `@@` line says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HunkHeader {
    pub old_start: Option<u64>,
    pub counts: Option<(u64, u64)>,
    pub rest: Vec<u8>,
}

/// Where the text stands: in a fence everything belongs to the patch, in prose it ends where the patch does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Fence,
    Prose,
}

/// Reads a diff that begins at the first line.
pub fn read_unified(lines: &[&[u8]], place: Place) -> Result<Read, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = trimmed(lines[at]);
        if let Some(sides) = line.strip_prefix(b"diff --git ") {
            let mut section = Section { line: at + 1, git: Some(sides.to_vec()), ..Section::default() };
            at = read_git_header(lines, at + 1, &mut section)?;
            sections.push(section);
        } else if starts_pair(lines, at) {
            let mut section = Section { line: at + 1, ..Section::default() };
            read_pair(lines, at, &mut section)?;
            sections.push(section);
            at += 2;
        } else if line.starts_with(b"@@@") || line.starts_with(b"diff --cc ") {
            return Err("combined diffs of a merge cannot be applied".into());
        } else if line.starts_with(b"@@") {
            if sections.is_empty() {
                sections.push(Section { line: at + 1, style: Style::Headless, ..Section::default() });
            }
            let (hunk, next) = read_hunk(lines, at, place);
            at = next;
            if let Some(section) = sections.last_mut() {
                section.hunks.push(hunk);
            }
        } else if line.trim_ascii_end() == b"--" && lines.len() - at <= 4 {
            // The signature of a mail.
            at = lines.len();
        } else if is_between(line) || place == Place::Fence && sections.is_empty() {
            at += 1;
        } else if place == Place::Prose {
            break;
        } else {
            return Err(format!("line {} of the block is neither a header nor part of a hunk", at + 1));
        }
    }
    Ok(Read { sections, taken: at })
}

/// Reads a block that has nothing but lines with markers.
pub fn read_markers(lines: &[&[u8]]) -> Section {
    let mut hunk = LooseHunk { line: 1, ..LooseHunk::default() };
    for line in lines {
        push_line(&mut hunk, line);
    }
    Section { line: 1, style: Style::Headless, hunks: vec![hunk], ..Section::default() }
}

pub(super) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Lines that may stand between files.
fn is_between(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
        || line.starts_with(b"Index: ")
        || line.starts_with(b"=====")
        || line.starts_with(b"diff -")
}

pub(super) fn starts_pair(lines: &[&[u8]], at: usize) -> bool {
    let starts = |at: usize, word: &[u8]| lines.get(at).is_some_and(|line| line.starts_with(word));
    starts(at, b"--- ") && starts(at + 1, b"+++ ")
}

fn read_pair(lines: &[&[u8]], at: usize, section: &mut Section) -> Result<(), String> {
    section.old = Some(read_name(&lines[at][4..])?);
    section.new = Some(read_name(&lines[at + 1][4..])?);
    Ok(())
}

/// Reads the name after `--- ` or `+++ `; a timestamp may follow.
fn read_name(field: &[u8]) -> Result<Name, String> {
    let field = trimmed(field);
    let name = if field.starts_with(b"\"") {
        match unquote(field) {
            Some((name, tail)) if tail.is_empty() || tail.starts_with(b"\t") => name,
            _ => return Err("the quoting of a file name is broken".into()),
        }
    } else {
        let name = field.split(|byte| *byte == b'\t').next().unwrap_or_default();
        if crate::patch::stamp::has_stray_date(name) {
            return Err("it is unclear where a file name ends".into());
        }
        name.trim_ascii_end().to_vec()
    };
    match name {
        name if name == b"/dev/null" => Ok(Name::Null),
        name if name.is_empty() => Err("a file name is empty".into()),
        name => Ok(Name::Path(name)),
    }
}

/// Reads the lines after `diff --git`, and returns where the hunks begin.
fn read_git_header(lines: &[&[u8]], mut at: usize, section: &mut Section) -> Result<usize, String> {
    while at < lines.len() {
        let line = trimmed(lines[at]);
        if starts_pair(lines, at) {
            read_pair(lines, at, section)?;
            return Ok(at + 2);
        }
        let after = |word: &str| line.strip_prefix(word.as_bytes()).map(<[u8]>::to_vec);
        let again = || format!("a header line is repeated at line {} of the block", at + 1);
        let set = |slot: &mut Option<Vec<u8>>, value: Vec<u8>| match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(again()),
        };
        let whole = |field: Vec<u8>| match unquote(&field) {
            Some((name, [])) => name,
            _ => field,
        };
        if let Some(mode) = after("old mode ") {
            set(&mut section.old_mode, mode)?;
        } else if let Some(mode) = after("new mode ") {
            set(&mut section.new_mode, mode)?;
        } else if let Some(mode) = after("deleted file mode ") {
            set(&mut section.old_mode, mode)?;
            section.operation = Some(Operation::Delete);
        } else if let Some(mode) = after("new file mode ") {
            set(&mut section.new_mode, mode)?;
            section.operation = Some(Operation::Add);
        } else if let Some(name) = after("rename from ").or_else(|| after("copy from ")) {
            let moved = section.moved.get_or_insert_with(Moved::default);
            moved.copy |= line.starts_with(b"copy");
            set(&mut moved.from, whole(name))?;
        } else if let Some(name) = after("rename to ").or_else(|| after("copy to ")) {
            let moved = section.moved.get_or_insert_with(Moved::default);
            moved.copy |= line.starts_with(b"copy");
            set(&mut moved.to, whole(name))?;
        } else if let Some(index) = after("index ") {
            let text = String::from_utf8_lossy(&index).into_owned();
            let id = text.split("..").next().unwrap_or_default();
            let is_id = (4..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            section.old_id = is_id.then(|| id.to_ascii_lowercase());
        } else if line == b"GIT binary patch" || line.starts_with(b"Binary files ") {
            section.binary = true;
            while at < lines.len() && !lines[at].starts_with(b"diff --git ") {
                at += 1;
            }
            return Ok(at);
        } else if !line.starts_with(b"similarity index ") && !line.starts_with(b"dissimilarity index ") {
            return Ok(at);
        }
        at += 1;
    }
    Ok(at)
}

/// Reads one hunk: by its counts if they fit, else up to the next header.
pub(super) fn read_hunk(lines: &[&[u8]], at: usize, place: Place) -> (LooseHunk, usize) {
    let header = parse_header(trimmed(lines[at]));
    let mut hunk = LooseHunk {
        line: at + 1,
        header: trimmed(lines[at]).to_vec(),
        old_start: header.old_start,
        counts: header.counts,
        ..LooseHunk::default()
    };
    let counted = hunk.counts.and_then(|counts| counted_end(lines, at + 1, counts));
    let end = match (counted, place) {
        (Some(end), _) => end,
        (None, Place::Fence) => loose_end(lines, at + 1),
        (None, Place::Prose) => {
            hunk.short = hunk.counts.is_some();
            prose_end(lines, at + 1)
        }
    };
    for line in &lines[at + 1..end] {
        push_line(&mut hunk, line);
    }
    if let (Some(counts), None) = (hunk.counts, counted) {
        let count = |op| hunk.lines.iter().filter(|line| line.op != op).count() as u64;
        let (old, new) = (count(Op::Added), count(Op::Removed));
        hunk.recounted = true;
        hunk.short |= old < counts.0 || new < counts.1;
    }
    (hunk, end)
}

/// Returns where a hunk ends if its counts are right.
fn counted_end(lines: &[&[u8]], start: usize, (mut old, mut new): (u64, u64)) -> Option<usize> {
    let mut at = start;
    while old > 0 || new > 0 {
        // The header of the next file, whatever is missing: a line of a hunk never starts with `@@`.
        if starts_pair(lines, at) && lines.get(at + 2).is_some_and(|line| line.starts_with(b"@@")) {
            return None;
        }
        let (of_old, of_new) = match trimmed(lines.get(at)?).first() {
            None | Some(b' ') => (1, 1),
            Some(b'+') => (0, 1),
            Some(b'-') => (1, 0),
            Some(b'\\') => (0, 0),
            Some(_) => return None,
        };
        old = old.checked_sub(of_old)?;
        new = new.checked_sub(of_new)?;
        at += 1;
    }
    at += usize::from(lines.get(at).is_some_and(|line| line.starts_with(b"\\ ")));
    match lines.get(at).map(|line| trimmed(line)) {
        Some([b'+' | b'-' | b' ' | b'\\', ..]) if !starts_pair(lines, at) && trimmed(lines[at]) != b"-- " => None,
        _ => Some(at),
    }
}

fn is_header(lines: &[&[u8]], at: usize) -> bool {
    let line = lines[at];
    line.starts_with(b"@@")
        || line.starts_with(b"diff --git ")
        || line.starts_with(b"*** ")
        || starts_pair(lines, at) && lines.get(at + 2).is_none_or(|line| line.starts_with(b"@@") || line.is_empty())
}

fn loose_end(lines: &[&[u8]], start: usize) -> usize {
    (start..lines.len()).find(|at| is_header(lines, *at)).unwrap_or(lines.len())
}

/// Without a fence a hunk goes on while its lines have markers; empty lines count if such a line follows them.
fn prose_end(lines: &[&[u8]], start: usize) -> usize {
    let mut end = start;
    for at in start..lines.len() {
        match trimmed(lines[at]).first() {
            _ if is_header(lines, at) => return end,
            Some(b'+' | b'-' | b' ' | b'\\') => end = at + 1,
            None => {}
            Some(_) => return end,
        }
    }
    end
}

pub(super) fn push_line(hunk: &mut LooseHunk, line: &[u8]) {
    let (op, text, soft) = match line {
        [] | [b'\r'] => (Op::Context, line, true),
        [b' ', text @ ..] => (Op::Context, text, false),
        [b'+', text @ ..] => (Op::Added, text, false),
        [b'-', text @ ..] => (Op::Removed, text, false),
        [b'\\', b' ', ..] if !hunk.lines.is_empty() => {
            if let Some(last) = hunk.lines.last_mut() {
                last.newline = false;
            }
            return;
        }
        _ => (Op::Context, line, false),
    };
    hunk.lines.push(LooseLine { op, text: text.to_vec(), newline: true, soft });
}

/// Reads a `@@` line, whatever is left of it.
pub fn parse_header(line: &[u8]) -> HunkHeader {
    let rest = line.strip_prefix(b"@@").unwrap_or(line);
    let ranges = rest.trim_ascii_start();
    if let Some((old, tail)) = ranges.strip_prefix(b"-").and_then(parse_range)
        && let Some((new, tail)) = tail.trim_ascii_start().strip_prefix(b"+").and_then(parse_range)
    {
        let counts = Some((old.1.unwrap_or(1), new.1.unwrap_or(1)));
        let rest = tail.trim_ascii_start().strip_prefix(b"@@").unwrap_or(tail).trim_ascii().to_vec();
        return HunkHeader { old_start: Some(old.0), counts, rest };
    }
    let text = rest.trim_ascii();
    let text = text.strip_suffix(b"@@").unwrap_or(text).trim_ascii();
    let says_something = text
        .iter()
        .any(|byte| byte.is_ascii_alphabetic() && *byte != b'X' || *byte >= 0x80 || matches!(byte, b'}' | b'{'))
        && text != "\u{2026}".as_bytes();
    HunkHeader { rest: if says_something { text.to_vec() } else { Vec::new() }, ..HunkHeader::default() }
}

type Numbers = (u64, Option<u64>);

fn parse_range(text: &[u8]) -> Option<(Numbers, &[u8])> {
    let (start, rest) = parse_number(text)?;
    match rest {
        [b',', tail @ ..] => {
            let (count, rest) = parse_number(tail)?;
            Some(((start, Some(count)), rest))
        }
        _ => Some(((start, None), rest)),
    }
}

fn parse_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    (number < 1 << 40).then_some((number, &text[digits..]))
}
