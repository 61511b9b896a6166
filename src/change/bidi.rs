//! Bidirectional control characters: text that a person reads in another order than the compiler does.

use std::collections::HashSet;

use memchr::memchr;

/// The byte with which each of them begins in UTF-8.
pub const BIDI_LEAD: u8 = 0xe2;

/// Tells whether `bytes` hold one of U+202A–202E or U+2066–2069 in UTF-8. Marks such as U+200E and U+200F are harmless.
pub fn has_bidi(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = memchr(BIDI_LEAD, rest) {
        rest = &rest[at..];
        if matches!(rest, [0xe2, 0x80, 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..]) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Returns the numbers of the lines of `new` that hold such a character and are not lines of `old`.
pub fn added_bidi_lines(old: &[u8], new: &[u8]) -> Vec<usize> {
    let known: HashSet<&[u8]> = old.split(|byte| *byte == b'\n').filter(|line| has_bidi(line)).collect();
    new.split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| has_bidi(line) && !known.contains(line))
        .map(|(index, _)| index + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_seen_and_marks_are_not() {
        for code in (0x202a..=0x202e).chain(0x2066..=0x2069) {
            let text = format!("a{}b", char::from_u32(code).unwrap());
            assert!(has_bidi(text.as_bytes()), "U+{code:04X}");
        }
        for code in [0x200e, 0x200f, 0x2029, 0x202f, 0x2065, 0x206a, 0x61c] {
            let text = format!("a{}b", char::from_u32(code).unwrap());
            assert!(!has_bidi(text.as_bytes()), "U+{code:04X}");
        }
        assert!(!has_bidi(b"\xe2\x80"));
    }

    #[test]
    fn only_added_lines_count() {
        let old = "keep \u{202e}\nplain\n";
        let new = "keep \u{202e}\nplain\nnew \u{2066}\n";
        assert_eq!(added_bidi_lines(old.as_bytes(), new.as_bytes()), [3]);
        assert_eq!(added_bidi_lines(new.as_bytes(), old.as_bytes()), [] as [usize; 0]);
    }
}
