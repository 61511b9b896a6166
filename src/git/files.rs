//! The files of one state of the repository: of the index, or of a commit.

use std::sync::Arc;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Mode;
use crate::change::Trees;
use crate::change::parse_tree;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::index::BuiltTrees;
use crate::git::index::Index;

/// One state of all files, read when asked for.
pub struct Snapshot<'r> {
    repository: &'r Repository,
    root: Option<Oid>,
    /// The trees that the index would make
    built: Option<BuiltTrees>,
}

/// What is at a path.
pub enum AtPath {
    Absent,
    Directory,
    File(Mode, Arc<Vec<u8>>),
}

impl Repository {
    /// Returns the files of the index.
    pub fn index_files(&self) -> Result<Snapshot<'_>, GitError> {
        let unreadable = |reason: String| GitError::Unreadable { what: self.index_path.display().to_string(), reason };
        let built = Index::read(self)?.build_trees(&self.objects).map_err(|fault| unreadable(fault.message))?;
        if let Some(path) = built.unmerged.first() {
            return Err(unreadable(format!("a merge is not resolved yet in {path}")));
        }
        Ok(Snapshot { repository: self, root: Some(built.root), built: Some(built) })
    }

    /// Returns the files of a commit; none without one.
    pub fn commit_files(&self, commit_id: Option<&Oid>) -> Result<Snapshot<'_>, GitError> {
        let root = commit_id.map(|id| self.tree_of(id)).transpose()?;
        Ok(Snapshot { repository: self, root, built: None })
    }
}

impl Snapshot<'_> {
    pub fn look(&self, path: &RepoPath) -> Result<AtPath, String> {
        let Some(root) = self.root else { return Ok(AtPath::Absent) };
        let objects = &self.repository.objects;
        match &self.built {
            Some(built) => look(&built.over(objects), root, path),
            None => look(objects, root, path),
        }
        .and_then(|found| match found {
            None => Ok(AtPath::Absent),
            Some((None, _)) => Ok(AtPath::Directory),
            // A gitlink has no content here.
            Some((Some(Mode::Gitlink), _)) => Ok(AtPath::File(Mode::Gitlink, Arc::default())),
            Some((Some(mode), id)) => Ok(AtPath::File(mode, objects.blob(&id)?)),
        })
    }

    /// Returns the blob that an id, maybe a shortened one, stands for.
    pub fn blob(&self, id: &str) -> Option<Vec<u8>> {
        let full = match Oid::from_hex(id) {
            Some(id) => id,
            None => {
                let input = format!("{id}\n");
                let asked = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
                let answer = self.repository.git.run_with_input(&asked, input.as_bytes()).ok()?;
                let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
                Oid::from_hex(answer.trim().strip_suffix(" blob")?)?
            }
        };
        self.repository.objects.blob(&full).ok().map(|content| content.to_vec())
    }
}

fn look(trees: &impl Trees, root: Oid, path: &RepoPath) -> Result<Option<(Option<Mode>, Oid)>, String> {
    let mut tree_id = root;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let bytes = trees.tree(&tree_id)?;
        let entries = parse_tree(&bytes, trees.hash_kind()).map_err(|error| error.to_string())?;
        match entries.iter().find(|entry| entry.name == component) {
            Some(entry) if components.peek().is_none() => return Ok(Some((entry.mode, entry.oid()))),
            Some(entry) if entry.is_tree() => tree_id = entry.oid(),
            _ => return Ok(None),
        }
    }
    Ok(None)
}
