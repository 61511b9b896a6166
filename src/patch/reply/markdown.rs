//! The fenced blocks of a reply, found with a CommonMark parser.
//!
//! A reply may be long and hostile, and the tree of a parser is larger than its text. So the text is parsed window by
//! window: every top-level block but the last of a window is complete, and the next window starts with that last one.

use std::ops::Range;

use memchr::memmem;
use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

use super::rejoin::Rejoined;
use super::rejoin::is_cut;
use super::rejoin::rejoin;

const FIRST_WINDOW: usize = 64 << 10;

/// A single block that needs a larger window is read by hand if it is a fence or a paragraph, and else not at all.
const LAST_WINDOW: usize = 512 << 10;

/// Past this a line is text, whatever is in it.
const LONG_LINE: usize = 4 << 10;

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Where it stands in the reply, fence lines included.
    pub range: Range<usize>,
    /// What follows the opening fence.
    pub info: Vec<u8>,
    /// Where its lines are, without what a list or a quote puts before them; empty when it cannot hold a patch.
    pub lines: Vec<Range<usize>>,
    pub closed: bool,
    /// A line inside ended the block too early, and what follows it could not be joined with certainty.
    pub cut: bool,
    /// A line inside ended the block too early, and the parts were joined.
    pub joined: bool,
}

/// A list, a quote or an indented block is too long to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    pub offset: usize,
}

/// The fenced blocks of a reply.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Those that may hold a patch, in order
    pub fences: Vec<Fence>,
    /// Where all of them are, in order; neighbours are one. A reply can be nothing but fences, so this is kept small.
    code: Vec<(u32, u32)>,
}

impl Blocks {
    fn push(&mut self, reply: &[u8], fence: Fence) {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let range = (narrow(fence.range.start), narrow(fence.range.end));
        match self.code.last_mut() {
            Some((_, end))
                if reply[*end as usize..fence.range.start].trim_ascii().is_empty()
                    && fence.lines.is_empty()
                    && fence.closed =>
            {
                *end = range.1;
            }
            _ => self.code.push(range),
        }
        // A patch that was only announced when the reply ended counts as one that has no end.
        if !fence.lines.is_empty() || !fence.closed && is_patch_label(&fence.info) {
            self.fences.push(fence);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Returns what stands before, between and behind the fenced blocks of a reply of this length.
    pub fn prose(&self, len: usize) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.code.iter().map(|(_, end)| *end as usize));
        let ends = self.code.iter().map(|(start, _)| *start as usize).chain(std::iter::once(len));
        starts.zip(ends).map(|(start, end)| start..end.max(start))
    }
}

/// Finds the fenced blocks of a reply, in order.
pub fn find_fences(reply: &[u8]) -> Result<Blocks, TooLong> {
    let mut fences = Blocks::default();
    let mut start = 0;
    let mut size = FIRST_WINDOW;
    while start < reply.len() {
        let end = line_end(reply, start.saturating_add(size).min(reply.len()));
        let window = read_window(reply, start..end);
        let last = end == reply.len();
        if !last && window.tops.len() < 2 {
            if end - start < LAST_WINDOW {
                size *= 2;
                continue;
            }
            start = match window.tops.first() {
                Some(top) if top.kind == TopKind::Fence => {
                    let fence = read_long_fence(reply, top.start);
                    let end = fence.range.end;
                    fences.push(reply, fence);
                    end
                }
                Some(top) if top.kind == TopKind::Paragraph => paragraph_cut(reply, start..end),
                Some(top) => return Err(TooLong { offset: top.start }),
                None => end,
            };
            continue;
        }
        // The last block of a window may go on after it.
        let complete = match window.tops.last() {
            Some(top) if !last => line_start(reply, top.start),
            _ => end,
        };
        start = complete;
        for (fence, root) in window.fences.into_iter().filter(|(fence, _)| fence.range.start < complete) {
            if !root {
                let cut = is_cut(reply, &fence);
                fences.push(reply, Fence { cut, ..fence });
                continue;
            }
            match rejoin(reply, &fence) {
                Rejoined::Whole => fences.push(reply, fence),
                Rejoined::Cut => fences.push(reply, Fence { cut: true, ..fence }),
                Rejoined::Joined(joined) => {
                    start = joined.range.end;
                    fences.push(reply, joined);
                    break;
                }
            }
        }
        size = FIRST_WINDOW;
    }
    Ok(fences)
}

struct Window {
    tops: Vec<Top>,
    /// With whether it is a top-level block
    fences: Vec<(Fence, bool)>,
}

struct Top {
    start: usize,
    kind: TopKind,
}

#[derive(PartialEq, Eq)]
enum TopKind {
    Fence,
    Paragraph,
    Other,
}

fn read_window(reply: &[u8], window: Range<usize>) -> Window {
    let text = skeleton(&reply[window.clone()]);
    let mut found = Window { tops: Vec::new(), fences: Vec::new() };
    let mut depth = 0_usize;
    let mut open: Option<Fence> = None;
    let mut ended = true;
    for (event, range) in Parser::new_ext(&text, Options::empty()).into_offset_iter() {
        let range = window.start + range.start..window.start + range.end;
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = match &tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => TopKind::Fence,
                        Tag::Paragraph => TopKind::Paragraph,
                        _ => TopKind::Other,
                    };
                    found.tops.push(Top { start: range.start, kind });
                }
                depth += 1;
                if let Tag::CodeBlock(CodeBlockKind::Fenced(_)) = &tag {
                    let info = info_of(&reply[range.clone()]);
                    let closed = is_closed(&reply[range.clone()]);
                    ended = true;
                    open = Some(Fence { range, info, lines: Vec::new(), closed, cut: false, joined: false });
                }
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if let (TagEnd::CodeBlock, Some(mut fence)) = (tag, open.take()) {
                    if !may_hold_patch(&fence.info, &reply[fence.range.clone()]) {
                        fence.lines = Vec::new();
                    }
                    found.fences.push((fence, depth == 0));
                }
            }
            Event::Text(_) => {
                if let Some(fence) = &mut open {
                    add_text(reply, &mut fence.lines, &mut ended, range);
                }
            }
            _ if depth == 0 => found.tops.push(Top { start: range.start, kind: TopKind::Other }),
            _ => {}
        }
    }
    found
}

/// Takes in a piece of a code block: a line, or a part of one. A carriage return is a part of the line for us.
fn add_text(reply: &[u8], lines: &mut Vec<Range<usize>>, ended: &mut bool, mut range: Range<usize>) {
    while !range.is_empty() {
        let newline = memchr::memchr(b'\n', &reply[range.clone()]).map(|at| range.start + at);
        let end = newline.unwrap_or(range.end);
        match lines.last_mut() {
            Some(line) if !*ended => line.end = end,
            _ => {
                let returned = range.start == end && end > 0 && reply[end - 1] == b'\r';
                lines.push(range.start - usize::from(returned)..end);
            }
        }
        *ended = newline.is_some();
        range.start = newline.map_or(range.end, |at| at + 1);
    }
}

/// Returns a text of the same length that has the same blocks: UTF-8, without what only inline parsing looks at.
fn skeleton(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let head = line.len().min(LONG_LINE);
        for chunk in line[..head].utf8_chunks() {
            text.extend_from_slice(chunk.valid().as_bytes());
            text.extend(chunk.invalid().iter().map(|_| b'?'));
        }
        text.resize(text.len() + line.len() - head, b'x');
        let ending = if line[head..].ends_with(b"\r\n") { 2 } else { usize::from(line[head..].ends_with(b"\n")) };
        let end = text.len() - ending;
        text[end..].copy_from_slice(&line[line.len() - ending..]);
    }
    // To CommonMark a lone carriage return ends a line; to a patch it does not.
    let lone = |at: &usize| text.get(at + 1) != Some(&b'\n');
    for at in memchr::memchr_iter(b'\r', &text).filter(lone).collect::<Vec<_>>() {
        text[at] = b' ';
    }
    String::from_utf8(text).unwrap_or_default()
}

/// Returns what follows the opening fence.
fn info_of(block: &[u8]) -> Vec<u8> {
    let line = block.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mark = line.iter().find(|byte| matches!(byte, b'`' | b'~')).copied().unwrap_or(b'`');
    let from = line.iter().position(|byte| *byte == mark).unwrap_or(0);
    let info = line[from..].iter().position(|byte| *byte != mark).map_or(&b""[..], |at| &line[from + at..]);
    info.trim_ascii().to_vec()
}

/// The mark and the length of the fence that a line opens.
pub(super) fn opening(line: &[u8]) -> Option<(u8, usize)> {
    let from = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'>'))?;
    let mark = line[from];
    let length = line[from..].iter().take_while(|byte| **byte == mark).count();
    (matches!(mark, b'`' | b'~') && length >= 3).then_some((mark, length))
}

/// Tells whether a line closes a fence; what a quote puts before it is looked over.
pub(super) fn closes(line: &[u8], (mark, length): (u8, usize)) -> bool {
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'>')).unwrap_or(line.len());
    let run = line[start..].iter().take_while(|byte| **byte == mark).count();
    run >= length && line[start + run..].iter().all(u8::is_ascii_whitespace)
}

fn is_closed(block: &[u8]) -> bool {
    let mut lines = block.trim_ascii_end().split(|byte| *byte == b'\n');
    let Some(fence) = lines.next().and_then(opening) else { return false };
    lines.next_back().is_some_and(|line| closes(line, fence))
}

/// Tells whether it is worth looking into a block.
fn may_hold_patch(info: &[u8], block: &[u8]) -> bool {
    let has = |needle: &str| memmem::find(block, needle.as_bytes()).is_some();
    is_patch_label(info) || has("*** Begin Patch") || has("--- ") && has("+++ ") || has("diff --git ")
}

/// Tells whether the words after a fence announce a patch.
pub fn is_patch_label(info: &[u8]) -> bool {
    let info = info.to_ascii_lowercase();
    let mut words = info.split(|byte| !byte.is_ascii_alphanumeric());
    words.any(|word| matches!(word, b"diff" | b"patch" | b"udiff" | b"gitdiff"))
}

/// Reads a top-level fence that is longer than a window.
fn read_long_fence(reply: &[u8], start: usize) -> Fence {
    let first_end = line_end(reply, start);
    let fence = opening(&reply[start..first_end]).unwrap_or((b'`', 3));
    let info = info_of(&reply[start..first_end]);
    let mut at = first_end;
    let mut closed = false;
    let mut lines = Vec::new();
    let wanted = is_patch_label(&info);
    while at < reply.len() && !closed {
        let end = line_end(reply, at);
        let line = &reply[at..end];
        let indent = line.iter().take_while(|byte| **byte == b' ').count();
        closed = indent < 4 && closes(line, fence) && !line.starts_with(b">");
        if !closed && wanted {
            lines.push(at..end - usize::from(line.ends_with(b"\n")));
        }
        at = end;
    }
    Fence { range: start..at, info, lines, closed, cut: false, joined: false }
}

/// Returns where a long paragraph can be cut: before a line that begins with a letter and so goes on with the paragraph.
fn paragraph_cut(reply: &[u8], window: Range<usize>) -> usize {
    let text = &reply[window.clone()];
    let cut = memchr::memrchr_iter(b'\n', text)
        .map(|at| window.start + at + 1)
        .find(|at| reply.get(*at).is_some_and(u8::is_ascii_alphabetic));
    cut.filter(|at| *at > window.start).unwrap_or(window.end)
}

pub(super) fn line_start(reply: &[u8], at: usize) -> usize {
    memchr::memrchr(b'\n', &reply[..at]).map_or(0, |newline| newline + 1)
}

/// Returns where the line that holds a byte ends, its newline included.
pub(super) fn line_end(reply: &[u8], at: usize) -> usize {
    if at > 0 && at <= reply.len() && reply[at - 1] == b'\n' && at == reply.len() {
        return at;
    }
    memchr::memchr(b'\n', &reply[at..]).map_or(reply.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(reply: &str) -> Vec<(String, String, bool)> {
        let text =
            |ranges: &[Range<usize>]| ranges.iter().map(|range| &reply[range.clone()]).collect::<Vec<_>>().join("|");
        let fences = find_fences(reply.as_bytes()).unwrap().fences;
        fences.iter().map(|f| (String::from_utf8_lossy(&f.info).into_owned(), text(&f.lines), f.closed)).collect()
    }

    fn one(info: &str, lines: &str, closed: bool) -> Vec<(String, String, bool)> {
        vec![(info.into(), lines.into(), closed)]
    }

    #[test]
    fn fences_of_every_kind_are_found() {
        assert_eq!(found("a\n\n```diff\n x\n\n+y\n```\nb\n"), one("diff", " x||+y", true));
        assert_eq!(found("~~~~ diff\n x\n~~~\n~~~~\n"), one("diff", " x|~~~", true));
        assert_eq!(
            found("1. a\n\n   ```diff title=\"a\"\n    x\n\n   +y\n   ```\n"),
            one("diff title=\"a\"", " x||+y", true)
        );
        assert_eq!(found("> > ```patch\n> >  x\n> >\n> > +y\n> > ```\n"), one("patch", " x||+y", true));
        assert_eq!(found("```diff\r\n x\r\n\r\n+y\r\n```\r\n"), one("diff", " x\r|\r|+y\r", true));
        assert_eq!(found("```diff\n x"), one("diff", " x", false));
        assert_eq!(found("- a\n  ```diff\n   x\nout\n"), one("diff", " x", false));
        assert_eq!(found("```diff\n x\u{e9}\n```\n"), one("diff", " x\u{e9}", true));
    }

    #[test]
    fn windows_do_not_change_what_is_found() {
        let part = "prose\n\n- item\n  ```diff\n  -a\n  ```\n\n```diff\n+b\n```\n\n";
        let many = part.repeat(8000);
        let fences = found(&many);
        assert_eq!(fences.len(), 16_000);
        assert!(fences.iter().all(|(_, text, closed)| *closed && (text == "-a" || text == "+b")));
    }

    #[test]
    fn long_blocks_are_read_or_refused() {
        let long = "x\n".repeat(3 << 20);
        assert_eq!(found(&format!("{long}\n```diff\n+b\n```\n")), one("diff", "+b", true));
        assert_eq!(found(&format!("```text\n{long}```\n```diff\n+b\n```\n")), one("diff", "+b", true));
        assert!(find_fences("- x\n".repeat(3 << 20).as_bytes()).is_err());
    }
}
