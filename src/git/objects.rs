//! The object database, read as it is: no replacement refs, no grafts, no fetching of what is missing.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

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
use crate::git::store::Hints;
use crate::git::store::MAX_OBJECT_BYTES;
use crate::git::store::Object;
use crate::git::store::Store;

/// A handle to the objects of a repository. Cloning it gives another thread its own caches.
#[derive(Clone)]
pub struct Objects {
    stores: Vec<Store>,
    /// The same directories for gix, which is asked for what a store does not find.
    slow_stores: Vec<odb::Handle>,
    hash: HashKind,
}

impl Objects {
    /// Opens the object directories; the first is the repository's own, the others are searched after it.
    pub fn open(directories: &[PathBuf], hash: HashKind) -> Result<Self, GitError> {
        let stores = directories.iter().map(|directory| Store::new(directory, hash)).collect();
        // Opening these costs little; their packs are looked at when the first object is asked for.
        let slow_stores = directories.iter().map(|directory| open_store(directory, hash)).collect::<Result<_, _>>()?;
        Ok(Objects { stores, slow_stores, hash })
    }

    /// Returns the content of an object of this kind, or why there is none.
    fn read(&self, id: &Oid, kind: Kind) -> Result<Arc<Vec<u8>>, String> {
        // An id of the other hash kind names nothing here, and gix takes it for a mistake of ours.
        if id.kind() != self.hash {
            return Err(format!("object {id} is missing"));
        }
        let found = self.stores.iter().find_map(|store| store.find(id));
        match found.map_or_else(|| self.read_slowly(id), Ok)? {
            (found, content) if found == kind => Ok(content),
            (found, _) => Err(format!("object {id} is a {found}, not a {kind}")),
        }
    }

    fn read_slowly(&self, id: &Oid) -> Result<Object, String> {
        let mut buffer = Vec::new();
        for store in &self.slow_stores {
            match store.try_find(&to_gix(id), &mut buffer) {
                Ok(Some(data)) => return Ok((data.kind, Arc::new(buffer))),
                Ok(None) => {}
                Err(error) => return Err(format!("object {id} cannot be read ({})", visible(&error.to_string()))),
            }
        }
        Err(format!("object {id} is missing"))
    }

    pub fn blob(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String> {
        self.read(id, Kind::Blob)
    }

    /// Returns what a blob can have in it, where that is known without putting it together.
    pub fn blob_hints(&self, id: &Oid) -> Option<Hints> {
        self.stores.first()?.blob_hints(id)
    }

    pub fn commit(&self, id: &Oid) -> Result<Commit, String> {
        let bytes = self.read(id, Kind::Commit)?;
        parse_commit(&bytes, self.hash).map_err(|error| format!("commit {id} is malformed: {error}"))
    }

    /// Returns the size of an object without loading it.
    pub fn size(&self, id: &Oid) -> Option<u64> {
        let stores = self.slow_stores.iter().filter(|_| id.kind() == self.hash);
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

    fn tree(&self, id: &Oid) -> Result<Arc<Vec<u8>>, String> {
        self.read(id, Kind::Tree)
    }
}

fn open_store(directory: &Path, hash: HashKind) -> Result<odb::Handle, GitError> {
    let options = odb::store::init::Options { alloc_limit_bytes: Some(MAX_OBJECT_BYTES), ..Default::default() };
    odb::at_opts(directory, to_gix_kind(hash), [], options)
        .map_err(|error| GitError::Unreadable { what: directory.display().to_string(), reason: error.to_string() })
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
