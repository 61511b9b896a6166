//! The index of a pack: which object is where.
//!
//! The names are sorted, so one is found after looking at a few of them. Only the blocks that are looked at are read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;

use crate::base::HashKind;
use crate::base::Oid;

/// The magic number and the version that every git since 2007 writes.
const HEADER: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];

/// Where the names begin: after the header and, for each first byte, how many names begin with it or a smaller one.
const NAMES_START: u64 = 8 + 256 * 4;

const BLOCK_BYTES: u64 = 16 << 10;

/// After this many guesses the names are not spread as hashes are, and halving is better than guessing.
const MAX_GUESSES: usize = 8;

pub struct Names {
    file: File,
    hash: HashKind,
    counts: [u32; 256],
    file_bytes: u64,
    blocks: Vec<OnceLock<Option<Box<[u8]>>>>,
}

impl Names {
    /// Opens an index; `None` when it cannot be read or is of another kind.
    pub fn open(path: &Path, hash: HashKind) -> Option<Self> {
        let file = File::open(path).ok()?;
        let file_bytes = file.metadata().ok()?.len();
        let mut start = [0; NAMES_START as usize];
        file.read_exact_at(&mut start, 0).ok()?;
        let (header, table) = start.split_at(HEADER.len());
        let mut counts = [0; 256];
        for (count, bytes) in counts.iter_mut().zip(table.chunks_exact(4)) {
            *count = u32::from_be_bytes(bytes.try_into().ok()?);
        }
        let id_bytes = hash.byte_len() as u64;
        let least_bytes = NAMES_START + u64::from(counts[255]) * (id_bytes + 8) + 2 * id_bytes;
        if header != HEADER || !counts.is_sorted() || file_bytes < least_bytes {
            return None;
        }
        let blocks = (0..file_bytes.div_ceil(BLOCK_BYTES)).map(|_| OnceLock::new()).collect();
        Some(Names { file, hash, counts, file_bytes, blocks })
    }

    /// Returns where in the pack an object begins; `None` when it is not in the pack.
    pub fn offset_of(&self, id: &Oid) -> Option<u64> {
        let position = self.position_of(id)?;
        let count = u64::from(self.counts[255]);
        let offsets = NAMES_START + count * (self.hash.byte_len() as u64 + 4);
        let offset = u32::from_be_bytes(self.bytes_at(offsets + u64::from(position) * 4)?);
        if offset & 1 << 31 == 0 {
            return Some(u64::from(offset));
        }
        // Beyond two gigabytes the number is a place in a table of wider ones.
        let wide = u64::from(offset & !(1 << 31));
        Some(u64::from_be_bytes(self.bytes_at(offsets + count * 4 + wide * 8)?))
    }

    fn position_of(&self, id: &Oid) -> Option<u32> {
        let wanted = id.as_bytes();
        if id.kind() != self.hash {
            return None;
        }
        let first = usize::from(wanted[0]);
        let mut low = if first == 0 { 0 } else { self.counts[first - 1] };
        let mut high = self.counts[first];
        // The four bytes after the first one, of the names at both ends: hashes are spread evenly between them.
        let (mut low_key, mut high_key) = (0_u64, 1_u64 << 32);
        let wanted_key = key(wanted);
        let mut guesses = 0;
        while low < high {
            let width = u64::from(high - low);
            guesses += 1;
            let step = match guesses > MAX_GUESSES || high_key <= low_key {
                true => width / 2,
                false => (width * wanted_key.saturating_sub(low_key) / (high_key - low_key)).min(width - 1),
            };
            let middle = low + u32::try_from(step).ok()?;
            let name = self.name(middle)?;
            let name = &name[..wanted.len()];
            match name.cmp(wanted) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => (low, low_key) = (middle + 1, key(name)),
                std::cmp::Ordering::Greater => (high, high_key) = (middle, key(name)),
            }
        }
        None
    }

    fn name(&self, position: u32) -> Option<[u8; 32]> {
        let length = self.hash.byte_len();
        let mut name = [0; 32];
        self.copy(NAMES_START + u64::from(position) * length as u64, &mut name[..length])?;
        Some(name)
    }

    fn bytes_at<const N: usize>(&self, start: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.copy(start, &mut bytes)?;
        Some(bytes)
    }

    /// Fills `target` with what the file has from `start` on.
    fn copy(&self, start: u64, target: &mut [u8]) -> Option<()> {
        let (mut start, mut target) = (start, target);
        while !target.is_empty() {
            let block = self.block(start / BLOCK_BYTES)?;
            let part = block.get(usize::try_from(start % BLOCK_BYTES).ok()?..)?;
            let length = part.len().min(target.len());
            if length == 0 {
                return None;
            }
            let (now, later) = target.split_at_mut(length);
            now.copy_from_slice(&part[..length]);
            target = later;
            start += length as u64;
        }
        Some(())
    }

    fn block(&self, number: u64) -> Option<&[u8]> {
        let block = self.blocks.get(usize::try_from(number).ok()?)?;
        let read = || {
            let start = number * BLOCK_BYTES;
            let length = (self.file_bytes - start).min(BLOCK_BYTES);
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            self.file.read_exact_at(&mut bytes, start).ok()?;
            Some(bytes.into_boxed_slice())
        };
        block.get_or_init(read).as_deref()
    }
}

/// Returns the four bytes after the first, by which names with the same first byte are spread.
fn key(name: &[u8]) -> u64 {
    name[1..5].iter().fold(0, |key, byte| key << 8 | u64::from(*byte))
}
