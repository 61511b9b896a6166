//! A fence inside of a patch that ended its block too early.
//!
//! A patch of a page that has fences itself may hold the line that closes the block it stands in. The counts of its
//! hunks, or the end marker of a Begin-Patch block, say where it really ends.

use super::markdown::Fence;
use super::markdown::closes;
use super::markdown::line_end;
use super::markdown::line_start;
use super::markdown::opening;
use super::unified::parse_header;

pub enum Rejoined {
    /// Nothing is missing
    Whole,
    /// Something is missing, and it is not certain what
    Cut,
    Joined(Fence),
}

/// Tells whether a block inside of a list or a quote was cut: its counts are not met, and what follows looks like a patch.
pub fn is_cut(reply: &[u8], fence: &Fence) -> bool {
    let mut walk = Walk::default();
    let counted = fence.lines.iter().all(|range| walk.take(&reply[range.clone()]));
    fence.closed && !fence.lines.is_empty() && !(counted && walk.is_done()) && is_suspicious(reply, fence)
}

/// Looks at what follows a top-level block.
pub fn rejoin(reply: &[u8], fence: &Fence) -> Rejoined {
    if !fence.closed || fence.lines.is_empty() {
        return Rejoined::Whole;
    }
    let first_end = line_end(reply, fence.range.start);
    let Some(mark) = opening(&reply[fence.range.start..first_end]) else { return Rejoined::Whole };
    let lines = || fence.lines.iter().map(|range| &reply[range.clone()]);
    let begins = lines().any(|line| line.trim_ascii_start().starts_with(b"*** Begin Patch"));
    if begins {
        if lines().any(|line| line.trim_ascii().ends_with(b"*** End Patch")) {
            return Rejoined::Whole;
        }
        return by_end_marker(reply, fence, mark).map_or(Rejoined::Whole, Rejoined::Joined);
    }
    let mut walk = Walk::default();
    for line in lines() {
        if !walk.take(line) {
            // Counts that are wrong say nothing about where the block ends.
            return if is_suspicious(reply, fence) { Rejoined::Cut } else { Rejoined::Whole };
        }
    }
    if walk.is_done() {
        return Rejoined::Whole;
    }
    match by_counts(reply, fence, mark) {
        Some(joined) => Rejoined::Joined(joined),
        None if is_suspicious(reply, fence) => Rejoined::Cut,
        None => Rejoined::Whole,
    }
}

/// Tells whether the closing line stands one space deeper than the opening one, or lines of a patch follow it.
pub fn is_suspicious(reply: &[u8], fence: &Fence) -> bool {
    let block = &reply[fence.range.clone()];
    let opener = fence.range.start - line_start(reply, fence.range.start)
        + block.iter().take_while(|byte| **byte == b' ').count();
    let closer = block.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let depth = closer.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
    let after = line_end(reply, fence.range.end.saturating_sub(1).max(fence.range.start));
    let next = reply[after..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let before = next.iter().take(opener).take_while(|byte| matches!(byte, b' ' | b'\t' | b'>')).count();
    let follows = match &next[before..] {
        [b'+' | b'-', second, ..] => !matches!(second, b' ' | b'-' | b'+'),
        [b'@', b'@', ..] => true,
        [b' ', rest @ ..] => before == opener && !rest.trim_ascii().is_empty(),
        _ => false,
    };
    depth == opener + 1 || follows
}

fn by_end_marker(reply: &[u8], fence: &Fence, mark: (u8, usize)) -> Option<Fence> {
    collect(reply, fence, |lines, line| {
        let ended = lines.last().is_some_and(|last| last.trim_ascii() == b"*** End Patch");
        let again = lines.len() > 1
            && line.starts_with(b"*** Begin Patch")
            && lines.iter().any(|l| l.starts_with(b"*** Begin Patch"));
        if again {
            Step::Fail
        } else if ended && closes(line, mark) {
            Step::End
        } else {
            Step::Line
        }
    })
}

fn by_counts(reply: &[u8], fence: &Fence, mark: (u8, usize)) -> Option<Fence> {
    let mut walk = Walk::default();
    collect(reply, fence, |_, line| match () {
        () if walk.is_done() && closes(line, mark) => Step::End,
        () if walk.take(line) => Step::Line,
        () => Step::Fail,
    })
}

enum Step {
    Line,
    End,
    Fail,
}

/// Reads lines from the opening fence on, whatever looks like a fence in them.
fn collect(reply: &[u8], fence: &Fence, mut step: impl FnMut(&[&[u8]], &[u8]) -> Step) -> Option<Fence> {
    let mut at = line_end(reply, fence.range.start);
    let mut ranges = Vec::new();
    let mut lines: Vec<&[u8]> = Vec::new();
    while at < reply.len() {
        let end = line_end(reply, at);
        let line = reply[at..end].strip_suffix(b"\n").unwrap_or(&reply[at..end]);
        match step(&lines, line) {
            Step::Fail => return None,
            Step::End => {
                return Some(Fence { range: fence.range.start..end, lines: ranges, joined: true, ..fence.clone() });
            }
            Step::Line => {
                ranges.push(at..at + line.len());
                // The steps look at the first and the last ones only.
                if lines.len() > 64 {
                    lines.remove(32);
                }
                lines.push(line);
            }
        }
        at = end;
    }
    None
}

/// Counts the lines of hunks as their headers say.
#[derive(Default)]
struct Walk {
    old: u64,
    new: u64,
    hunks: usize,
}

impl Walk {
    fn is_done(&self) -> bool {
        self.hunks > 0 && self.old == 0 && self.new == 0
    }

    /// Takes in a line; false when it does not fit.
    fn take(&mut self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.old == 0 && self.new == 0 {
            if line.starts_with(b"@@") {
                let Some((old, new)) = parse_header(line).counts else { return false };
                (self.old, self.new) = (old, new);
                self.hunks += 1;
            }
            return !matches!(line.first(), Some(b'+' | b'-' | b' '))
                || line.starts_with(b"+++ ")
                || line.starts_with(b"--- ");
        }
        let (old, new) = match line.first() {
            None | Some(b' ') => (1, 1),
            Some(b'+') => (0, 1),
            Some(b'-') => (1, 0),
            Some(b'\\') => (0, 0),
            Some(_) => return false,
        };
        if old > self.old || new > self.new {
            return false;
        }
        self.old -= old;
        self.new -= new;
        true
    }
}
