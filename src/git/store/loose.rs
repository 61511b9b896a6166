//! Loose objects: one file each, the kind and the size in front of the content.

use std::path::Path;
use std::sync::Arc;

use gix::objs::Kind;
use libdeflater::DecompressionError;
use libdeflater::Decompressor;

use crate::base::Oid;
use crate::git::store::MAX_OBJECT_BYTES;
use crate::git::store::Object;
use crate::system;

/// The longest header: `commit`, a blank, twenty digits, a NUL.
const MAX_HEADER_BYTES: usize = 32;

/// Returns the loose object with this id; `None` when there is none, or none that can be read.
pub fn read_loose(directory: &Path, id: &Oid, inflate: &mut Decompressor) -> Option<Object> {
    let hex = id.to_string();
    let path = directory.join(&hex[..2]).join(&hex[2..]);
    let bytes = system::read_limited(&path, MAX_OBJECT_BYTES as u64).ok()?;
    parse_loose(&bytes, inflate)
}

fn parse_loose(bytes: &[u8], inflate: &mut Decompressor) -> Option<Object> {
    // The size stands in what is compressed, so the first guess may be too small. No byte becomes more than 1,032.
    let mut inflated = vec![0; MAX_HEADER_BYTES + bytes.len().saturating_mul(4).min(MAX_OBJECT_BYTES)];
    let length = loop {
        match inflate.zlib_decompress(bytes, &mut inflated) {
            Ok(length) => break length,
            Err(DecompressionError::InsufficientSpace) if inflated.len() < MAX_OBJECT_BYTES + MAX_HEADER_BYTES => {
                let length = inflated.len().saturating_mul(8).min(MAX_OBJECT_BYTES + MAX_HEADER_BYTES);
                inflated = vec![0; length];
            }
            Err(_) => return None,
        }
    };
    inflated.truncate(length);
    let end = inflated.iter().take(MAX_HEADER_BYTES).position(|byte| *byte == 0)?;
    let (kind, size) = std::str::from_utf8(&inflated[..end]).ok()?.split_once(' ')?;
    let kind = Kind::from_bytes(kind.as_bytes()).ok()?;
    let size: usize = size.parse().ok()?;
    let content = inflated.split_off(end + 1);
    (content.len() == size && size <= MAX_OBJECT_BYTES).then(|| (kind, Arc::new(content)))
}
