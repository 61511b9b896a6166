//! One block of text that may be a patch: what stands around its lines is taken off, then it is read.

use super::begin::read_begin_patch;
use super::section::Section;
use super::unified::Place;
use super::unified::read_markers;
use super::unified::read_unified;
use super::unified::starts_pair;
use super::unified::trimmed;
use crate::patch::place::Mend;

/// More is not a patch that somebody reads.
pub const MAX_BYTES: usize = 16 << 20;
pub const MAX_LINES: usize = 200_000;

/// What a block turned out to be.
pub enum Content {
    /// No patch, and how many lines show it
    Nothing(usize),
    Patch(Parsed),
    /// A patch that has no end
    Partial,
    Malformed(String),
}

pub struct Parsed {
    pub sections: Vec<Section>,
    pub mends: Vec<Mend>,
    pub begin_patch: bool,
    /// Lines of the block that were read
    pub taken: usize,
}

/// Reads a block; `labelled` says that the words after the fence announce a patch.
pub fn read_block(lines: &[&[u8]], place: Place, labelled: bool) -> Content {
    if lines.len() > MAX_LINES || lines.iter().map(|line| line.len()).sum::<usize>() > MAX_BYTES {
        return Content::Malformed("the patch is too long to be read".into());
    }
    let mut mends = Vec::new();
    let lines = undress(lines, &mut mends);
    let lines: Vec<&[u8]> = lines.iter().map(|line| &**line).collect();
    let Some(start) =
        (0..lines.len()).find(|at| starts_patch(&lines, *at) || labelled && lines[*at].starts_with(b"@@"))
    else {
        return if labelled { markers(&lines, mends) } else { Content::Nothing(1) };
    };
    // What stands before is prose of the patch, unless somebody typed commands and shows what they printed.
    if lines[..start].iter().any(|line| line.starts_with(b"$ ") || line.starts_with(b"% ") || line.starts_with(b"> ")) {
        return Content::Nothing(1);
    }
    let end = heredoc_end(&lines, start).unwrap_or(lines.len());
    let body = &lines[start..end];
    let begin_patch = trimmed(body[0]).trim_ascii() == b"*** Begin Patch";
    let read = if begin_patch {
        match read_begin_patch(body) {
            Ok(Some(read)) => Ok(read),
            Ok(None) => return Content::Partial,
            Err(message) => Err(message),
        }
    } else {
        read_unified(body, place)
    };
    match read {
        Ok(read) => {
            let mut sections = read.sections;
            let count = sections.len();
            sections.retain(says_something);
            let taken = start + read.taken;
            if sections.is_empty() {
                // A header that nothing follows is a mention.
                Content::Nothing(taken)
            } else if sections.len() < count {
                Content::Malformed("a file header has no hunk".into())
            } else {
                Content::Patch(Parsed { sections, mends, begin_patch, taken })
            }
        }
        Err(message) => Content::Malformed(message),
    }
}

fn says_something(section: &Section) -> bool {
    section.hunks.iter().any(|hunk| hunk.has_changes())
        || section.operation.is_some()
        || section.moved.is_some()
        || section.old_mode.is_some()
        || section.binary
}

pub(super) fn starts_patch(lines: &[&[u8]], at: usize) -> bool {
    lines[at].starts_with(b"diff --git ")
        || starts_pair(lines, at)
        || trimmed(lines[at]).trim_ascii() == b"*** Begin Patch"
}

/// A block with a label and nothing but markers is one hunk, if it has any.
fn markers(lines: &[&[u8]], mends: Vec<Mend>) -> Content {
    let has = |mark: u8| lines.iter().any(|line| line.first() == Some(&mark));
    if !has(b'+') && !has(b'-') {
        return Content::Nothing(1);
    }
    Content::Patch(Parsed { sections: vec![read_markers(lines)], mends, begin_patch: false, taken: lines.len() })
}

/// Returns where the text of a here-document ends.
fn heredoc_end(lines: &[&[u8]], start: usize) -> Option<usize> {
    let line = lines[..start].iter().rev().find(|line| line.windows(2).any(|pair| pair == b"<<"))?;
    let text = String::from_utf8_lossy(line).into_owned();
    let word: String = text
        .rsplit("<<")
        .next()?
        .trim_start_matches(['-', '\'', '"', ' '])
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (start..lines.len()).find(|at| trimmed(lines[*at]) == word.as_bytes())
}

/// Takes off what stands before every line: carriage returns, numbers, quote marks, indentation, labels of a page.
fn undress<'a>(lines: &[&'a [u8]], mends: &mut Vec<Mend>) -> Vec<std::borrow::Cow<'a, [u8]>> {
    let mut lines: Vec<&'a [u8]> = lines.to_vec();
    if !lines.is_empty() && lines.iter().all(|line| line.ends_with(b"\r")) {
        lines = lines.iter().map(|line| trimmed(line)).collect();
        mends.push(Mend::LineEndings);
    }
    if let Some((first, rest)) = lines.split_first()
        && let Some(unglued) = unglue(first)
    {
        mends.push(Mend::PageLabels);
        return std::iter::once(unglued).chain(rest.iter().copied()).map(Into::into).collect();
    }
    let visible = |lines: &[&[u8]]| (0..lines.len()).any(|at| starts_patch(lines, at) || lines[at].starts_with(b"@@"));
    if !visible(&lines) {
        if let Some(bare) = unnumber(&lines).filter(|bare| visible(bare)) {
            mends.push(Mend::LineNumbers);
            lines = bare;
        } else if let Some(bare) = unindent(&lines) {
            mends.push(Mend::Indentation);
            lines = bare;
        }
    }
    lines.into_iter().map(Into::into).collect()
}

/// Takes the words of buttons off the first line of a patch.
pub(super) fn unglue(line: &[u8]) -> Option<&[u8]> {
    ["*** Begin Patch", "diff --git a/"].iter().find_map(|start| {
        let at = memchr::memmem::find(line, start.as_bytes())?;
        let label = &line[..at];
        let is_label = at > 0 && at <= 40 && label.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b' ');
        (is_label && label[0].is_ascii_uppercase()).then_some(&line[at..])
    })
}

/// Takes off numbers that count the lines of the block.
fn unnumber<'a>(lines: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    let split = |line: &'a [u8]| {
        let from = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
        let digits = line[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: u64 = std::str::from_utf8(&line[from..from + digits]).ok()?.parse().ok()?;
        Some((number, &line[from + digits..]))
    };
    let (first, _) = split(lines.first()?)?;
    let rests: Vec<&'a [u8]> = lines
        .iter()
        .zip(first..)
        .map(|(line, number)| split(line).filter(|(found, _)| *found == number).map(|(_, rest)| rest))
        .collect::<Option<_>>()?;
    // A header has no space of its own, so the gap before it is the gap.
    let gap_of = |line: &[u8]| line.iter().take_while(|byte| b" \t|:.)".contains(byte)).count();
    let header = rests.iter().find(|rest| {
        [&b"diff --git "[..], b"--- ", b"*** Begin", b"@@"].iter().any(|word| rest[gap_of(rest)..].starts_with(word))
    })?;
    let gap = &header[..gap_of(header)];
    rests
        .iter()
        .map(|rest| {
            rest.strip_prefix(gap).or_else(|| (rest.trim_ascii() == gap.trim_ascii()).then_some(&rest[rest.len()..]))
        })
        .collect()
}

/// Takes off what stands before the first header from every line.
fn unindent<'a>(lines: &[&'a [u8]]) -> Option<Vec<&'a [u8]>> {
    let indent_of = |line: &[u8]| line.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
    let header = lines.iter().find(|line| {
        let rest = &line[indent_of(line)..];
        [&b"diff --git "[..], b"--- ", b"*** Begin Patch", b"@@ "].iter().any(|word| rest.starts_with(word))
    })?;
    let indent = &header[..indent_of(header)];
    if indent.is_empty() {
        return None;
    }
    let first = lines.iter().position(|line| line == header)?;
    let strip = |line: &&'a [u8]| {
        line.strip_prefix(indent)
            .or_else(|| indent.trim_ascii_end().eq(line.trim_ascii_end()).then_some(&line[line.len()..]))
            .or_else(|| line.trim_ascii().is_empty().then_some(&line[line.len()..]))
    };
    let bare: Vec<&'a [u8]> = lines[first..].iter().map(strip).collect::<Option<_>>()?;
    (0..bare.len()).any(|at| starts_patch(&bare, at) || bare[at].starts_with(b"@@")).then_some(bare)
}
