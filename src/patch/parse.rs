//! Finds the files of a patch between mail headers, prose and signatures.

use super::binary::skip_binary;
use super::error::PatchError;
use super::error::PatchErrorKind;
use super::file::FileKind;
use super::file::FilePatch;
use super::file::Patch;
use super::header::Start;
use super::header::parse_git_header;
use super::header::parse_plain_header;
use super::hunk::Ended;
use super::hunk::parse_hunk;
use super::lines::Lines;

/// Reads a unified or git patch, with `-p1` paths
pub fn parse_patch(bytes: &[u8]) -> Result<Patch, PatchError> {
    let mut lines = Lines::new(bytes);
    let mut files = Vec::new();
    while let Some(row) = lines.peek() {
        let text = row.header();
        if let Some(sides) = text.strip_prefix(b"diff --git ") {
            let start = parse_git_header(&mut lines, sides)?;
            files.push(parse_body(&mut lines, start)?);
        } else if text.starts_with(b"--- ") && lines.plus_follows() {
            let start = parse_plain_header(&mut lines)?;
            files.push(parse_body(&mut lines, start)?);
        } else if [&b"diff --cc "[..], b"diff --combined ", b"@@@"].iter().any(|word| text.starts_with(word)) {
            return Err(PatchErrorKind::Combined.at(row.number));
        } else if text.starts_with(b"@@") || text == b"GIT binary patch" {
            return Err(PatchErrorKind::HunkWithoutFile.at(row.number));
        } else {
            lines.advance();
        }
    }
    if files.is_empty() { Err(PatchErrorKind::Empty.at(1)) } else { Ok(Patch { files }) }
}

/// Reads what follows a header and makes sure that nothing which looks like a change is left over
fn parse_body(lines: &mut Lines, start: Start) -> Result<FilePatch, PatchError> {
    let Start { mut file, hunks_due } = start;
    let mut ended = Ended::default();
    while let Some(row) = lines.peek().filter(|row| row.text.starts_with(b"@@")) {
        if row.text.starts_with(b"@@@") {
            return Err(PatchErrorKind::Combined.at(row.number));
        }
        let hunk = parse_hunk(lines, &mut ended)?;
        let wrong_side = match file.kind {
            FileKind::Add => hunk.old_lines > 0,
            FileKind::Delete => hunk.new_lines > 0,
            _ => false,
        };
        if wrong_side {
            return Err(PatchErrorKind::WrongSide.at(hunk.line));
        }
        file.hunks.push(hunk);
    }
    if file.hunks.is_empty() {
        file.binary = parse_binary(lines)?;
    }
    let bare = file.hunks.is_empty() && !file.binary;
    if bare && hunks_due {
        return Err(PatchErrorKind::HunkExpected.at(lines.number));
    }
    check_next(lines, bare)?;
    if bare && file.kind == FileKind::Modify && file.old_mode == file.new_mode {
        return Err(PatchErrorKind::ChangesNothing.at(file.line));
    }
    Ok(file)
}

fn parse_binary(lines: &mut Lines) -> Result<bool, PatchError> {
    let Some(row) = lines.peek() else { return Ok(false) };
    let text = row.header();
    if text == b"GIT binary patch" {
        skip_binary(lines)?;
        return Ok(true);
    }
    let left_out = (text.starts_with(b"Binary files ") || text.starts_with(b"Files ")) && text.ends_with(b" differ");
    if left_out {
        lines.take()?;
    }
    Ok(left_out)
}

/// Refuses what must not stand right behind a file
///
/// git skips it all as prose. Behind a hunk that would be the lines its counts forgot; behind a `bare` header, which
/// has neither hunks nor binary data, a header line that nobody understood.
fn check_next(lines: &Lines, bare: bool) -> Result<(), PatchError> {
    let Some(row) = lines.peek() else { return Ok(()) };
    let error = match row.header() {
        // A mail signature starts with `-- `.
        b"" | b"-- " | b"--" => return Ok(()),
        text if text.starts_with(b"diff ") => return Ok(()),
        _ if bare => PatchErrorKind::UnexpectedLine,
        [b'-', ..] if row.text.starts_with(b"--- ") && lines.plus_follows() => return Ok(()),
        [b'+' | b'-' | b' ' | b'\\', ..] => PatchErrorKind::LongHunk,
        text if text.starts_with(b"literal ") || text.starts_with(b"delta ") => PatchErrorKind::BadBinary,
        _ => return Ok(()),
    };
    Err(error.at(row.number))
}
