//! Text that does not end, scanned in windows that overlap.

use memchr::memchr_iter;

use crate::base::RepoPath;
use crate::secret::Finding;
use crate::secret::Scanner;
use crate::secret::Strictness;
use crate::secret::redact::marker;

/// No rule looks further back or ahead than this.
const CONTEXT: usize = 64 << 10;

/// How much is gathered before it is scanned.
const WINDOW: usize = 1 << 20;

/// Scans and redacts a text piece by piece.
pub struct Stream<'s> {
    scanner: &'s Scanner,
    path: &'s RepoPath,
    strictness: Strictness<'s>,
    /// What was handed on already and is kept as context, and what waits.
    bytes: Vec<u8>,
    /// How much of the bytes was handed on.
    handed: usize,
    /// How many bytes and lines lie before the bytes.
    offset: usize,
    lines: usize,
    /// Where the line begins that the first byte is on.
    line_start: usize,
}

/// A part of the text that is done.
#[derive(Debug, Default)]
pub struct Piece {
    /// The text without its secrets.
    pub redacted: Vec<u8>,
    /// What was in it; offsets count from the beginning of the text.
    pub findings: Vec<Finding>,
    /// How many more were in it that somebody allowed.
    pub allowed: usize,
}

impl<'s> Stream<'s> {
    pub fn new(scanner: &'s Scanner, path: &'s RepoPath, strictness: Strictness<'s>) -> Self {
        Stream { scanner, path, strictness, bytes: Vec::new(), handed: 0, offset: 0, lines: 0, line_start: 0 }
    }

    /// Takes more text and returns what is done by now.
    pub fn push(&mut self, more: &[u8]) -> Piece {
        self.bytes.extend_from_slice(more);
        match self.bytes.len() - self.handed >= WINDOW + CONTEXT {
            true => self.hand_on(self.bytes.len() - CONTEXT),
            false => Piece::default(),
        }
    }

    /// Returns the rest.
    pub fn finish(mut self) -> Piece {
        self.hand_on(self.bytes.len())
    }

    /// Hands on what lies before `until`, or a little less where a secret reaches over it.
    fn hand_on(&mut self, until: usize) -> Piece {
        let findings = self.scanner.scan(&self.bytes);
        let over = findings.iter().find(|finding| finding.range.start < until && finding.range.end > until);
        let until = over.map_or(until, |finding| finding.range.start.max(self.handed));
        let mut piece = Piece::default();
        for mut finding in findings {
            if finding.range.start < self.handed || finding.range.start >= until {
                continue;
            }
            if self.strictness.permits(self.path, &self.bytes, &finding) {
                piece.allowed += 1;
                continue;
            }
            piece.redacted.extend_from_slice(&self.bytes[self.handed..finding.range.start]);
            piece.redacted.extend(marker(&self.bytes, &finding));
            self.handed = finding.range.end;

            finding.column += if finding.line == 1 { self.offset - self.line_start } else { 0 };
            finding.line += self.lines;
            finding.end_line += self.lines;
            finding.range = finding.range.start + self.offset..finding.range.end + self.offset;
            piece.findings.push(finding);
        }
        piece.redacted.extend_from_slice(&self.bytes[self.handed..until]);
        self.handed = until;
        self.forget(until.saturating_sub(CONTEXT));
        piece
    }

    fn forget(&mut self, count: usize) {
        for newline in memchr_iter(b'\n', &self.bytes[..count]) {
            self.lines += 1;
            self.line_start = self.offset + newline + 1;
        }
        self.bytes.drain(..count);
        self.handed -= count;
        self.offset += count;
    }
}
