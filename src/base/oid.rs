//! Object ids of both hash kinds that git knows.

use std::fmt;
use std::hash::Hash;
use std::hash::Hasher;

/// Which hash function names the objects of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashKind {
    Sha1,
    Sha256,
}

impl HashKind {
    /// Returns the length of an id in bytes.
    pub const fn byte_len(self) -> usize {
        match self {
            HashKind::Sha1 => 20,
            HashKind::Sha256 => 32,
        }
    }
}

/// An object id. Copyable, without a heap, so that change sets stay plain data.
#[derive(Clone, Copy)]
pub struct Oid {
    kind: HashKind,
    bytes: [u8; 32],
}

impl Oid {
    /// Returns the id with these raw bytes, or `None` when the length fits no hash kind.
    pub fn from_bytes(raw: &[u8]) -> Option<Self> {
        let kind = match raw.len() {
            20 => HashKind::Sha1,
            32 => HashKind::Sha256,
            _ => return None,
        };
        let mut bytes = [0; 32];
        bytes[..raw.len()].copy_from_slice(raw);
        Some(Oid { kind, bytes })
    }

    /// Returns the id written as 40 or 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 40 && digits.len() != 64 {
            return None;
        }
        let mut raw = [0; 32];
        for (byte, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
            let high = (pair[0] as char).to_digit(16)?;
            let low = (pair[1] as char).to_digit(16)?;
            *byte = (high << 4 | low) as u8;
        }
        Self::from_bytes(&raw[..digits.len() / 2])
    }

    /// Returns the all-zero id, git's way to say "nothing".
    pub const fn null(kind: HashKind) -> Self {
        Oid { kind, bytes: [0; 32] }
    }

    pub fn is_null(&self) -> bool {
        self.bytes == [0; 32]
    }

    /// Tells whether this names the blob without content, which is the same in every repository.
    pub fn is_empty_blob(&self) -> bool {
        const SHA1: [u8; 20] = [
            0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2, 0xe4, 0x8c,
            0x53, 0x91,
        ];
        const SHA256: [u8; 32] = [
            0x47, 0x3a, 0x0f, 0x4c, 0x3b, 0xe8, 0xa9, 0x36, 0x81, 0xa2, 0x67, 0xe3, 0xb1, 0xe9, 0xa7, 0xdc, 0xda, 0x11,
            0x85, 0x43, 0x6f, 0xe1, 0x41, 0xf7, 0x74, 0x91, 0x20, 0xa3, 0x03, 0x72, 0x18, 0x13,
        ];
        match self.kind {
            HashKind::Sha1 => self.bytes[..20] == SHA1,
            HashKind::Sha256 => self.bytes == SHA256,
        }
    }

    pub const fn kind(&self) -> HashKind {
        self.kind
    }

    /// Returns the first twelve digits, enough for a person to find the object.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.kind.byte_len()]
    }
}

impl PartialEq for Oid {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Oid {}

impl Ord for Oid {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Oid {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Oid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // An id is already a good hash; eight bytes of it are enough.
        state.write(&self.bytes[..8]);
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_for_both_kinds() {
        for text in ["0123456789abcdef0123456789abcdef01234567", &"ab".repeat(32)] {
            assert_eq!(Oid::from_hex(text).unwrap().to_string(), *text);
        }
    }

    #[test]
    fn the_empty_blob_is_known_for_both_kinds() {
        for text in [
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        ] {
            assert!(Oid::from_hex(text).unwrap().is_empty_blob());
            assert!(!Oid::from_hex(&text.replace("e2", "e3").replace("20", "21")).unwrap().is_empty_blob());
        }
    }

    #[test]
    fn other_lengths_and_letters_are_no_ids() {
        for text in ["", "abc", &"g".repeat(40), &"a".repeat(41), &"é".repeat(20)] {
            assert_eq!(Oid::from_hex(text), None, "{text}");
        }
    }
}
