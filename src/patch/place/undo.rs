//! What may have been done to all lines of a block, added ones too, and how it is undone.
//!
//! An undo counts only if the files prove it: with it every hunk has a place, and lines that the file must have do not
//! read the same without it.

use std::borrow::Cow;

use super::mend::Mend;
use crate::patch::reply::LooseHunk;
use crate::patch::reply::LooseLine;
use crate::patch::reply::Op;
use crate::patch::reply::Section;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undo {
    Nothing,
    Entities,
    /// `16| code` behind or before the marker
    Numbers,
    /// So many spaces behind the marker
    Indent(usize),
}

impl Undo {
    /// Returns what to try, in order.
    pub fn all(sections: &[Section]) -> Vec<Undo> {
        let mut undos = vec![Undo::Nothing, Undo::Entities, Undo::Numbers];
        let lines = || sections.iter().flat_map(|section| &section.hunks).flat_map(|hunk| &hunk.lines);
        let indent = |line: &LooseLine| line.text.iter().take_while(|byte| **byte == b' ').count();
        let common = lines().filter(|line| !line.text.trim_ascii().is_empty()).map(indent).min().unwrap_or(0);
        undos.extend((1..=common.min(8)).map(Undo::Indent));
        undos
    }

    pub const fn mend(self) -> Option<Mend> {
        match self {
            Undo::Nothing => None,
            Undo::Entities => Some(Mend::HtmlEscapes),
            Undo::Numbers => Some(Mend::LineNumbers),
            Undo::Indent(_) => Some(Mend::Indentation),
        }
    }

    /// Returns the sections without what was done to them; `None` where that cannot have been done, or changes no line
    /// that the files could prove it by.
    pub fn sections(self, sections: &[Section]) -> Option<Vec<Section>> {
        if self == Undo::Nothing {
            return Some(sections.to_vec());
        }
        let mut proof = false;
        let mut undone = sections.to_vec();
        for hunk in undone.iter_mut().flat_map(|section| &mut section.hunks) {
            *hunk = self.hunk(hunk, &mut proof)?;
        }
        proof.then_some(undone)
    }

    fn hunk(self, hunk: &LooseHunk, proof: &mut bool) -> Option<LooseHunk> {
        let mut lines = Vec::with_capacity(hunk.lines.len());
        for line in &hunk.lines {
            let undone = match self {
                Undo::Nothing => line.clone(),
                Undo::Entities => LooseLine { text: unescape(&line.text).into_owned(), ..line.clone() },
                Undo::Numbers if line.text.trim_ascii().is_empty() => line.clone(),
                Undo::Numbers => unnumber(line)?,
                Undo::Indent(width) => {
                    let spaces = line.text.iter().take(width).take_while(|byte| **byte == b' ').count();
                    if spaces < width && !line.text.trim_ascii().is_empty() {
                        return None;
                    }
                    LooseLine { text: line.text[spaces..].to_vec(), ..line.clone() }
                }
            };
            *proof |= undone.op != Op::Added && undone.text != line.text;
            lines.push(undone);
        }
        Some(LooseHunk { lines, ..hunk.clone() })
    }
}

const ENTITIES: [(&[u8], u8); 8] = [
    (b"&lt;", b'<'),
    (b"&gt;", b'>'),
    (b"&amp;", b'&'),
    (b"&quot;", b'"'),
    (b"&#39;", b'\''),
    (b"&#x27;", b'\''),
    (b"&apos;", b'\''),
    (b"&#34;", b'"'),
];

/// Replaces the entities that escaping makes, once.
pub fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'&') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        match ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)) {
            Some((entity, byte)) => {
                plain.push(*byte);
                rest = &rest[entity.len()..];
            }
            None => {
                plain.push(*first);
                rest = &rest[1..];
            }
        }
    }
    Cow::Owned(plain)
}

/// Tells whether added lines look escaped while nothing can prove or disprove it: no plain `<`, `>` or `&` anywhere, and a
/// file that has no entities itself.
pub fn looks_escaped(hunks: &[LooseHunk], file: &[u8]) -> bool {
    let has_entity = |text: &[u8]| ENTITIES.iter().any(|(entity, _)| memchr::memmem::find(text, entity).is_some());
    let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
    // What is left of these when the entities are taken out was never escaped.
    let is_plain = |text: &[u8]| {
        let entities =
            ENTITIES.iter().map(|(entity, _)| memchr::memmem::find_iter(text, entity).count()).sum::<usize>();
        text.iter().any(|byte| b"<>".contains(byte)) || memchr::memchr_iter(b'&', text).count() > entities
    };
    let added = lines().any(|line| line.op == Op::Added && has_entity(&line.text));
    added && !lines().any(|line| is_plain(&line.text)) && !has_entity(file)
}

/// Takes a number and a bar off a line, before or behind its marker.
fn unnumber(line: &LooseLine) -> Option<LooseLine> {
    let text = line.text.trim_ascii_start();
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = text[digits..].trim_ascii_start();
    let rest = rest
        .strip_prefix(b"|")
        .or_else(|| rest.strip_prefix(b":"))
        .or_else(|| rest.strip_prefix("\u{2502}".as_bytes()))?;
    if digits == 0 {
        return None;
    }
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    Some(LooseLine { text: rest.to_vec(), ..line.clone() })
}
