//! Finds keywords: a bit for each three bytes with which one begins, then the few keywords that share that bit's bucket.
//!
//! A hook reads a hundred kilobytes and ends, so that what is built before the first byte is read counts more than what
//! is read in a second: this is built in microseconds, an automaton of the same words takes milliseconds.

use std::borrow::Cow;

/// A keyword is at least as long.
pub(super) const MIN_KEYWORD: usize = 3;

const BUCKETS: usize = 1024;

/// The keywords of all rules.
pub(super) struct Index {
    /// A bit for each hash of three bytes.
    seen: Box<[u64; 1024]>,
    /// Where the keywords of a bucket begin; those of the next one end it.
    starts: Vec<u16>,
    keywords: Vec<Keyword>,
}

#[derive(Debug)]
struct Keyword {
    hash: usize,
    text: Vec<u8>,
    fold: bool,
    target: Target,
}

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The rule with this number.
    Rule(u16),
    /// A word that names of secrets have.
    Name,
    /// Base64 of what a token begins with.
    Encoded,
}

/// Returns 16 bits of the last three bytes that were shifted in.
const fn hash(bytes: u32) -> usize {
    ((bytes & 0x00ff_ffff).wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Makes capitals and small letters the same, and some other characters too: what is compared later is the text itself.
const fn blur(byte: u8) -> u32 {
    (byte | 0x20) as u32
}

impl Index {
    pub fn new<'a>(words: impl Iterator<Item = (Cow<'a, str>, bool, Target)>) -> Self {
        let mut keywords: Vec<Keyword> = words
            .filter(|(text, ..)| text.len() >= MIN_KEYWORD)
            .map(|(text, fold, target)| {
                let text = text.into_owned().into_bytes();
                let hash = hash(text[..3].iter().fold(0, |bytes, byte| bytes << 8 | blur(*byte)));
                Keyword { hash, text, fold, target }
            })
            .collect();
        keywords.sort_by_key(|keyword| keyword.hash % BUCKETS);
        let mut seen = Box::new([0u64; 1024]);
        let mut starts = vec![0u16; BUCKETS + 1];
        for keyword in &keywords {
            seen[keyword.hash >> 6] |= 1 << (keyword.hash & 63);
            starts[keyword.hash % BUCKETS + 1] += 1;
        }
        for bucket in 0..BUCKETS {
            starts[bucket + 1] += starts[bucket];
        }
        Index { seen, starts, keywords }
    }

    /// Calls back for each place where a keyword begins, with its length.
    pub fn each(&self, bytes: &[u8], mut found: impl FnMut(usize, usize, Target)) {
        let mut last = 0;
        for (end, byte) in bytes.iter().enumerate() {
            last = last << 8 | blur(*byte);
            let hash = hash(last);
            if self.seen[hash >> 6] >> (hash & 63) & 1 == 0 {
                continue;
            }
            let Some(at) = end.checked_sub(2) else { continue };
            let bucket = usize::from(self.starts[hash % BUCKETS])..usize::from(self.starts[hash % BUCKETS + 1]);
            for keyword in &self.keywords[bucket] {
                let Some(here) = bytes[at..].get(..keyword.text.len()) else { continue };
                if if keyword.fold { here.eq_ignore_ascii_case(&keyword.text) } else { here == keyword.text } {
                    found(at, keyword.text.len(), keyword.target);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_wherever_it_is() {
        let words = [("abc", false, Target::Rule(1)), ("ABCD", true, Target::Rule(2)), ("key", true, Target::Name)];
        let index = Index::new(words.into_iter().map(|(word, fold, target)| (word.into(), fold, target)));
        let mut found = Vec::new();
        index.each(b"abc ABCd kEy ke abcd", |at, length, target| found.push((at, length, target)));
        found.sort_by_key(|(at, length, _)| (*at, *length));
        let expected = [
            (0, 3, Target::Rule(1)),
            (4, 4, Target::Rule(2)),
            (9, 3, Target::Name),
            (16, 3, Target::Rule(1)),
            (16, 4, Target::Rule(2)),
        ];
        assert_eq!(found, expected);
        for text in ["ab", "a", ""] {
            index.each(text.as_bytes(), |at, _, _| panic!("nothing is at {at} in {text}"));
        }
    }
}
