//! Loose objects: one file each, the kind and the size in front of the content.

use std::path::Path;
use std::sync::Arc;

use gix::objs::Kind;
use zlib_rs::Inflate;
use zlib_rs::InflateFlush;
use zlib_rs::Status;

use crate::base::Oid;
use crate::git::store::MAX_OBJECT_BYTES;
use crate::git::store::Object;
use crate::system;

/// The longest header: `commit`, a blank, twenty digits, a NUL.
const MAX_HEADER_BYTES: usize = 32;

/// Returns the loose object with this id; `None` when there is none, or none that can be read.
pub fn read_loose(directory: &Path, id: &Oid, inflate: &mut Inflate) -> Option<Object> {
    let hex = id.to_string();
    let path = directory.join(&hex[..2]).join(&hex[2..]);
    let bytes = system::read_limited(&path, MAX_OBJECT_BYTES as u64).ok()?;
    parse_loose(&bytes, inflate)
}

fn parse_loose(bytes: &[u8], inflate: &mut Inflate) -> Option<Object> {
    let mut start = [0; MAX_HEADER_BYTES];
    inflate.reset(true);
    let first = inflate.decompress(bytes, &mut start, InflateFlush::NoFlush).ok()?;
    let start = &start[..usize::try_from(inflate.total_out()).ok()?];
    let end = start.iter().position(|byte| *byte == 0)?;
    let (kind, size) = std::str::from_utf8(&start[..end]).ok()?.split_once(' ')?;
    let kind = Kind::from_bytes(kind.as_bytes()).ok()?;
    let size: usize = size.parse().ok().filter(|size| *size <= MAX_OBJECT_BYTES)?;
    let mut content = vec![0; size];
    let read = &start[end + 1..];
    content.get_mut(..read.len())?.copy_from_slice(read);
    if first != Status::StreamEnd {
        let rest = bytes.get(usize::try_from(inflate.total_in()).ok()?..)?;
        let last = inflate.decompress(rest, &mut content[read.len()..], InflateFlush::Finish).ok()?;
        if last != Status::StreamEnd {
            return None;
        }
    }
    (inflate.total_out() == (end + 1 + size) as u64).then(|| (kind, Arc::new(content)))
}
