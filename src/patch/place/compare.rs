//! When a line of a patch is a line of the file: exactly, or but for a defect of transcription.

use std::borrow::Cow;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::rc::Rc;

use super::mend::Mend;

/// How closely lines must agree, the closest first. Each level takes in all that the ones before it do, but for the tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    Exact,
    Ending,
    Trailing,
    /// A tab stands for so many spaces
    Tabs(usize),
    /// A tab goes to the next multiple of so many columns
    Stops(usize),
    Typographic,
    TypographicTabs(usize),
    /// Without the spaces around it; only for the lines that anchors name
    Trimmed,
}

pub const LEVELS: [Level; 15] = [
    Level::Exact,
    Level::Ending,
    Level::Trailing,
    Level::Tabs(4),
    Level::Tabs(8),
    Level::Tabs(2),
    Level::Tabs(1),
    Level::Tabs(3),
    Level::Stops(8),
    Level::Stops(4),
    Level::Stops(2),
    Level::Typographic,
    Level::TypographicTabs(4),
    Level::TypographicTabs(8),
    Level::TypographicTabs(2),
];

impl Level {
    /// Returns what is compared of a line.
    pub fn key(self, line: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Level::Exact => Cow::Borrowed(line),
            Level::Ending => Cow::Borrowed(line.strip_suffix(b"\r").unwrap_or(line)),
            Level::Trailing => Cow::Borrowed(line.trim_ascii_end()),
            Level::Tabs(width) => expand(line.trim_ascii_end(), width, false),
            Level::Stops(width) => expand(line.trim_ascii_end(), width, true),
            Level::Trimmed => Cow::Borrowed(line.trim_ascii()),
            Level::Typographic => plain(line.trim_ascii_end()),
            Level::TypographicTabs(width) => match plain(line.trim_ascii_end()) {
                Cow::Borrowed(line) => expand(line, width, false),
                Cow::Owned(line) => Cow::Owned(expand(&line, width, false).into_owned()),
            },
        }
    }

    pub fn mends(self) -> Vec<Mend> {
        match self {
            Level::Exact | Level::Trimmed => vec![],
            Level::Ending => vec![Mend::LineEndings],
            Level::Trailing => vec![Mend::TrailingSpace],
            Level::Tabs(_) | Level::Stops(_) => vec![Mend::Tabs],
            Level::Typographic => vec![Mend::Typography],
            Level::TypographicTabs(_) => vec![Mend::Tabs, Mend::Typography],
        }
    }

    pub const fn folds_tabs(self) -> bool {
        matches!(self, Level::Tabs(_) | Level::Stops(_) | Level::TypographicTabs(_))
    }

    pub const fn folds_typography(self) -> bool {
        matches!(self, Level::Typographic | Level::TypographicTabs(_))
    }
}

fn expand(line: &[u8], width: usize, stops: bool) -> Cow<'_, [u8]> {
    if !line.contains(&b'\t') {
        return Cow::Borrowed(line);
    }
    let mut text = Vec::with_capacity(line.len() + 16);
    for byte in line {
        match byte {
            b'\t' if stops => text.resize((text.len() / width + 1) * width, b' '),
            b'\t' => text.resize(text.len() + width, b' '),
            _ => text.push(*byte),
        }
    }
    Cow::Owned(text)
}

/// Tells whether a line has characters that a page or an editor puts in the place of plain ones.
pub fn is_typographic(line: &[u8]) -> bool {
    matches!(plain(line), Cow::Owned(_))
}

fn plain(line: &[u8]) -> Cow<'_, [u8]> {
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let Ok(text) = std::str::from_utf8(line) else { return Cow::Borrowed(line) };
    let fold = |c: char| match c {
        '\u{a0}' | '\u{2002}' | '\u{2003}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => Some(" "),
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => Some("'"),
        '\u{201c}'..='\u{201f}' => Some("\""),
        '\u{2010}'..='\u{2013}' | '\u{2212}' => Some("-"),
        '\u{2014}' => Some("--"),
        '\u{2026}' => Some("..."),
        _ => None,
    };
    if !text.chars().any(|c| fold(c).is_some()) {
        return Cow::Borrowed(line);
    }
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match fold(c) {
            Some(plain) => folded.push_str(plain),
            None => folded.push(c),
        }
    }
    // The fold of a trailing no-break space is a trailing space.
    Cow::Owned(folded.trim_end_matches([' ', '\t']).as_bytes().to_vec())
}

/// The lines of a file, with an index for each level that was asked for.
pub struct FileText<'a> {
    /// Without their newlines; a carriage return is part of the line
    pub lines: Vec<&'a [u8]>,
    pub final_newline: bool,
    has_tabs: bool,
    is_ascii: bool,
    hasher: RandomState,
    indexes: RefCell<HashMap<Level, Rc<Index>>>,
    /// How many lines may still be looked at by searches that no index helps
    patience: Cell<usize>,
}

/// Where lines are, by the hash of what is compared.
pub struct Index {
    pub hashes: Vec<u64>,
    pub places: HashMap<u64, Vec<u32>>,
}

/// All searches in one file take no more steps than this.
const MAX_STEPS: usize = 20_000_000;

impl<'a> FileText<'a> {
    /// Tells whether a level can find these lines where closer ones do not.
    pub fn needs(&self, level: Level, is_ascii: bool) -> bool {
        (!level.folds_tabs() || self.has_tabs) && (!level.folds_typography() || !self.is_ascii || !is_ascii)
    }

    /// Takes steps of a search; false when there have been too many.
    pub fn spend(&self, steps: usize) -> bool {
        let left = self.patience.get().checked_sub(steps);
        self.patience.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Returns where lines like this one are, in order.
    pub fn places(&self, level: Level, line: &[u8]) -> Vec<usize> {
        let index = self.index(level);
        let places = index.places.get(&self.hash(level, line)).map_or(&[][..], Vec::as_slice);
        let same = |at: &usize| level.key(self.lines[*at]) == level.key(line);
        places.iter().map(|at| *at as usize).filter(same).collect()
    }

    pub fn new(bytes: &'a [u8]) -> Self {
        let final_newline = bytes.is_empty() || bytes.ends_with(b"\n");
        let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        if final_newline {
            lines.pop();
        }
        FileText {
            lines,
            final_newline,
            has_tabs: bytes.contains(&b'\t'),
            is_ascii: bytes.is_ascii(),
            hasher: RandomState::new(),
            indexes: RefCell::default(),
            patience: Cell::new(MAX_STEPS),
        }
    }

    pub fn hash(&self, level: Level, line: &[u8]) -> u64 {
        self.hasher.hash_one(&*level.key(line))
    }

    pub fn index(&self, level: Level) -> Rc<Index> {
        if let Some(index) = self.indexes.borrow().get(&level) {
            return index.clone();
        }
        let hashes: Vec<u64> = self.lines.iter().map(|line| self.hash(level, line)).collect();
        let mut places: HashMap<u64, Vec<u32>> = HashMap::new();
        for (at, hash) in (0_u32..).zip(&hashes) {
            places.entry(*hash).or_default().push(at);
        }
        let index = Rc::new(Index { hashes, places });
        self.indexes.borrow_mut().insert(level, index.clone());
        index
    }
}
