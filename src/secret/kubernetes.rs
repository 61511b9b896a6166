//! The values of a Kubernetes secret: base64 below `data`, in YAML and in JSON.

use std::ops::Range;

use memchr::memmem;

use crate::secret::check::decode_base64;
use crate::secret::shape::Shape;

/// How far around `kind: Secret` its values are looked for.
const BEFORE: usize = 8 << 10;
const AFTER: usize = 32 << 10;

/// Reads manifests one after the other, and no byte of them twice.
#[derive(Default)]
pub(super) struct Reader {
    until: usize,
}

impl Reader {
    /// Returns the secret values of the manifest that says `kind` at `at`.
    pub fn values(&mut self, bytes: &[u8], at: usize) -> Vec<Range<usize>> {
        if at < self.until || !says_secret(&bytes[at + "kind".len()..]) {
            return Vec::new();
        }
        let from = at.saturating_sub(BEFORE).max(self.until);
        let start = memmem::rfind(&bytes[from..at], b"\n---").map_or(from, |found| from + found + 1);
        let limit = bytes.len().min(at + AFTER);
        let end = memmem::find(&bytes[at..limit], b"\n---").map_or(limit, |found| at + found);
        self.until = end;
        let mut found = Vec::new();
        let document = &bytes[start..end];
        for data in memmem::find_iter(document, b"data") {
            // Not metadata, not stringData.
            let alone = data == 0 || !document[data - 1].is_ascii_alphanumeric();
            if alone && let Some(colon) = after_colon(document, data + "data".len()) {
                read_map(document, colon, &mut found);
            }
        }
        found.into_iter().map(|range| start + range.start..start + range.end).collect()
    }
}

fn says_secret(rest: &[u8]) -> bool {
    let Some(colon) = after_colon(rest, 0) else { return false };
    let value = rest[colon..].trim_ascii_start();
    let value = value.iter().position(|byte| !matches!(byte, b'"' | b'\'' | b'\\')).map_or(value, |at| &value[at..]);
    value
        .strip_prefix(b"Secret".as_slice())
        .is_some_and(|rest| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric()))
}

/// Returns where the value of a key begins, when a colon follows the key.
fn after_colon(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = &bytes[from..bytes.len().min(from + 8)];
    let colon = rest.iter().position(|byte| !matches!(byte, b'"' | b'\'' | b'\\' | b' '))?;
    (rest[colon] == b':').then_some(from + colon + 1)
}

/// Reads `key: value` pairs until the map ends.
fn read_map(document: &[u8], from: usize, found: &mut Vec<Range<usize>>) {
    let mut at = from;
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    while at < document.len() {
        let rest = &document[at..];
        match rest[0] {
            b'}' => return,
            // In YAML a key at the first column begins something else.
            b'\n' if rest.get(1).is_some_and(|byte| byte.is_ascii_alphabetic()) => return,
            byte if is_part(&byte) => {
                let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                let range = at..at + length;
                let is_key = after_colon(document, range.end).is_some()
                    || document.get(range.end).is_some_and(|byte| matches!(byte, b'.' | b'-' | b'_' | b':'));
                if !is_key && is_secret(&document[range.clone()]) {
                    found.push(range);
                }
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_secret(value: &[u8]) -> bool {
    if value.len() < 12 || value.len() % 4 == 1 {
        return false;
    }
    let Some(decoded) = decode_base64(value) else { return false };
    if memmem::find(&decoded, b"PRIVATE KEY-----").is_some() {
        return true;
    }
    let shape = Shape::of(&decoded);
    match decoded.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        true => shape.is_password(true) || shape.is_random(),
        false => decoded.len() >= 16 && std::str::from_utf8(&decoded).is_err(),
    }
}
