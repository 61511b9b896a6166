//! The contents that a patch is about.

use std::collections::HashMap;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::git::Repository;
use crate::patch::FileKind;
use crate::patch::FilePatch;

/// The files of a commit, and what the files of a patch have made of them so far.
pub(super) struct Contents<'a> {
    repository: &'a Repository,
    commit_id: Oid,
    /// What is there now.
    pub known: HashMap<RepoPath, Option<Vec<u8>>>,
    /// What the commit has.
    pub original: HashMap<RepoPath, Option<Vec<u8>>>,
}

impl<'a> Contents<'a> {
    pub fn of(repository: &'a Repository, commit_id: Oid) -> Self {
        Contents { repository, commit_id, known: HashMap::new(), original: HashMap::new() }
    }

    fn content(&mut self, path: &RepoPath) -> Result<Option<Vec<u8>>, String> {
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let content = self.repository.file_at(&self.commit_id, path).map_err(|error| error.to_string())?;
        self.known.insert(path.clone(), content.clone());
        self.original.insert(path.clone(), content.clone());
        Ok(content)
    }

    /// Returns what the hunks of a file are about.
    pub fn before(&mut self, file: &FilePatch) -> Result<Vec<u8>, String> {
        let creates = file.kind == FileKind::Modify
            && matches!(&file.hunks[..], [only] if only.old_lines == 0)
            && file.old_path.is_some();
        if let (Some(new), true) = (&file.new_path, file.kind != FileKind::Modify) {
            let new = RepoPath::new(new.clone());
            if self.content(&new)?.is_some() {
                return Err("the file is there already".to_owned());
            }
        }
        match &file.old_path {
            Some(old) if file.kind != FileKind::Add => {
                let content = self.content(&RepoPath::new(old.clone()))?;
                content.or_else(|| creates.then(Vec::new)).ok_or_else(|| "there is no such file".to_owned())
            }
            _ => Ok(Vec::new()),
        }
    }

    pub fn change(&mut self, file: &FilePatch, after: Vec<u8>) {
        if let (Some(old), FileKind::Delete | FileKind::Rename) = (&file.old_path, file.kind) {
            self.known.insert(RepoPath::new(old.clone()), None);
        }
        if let Some(new) = &file.new_path {
            self.known.insert(RepoPath::new(new.clone()), Some(after));
        }
    }
}
