//! What a match has to pass before it is called a secret: checksums, structure, and not being a placeholder.

use serde::Deserialize;
use sha2::Digest;
use sha2::Sha256;

use crate::secret::shape::Shape;

/// A test that a rule puts its matches to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The last six characters are the CRC-32 of what follows the prefix, in base 62: GitHub, npm.
    Crc62,
    /// Header and payload are JSON.
    Jwt,
    /// It is base64 of `user:password`.
    Basic,
    /// It looks as if it was drawn at random.
    Random,
    /// It is not made of words.
    Unworded,
    /// It is a password that somebody would use for something that matters.
    UrlPassword,
}

impl Check {
    /// Tells whether a value passes; `after` is what follows it.
    pub(super) fn passes(self, value: &[u8], after: &[u8]) -> bool {
        match self {
            Check::Crc62 => has_checksum62(value),
            Check::Jwt => is_jwt(value),
            Check::Basic => is_basic(value),
            Check::Random => Shape::of(value).is_random(),
            Check::Unworded => Shape::of(value).is_unworded(),
            Check::UrlPassword => is_url_password(value) && !is_example_host(after),
        }
    }
}

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns the CRC-32 of some bytes as six digits in base 62.
pub(super) fn checksum62(body: &[u8]) -> String {
    let mut rest = crc32(body);
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

fn has_checksum62(value: &[u8]) -> bool {
    let Some(prefix) = value.iter().position(|byte| *byte == b'_') else { return false };
    let Some((body, checksum)) = value[prefix + 1..].split_last_chunk::<6>() else { return false };
    checksum62(body).as_bytes() == checksum
}

/// CRC-32 as in zip and PNG, a bit at a time: it is asked for a few dozen bytes.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

fn is_jwt(value: &[u8]) -> bool {
    // A prefix such as `ghs_123_` may come first.
    let start = value.windows(3).position(|window| window == b"eyJ").unwrap_or(0);
    let mut parts = value[start..].split(|byte| *byte == b'.');
    let is_json = |part: Option<&[u8]>| {
        let bytes = part.and_then(decode_base64).unwrap_or_default();
        bytes.starts_with(b"{") && bytes.ends_with(b"}") && bytes.contains(&b':')
    };
    is_json(parts.next()) && is_json(parts.next())
}

fn is_basic(value: &[u8]) -> bool {
    let Some(decoded) = decode_base64(value) else { return false };
    let Some(colon) = decoded.iter().position(|byte| *byte == b':') else { return false };
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    let printable = decoded.iter().all(|byte| matches!(byte, b' '..=b'~'));
    printable && !user.is_empty() && password.len() >= 6 && password != user && !is_placeholder(password)
}

/// Passwords that come with software; a database that listens on this machine has one of them.
const COMMON: [&str; 24] = [
    "admin",
    "changeit",
    "changeme",
    "default",
    "demo",
    "elastic",
    "example",
    "foobar",
    "guest",
    "hunter2",
    "minioadmin",
    "mysql",
    "pass",
    "passw0rd",
    "p@ssw0rd",
    "passwd",
    "password",
    "postgres",
    "pwd",
    "qwerty",
    "rabbitmq",
    "root",
    "secret",
    "test",
];

fn is_url_password(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let trimmed = lower.trim_ascii_end();
    let is_common = COMMON.iter().any(|common| {
        trimmed
            .strip_prefix(common.as_bytes())
            .is_some_and(|rest| rest.len() <= 4 && rest.iter().all(u8::is_ascii_digit))
    });
    let varied = match value.len() {
        ..8 => Shape::of(value).classes() >= 3,
        8..10 => Shape::of(value).classes() >= 2,
        _ => Shape::of(value).classes() >= 2 || !Shape::of(value).is_wordy(),
    };
    !is_common && varied && !is_placeholder(value) && !value.starts_with(b"%") && !value.contains(&b'$')
}

/// Tells whether `@example.com` follows.
fn is_example_host(after: &[u8]) -> bool {
    let Some(host) = after.strip_prefix(b"@") else { return false };
    let end = host.iter().take(64).position(|byte| !(byte.is_ascii_alphanumeric() || b".-".contains(byte)));
    let host = &host[..end.unwrap_or(host.len().min(64))];
    let of = |domain: &[u8]| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."));
    [b"example.com".as_slice(), b"example.org", b"example.net", b"example"].iter().any(|domain| of(domain))
}

/// Words that nobody draws at random.
const PLACEHOLDERS: [&str; 28] = [
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "redacted",
    "dummy",
    "your_",
    "your-",
    "yourapi",
    "yourtoken",
    "yoursecret",
    "yourpassword",
    "insert",
    "replace",
    "goes_here",
    "goeshere",
    "-here",
    "_here",
    "not-a-",
    "fake",
    "mock",
    "sample",
    "todo",
    "xxxx",
    "hidden",
    "my-super",
    "foobar",
];

/// Rows of characters that somebody typed.
const ROWS: [&str; 5] = ["1234567", "7654321", "abcdefg", "qwertyu", "0000000"];

/// Tells whether a value only stands where a secret would be.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    // In something long, a short word is an accident.
    if value.len() > 160 {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    let has = |word: &str| lower.windows(word.len()).any(|window| window == word.as_bytes());
    let repeats = lower.chunk_by(|a, b| a == b).any(|run| run.len() >= 5 + value.len() / 24);
    repeats
        || lower.windows(3).any(|window| matches!(window, b"..." | b"***"))
        || PLACEHOLDERS.iter().any(|word| has(word))
        || value.len() < 40 && ROWS.iter().any(|row| has(row))
}

/// Returns the digest by which published examples are known.
pub(super) fn digest(value: &[u8]) -> String {
    Sha256::digest(value).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes base64 with either alphabet, with or without its end.
pub(super) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|byte| *byte != b'=')? + 1;
    let mut decoded = Vec::with_capacity(end * 3 / 4);
    let mut bits = 0u32;
    let mut count = 0;
    for byte in &text[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (count < 6).then_some(decoded)
}

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_published_one() {
        // CRC-32 of "123456789" is 0xcbf43926, in base 62 3jZ6Ry.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert!(has_checksum62(format!("ghp_{}{}", "a".repeat(30), checksum62("a".repeat(30).as_bytes())).as_bytes()));
        assert!(!has_checksum62(format!("ghp_{}000000", "a".repeat(30)).as_bytes()));
    }

    #[test]
    fn base64_is_read_in_every_form() {
        for text in ["aGVsbG8gd29ybGQ=", "aGVsbG8gd29ybGQ"] {
            assert_eq!(decode_base64(text.as_bytes()).as_deref(), Some(b"hello world".as_slice()), "{text}");
        }
        assert_eq!(decode_base64(b"_-8"), decode_base64(b"/+8="));
        for text in ["", "====", "a", "a b"] {
            assert_eq!(decode_base64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_placeholder_is_no_secret() {
        for text in
            ["YOUR_API_KEY", "xxxxxxxxxxxx", "sk-...", "********", "my-super-secret-key", "aaaaaaaaaaaa", "abcdefgh"]
        {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        assert!(!is_placeholder(b"q8Zt2LwXr5VbN0mE"));
    }
}
