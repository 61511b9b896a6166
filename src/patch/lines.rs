//! Where we are in the patch text.

use super::error::PatchError;
use super::error::PatchErrorKind;

/// A cursor over lines; cheap to clone, so that looking ahead needs no buffer
#[derive(Clone)]
pub(super) struct Lines<'a> {
    current: Option<Row<'a>>,
    /// Number of the current line, or of the one that is missing at the end
    pub(super) number: usize,
    rest: &'a [u8],
}

#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) number: usize,
    /// Without the newline
    pub(super) text: &'a [u8],
    complete: bool,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut lines = Lines { current: None, number: 0, rest: bytes };
        lines.advance();
        lines
    }

    pub(super) fn peek(&self) -> Option<Row<'a>> {
        self.current
    }

    pub(super) fn advance(&mut self) {
        self.number += 1;
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let (text, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &self.rest[self.rest.len()..]),
        };
        let complete = end.is_some();
        self.current = (complete || !text.is_empty()).then_some(Row { number: self.number, text, complete });
        self.rest = rest;
    }

    /// Steps over a line that is part of the patch
    ///
    /// git ignores or refuses a last line without its newline, depending on where it stands; we take it as a sign that
    /// the text was cut.
    pub(super) fn take(&mut self) -> Result<Option<Row<'a>>, PatchError> {
        match self.current {
            Some(row) if !row.complete => Err(PatchErrorKind::CutOff.at(row.number)),
            Some(row) => {
                self.advance();
                Ok(Some(row))
            }
            None => Ok(None),
        }
    }

    /// Tells whether a `+++` line comes after the current one
    pub(super) fn plus_follows(&self) -> bool {
        let mut ahead = self.clone();
        ahead.advance();
        ahead.peek().is_some_and(|row| row.text.starts_with(b"+++ "))
    }
}

impl<'a> Row<'a> {
    /// Returns the text of a header line; a mail program may have given it a CR
    pub(super) fn header(&self) -> &'a [u8] {
        self.text.strip_suffix(b"\r").unwrap_or(self.text)
    }
}
