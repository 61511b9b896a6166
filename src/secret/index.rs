//! Finds keywords: a bit for each pair of bytes with which one begins, then the keywords that begin with the first.
//!
//! A hook reads a hundred kilobytes and ends, so that what is built before the first byte is read counts more than what
//! is read in a second: this is built in microseconds, an automaton of the same words takes milliseconds.

use std::borrow::Cow;

/// The keywords of all rules.
pub(super) struct Index {
    pairs: Box<[u64; 1024]>,
    /// Where the keywords that begin with a byte are.
    firsts: [(u16, u16); 256],
    keywords: Vec<Keyword>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Keyword {
    first: u8,
    text: Vec<u8>,
    fold: bool,
    target: Target,
}

/// What a keyword leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// The rule with this number.
    Rule(u16),
    /// A word that names of secrets have.
    Name,
    /// Base64 of what a token begins with.
    Encoded,
}

impl Index {
    pub fn new<'a>(words: impl Iterator<Item = (Cow<'a, str>, bool, Target)>) -> Self {
        let mut pairs = Box::new([0u64; 1024]);
        let mut keywords = Vec::new();
        for (text, fold, target) in words {
            let text = if fold { text.to_ascii_lowercase() } else { text.into_owned() }.into_bytes();
            let [first, second, ..] = text[..] else { continue };
            let variants = |byte: u8| [byte, if fold { byte.to_ascii_uppercase() } else { byte }];
            for first in variants(first) {
                for second in variants(second) {
                    let pair = usize::from(first) << 8 | usize::from(second);
                    pairs[pair >> 6] |= 1 << (pair & 63);
                }
                keywords.push(Keyword { first, text: text.clone(), fold, target });
            }
        }
        keywords.sort();
        keywords.dedup();
        let mut firsts = [(0, 0); 256];
        for (at, keyword) in keywords.iter().enumerate() {
            let range = &mut firsts[usize::from(keyword.first)];
            let at = u16::try_from(at).unwrap_or(u16::MAX);
            *range = (if range.1 == 0 { at } else { range.0 }, at.saturating_add(1));
        }
        Index { pairs, firsts, keywords }
    }

    /// Calls back for each place where a keyword begins, with its length.
    pub fn each(&self, bytes: &[u8], mut found: impl FnMut(usize, usize, Target)) {
        for (at, window) in bytes.windows(2).enumerate() {
            let pair = usize::from(window[0]) << 8 | usize::from(window[1]);
            if self.pairs[pair >> 6] >> (pair & 63) & 1 == 0 {
                continue;
            }
            let rest = &bytes[at..];
            let (start, end) = self.firsts[usize::from(window[0])];
            for keyword in &self.keywords[usize::from(start)..usize::from(end)] {
                let Some(here) = rest.get(..keyword.text.len()) else { continue };
                if here[1].eq_ignore_ascii_case(&keyword.text[1])
                    && if keyword.fold { here.eq_ignore_ascii_case(&keyword.text) } else { here == keyword.text }
                {
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
        let words = [("ab", false, Target::Rule(1)), ("abc", true, Target::Rule(2)), ("key", true, Target::Name)];
        let index = Index::new(words.into_iter().map(|(word, fold, target)| (word.into(), fold, target)));
        let mut found = Vec::new();
        index.each(b"ab ABC kEy ke abc", |at, length, target| found.push((at, length, target)));
        let expected = [
            (0, 2, Target::Rule(1)),
            (3, 3, Target::Rule(2)),
            (7, 3, Target::Name),
            (14, 2, Target::Rule(1)),
            (14, 3, Target::Rule(2)),
        ];
        assert_eq!(found, expected);
    }
}
