//! The header lines of one file, and what they say together.

use super::error::PatchError;
use super::error::PatchErrorKind;
use super::file::FileKind;
use super::file::FilePatch;
use super::lines::Lines;
use super::name::Side;
use super::name::names_both;
use super::name::parse_side;
use super::name::parse_whole;
use super::name::shared_name;

/// The header lines after `diff --git`, as written
///
/// git lets a later line win over an earlier one. Here each may come once and all must agree, so that nobody can show
/// one name to a reader and another to git.
#[derive(Default)]
struct Header {
    kind: Option<FileKind>,
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    index_mode: Option<u32>,
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    sides: Option<(Side, Side)>,
}

/// A file without its hunks yet
pub(super) struct Start {
    pub(super) file: FilePatch,
    /// There was a `---`/`+++` pair, so hunks are due
    pub(super) hunks_due: bool,
}

/// Reads a header that starts with `diff --git `; `sides` is the rest of that line
pub(super) fn parse_git_header(lines: &mut Lines, sides: &[u8]) -> Result<Start, PatchError> {
    let line = lines.number;
    lines.take()?;
    let mut header = Header::default();
    while let Some(row) = lines.peek() {
        if row.text.starts_with(b"--- ") && lines.plus_follows() {
            header.sides = Some((take_side(lines)?, take_side(lines)?));
            break;
        }
        if !header.read(row.header()).map_err(|kind| kind.at(row.number))? {
            break;
        }
        lines.take()?;
    }
    // git skips such a header but keeps its name, and may take it for the name of the next file.
    if lines.number == line + 1 {
        return Err(PatchErrorKind::BareHeader.at(line));
    }
    let hunks_due = header.sides.is_some();
    let file = header.settle(line, sides).map_err(|kind| kind.at(line))?;
    Ok(Start { file, hunks_due })
}

/// Reads a header that is only a `---`/`+++` pair
pub(super) fn parse_plain_header(lines: &mut Lines) -> Result<Start, PatchError> {
    let line = lines.number;
    let (kind, old, new) = match (take_side(lines)?, take_side(lines)?) {
        (Side::Null, Side::Path(new)) => (FileKind::Add, new.clone(), new),
        (Side::Path(old), Side::Null) => (FileKind::Delete, old.clone(), old),
        (Side::Epoch(old), Side::Path(new)) => (FileKind::Add, old, new),
        (Side::Path(old), Side::Epoch(new)) => (FileKind::Delete, old, new),
        (Side::Path(old), Side::Path(new)) => (FileKind::Modify, old, new),
        _ => return Err(PatchErrorKind::KindsDisagree.at(line)),
    };
    if old != new {
        return Err(PatchErrorKind::NamesDisagree.at(line));
    }
    Ok(Start { file: new_file(line, kind, old, new, [None, None]), hunks_due: true })
}

/// Reads a `---` or `+++` line
fn take_side(lines: &mut Lines) -> Result<Side, PatchError> {
    let line = lines.number;
    let field = lines.take()?.and_then(|row| row.header().get(4..)).unwrap_or_default();
    parse_side(field).map_err(|kind| kind.at(line))
}

impl Header {
    /// Takes in one line, or returns false if it is none of a header
    fn read(&mut self, text: &[u8]) -> Result<bool, PatchErrorKind> {
        let after = |word: &str| text.strip_prefix(word.as_bytes());
        if let Some(mode) = after("old mode ") {
            once(&mut self.old_mode, parse_mode(mode)?)?;
        } else if let Some(mode) = after("new mode ") {
            once(&mut self.new_mode, parse_mode(mode)?)?;
        } else if let Some(mode) = after("deleted file mode ") {
            self.is(FileKind::Delete)?;
            once(&mut self.old_mode, parse_mode(mode)?)?;
        } else if let Some(mode) = after("new file mode ") {
            self.is(FileKind::Add)?;
            once(&mut self.new_mode, parse_mode(mode)?)?;
        } else if let Some(name) = after("rename from ").or_else(|| after("rename old ")) {
            self.is(FileKind::Rename)?;
            once(&mut self.from, parse_whole(name)?)?;
        } else if let Some(name) = after("rename to ").or_else(|| after("rename new ")) {
            self.is(FileKind::Rename)?;
            once(&mut self.to, parse_whole(name)?)?;
        } else if let Some(name) = after("copy from ") {
            self.is(FileKind::Copy)?;
            once(&mut self.from, parse_whole(name)?)?;
        } else if let Some(name) = after("copy to ") {
            self.is(FileKind::Copy)?;
            once(&mut self.to, parse_whole(name)?)?;
        } else if let Some(index) = after("index ") {
            let ids = index.split(|&byte| byte == b' ').next().unwrap_or_default();
            if !ids.windows(2).any(|pair| pair == b"..") {
                return Err(PatchErrorKind::BadIndex);
            }
            if let Some(mode) = index.get(ids.len() + 1..) {
                once(&mut self.index_mode, parse_mode(mode)?)?;
            }
        } else if after("similarity index ").or_else(|| after("dissimilarity index ")).is_none() {
            return Ok(false);
        }
        Ok(true)
    }

    fn is(&mut self, kind: FileKind) -> Result<(), PatchErrorKind> {
        if *self.kind.get_or_insert(kind) == kind { Ok(()) } else { Err(PatchErrorKind::KindsDisagree) }
    }

    fn settle(self, line: usize, header: &[u8]) -> Result<FilePatch, PatchErrorKind> {
        let kind = self.kind.unwrap_or(FileKind::Modify);
        let modes = self.modes(kind)?;
        let moved = self.from.zip(self.to);
        if moved.is_none() && matches!(kind, FileKind::Rename | FileKind::Copy) {
            return Err(PatchErrorKind::NoName);
        }
        let (old, new) = match (moved, self.sides) {
            (Some(names), None) => names,
            (Some((from, to)), Some((Side::Path(old), Side::Path(new)))) if from == old && to == new => (old, new),
            (None, None) => {
                let name = shared_name(header)?;
                (name.clone(), name)
            }
            (None, Some((Side::Path(old), Side::Path(new)))) if kind == FileKind::Modify && old == new => (old, new),
            // Without a mode line that says so, git reads `/dev/null` as the file `dev/null`.
            (None, Some((Side::Null, Side::Path(name)))) if kind == FileKind::Add => (name.clone(), name),
            (None, Some((Side::Path(name), Side::Null))) if kind == FileKind::Delete => (name.clone(), name),
            _ => return Err(PatchErrorKind::NamesDisagree),
        };
        if !names_both(header, &old, &new)? {
            return Err(PatchErrorKind::NamesDisagree);
        }
        Ok(new_file(line, kind, old, new, modes))
    }

    fn modes(&self, kind: FileKind) -> Result<[Option<u32>; 2], PatchErrorKind> {
        let stated = [self.old_mode, self.new_mode];
        let complete = match kind {
            FileKind::Add => stated[0].is_none(),
            FileKind::Delete => stated[1].is_none(),
            _ => stated[0].is_some() == stated[1].is_some(),
        };
        match self.index_mode {
            _ if !complete => Err(PatchErrorKind::ModesDisagree),
            None => Ok(stated),
            Some(_) if stated == [None, None] => Ok([self.index_mode; 2]),
            Some(mode) if stated.iter().flatten().all(|&other| other == mode) => Ok(stated),
            Some(_) => Err(PatchErrorKind::ModesDisagree),
        }
    }
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<(), PatchErrorKind> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(PatchErrorKind::RepeatedHeader),
    }
}

/// git makes a gitlink of any mode it does not know
fn parse_mode(text: &[u8]) -> Result<u32, PatchErrorKind> {
    match text {
        b"100644" | b"100664" => Ok(0o100_644),
        b"100755" => Ok(0o100_755),
        b"120000" => Ok(0o120_000),
        b"160000" => Ok(0o160_000),
        _ => Err(PatchErrorKind::BadMode),
    }
}

fn new_file(line: usize, kind: FileKind, old: Vec<u8>, new: Vec<u8>, modes: [Option<u32>; 2]) -> FilePatch {
    FilePatch {
        line,
        kind,
        old_path: (kind != FileKind::Add).then_some(old),
        new_path: (kind != FileKind::Delete).then_some(new),
        old_mode: modes[0],
        new_mode: modes[1],
        binary: false,
        hunks: Vec::new(),
    }
}
