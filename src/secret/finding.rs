//! A finding: where a secret is and of which kind, without the secret.

use std::ops::Range;

use memchr::memchr_iter;
use memchr::memrchr;

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The exact kind.
    pub rule: String,
    /// The family.
    pub label: String,
    /// Which bytes are the secret.
    pub range: Range<usize>,
    /// Where it begins, counted from one; columns are bytes.
    pub line: usize,
    pub column: usize,
    /// Where it ends.
    pub end_line: usize,
    /// What everybody may see of it: at most the prefix that all secrets of its kind have.
    pub preview: String,
}

/// Counts lines forward, so that many findings cost one pass.
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Lines { bytes, at: 0, line: 1 }
    }

    /// Returns line and column of an offset that is not before the last one.
    pub fn place(&mut self, offset: usize) -> (usize, usize) {
        if offset < self.at {
            *self = Lines::new(self.bytes);
        }
        self.line += memchr_iter(b'\n', &self.bytes[self.at..offset]).count();
        self.at = offset;
        let start = memrchr(b'\n', &self.bytes[..offset]).map_or(0, |newline| newline + 1);
        (self.line, offset - start + 1)
    }
}
