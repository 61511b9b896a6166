//! Refs that are files, read without asking git.

use std::path::Path;

use gix::refs::Target;
use gix::refs::file::Store;

use crate::base::HashKind;
use crate::base::Oid;
use crate::git::objects::to_gix_kind;

/// The refs of a repository as one worktree sees them.
pub struct Refs {
    store: Store,
}

/// What HEAD says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// It names a branch that has no commit yet.
    Unborn,
    /// It names a branch that is at this object.
    Branch(Oid),
    /// It names no branch but this object.
    Detached(Oid),
}

impl Refs {
    pub fn new(git_dir: &Path, common_dir: &Path, hash: HashKind) -> Self {
        let hash = to_gix_kind(hash);
        let store = match git_dir == common_dir {
            true => Store::at(git_dir.to_owned(), hash),
            false => Store::for_linked_worktree(git_dir.to_owned(), common_dir.to_owned(), hash),
        };
        Refs { store }
    }

    /// Returns what HEAD says; `None` when it is unusual: it names something else than a branch, or a branch that is
    /// itself another name for a ref.
    pub fn head(&self) -> Option<Head> {
        match self.target("HEAD")?? {
            Target::Object(id) => Oid::from_bytes(id.as_slice()).map(Head::Detached),
            Target::Symbolic(name) => {
                let name = std::str::from_utf8(name.as_bstr()).ok()?;
                match name.starts_with("refs/heads/").then(|| self.branch(name))?? {
                    Some(id) => Some(Head::Branch(id)),
                    None => Some(Head::Unborn),
                }
            }
        }
    }

    /// Returns where a branch points, `Some(None)` where there is none; `None` when it is another name for a ref.
    pub fn branch(&self, name: &str) -> Option<Option<Oid>> {
        match self.target(name)? {
            Some(Target::Object(id)) => Oid::from_bytes(id.as_slice()).map(Some),
            Some(Target::Symbolic(_)) => None,
            None => Some(None),
        }
    }

    /// Returns where the refs below these directories point, but for those that are other names for refs; `None` when
    /// one cannot be read.
    pub fn tips(&self, directories: &[&str]) -> Option<Vec<Oid>> {
        let platform = self.store.iter().ok()?;
        let mut tips = Vec::new();
        for directory in directories {
            for reference in platform.prefixed((*directory).try_into().ok()?).ok()? {
                if let Target::Object(id) = reference.ok()?.target {
                    tips.push(Oid::from_bytes(id.as_slice())?);
                }
            }
        }
        Some(tips)
    }

    /// Returns what a ref points at, `Some(None)` where there is none; `None` when it cannot be read.
    fn target(&self, name: &str) -> Option<Option<Target>> {
        let found = self.store.try_find(name).ok()?;
        // A name that is not there is also looked for where an abbreviated one would be.
        Some(found.filter(|reference| reference.name.as_bstr() == name).map(|reference| reference.target))
    }
}
