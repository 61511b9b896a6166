//! The object database, read as it is: no replacement refs, no grafts, no fetching of what is missing.

use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;

use gix::objs::Kind;
use gix::odb;
use gix::odb::Header as _;
use gix::prelude::Find as _;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::visible;
use crate::change::Commit;
use crate::change::Trees;
use crate::change::parse_commit;
use crate::git::GitError;

/// No single object larger than this is loaded: its size comes from whoever made it.
const MAX_OBJECT_BYTES: usize = 1 << 30;

/// Enough for the delta bases and directories that neighbouring commits share.
const PACK_CACHE_BYTES: usize = 8 << 20;

/// A handle to the objects of a repository. Cloning it gives another thread its own caches.
#[derive(Clone)]
pub struct Objects {
    stores: Vec<odb::Handle>,
    hash: HashKind,
}

impl Objects {
    /// Opens the object directories; the first is the repository's own, the others are searched after it.
    pub fn open(directories: &[PathBuf], hash: HashKind) -> Result<Self, GitError> {
        let stores = directories.iter().map(|directory| open_store(directory, hash)).collect::<Result<_, _>>()?;
        Ok(Objects { stores, hash })
    }

    /// Returns the content of an object of this kind, or why there is none.
    fn read(&self, id: &Oid, kind: Kind) -> Result<Vec<u8>, String> {
        let mut buffer = Vec::new();
        self.read_into(id, kind, &mut buffer).map(|()| buffer)
    }

    fn read_into(&self, id: &Oid, kind: Kind, buffer: &mut Vec<u8>) -> Result<(), String> {
        // An id of the other hash kind names nothing here, and gix takes it for a mistake of ours.
        let stores = self.stores.iter().filter(|_| id.kind() == self.hash);
        for store in stores {
            match store.try_find(&to_gix(id), buffer) {
                Ok(Some(data)) if data.kind == kind => return Ok(()),
                Ok(Some(data)) => return Err(format!("object {id} is a {}, not a {kind}", data.kind)),
                Ok(None) => {}
                Err(error) => return Err(format!("object {id} cannot be read ({})", visible(&error.to_string()))),
            }
        }
        Err(format!("object {id} is missing"))
    }

    pub fn blob(&self, id: &Oid) -> Result<Vec<u8>, String> {
        self.read(id, Kind::Blob)
    }

    /// Puts the content of a blob into a buffer that is used again and again.
    pub fn blob_into(&self, id: &Oid, buffer: &mut Vec<u8>) -> Result<(), String> {
        self.read_into(id, Kind::Blob, buffer)
    }

    pub fn commit(&self, id: &Oid) -> Result<Commit, String> {
        let bytes = self.read(id, Kind::Commit)?;
        parse_commit(&bytes, self.hash).map_err(|error| format!("commit {id} is malformed: {error}"))
    }

    /// Returns the size of an object without loading it.
    pub fn size(&self, id: &Oid) -> Option<u64> {
        let stores = self.stores.iter().filter(|_| id.kind() == self.hash);
        stores.into_iter().find_map(|store| store.try_header(&to_gix(id)).ok().flatten()).map(|header| header.size())
    }

    /// Returns the id that `bytes` have as an object of this kind.
    pub fn hash(&self, kind: Kind, bytes: &[u8]) -> Result<Oid, String> {
        let id = gix::objs::compute_hash(to_gix_kind(self.hash), kind, bytes).map_err(|error| error.to_string())?;
        Oid::from_bytes(id.as_slice()).ok_or_else(|| "the hash has an unknown length".to_owned())
    }
}

impl Trees for Objects {
    fn hash_kind(&self) -> HashKind {
        self.hash
    }

    fn tree(&self, id: &Oid) -> Result<Rc<Vec<u8>>, String> {
        self.read(id, Kind::Tree).map(Rc::new)
    }
}

fn open_store(directory: &Path, hash: HashKind) -> Result<odb::Handle, GitError> {
    let options = odb::store::init::Options { alloc_limit_bytes: Some(MAX_OBJECT_BYTES), ..Default::default() };
    let mut store = odb::at_opts(directory, to_gix_kind(hash), [], options)
        .map_err(|error| GitError::Unreadable { what: directory.display().to_string(), reason: error.to_string() })?;
    store.set_pack_cache(|| Box::new(odb::pack::cache::lru::MemoryCappedHashmap::new(PACK_CACHE_BYTES)));
    Ok(store)
}

pub(super) fn to_gix(id: &Oid) -> gix::ObjectId {
    gix::ObjectId::from_bytes_or_panic(id.as_bytes())
}

pub(super) const fn to_gix_kind(hash: HashKind) -> gix::hash::Kind {
    match hash {
        HashKind::Sha1 => gix::hash::Kind::Sha1,
        HashKind::Sha256 => gix::hash::Kind::Sha256,
    }
}
