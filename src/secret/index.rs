//! Finds keywords: a bit for each three bytes with which one begins, then the few keywords that share that bit's bucket.
//!
//! A hook reads a hundred kilobytes and ends, so that what is built before the first byte is read counts more than what
//! is read in a second: this is built in microseconds, an automaton of the same words takes milliseconds.

use std::borrow::Cow;

/// A keyword is at least as long.
pub(super) const MIN_KEYWORD: usize = 3;

/// How many places are looked at together.
const STRIDE: usize = 8;

/// As many as leave few accidents and still fit into the processor's nearest cache.
const HASH_BITS: u32 = 14;

/// The keywords of all rules.
pub(super) struct Index {
    /// The bucket for each hash of three bytes; 0 where no keyword begins.
    seen: Box<[u8; 1 << HASH_BITS]>,
    /// Where the keywords of a bucket begin; those of the next one end it.
    starts: Vec<u16>,
    keywords: Vec<Keyword>,
}

#[derive(Debug)]
struct Keyword {
    /// Its first bytes, blurred, and which of them there are.
    lead: u32,
    mask: u32,
    text: Cow<'static, str>,
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

/// Returns bits of the first three bytes of a blurred word.
const fn hash(word: u32) -> usize {
    ((word << 8).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Makes capitals and small letters the same, and some other characters too: what is compared later is the text itself.
const BLUR: u32 = 0x2020_2020;

impl Index {
    pub fn new(words: impl Iterator<Item = (Cow<'static, str>, bool, Target)>) -> Self {
        let mut keywords: Vec<Keyword> = words
            .filter(|(text, ..)| text.len() >= MIN_KEYWORD)
            .map(|(text, fold, target)| {
                let mut bytes = [0; 4];
                let length = text.len().min(4);
                bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
                let mask = u32::MAX >> (8 * (4 - length));
                Keyword { lead: (u32::from_le_bytes(bytes) | BLUR) & mask, mask, text, fold, target }
            })
            .collect();
        keywords.sort_by_key(|keyword| hash(keyword.lead));
        let mut seen = Box::new([0; 1 << HASH_BITS]);
        let mut starts = vec![0, 0];
        for hashes in keywords.chunk_by(|a, b| hash(a.lead) == hash(b.lead)) {
            // The last bucket takes what is left when there are more than a byte can number.
            if starts.len() <= usize::from(u8::MAX) {
                starts.push(starts[starts.len() - 1]);
            }
            let bucket = starts.len() - 2;
            seen[hash(hashes[0].lead)] = bucket as u8;
            starts[bucket + 1] += hashes.len() as u16;
        }
        Index { seen, starts, keywords }
    }

    /// Calls back for each place where a keyword begins, with its length.
    pub fn each(&self, bytes: &[u8], mut found: impl FnMut(usize, usize, Target)) {
        let mut at = 0;
        // What rarely happens is asked once for several places.
        while let Some([a, b, c, d, e, f, g, h, i, j, k, l]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let words = [[*a, *b, *c, *d, *e, *f, *g, *h], [*e, *f, *g, *h, *i, *j, *k, *l]].map(u64::from_le_bytes);
            let mut buckets = 0;
            for place in 0..STRIDE {
                let word = (words[place / 4] >> (8 * (place % 4))) as u32;
                buckets |= u64::from(self.seen[hash(word | BLUR)]) << (8 * place);
            }
            while buckets != 0 {
                let place = buckets.trailing_zeros() as usize / 8;
                self.look(bytes, at + place, (buckets >> (8 * place)) as u8, &mut found);
                buckets &= u64::MAX << (8 * place) << 8;
            }
            at += STRIDE;
        }
        for at in at..bytes.len().saturating_sub(MIN_KEYWORD - 1) {
            let bucket = self.seen[hash(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], 0]) | BLUR)];
            self.look(bytes, at, bucket, &mut found);
        }
    }

    /// Calls back for the keywords of a bucket that are at a place.
    fn look(&self, bytes: &[u8], at: usize, bucket: u8, found: &mut impl FnMut(usize, usize, Target)) {
        let rest = &bytes[at..];
        let word = u32::from_le_bytes([rest[0], rest[1], rest[2], rest.get(3).copied().unwrap_or(0)]) | BLUR;
        let bucket = usize::from(bucket);
        for keyword in &self.keywords[usize::from(self.starts[bucket])..usize::from(self.starts[bucket + 1])] {
            if word & keyword.mask != keyword.lead {
                continue;
            }
            let Some(here) = rest.get(..keyword.text.len()) else { continue };
            let text = keyword.text.as_bytes();
            if if keyword.fold { here.eq_ignore_ascii_case(text) } else { here == text } {
                found(at, keyword.text.len(), keyword.target);
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
