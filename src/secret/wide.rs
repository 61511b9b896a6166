//! Text in UTF-16: with a mark at its beginning or without, from the first byte or in the midst of others.

use std::ops::Range;

use memchr::memchr;

/// Less than this is an accident.
const MIN_UNITS: usize = 12;

/// A stretch of bytes of which every second one is NUL.
pub(super) struct Region {
    /// Where the first character is, which the NUL follows.
    start: usize,
    units: usize,
    /// Whether the big end comes first, so that the NUL belongs to the next character.
    big: bool,
}

impl Region {
    /// Returns the characters, a byte for each.
    pub fn text(&self, bytes: &[u8]) -> Vec<u8> {
        (0..self.units).map(|unit| bytes[self.start + 2 * unit]).collect()
    }

    /// Returns where a character of the text is in the bytes.
    pub fn place(&self, unit: usize) -> usize {
        self.start + 2 * unit - usize::from(self.big)
    }
}

/// Returns all such stretches.
pub(super) fn regions(bytes: &[u8]) -> impl Iterator<Item = Region> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let nul = from + memchr(0, bytes.get(from..)?)?;
            from = nul + 1;
            let Some(start) = nul.checked_sub(1).filter(|start| bytes[*start] != 0) else { continue };
            let Range { start, mut end } = stretch(bytes, start);
            from = end.max(from);
            // The last character has no NUL after it when the big end comes first, and the first has one before it.
            let lone = bytes.get(end).is_some_and(|byte| *byte != 0);
            let big = lone && (end + 1 == bytes.len() || start > 0 && bytes[start - 1] == 0);
            if big {
                end += 1;
            }
            let units = (end - start).div_ceil(2);
            if units >= MIN_UNITS {
                return Some(Region { start, units, big });
            }
        }
    })
}

fn stretch(bytes: &[u8], start: usize) -> Range<usize> {
    let mut end = start;
    while let [first, 0, ..] = bytes[end..]
        && first != 0
    {
        end += 2;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_read_and_mapped_back() {
        let text = b"key=0123456789abcdef";
        for big in [false, true] {
            for before in ["", "\u{1}\u{2}", "\u{1}\u{2}\0\0"] {
                let units = text.iter().flat_map(|byte| if big { [0, *byte] } else { [*byte, 0] });
                let bytes: Vec<u8> = before.bytes().chain(units).collect();
                let found: Vec<Region> = regions(&bytes).collect();
                let [region] = &found[..] else { panic!("one region in {bytes:?}") };
                let read = region.text(&bytes);
                assert!(read.ends_with(text), "{big} {before:?}: {:?}", String::from_utf8_lossy(&read));
                let at = region.place(read.len() - 16);
                assert_eq!(bytes[at..].len(), 32, "{big} {before:?}");
            }
        }
    }

    #[test]
    fn other_bytes_are_no_text() {
        assert_eq!(regions(&[0; 100]).count(), 0);
        assert_eq!(regions(b"a\0b\0").count(), 0);
        assert_eq!(regions(b"").count(), 0);
    }
}
