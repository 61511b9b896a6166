//! The body of a `GIT binary patch`: read to its end, not decoded.

use super::error::PatchError;
use super::error::PatchErrorKind;
use super::lines::Lines;

/// Steps over `GIT binary patch`, the forward data and the reverse data if there is any
pub(super) fn skip_binary(lines: &mut Lines) -> Result<(), PatchError> {
    lines.take()?;
    if !skip_data(lines)? {
        return Err(PatchErrorKind::BadBinary.at(lines.number));
    }
    skip_data(lines)?;
    Ok(())
}

/// Steps over one `literal` or `delta` with its closing blank line; false if there is none
fn skip_data(lines: &mut Lines) -> Result<bool, PatchError> {
    let Some(row) = lines.peek() else { return Ok(false) };
    let size = row.text.strip_prefix(b"literal ").or_else(|| row.text.strip_prefix(b"delta "));
    let Some(size) = size else { return Ok(false) };
    if !(1..20).contains(&size.len()) || !size.iter().all(u8::is_ascii_digit) {
        return Err(PatchErrorKind::BadBinary.at(row.number));
    }
    lines.take()?;
    loop {
        let row = lines.take()?.ok_or(PatchErrorKind::BadBinary.at(lines.number))?;
        if row.text.is_empty() {
            return Ok(true);
        }
        if !is_data(row.text) {
            return Err(PatchErrorKind::BadBinary.at(row.number));
        }
    }
}

/// A letter for the number of bytes, then groups of five characters for four bytes each, the last one padded
fn is_data(text: &[u8]) -> bool {
    let [letter, groups @ ..] = text else { return false };
    let bytes = match letter {
        b'A'..=b'Z' => usize::from(letter - b'A') + 1,
        b'a'..=b'z' => usize::from(letter - b'a') + 27,
        _ => return false,
    };
    groups.len() == bytes.div_ceil(4) * 5
        && groups.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&()*+-;<=>?@^_`{|}~".contains(byte))
}
