//! A delta: how to make one content out of another, by copying parts of it and inserting new bytes.

use crate::git::store::Hints;
use crate::git::store::MAX_OBJECT_BYTES;

/// What a copy without a size takes.
const DEFAULT_COPY: usize = 0x10000;

/// What one instruction of a delta says.
enum Part<'a> {
    Insert(&'a [u8]),
    /// Where in the base, and how much.
    Copy(usize, usize),
}

/// Returns what `delta` makes of `base`; `None` when it is malformed or meant for another base.
pub fn apply_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    let base_size = take_size(&mut rest)?;
    let size = take_size(&mut rest)?;
    if base_size != base.len() || size > MAX_OBJECT_BYTES {
        return None;
    }
    let mut content = Vec::with_capacity(size);
    while !rest.is_empty() {
        let part = match take_part(&mut rest)? {
            Part::Insert(bytes) => bytes,
            Part::Copy(start, length) => base.get(start..start + length)?,
        };
        if part.len() > size - content.len() {
            return None;
        }
        content.extend_from_slice(part);
    }
    (content.len() == size).then_some(content)
}

/// Returns what the bytes that a delta inserts have in them; `None` when it is malformed.
pub fn inserted_hints(delta: &[u8]) -> Option<Hints> {
    let mut rest = delta;
    take_size(&mut rest)?;
    take_size(&mut rest)?;
    let mut hints = Hints::default();
    while !rest.is_empty() {
        if let Part::Insert(bytes) = take_part(&mut rest)? {
            hints = hints.or(Hints::of(bytes));
        }
    }
    Some(hints)
}

fn take_part<'a>(rest: &mut &'a [u8]) -> Option<Part<'a>> {
    let instruction = *rest.split_off_first()?;
    if instruction & 0x80 == 0 {
        // An insertion of nothing is reserved.
        let inserted = rest.split_off(..usize::from(instruction))?;
        return (!inserted.is_empty()).then_some(Part::Insert(inserted));
    }
    let start = take_number(rest, instruction, 0..4)?;
    let length = match take_number(rest, instruction, 4..7)? {
        0 => DEFAULT_COPY,
        length => length,
    };
    Some(Part::Copy(start, length))
}

/// Takes a number of which only the bytes are written whose bits are set in the instruction, lowest byte first.
fn take_number(rest: &mut &[u8], instruction: u8, bits: std::ops::Range<u8>) -> Option<usize> {
    let mut number = 0;
    for (place, bit) in bits.enumerate() {
        if instruction & 1 << bit != 0 {
            number |= usize::from(*rest.split_off_first()?) << (8 * place);
        }
    }
    Some(number)
}

/// Takes a size: seven bits in each byte, lowest first, with the top bit set on all but the last.
fn take_size(rest: &mut &[u8]) -> Option<usize> {
    let mut size = 0_usize;
    for place in 0..5 {
        let byte = *rest.split_off_first()?;
        size |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    // More than 35 bits: no object that we load.
    None
}
