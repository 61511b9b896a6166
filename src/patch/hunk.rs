//! A hunk: some lines of the old file and what becomes of them.

use super::error::PatchError;
use super::error::PatchErrorKind;
use super::lines::Lines;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// 1-based line of the `@@` in the patch
    pub line: usize,
    pub old_start: u64,
    pub old_lines: u64,
    pub new_start: u64,
    pub new_lines: u64,
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: LineKind,
    /// Without the marker and without the newline; a CR is part of it
    pub text: Vec<u8>,
    /// False when `\ No newline at end of file` follows
    pub newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Added,
    Removed,
}

/// Which sides of a file have had their last line
///
/// git joins a line without newline with the next one, which would hide what the joined line says from anyone who
/// reads the patch by line.
#[derive(Default)]
pub(super) struct Ended {
    old: bool,
    new: bool,
}

/// Reads one hunk; the current line starts with `@@`
pub(super) fn parse_hunk(lines: &mut Lines, ended: &mut Ended) -> Result<Hunk, PatchError> {
    let line = lines.number;
    let header = lines.take()?.map_or(&b""[..], |row| row.text);
    let mut hunk = parse_hunk_header(line, header).map_err(|kind| kind.at(line))?;
    let (mut old, mut new) = (hunk.old_lines, hunk.new_lines);
    while old > 0 || new > 0 {
        let row = lines.take()?.ok_or(PatchErrorKind::ShortHunk.at(lines.number))?;
        let (kind, text) = match row.text {
            // Mail programs and editors strip the space of an empty context line.
            [] => (LineKind::Context, row.text),
            [b' ', text @ ..] => (LineKind::Context, text),
            [b'+', text @ ..] => (LineKind::Added, text),
            [b'-', text @ ..] => (LineKind::Removed, text),
            [b'\\', ..] => {
                end_line(row.text, &mut hunk, ended).map_err(|kind| kind.at(row.number))?;
                continue;
            }
            _ => return Err(PatchErrorKind::UnknownMarker.at(row.number)),
        };
        let (of_old, of_new) = (kind != LineKind::Added, kind != LineKind::Removed);
        if (of_old && old == 0) || (of_new && new == 0) {
            return Err(PatchErrorKind::LongHunk.at(row.number));
        }
        if (of_old && ended.old) || (of_new && ended.new) {
            return Err(PatchErrorKind::MisplacedMarker.at(row.number));
        }
        old -= u64::from(of_old);
        new -= u64::from(of_new);
        hunk.lines.push(Line { kind, text: text.to_vec(), newline: true });
    }
    if hunk.lines.iter().all(|line| line.kind == LineKind::Context) {
        return Err(PatchErrorKind::IdleHunk.at(line));
    }
    // The marker may be the very last line of the text, and git does not ask for its newline.
    if let Some(row) = lines.peek().filter(|row| row.text.starts_with(b"\\")) {
        end_line(row.text, &mut hunk, ended).map_err(|kind| kind.at(row.number))?;
        lines.advance();
    }
    Ok(hunk)
}

/// Takes in `\ No newline at end of file`, in whatever language: git too asks only for the start and some length
fn end_line(text: &[u8], hunk: &mut Hunk, ended: &mut Ended) -> Result<(), PatchErrorKind> {
    let last = hunk.lines.last_mut().filter(|line| line.newline);
    match last {
        Some(line) if text.starts_with(b"\\ ") && text.len() > 12 => {
            line.newline = false;
            ended.old |= line.kind != LineKind::Added;
            ended.new |= line.kind != LineKind::Removed;
            Ok(())
        }
        _ => Err(PatchErrorKind::MisplacedMarker),
    }
}

fn parse_hunk_header(line: usize, text: &[u8]) -> Result<Hunk, PatchErrorKind> {
    let bad = PatchErrorKind::BadHunkHeader;
    let (old_start, old_lines, rest) = parse_range(text.strip_prefix(b"@@ -").ok_or(bad)?)?;
    let (new_start, new_lines, rest) = parse_range(rest.strip_prefix(b" +").ok_or(bad)?)?;
    rest.strip_prefix(b" @@").ok_or(bad)?;
    Ok(Hunk { line, old_start, old_lines, new_start, new_lines, lines: Vec::new() })
}

/// Reads `start` or `start,lines`; one line when the count is left out
fn parse_range(text: &[u8]) -> Result<(u64, u64, &[u8]), PatchErrorKind> {
    let (start, rest) = parse_number(text)?;
    let (lines, rest) = match rest {
        [b',', rest @ ..] => parse_number(rest)?,
        _ => (1, rest),
    };
    // So that nobody who adds the two has to think of it.
    start.checked_add(lines).ok_or(PatchErrorKind::Overflow)?;
    Ok((start, lines, rest))
}

fn parse_number(text: &[u8]) -> Result<(u64, &[u8]), PatchErrorKind> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Err(PatchErrorKind::BadHunkHeader);
    }
    let number =
        text[..digits].iter().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
    Ok((number.ok_or(PatchErrorKind::Overflow)?, &text[digits..]))
}
