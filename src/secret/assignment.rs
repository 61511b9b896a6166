//! A name that says secret, and the value it is given: `api_key = "…"`, `"apiKey": "…"`, `--api-key …`, `api key is …`.
//!
//! Programs, configurations, tables, commands, logs and prose all write the two next to each other with little between
//! them. So there is one reader for all of them instead of a grammar for each.

use std::borrow::Cow;
use std::ops::Range;

use crate::secret::shape::Shape;

/// Words that the names of secrets have in them.
pub(super) const WORDS: [&str; 10] = ["pass", "pwd", "secret", "token", "key", "auth", "cred", "totp", "otp_", "salt"];

/// How far a name reaches to the left and to the right of such a word.
const NAME_BEFORE: usize = 64;
const NAME_AFTER: usize = 40;

/// How much can be between a name and its value.
const GAP: usize = 64;

/// A longer value is data.
const VALUE: usize = 512;

/// What a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    Password,
    Secret,
    /// A key of some sort; only together with the name of a service it is a secret.
    Other,
}

/// A value and its name.
#[derive(Debug)]
pub(super) struct Assignment {
    pub kind: NameKind,
    pub value: Range<usize>,
    /// The words of the name and of what is before it, in lower case.
    words: Vec<String>,
    joined: String,
    quoted: bool,
    /// Nothing but white space is between the name and the value.
    loose: bool,
}

impl Assignment {
    /// Tells whether the name has one of these words.
    pub fn is_named(&self, names: &[Cow<'static, str>]) -> bool {
        names
            .iter()
            .any(|name| self.words.iter().any(|word| word == name) || name.len() >= 5 && self.joined.contains(&**name))
    }

    pub fn is_password(&self, value: &[u8], shape: &Shape) -> bool {
        shape.is_password(self.quoted)
            && !(self.loose
                && (shape.len < 12 || shape.classes() < 3 || self.words.last().is_some_and(|word| word == "pass")))
            && !is_code(value, self.quoted)
            && !is_uuid(value)
    }

    pub fn is_secret(&self, value: &[u8], shape: &Shape) -> bool {
        let plain = value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(byte));
        let long = if shape.is_hex() { 24 } else { 20 };
        let random = plain && shape.len >= long && shape.is_random();
        let chosen = self.quoted && !plain && shape.len >= 16 && shape.classes() == 4;
        (random || chosen) && !is_code(value, self.quoted) && !is_identifier(value)
    }
}

/// Tells whether a value is an expression.
fn is_code(value: &[u8], quoted: bool) -> bool {
    let calls = [b"${".as_slice(), b"{{", b"$(", b"<%", b"#{", b"%(", b"::", b"->", b"=>"];
    let has = |text: &[u8]| value.windows(text.len()).any(|window| window == text);
    calls.iter().any(|call| has(call))
        || value.starts_with(b"$")
        || value.starts_with(b"/") && !value.contains(&b'+') && !value.ends_with(b"=")
        || value.starts_with(b"{")
        || value.starts_with(b"0x")
        || !quoted && (value.starts_with(b"-") || value.iter().any(|byte| b"([{".contains(byte)) || is_constant(value))
        || has(b"://")
}

/// Tells whether a value is the name of a constant.
fn is_constant(value: &[u8]) -> bool {
    value.contains(&b'_')
        && value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Tells whether a value names something instead of being it: an ARN, a digest, a public key, a UUID.
fn is_identifier(value: &[u8]) -> bool {
    let starts = [b"arn:".as_slice(), b"sha256-", b"sha384-", b"sha512-", b"AAAAB3Nza", b"AAAAC3Nza", b"AAAAE2Vjz"];
    // A sealed secret begins with the length of its key.
    let is_sealed = value.len() > 200 && value.starts_with(b"Ag");
    starts.iter().any(|start| value.starts_with(start)) || is_sealed || is_uuid(value)
}

fn is_uuid(value: &[u8]) -> bool {
    value.windows(36).any(is_uuid_alone)
}

fn is_uuid_alone(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Reads assignments one after the other, and no name twice.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Where the last name that was looked at ends.
    done: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, done: 0 }
    }

    /// Returns the assignment to the name that has a word at `word`.
    pub fn read(&mut self, word: Range<usize>) -> Option<Assignment> {
        if word.start < self.done {
            return None;
        }
        let bytes = self.bytes;
        let left = word.start - word.start.min(NAME_BEFORE);
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let start = bytes[left..word.start].iter().rposition(|byte| !is_part(byte)).map_or(left, |at| left + at + 1);
        let right = &bytes[word.end..bytes.len().min(word.end + NAME_AFTER)];
        let length = right.iter().position(|byte| !is_part(byte))?;
        let mut end = word.end + length;
        self.done = end;
        // Punctuation at the end of a name is none of it.
        while end > word.end && matches!(bytes[end - 1], b'-' | b'.') {
            end -= 1;
        }
        // Most such names are in code that gives them no value of which anything could be said.
        let gap = Gap::read(bytes, end)?;
        let value = gap.value(bytes)?;
        let start = skip_escape(bytes, start);
        // What gives a value its meaning to a reader is the last part of a path, and the words before the name.
        let mut words = Vec::new();
        prose_before(bytes, start, &mut words);
        let foreign = words.len();
        for part in bytes[start..end].split(|byte| *byte == b'.') {
            split_words(part, &mut words);
        }
        let kind = classify(&words, foreign)?;
        Some(Assignment { kind, value, joined: words.concat(), words, quoted: gap.quote.is_some(), loose: gap.loose })
    }
}

/// Skips the letter of an escape such as `\n`, which a name seems to begin with.
fn skip_escape(bytes: &[u8], start: usize) -> usize {
    match bytes[..start] {
        [.., b'\\'] if matches!(bytes[start], b'n' | b'r' | b't') => start + 1,
        [.., b'%'] if bytes.len() > start + 2 => start + 2,
        _ => start,
    }
}

/// Adds up to three words that stand before a place on the same line.
fn prose_before(bytes: &[u8], at: usize, words: &mut Vec<String>) {
    let text = &bytes[at - at.min(32)..at];
    let from = text.iter().rposition(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-')));
    let text = &text[from.map_or(0, |at| at + 1)..];
    let mut before: Vec<String> = text
        .split(|byte| !byte.is_ascii_alphanumeric())
        .rev()
        .filter(|word| !word.is_empty())
        .take(3)
        .map(lower)
        .collect();
    before.reverse();
    words.append(&mut before);
}

fn lower(word: &[u8]) -> String {
    word.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

/// Splits a name where its writer did: at separators, and where the case changes.
fn split_words(name: &[u8], words: &mut Vec<String>) {
    let mut start = 0;
    for at in 0..=name.len() {
        let ends = match (name.get(at), at.checked_sub(1).map(|before| name[before])) {
            (None, _) | (Some(b'_' | b'-'), _) => true,
            (Some(byte), Some(before)) => {
                let next_is_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
                byte.is_ascii_uppercase()
                    && (before.is_ascii_lowercase()
                        || before.is_ascii_digit()
                        || before.is_ascii_uppercase() && next_is_lower)
            }
            (Some(_), None) => false,
        };
        if ends {
            let word = name[start..at]
                .iter()
                .position(|byte| byte.is_ascii_alphanumeric())
                .map(|skip| &name[start + skip..at]);
            words.extend(word.map(lower));
            start = at;
        }
    }
}

/// Last words that say how a value is written, not what it is.
const FORMS: [&str; 27] = [
    "b64",
    "base64",
    "value",
    "val",
    "string",
    "str",
    "text",
    "plain",
    "plaintext",
    "raw",
    "hex",
    "prod",
    "production",
    "staging",
    "live",
    "dev",
    "default",
    "env",
    "old",
    "new",
    "current",
    "primary",
    "secondary",
    "backup",
    "test",
    "main",
    "encoded",
];

/// Words before `key` that make it a secret one.
const KEYS: [&str; 44] = [
    "api",
    "app",
    "application",
    "access",
    "secret",
    "private",
    "priv",
    "auth",
    "authorization",
    "encryption",
    "encrypt",
    "decryption",
    "signing",
    "sign",
    "master",
    "account",
    "storage",
    "service",
    "shared",
    "client",
    "session",
    "aes",
    "hmac",
    "jwt",
    "webhook",
    "admin",
    "deploy",
    "license",
    "cipher",
    "crypto",
    "cookie",
    "token",
    "ingest",
    "ingestion",
    "integration",
    "bot",
    "vault",
    "root",
    "write",
    "user",
    "server",
    "rest",
    "subscription",
    "security",
];

/// Words before `token` and `secret` that make it a harmless one.
const HARMLESS: [&str; 18] = [
    "next",
    "page",
    "sync",
    "continuation",
    "cursor",
    "public",
    "pub",
    "csrf",
    "xsrf",
    "publishable",
    "encrypted",
    "sealed",
    "cancellation",
    "start",
    "end",
    "stop",
    "tokenizer",
    "special",
];

/// Returns what a name says; the first words are those that stand before it.
fn classify(words: &[String], foreign: usize) -> Option<NameKind> {
    let mut own = &words[foreign..];
    while let [rest @ .., last] = own
        && !rest.is_empty()
        && (FORMS.contains(&last.as_str()) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        own = rest;
    }
    let last = own.last()?.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let before = words[..foreign + own.len() - 1].last().map(String::as_str).unwrap_or_default();
    let harmless = own.iter().any(|word| HARMLESS.contains(&word.as_str())) || HARMLESS.contains(&before);
    if last.ends_with("password")
        || matches!(last, "passwd" | "passphrase" | "passwort" | "pwd" | "pass" | "passcode" | "pw")
        || last.ends_with("passwd")
        || last.ends_with("pwd")
    {
        return Some(NameKind::Password);
    }
    if harmless {
        return None;
    }
    match last {
        "credential" | "credentials" | "creds" | "authorization" | "auth" | "salt" => Some(NameKind::Secret),
        "totp" | "otp" => Some(NameKind::Other),
        "key" | "keys" if KEYS.contains(&before) => Some(NameKind::Secret),
        "key" => Some(NameKind::Other),
        _ if last.ends_with("secret") || last.ends_with("token") => Some(NameKind::Secret),
        _ if last.strip_suffix("key").is_some_and(|rest| KEYS.iter().any(|key| rest.ends_with(key))) => {
            Some(NameKind::Secret)
        }
        _ => None,
    }
}

/// What is between a name and its value.
struct Gap {
    /// Where the value begins.
    end: usize,
    /// The quote that has to close it; 0x80 stands for a quote that is not ASCII.
    quote: Option<u8>,
    loose: bool,
    /// The value is a part of a URL.
    query: bool,
    /// The value is a part of an encoded URL.
    encoded: bool,
}

/// What may stand between a name and its value besides punctuation.
const BETWEEN: [&[u8]; 20] = [
    b"is ",
    b"was ",
    b"are ",
    b"to ",
    b"ist ",
    b"lautet ",
    b"est ",
    b"value=",
    b"value:",
    b"value\"",
    b"value':",
    b"VALUES",
    b"Value=",
    b"default = ",
    b"default: ",
    b"As String",
    b"{ get; set; }",
    b"{get;set;}",
    b"<![CDATA[",
    b"--body",
];

impl Gap {
    fn read(bytes: &[u8], from: usize) -> Option<Self> {
        let limit = bytes.len().min(from + GAP);
        let mut gap = Gap { end: from, quote: None, loose: true, query: false, encoded: false };
        let mut lines = 0;
        while gap.end < limit {
            let rest = &bytes[gap.end..limit];
            let step = match rest {
                [b' ' | b'\t', ..] => 1,
                [quote @ (b'"' | b'\'' | b'`'), ..] => {
                    gap.quote = if gap.quote == Some(*quote) { None } else { Some(*quote) };
                    1
                }
                [b'\\', b'"' | b'\'', ..] => 1,
                [b'\\', b'u', b'0', b'0', b'2', b'2', ..] => {
                    gap.quote = Some(b'\\');
                    6
                }
                [b'&', ..] if rest.starts_with(b"&quot;") => {
                    gap.quote = Some(b'&');
                    6
                }
                [b'%', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                    gap.loose = false;
                    gap.encoded = true;
                    gap.quote = None;
                    3
                }
                // `: &str = "…"`, `: Optional[str] = "…"`
                [b':', ..] if let Some(length) = type_length(rest) => length,
                [b':' | b'=' | b'>' | b'|' | b',' | b'(' | b'?' | b']' | b')', ..] => {
                    gap.loose = false;
                    gap.query |= rest[0] == b'=';
                    // What was open is closed by what comes between.
                    gap.quote = None;
                    1
                }
                // Shell defaults: `${KEY:-…}`; arrows.
                [b'-', ..] if !gap.loose || rest.starts_with(b"->") => 1,
                [b'\r' | b'\n', ..] if lines == 0 && (gap.opens_block(bytes) || next_line_is_value(rest)) => {
                    lines += 1;
                    gap.quote = None;
                    rest.iter().position(|byte| !byte.is_ascii_whitespace())?
                }
                // A brace or a call around the value: `key{"…"}`, `key: Some("…")`, `key = Secret::new("…")`.
                [b'{', ..] if rest[1..].trim_ascii_start().starts_with(b"\"") => {
                    gap.loose = false;
                    1
                }
                [b'{', b'\r' | b'\n', ..] if next_line_is_value(&rest[1..]) => 1,
                [b'A'..=b'Z' | b'a'..=b'z', ..]
                    if !gap.loose
                        && let Some(length) = call_length(rest) =>
                {
                    length
                }
                [b'*', ..] if gap.quote.is_none() => 1,
                [0x80..=0xff, ..] => {
                    gap.loose = false;
                    gap.quote = Some(0x80);
                    1
                }
                _ => match BETWEEN.iter().find(|word| gap.end > from && rest.starts_with(word)) {
                    Some(word) => {
                        gap.loose = false;
                        gap.quote = None;
                        // A quote at the end of a word closes that word.
                        word.len()
                    }
                    None => break,
                },
            };
            gap.end += step;
        }
        // Letters that literals begin with.
        if let [b'b' | b'r' | b'f' | b'u' | b'@', quote @ (b'"' | b'\''), ..] = bytes[gap.end..] {
            gap.quote = Some(quote);
            gap.end += 2;
        }
        // `Authorization: Bearer …` and the like have rules of their own.
        gap.query &= bytes[..from]
            .iter()
            .rev()
            .take(NAME_BEFORE + NAME_AFTER)
            .find(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(byte)))
            .is_some_and(|byte| matches!(byte, b'?' | b'&'));
        (gap.end > from).then_some(gap)
    }

    /// Tells whether what was read last begins a block of text on the next line, as `>-` and `|` do in YAML.
    fn opens_block(&self, bytes: &[u8]) -> bool {
        !self.loose && matches!(bytes[..self.end], [.., b' ', b'>' | b'|'] | [.., b' ', b'>' | b'|', b'-' | b'+'])
    }

    /// Returns where the value is, when it is one word.
    fn value(&self, bytes: &[u8]) -> Option<Range<usize>> {
        let rest = &bytes[self.end..bytes.len().min(self.end + VALUE)];
        let length = rest.iter().position(|byte| self.ends(*byte)).or((rest.len() < VALUE).then_some(rest.len()))?;
        let mut value = &rest[..length];
        if self.encoded
            && let Some(escape) = value.iter().position(|byte| *byte == b'%')
        {
            value = &value[..escape];
        }
        // A form: `token=…&page=1`.
        if let Some(next) = value.iter().position(|byte| *byte == b'&').filter(|at| begins_pair(&value[at + 1..])) {
            value = &value[..next];
            return (value.len() >= 8).then_some(self.end..self.end + value.len());
        }
        match (self.quote, rest.get(value.len())) {
            // A text of several words, or one that does not end.
            (Some(quote @ (b'"' | b'\'' | b'`')), Some(end)) if *end != quote && *end != b'\\' => return None,
            (Some(b'"' | b'\'' | b'`'), None) => return None,
            (None | Some(0x80), _) => {
                let end = value.iter().rposition(|byte| !b".,:!?".contains(byte))?;
                value = &value[..=end];
            }
            _ => {}
        }
        (value.len() >= 8).then_some(self.end..self.end + value.len())
    }

    fn ends(&self, byte: u8) -> bool {
        match byte {
            0..=b' ' | 0x7f.. | b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' => true,
            b';' | b',' | b')' | b'|' | b']' | b'}' => self.quote.is_none() || self.quote == Some(0x80),
            b'&' => self.query || self.quote == Some(b'&'),
            _ => false,
        }
    }
}

/// Returns the length of a type and the `=` after it.
fn type_length(rest: &[u8]) -> Option<usize> {
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_&'<>[]:|?. ".contains(byte);
    let rest = &rest[..rest.len().min(40)];
    let length = rest.iter().position(|byte| !is_type(byte))?;
    (rest[length] == b'='
        && length >= 4
        && rest[length - 1] == b' '
        && rest[1..length].iter().any(u8::is_ascii_alphabetic))
    .then_some(length)
}

/// Returns the length of a name and the parenthesis after it, when a quote follows.
fn call_length(rest: &[u8]) -> Option<usize> {
    let rest = &rest[..rest.len().min(32)];
    let length = rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"_:.".contains(byte)))?;
    matches!(rest[length..], [b'(', b'"' | b'\'', ..]).then_some(length + 1)
}

/// Tells whether a name and `=` come first.
fn begins_pair(rest: &[u8]) -> bool {
    let length = rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"_-.".contains(byte)));
    length.is_some_and(|length| length > 0 && rest[length] == b'=')
}

/// Tells whether the next line gives the value of what this one names, as lists of variables in YAML and JSON do.
fn next_line_is_value(rest: &[u8]) -> bool {
    let next = rest.trim_ascii_start();
    let next = next.strip_prefix(b"\"".as_slice()).unwrap_or(next);
    [b"value:".as_slice(), b"value\"", b"default = ", b"default: "].iter().any(|word| next.starts_with(word))
}
