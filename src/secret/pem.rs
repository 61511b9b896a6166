//! Private keys between their two lines, in every wrapping: indented, quoted, escaped, joined with `+`, cut off.

use std::ops::Range;

/// A private key is never longer.
const MAX_BYTES: usize = 32 << 10;

/// Fewer characters than this hold no key.
const MIN_BODY: usize = 60;

/// Lines of keys are longer than nearly everything else.
const LINE: usize = 60;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Returns the private key whose first line says `PRIVATE KEY` at `at`.
pub(super) fn find(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let before = &bytes[at.saturating_sub(40)..at];
    let begin = before.windows(BEGIN.len()).rposition(|window| window == BEGIN)?;
    let kind = &before[begin + BEGIN.len()..];
    let start = at - before.len() + begin;
    if !kind.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ') {
        return None;
    }
    let rest = &bytes[at + "PRIVATE KEY".len()..bytes.len().min(at + MAX_BYTES)];
    let header = rest.strip_prefix(b" BLOCK".as_slice()).unwrap_or(rest).strip_prefix(DASHES)?;
    let body_at = bytes.len().min(at + MAX_BYTES) - header.len();
    let mut body = 0;
    let mut run = 0;
    let mut lines = 0;
    let mut last = body_at;
    for (offset, byte) in header.iter().enumerate() {
        let here = body_at + offset;
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' => {
                run += 1;
                lines += usize::from(run == LINE);
                // What is written around the lines is short.
                if run >= 16 {
                    body += if run == 16 { 16 } else { 1 };
                    last = here + 1;
                }
            }
            b'-' if header[offset..].starts_with(END) => {
                let end = close(bytes, here + END.len()).unwrap_or(here);
                return (body >= MIN_BODY).then_some(start..end);
            }
            b'-' if header[offset..].starts_with(DASHES) => break,
            b'\n' | b'\r' | b'\t' | b' '..=b'~' => run = 0,
            _ => break,
        }
    }
    // It was cut off: whole lines have to be there.
    (lines >= 2).then_some(start..last)
}

/// Returns where the last line ends.
fn close(bytes: &[u8], from: usize) -> Option<usize> {
    let line = &bytes[from..bytes.len().min(from + 64)];
    let dashes = line.windows(DASHES.len()).position(|window| window == DASHES)?;
    Some(from + dashes + DASHES.len())
}
