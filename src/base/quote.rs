//! Paths and foreign text, written so that a line stays a line and a terminal obeys nobody.
//!
//! `quote` and `unquote` speak git's C-style quoting, so a quoted path can be pasted back into git.
//! `visible` is for prose we only show; it cannot be turned back.

use std::borrow::Cow;

/// Returns the path as git prints it with `core.quotePath=false`, quoted only when it has to be.
///
/// We quote a little more than git: C1 controls steer some terminals, and bidi controls make a
/// path read as another one. `git` and [`unquote`] read the result back to the same bytes.
pub fn quote(path: &[u8]) -> String {
    match std::str::from_utf8(path) {
        Ok(text) if !text.contains(needs_escape) => text.to_owned(),
        Ok(text) => quote_text(text),
        Err(_) => quote_bytes(path),
    }
}

/// Returns the bytes that the C-quoted name at the beginning of a text stands for, and what follows it. `None` when there
/// is no such name. Like git we take any unescaped byte but `"` as it is.
pub fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (byte, tail) = match rest {
            [b'"', tail @ ..] => return Some((name, tail)),
            // Exactly three digits, and not above \377: git refuses everything else.
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), tail)
            }
            [b'\\', letter, tail @ ..] => (unescape(*letter)?, tail),
            [] | [b'\\'] => return None,
            [byte, tail @ ..] => (*byte, tail),
        };
        name.push(byte);
        rest = tail;
    }
}

fn unescape(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        b'"' | b'\\' => letter,
        _ => return None,
    })
}

/// Returns the text with everything escaped that could move, hide or reorder what a person sees.
///
/// Newlines and tabs stay, and so do printable characters. A backslash stays too, so the result is
/// for reading only: it does not say whether an escape was in the text already.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !is_deceptive(c) {
            out.push(c);
        } else if c.is_ascii() {
            out.push_str(&format!("\\x{:02x}", u32::from(c)));
        } else {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        }
    }
    Cow::Owned(out)
}

fn quote_text(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 8);
    let mut buffer = [0; 4];
    out.push('"');
    for c in path.chars() {
        if needs_escape(c) {
            for &byte in c.encode_utf8(&mut buffer).as_bytes() {
                push_escape(&mut out, byte);
            }
        } else {
            out.push(c);
        }
    }
    out.push('"');
    out
}

/// Quotes a path in an unknown encoding, where nothing above ASCII is known to be a character.
fn quote_bytes(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len() * 2);
    out.push('"');
    for &byte in path {
        if byte.is_ascii() && !needs_escape(char::from(byte)) {
            out.push(char::from(byte));
        } else {
            push_escape(&mut out, byte);
        }
    }
    out.push('"');
    out
}

fn push_escape(out: &mut String, byte: u8) {
    out.push('\\');
    match byte {
        0x07 => out.push('a'),
        0x08 => out.push('b'),
        b'\t' => out.push('t'),
        b'\n' => out.push('n'),
        0x0b => out.push('v'),
        0x0c => out.push('f'),
        b'\r' => out.push('r'),
        b'"' | b'\\' => out.push(char::from(byte)),
        _ => {
            for shift in [6, 3, 0] {
                out.push(char::from(b'0' + (byte >> shift & 7)));
            }
        }
    }
}

fn needs_escape(c: char) -> bool {
    matches!(c, '"' | '\\' | '\n' | '\t') || is_deceptive(c)
}

fn is_deceptive(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Line and paragraph separator, zero-width space, byte order mark.
        '\u{2028}' | '\u{2029}' | '\u{200b}' | '\u{feff}' => true,
        _ => c.is_control() || is_bidi_control(c),
    }
}

/// Returns whether the character changes the direction of the text around it.
///
/// See "Trojan Source", <https://trojansource.codes/>.
fn is_bidi_control(c: char) -> bool {
    matches!(
        c,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unquotes a text that is one quoted name and nothing else.
    fn whole(text: &[u8]) -> Option<Vec<u8>> {
        unquote(text).filter(|(_, rest)| rest.is_empty()).map(|(name, _)| name)
    }

    /// Returns what a reader makes of a printed path: quoted text is unquoted, other text is itself.
    fn read_back(printed: &str) -> Option<Vec<u8>> {
        if printed.starts_with('"') { whole(printed.as_bytes()) } else { Some(printed.as_bytes().to_vec()) }
    }

    #[test]
    fn plain_paths_stay_as_they_are() {
        for path in ["", " ", "src/main.rs", "a b/c'd", "grüße/日本語/🦀.md", "a\u{200d}b"] {
            assert_eq!(quote(path.as_bytes()), path);
        }
    }

    #[test]
    fn other_paths_are_quoted_as_git_does() {
        let table: [(&[u8], &str); 12] = [
            (b"\x07\x08\t\n\x0b\x0c\r", r#""\a\b\t\n\v\f\r""#),
            (b"say \"hi\"", r#""say \"hi\"""#),
            (b"a\\b", r#""a\\b""#),
            (b"\0\x1b\x7f", r#""\000\033\177""#),
            ("ü\n".as_bytes(), "\"ü\\n\""),
            (b"\xc3\xbc\xff", r#""\303\274\377""#),
            (b"\xff\n", r#""\377\n""#),
            ("a\u{85}b".as_bytes(), r#""a\302\205b""#),
            ("\u{202e}txt.exe".as_bytes(), r#""\342\200\256txt.exe""#),
            ("\u{2067}".as_bytes(), r#""\342\201\247""#),
            ("\u{200f}".as_bytes(), r#""\342\200\217""#),
            ("\u{61c}".as_bytes(), r#""\330\234""#),
        ];
        for (path, expected) in table {
            assert_eq!(quote(path), expected);
        }
    }

    #[test]
    fn every_byte_and_every_pair_of_bytes_comes_back() {
        for a in 0..=255 {
            assert_eq!(read_back(&quote(&[a])), Some(vec![a]));
            for b in 0..=255 {
                assert_eq!(read_back(&quote(&[a, b])), Some(vec![a, b]));
            }
        }
    }

    #[test]
    fn every_character_comes_back_on_one_safe_line() {
        for c in '\0'..=char::MAX {
            let path = format!("a{c}");
            let printed = quote(path.as_bytes());
            assert!(!printed.contains(|c: char| c.is_control() || is_bidi_control(c)));
            assert_eq!(read_back(&printed), Some(path.into_bytes()));
        }
    }

    #[test]
    fn unquote_takes_what_git_would_have_quoted() {
        let table: [(&[u8], &[u8]); 4] = [
            (br#""""#, b""),
            (br#""\303\274""#, b"\xc3\xbc"),
            (br#""\101\060""#, b"A0"),
            (b"\"raw\n\xff\"", b"raw\n\xff"),
        ];
        for (text, expected) in table {
            assert_eq!(whole(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn unquote_refuses_bad_texts() {
        let table: [&[u8]; 15] = [
            b"",
            b"\"",
            b"plain",
            b"\"open",
            b"close\"",
            br#""\""#,
            br#""a"b""#,
            br#""\x41""#,
            br#""\1""#,
            br#""\12""#,
            br#""\128""#,
            br#""\400""#,
            br#""\A""#,
            br#""\'""#,
            br#""\e""#,
        ];
        for text in table {
            assert_eq!(whole(text), None);
        }
    }

    #[test]
    fn visible_keeps_prose() {
        let prose = "fn main() {\n\tprintln!(\"\\x1b grüße 日本語 👩\u{200d}🔬\");\n}\n";
        assert!(matches!(visible(prose), Cow::Borrowed(text) if text == prose));
    }

    #[test]
    fn visible_shows_what_hides() {
        let table = [
            ("\u{1b}[2Jgone", r"\x1b[2Jgone"),
            ("ok\rno", r"ok\x0dno"),
            ("\0\u{8}\u{7f}", r"\x00\x08\x7f"),
            ("\u{80}\u{9b}31m", r"\u{80}\u{9b}31m"),
            ("\u{202e}evil\u{2069}", r"\u{202e}evil\u{2069}"),
            ("a\u{200b}b\u{feff}", r"a\u{200b}b\u{feff}"),
            ("a\u{2028}b\u{2029}", r"a\u{2028}b\u{2029}"),
            ("\u{61c}\u{200e}\u{200f}", r"\u{61c}\u{200e}\u{200f}"),
            ("kept\n\tü\u{1b}", "kept\n\tü\\x1b"),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn visible_text_is_visible_already() {
        for c in '\0'..=char::MAX {
            let text = String::from(c);
            let shown = visible(&text).into_owned();
            assert_eq!(visible(&shown), shown);
        }
    }
}
