//! What a hunk does to a file: lines taken out and lines put in.

/// Replaces `removed` lines at `at` (0-based, in the old file) by `added`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub at: usize,
    pub removed: usize,
    /// Without newlines
    pub added: Vec<Vec<u8>>,
    /// What the edit says about the newline at the end of the file, when it reaches that far
    pub final_newline: Option<bool>,
}

impl Edit {
    pub fn end(&self) -> usize {
        self.at + self.removed
    }

    /// Tells whether two edits cannot both be made, or only in an order that nobody stated.
    pub fn clashes(&self, other: &Edit) -> bool {
        let (first, second) =
            if (self.at, self.end()) <= (other.at, other.end()) { (self, other) } else { (other, self) };
        first.end() > second.at || first.at == second.at
    }
}

/// Makes the new lines of a file; the edits are sorted and do not clash.
pub fn apply(old: &[u8], edits: &[&Edit]) -> Vec<u8> {
    let mut new = Vec::with_capacity(old.len());
    let mut lines = old.split_inclusive(|byte| *byte == b'\n');
    let mut at = 0;
    let push = |new: &mut Vec<u8>, line: &[u8]| {
        // A line that was the last one gets a newline when another one follows.
        if !new.is_empty() && !new.ends_with(b"\n") {
            new.push(b'\n');
        }
        new.extend_from_slice(line);
    };
    let mut final_newline = None;
    for edit in edits {
        while at < edit.at {
            if let Some(line) = lines.next() {
                push(&mut new, line);
            }
            at += 1;
        }
        for line in &edit.added {
            push(&mut new, &[line, &b"\n"[..]].concat());
        }
        while at < edit.end() {
            lines.next();
            at += 1;
        }
        final_newline = edit.final_newline.or(final_newline);
    }
    let mut rest = false;
    for line in lines {
        push(&mut new, line);
        rest = true;
    }
    if !rest && final_newline == Some(false) && new.ends_with(b"\n") {
        new.pop();
    }
    if !rest && final_newline == Some(true) && !new.is_empty() && !new.ends_with(b"\n") {
        new.push(b'\n');
    }
    new
}
