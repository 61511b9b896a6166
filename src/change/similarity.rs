//! How much two files have in common, in the spirit of git's rename score.
//!
//! A file is cut into lines, long lines into pieces, and what counts is how many bytes of such
//! pieces two files share. Order does not matter, so a file whose functions were shuffled is still
//! the same file.

/// The longest piece of a line. It keeps a file without newlines from being all or nothing.
const MAX_CHUNK: usize = 64;

/// How far we look for a NUL, which makes a file binary. Git looks as far.
const BINARY_PROBE: usize = 8000;

/// Pieces collected before equal ones are first added up, so that many equal lines stay small.
const FIRST_MERGE: usize = 4096;

/// What a comparison needs to know about one file, counted once to be compared with many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Sorted by hash, each hash once.
    chunks: Vec<Chunk>,
    len: u64,
}

/// A hash and the bytes of all pieces that have it.
type Chunk = (u64, u32);

impl Fingerprint {
    /// Counts the pieces of a file.
    pub fn of(content: &[u8]) -> Self {
        let probe = content.get(..BINARY_PROBE).unwrap_or(content);
        let is_text = !probe.contains(&0);
        let mut chunks = Vec::new();
        let mut merge_at = FIRST_MERGE;
        let mut piece = Piece::default();
        let mut bytes = content.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            // A change of line endings is no change of content. In a binary file it is one.
            if is_text && byte == b'\r' && bytes.peek() == Some(&b'\n') {
                continue;
            }
            piece.push(byte);
            if byte == b'\n' || piece.len == MAX_CHUNK {
                chunks.push(std::mem::take(&mut piece).finish());
                if chunks.len() >= merge_at {
                    merge(&mut chunks);
                    // Doubling keeps the merges together as cheap as one at the end.
                    merge_at = FIRST_MERGE.max(chunks.len() * 2);
                }
            }
        }
        if piece.len > 0 {
            chunks.push(piece.finish());
        }
        merge(&mut chunks);
        chunks.shrink_to_fit();
        // The sum, not the length of the content: skipped carriage returns must not keep a file
        // from being equal to itself.
        let len = chunks.iter().map(|&(_, bytes)| u64::from(bytes)).sum();
        Self { chunks, len }
    }

    /// Returns how much of this file is found in the other, from 0 to 100.
    pub fn similarity(&self, other: &Self) -> u8 {
        let longer = self.len.max(other.len);
        if longer == 0 {
            return 100;
        }
        let percent = u128::from(self.shared_bytes(other)) * 100 / u128::from(longer);
        // Shared bytes are at most the shorter length, so this always fits.
        u8::try_from(percent).unwrap_or(100)
    }

    fn shared_bytes(&self, other: &Self) -> u64 {
        let mut shared = 0;
        let mut theirs = other.chunks.iter().copied().peekable();
        for &(hash, bytes) in &self.chunks {
            while let Some(their) = theirs.next_if(|their| their.0 <= hash) {
                if their.0 == hash {
                    shared += u64::from(bytes.min(their.1));
                }
            }
        }
        shared
    }
}

/// A line, or as much of a long one as fits, while it is being hashed.
struct Piece {
    hash: u64,
    len: usize,
}

impl Default for Piece {
    fn default() -> Self {
        Self { hash: 0xcbf2_9ce4_8422_2325, len: 0 }
    }
}

impl Piece {
    /// FNV-1a. It needs no seed and is the same everywhere, and somebody who makes two lines
    /// collide has only made two files look alike.
    fn push(&mut self, byte: u8) {
        self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.len += 1;
    }

    fn finish(self) -> Chunk {
        (self.hash, u32::try_from(self.len).unwrap_or(u32::MAX))
    }
}

/// Sorts the chunks and adds up those with the same hash.
fn merge(chunks: &mut Vec<Chunk>) {
    chunks.sort_unstable_by_key(|&(hash, _)| hash);
    chunks.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similarity(a: &[u8], b: &[u8]) -> u8 {
        Fingerprint::of(a).similarity(&Fingerprint::of(b))
    }

    fn lines(range: std::ops::Range<usize>) -> Vec<u8> {
        range.flat_map(|n| format!("let value_{n} = {};\n", n * n).into_bytes()).collect()
    }

    #[test]
    fn equal_files_score_100() {
        let table: [&[u8]; 7] =
            [b"", b"x", b"no newline at the end", b"a\r\nb\r\n", b"\r\n", b"bin\0\r\n\xff", &[0; 1000]];
        for content in table {
            assert_eq!(similarity(content, content), 100);
        }
    }

    #[test]
    fn files_with_nothing_in_common_score_0() {
        assert_eq!(similarity(&lines(0..50), &lines(50..100)), 0);
        assert_eq!(similarity(b"", b"x"), 0);
        assert_eq!(similarity(b"x\n", b""), 0);
    }

    #[test]
    fn one_line_more_is_nearly_the_same() {
        let score = similarity(&lines(0..20), &lines(0..21));
        assert!((91..100).contains(&score), "{score}");
    }

    #[test]
    fn the_score_is_the_share_of_the_longer_file() {
        let table: [(&[u8], &[u8], u8); 6] = [
            (b"a\nb\n", b"a\n", 50),
            (b"a\nb\n", b"b\na\n", 100),
            (b"a\na\na\n", b"a\nb\nb\n", 33),
            (b"a\nb", b"a\nb\n", 50),
            (b"a\nb\n", b"a\r\nb\r\n", 100),
            (b"\0a\nb\n", b"\0a\r\nb\r\n", 0),
        ];
        for (a, b, expected) in table {
            assert_eq!(similarity(a, b), expected);
        }
    }

    #[test]
    fn the_order_of_the_two_does_not_matter() {
        for (a, b) in [(0..20, 5..40), (0..3, 0..300), (0..0, 0..9), (7..9, 8..11)] {
            let (a, b) = (lines(a), lines(b));
            assert_eq!(similarity(&a, &b), similarity(&b, &a));
        }
    }

    #[test]
    fn a_long_line_is_compared_in_pieces() {
        let long: Vec<u8> = (b'0'..=b'z').cycle().take(640).collect();
        let mut changed = long.clone();
        changed[639] ^= 1;
        assert_eq!(similarity(&long, &changed), 90);
    }

    #[test]
    fn many_lines_are_counted_the_same_as_few() {
        let many = lines(0..3 * FIRST_MERGE);
        let twice = [many.clone(), many.clone()].concat();
        assert_eq!(similarity(&many, &twice), 50);
        assert_eq!(Fingerprint::of(&twice).len, 2 * many.len() as u64);
        assert_eq!(Fingerprint::of(&[b'\n'; 100_000]).chunks.len(), 1);
    }

    #[test]
    fn length_leaves_out_the_carriage_returns() {
        assert_eq!(Fingerprint::of(b"a\r\nb\r\n").len, 4);
        assert_eq!(Fingerprint::of(b"a\r\r\nb\r").len, 5);
        assert_eq!(Fingerprint::of(b"").len, 0);
    }
}
