//! What a header line names: C-quoting and the first component.

use super::error::PatchErrorKind;
use super::stamp::has_stray_date;
use super::stamp::is_epoch;
use crate::base;

/// The name in a `---` or `+++` line
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `/dev/null`: the file does not exist on this side
    Null,
    Path(Vec<u8>),
    /// A path with the timestamp that GNU diff gives to a file which does not exist on this side
    Epoch(Vec<u8>),
}

/// Reads the name after `--- ` or `+++ `; a timestamp may follow after a tab
pub(super) fn parse_side(field: &[u8]) -> Result<Side, PatchErrorKind> {
    // For git the line ends at a nul, in the timestamp too.
    checked(field)?;
    let (name, tail) = if field.starts_with(b"\"") {
        let (name, tail) = unquote(field)?;
        (strip_component(&name)?.to_vec(), tail)
    } else {
        let end = field.iter().position(|&byte| byte == b'\t').unwrap_or(field.len());
        let (name, tail) = field.split_at(end);
        if name == b"/dev/null" {
            return Ok(Side::Null);
        }
        if tail.is_empty() && has_stray_date(name) {
            return Err(PatchErrorKind::UnclearName);
        }
        (strip_component(plain(name)?)?.to_vec(), tail)
    };
    match tail {
        [b'\t', stamp @ ..] if stamp.contains(&b'\t') || has_stray_date(stamp) => Err(PatchErrorKind::UnclearName),
        [b'\t', stamp @ ..] if is_epoch(stamp) => Ok(Side::Epoch(name)),
        [] | [b'\t', ..] => Ok(Side::Path(name)),
        _ => Err(PatchErrorKind::BadQuoting),
    }
}

/// Reads the name after `rename from ` and its like, which has no component to strip
pub(super) fn parse_whole(field: &[u8]) -> Result<Vec<u8>, PatchErrorKind> {
    if !field.starts_with(b"\"") {
        return Ok(checked(plain(field)?)?.to_vec());
    }
    match unquote(field)? {
        (name, []) => Ok(checked(&name)?.to_vec()),
        _ => Err(PatchErrorKind::BadQuoting),
    }
}

/// Returns the name that both sides of a `diff --git` line share
pub(super) fn shared_name(sides: &[u8]) -> Result<Vec<u8>, PatchErrorKind> {
    if let Some((old, new)) = split_quoted(sides)? {
        let name = strip_component(&old)?;
        return if name == strip_component(&new)? { Ok(name.to_vec()) } else { Err(PatchErrorKind::NoName) };
    }
    // What is left is `NAME b/NAME`, and the name may have spaces and slashes. A slash fixes the length of the second
    // name and so the place of the gap; only one slash can have its gap right before its own component.
    let text = strip_component(sides)?;
    let mut component = 0;
    for slash in (0..text.len()).filter(|&at| text[at] == b'/') {
        let name = &text[slash + 1..];
        let gap = name.len();
        if component <= gap && gap + 1 < slash && text[gap] == b' ' && &text[..gap] == name {
            return Ok(checked(name)?.to_vec());
        }
        component = slash + 1;
    }
    Err(PatchErrorKind::NoName)
}

/// Tells whether a `diff --git` line names these two paths
pub(super) fn names_both(sides: &[u8], old: &[u8], new: &[u8]) -> Result<bool, PatchErrorKind> {
    if let Some((first, second)) = split_quoted(sides)? {
        return Ok(strip_component(&first)? == old && strip_component(&second)? == new);
    }
    let rest = strip_component(sides)?.strip_prefix(old).and_then(|rest| rest.strip_prefix(b" "));
    match rest {
        Some(second) => Ok(strip_component(second)? == new),
        None => Ok(false),
    }
}

type Pair = (Vec<u8>, Vec<u8>);

/// Splits a `diff --git` line where quoting shows the border; git quotes every name that has a quote in it
fn split_quoted(sides: &[u8]) -> Result<Option<Pair>, PatchErrorKind> {
    if sides.starts_with(b"\"") {
        let (first, tail) = unquote(sides)?;
        let second = tail.strip_prefix(b" ").ok_or(PatchErrorKind::BadQuoting)?;
        return Ok(Some((first, parse_whole(second)?)));
    }
    match sides.windows(2).position(|pair| pair == b" \"") {
        Some(gap) => Ok(Some((sides[..gap].to_vec(), parse_whole(&sides[gap + 1..])?))),
        None => Ok(None),
    }
}

fn unquote(text: &[u8]) -> Result<(Vec<u8>, &[u8]), PatchErrorKind> {
    base::unquote(text).ok_or(PatchErrorKind::BadQuoting)
}

/// Drops the first component, as `git apply -p1` does
///
/// git makes `etc/passwd` of `/etc/passwd`; nobody means that, so it is refused. `a//etc/passwd` stays absolute.
fn strip_component(name: &[u8]) -> Result<&[u8], PatchErrorKind> {
    match checked(name)?.iter().position(|&byte| byte == b'/') {
        None => Err(PatchErrorKind::NoComponent),
        Some(0) => Err(PatchErrorKind::Absolute),
        Some(slash) => checked(&name[slash + 1..]),
    }
}

fn checked(path: &[u8]) -> Result<&[u8], PatchErrorKind> {
    match path {
        [] => Err(PatchErrorKind::EmptyName),
        _ if path.contains(&0) => Err(PatchErrorKind::NulInName),
        _ => Ok(path),
    }
}

/// git ends an unquoted name at a CR, wherever it stands
fn plain(name: &[u8]) -> Result<&[u8], PatchErrorKind> {
    if name.contains(&b'\r') { Err(PatchErrorKind::UnclearName) } else { Ok(name) }
}
