//! Change sets out of patches: what a patch does not say is looked up in HEAD.

use std::collections::HashMap;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Mode;
use crate::git::GitError;
use crate::git::Look;
use crate::git::Repository;
use crate::git::collect::note_failure;
use crate::git::inspect::Contents;
use crate::git::inspect::Unstored;
use crate::git::inspect::inspect;
use crate::git::origin::entry_at;
use crate::git::origin::find_sources;
use crate::git::state::PatchLinks;
use crate::git::state::State;
use crate::git::state::StepTrees;
use crate::git::state::TreeFiles;

impl Repository {
    /// Looks into a change set that was read from a patch; `contents` are the files that the patch holds whole.
    pub fn patch(
        &self,
        mut set: ChangeSet,
        contents: Vec<(RepoPath, Vec<u8>)>,
        look: &Look<'_>,
    ) -> Result<ChangeSet, GitError> {
        let head_tree = self.head()?.map(|head| self.tree_of(&head)).transpose()?;
        let steps = [StepTrees { olds: vec![head_tree], new: head_tree }];
        let mut links: HashMap<RepoPath, Vec<u8>> = HashMap::new();
        let mut unstored = HashMap::new();
        for (path, bytes) in contents {
            let id = self.objects.hash(gix::objs::Kind::Blob, &bytes);
            let id = id.map_err(|reason| GitError::Unreadable { what: path.to_string(), reason })?;
            let changes = set.steps.iter_mut().flat_map(|step| &mut step.changes).filter(|change| change.path == path);
            for new in changes.filter_map(|change| change.new.as_mut()) {
                new.id = Some(id);
                if new.mode == Mode::Symlink {
                    links.insert(path.clone(), bytes.clone());
                }
            }
            unstored.insert(id, Unstored::in_memory(bytes));
        }
        let contents = Contents { objects: &self.objects, unstored };
        let state = State { trees: &self.objects, objects: &self.objects, steps: &steps };
        for change in set.steps.iter_mut().flat_map(|step| &mut step.changes) {
            // A link that is renamed or copied without an edit keeps its target.
            if let Some(id) = change.new.filter(|new| new.mode == Mode::Symlink).and_then(|new| new.id)
                && let Ok(target) = contents.read(&id)
            {
                links.entry(change.path.clone()).or_insert(target);
            }
            self.look_around(change, head_tree, &mut set.faults)?;
        }
        inspect(&mut set, &contents, &PatchLinks { links, state: &state }, look);
        let declared: Vec<_> =
            set.steps.iter().flat_map(|step| &step.changes).map(|change| change.source.clone()).collect();
        let files = TreeFiles { tree_ids: head_tree.into_iter().collect(), state: &state };
        note_failure(&mut set, |set| find_sources(set, &files, &contents, look));
        // What the patch itself declares outranks what we find.
        for (change, declared) in set.steps.iter_mut().flat_map(|step| &mut step.changes).zip(declared) {
            change.source = declared.or(change.source.take());
        }
        Ok(set)
    }

    /// Notes what a patch does not say: that a path leads through a symlink, that a copied file is binary.
    fn look_around(
        &self,
        change: &mut Change,
        head_tree: Option<Oid>,
        faults: &mut Vec<Fault>,
    ) -> Result<(), GitError> {
        let Some(tree_id) = head_tree else { return Ok(()) };
        let found = |path: &RepoPath| {
            entry_at(&self.objects, tree_id, path)
                .map_err(|reason| GitError::Unreadable { what: path.to_string(), reason })
        };
        let slashes = change.path.as_bytes().iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (end, _) in slashes {
            let directory = RepoPath::new(&change.path.as_bytes()[..end]);
            if found(&directory)?.is_some_and(|found| found.mode == Mode::Symlink) {
                let message = format!("the patch writes through a symlink: {directory}");
                faults.push(Fault { kind: FaultKind::Malformed, path: change.path.clone(), commit: None, message });
            }
        }
        if let Some(source) = &change.source
            && let Some(old) = found(&source.path)?
            && self.objects.blob(&old.id).is_ok_and(|bytes| bytes.contains(&0))
        {
            change.facts.binary = true;
        }
        Ok(())
    }

    /// Returns the files at these paths in HEAD.
    pub fn head_entries<'p>(
        &self,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<HashMap<RepoPath, Entry>, GitError> {
        let Some(head) = self.head()? else { return Ok(HashMap::new()) };
        let tree_id = self.tree_of(&head)?;
        let mut entries = HashMap::new();
        for path in paths {
            let found = entry_at(&self.objects, tree_id, path)
                .map_err(|reason| GitError::Unreadable { what: path.to_string(), reason })?;
            entries.extend(found.map(|found| (path.clone(), Entry::object(found.mode, found.id))));
        }
        Ok(entries)
    }
}
