//! A pack: whole objects, and objects that are written as deltas of others.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;

use gix::objs::Kind;
use gix::odb::pack::data;

use crate::base::HashKind;
use crate::base::Oid;
use crate::git::objects::to_gix_kind;
use crate::git::store::Object;
use crate::git::store::names::Names;

/// When this much is kept, the cache starts anew.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// A pack with its index. The pack itself is mapped when something is read from it.
pub struct Pack {
    names: Names,
    path: PathBuf,
    hash: HashKind,
    data: OnceLock<Option<data::File>>,
}

/// How an object is written.
pub enum Form {
    Whole(Kind),
    /// As a delta of the object at this offset.
    At(u64),
    /// As a delta of the object with this name.
    Named(Oid),
}

/// Opens the indexes of all packs in an object directory, newest name last as the directory gives them.
pub fn open_all(directory: &Path, hash: HashKind) -> Vec<Pack> {
    let Ok(entries) = directory.join("pack").read_dir() else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "idx"))
        .filter_map(|path| {
            let names = Names::open(&path, hash)?;
            Some(Pack { names, path: path.with_extension("pack"), hash, data: OnceLock::new() })
        })
        .collect()
}

impl Pack {
    pub fn offset_of(&self, id: &Oid) -> Option<u64> {
        self.names.offset_of(id)
    }

    /// Returns how the object at an offset is written, the size of what is compressed, and the compressed bytes with
    /// whatever follows them.
    pub fn entry(&self, offset: u64) -> Option<(Form, usize, &[u8])> {
        let data = self.data.get_or_init(|| data::File::at(&self.path, to_gix_kind(self.hash)).ok()).as_ref()?;
        let mut rest = data.entry_slice(offset..data.pack_end() as u64)?;
        let first = *rest.split_off_first()?;
        let mut size = u64::from(first & 0x0f);
        let mut shift = 4;
        let mut more = first & 0x80 != 0;
        while more {
            let byte = *rest.split_off_first()?;
            size |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 57)?;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        let form = match first >> 4 & 7 {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => Form::At(offset.checked_sub(take_distance(&mut rest)?)?),
            7 => Form::Named(Oid::from_bytes(rest.split_off(..self.hash.byte_len())?)?),
            _ => return None,
        };
        Some((form, usize::try_from(size).ok()?, rest))
    }
}

/// Takes how far before a delta its base begins: seven bits in each byte, highest first, and no number has two ways to
/// be written.
fn take_distance(rest: &mut &[u8]) -> Option<u64> {
    let mut byte = *rest.split_off_first()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *rest.split_off_first()?;
        distance = (distance + 1).checked_mul(128)? | u64::from(byte & 0x7f);
    }
    Some(distance).filter(|distance| *distance > 0)
}

/// Objects that others are likely made from, by their pack and offset.
#[derive(Default)]
pub struct Bases {
    kept: HashMap<(usize, u64), Object>,
    bytes: usize,
}

impl Bases {
    pub fn get(&self, pack: usize, offset: u64) -> Option<Object> {
        self.kept.get(&(pack, offset)).cloned()
    }

    pub fn keep(&mut self, pack: usize, offset: u64, kind: Kind, content: &Arc<Vec<u8>>) {
        if content.len() > MAX_KEPT_BYTES / 4 {
            return;
        }
        if self.bytes + content.len() > MAX_KEPT_BYTES {
            self.kept.clear();
            self.bytes = 0;
        }
        self.bytes += content.len();
        self.kept.insert((pack, offset), (kind, content.clone()));
    }
}
