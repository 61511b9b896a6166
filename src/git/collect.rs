//! Change sets out of the index and the working tree.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::base::HashKind;
use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::DiffError;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Mode;
use crate::change::Secret;
use crate::change::Step;
use crate::change::StepKind;
use crate::change::Trees;
use crate::change::diff_trees;
use crate::git::Git;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::disk::Rules;
use crate::git::index::Index;
use crate::git::index::Tracked;
use crate::git::inspect::Contents;
use crate::git::inspect::inspect;
use crate::git::origin::find_sources;
use crate::git::origin::visit_files;
use crate::git::program::Conversion;
use crate::git::state::DiskLinks;
use crate::git::state::IndexFiles;
use crate::git::state::State;
use crate::git::state::StepTrees;
use crate::git::worktree::Differing;
use crate::git::worktree::Walker;
use crate::git::worktree::read_ignore_files;

/// What the judge wants to know, so that nothing else is read.
pub struct Look<'a> {
    /// Contents are read for these paths; the others are refused for their path alone.
    pub in_scope: &'a (dyn Fn(&RepoPath) -> bool + Sync),
    /// Looks for secrets in what is added; this room knows no rules of its own.
    pub secrets: Option<&'a dyn Watch>,
}

/// Looks for secrets in contents.
pub trait Watch: Sync {
    /// Tells whether there may be a secret in a content.
    fn suspects(&self, content: &[u8]) -> bool;

    /// Returns the secrets that a new content has and the old one had not, and how many more are allowed.
    fn added(&self, path: &RepoPath, old: &[u8], new: &[u8]) -> (Vec<Secret>, usize);
}

impl Repository {
    /// Returns the change that committing the index would make.
    pub fn staged(&self, look: &Look<'_>) -> Result<ChangeSet, GitError> {
        self.staged_onto(&self.merge_heads()?, look)
    }

    /// Returns the change that committing the index would make, with these commits as parents besides HEAD.
    pub fn staged_onto(&self, other_parent_ids: &[Oid], look: &Look<'_>) -> Result<ChangeSet, GitError> {
        let index = Index::read(self)?;
        let olds = self.parent_trees(other_parent_ids)?;
        let built = match index.build_trees(&self.objects) {
            Ok(built) => built,
            Err(fault) => return Ok(ChangeSet { steps: Vec::new(), faults: vec![fault] }),
        };
        let mut set = ChangeSet { steps: Vec::new(), faults: index.forged_directories(&built) };
        set.faults.extend(built.unmerged.iter().map(|path| Fault {
            kind: FaultKind::Conflict,
            path: path.clone(),
            commit: None,
            message: "it has an unresolved merge conflict".to_owned(),
        }));
        let trees = built.over(&self.objects);
        let step_trees = [StepTrees { olds, new: Some(built.root) }];
        push_step(&mut set, StepKind::Staged, &trees, &step_trees[0]);
        let contents = Contents { objects: &self.objects, unstored: HashMap::new() };
        let state = State { trees: &trees, objects: &self.objects, steps: &step_trees };
        inspect(&mut set, &contents, &state, look);
        let files = IndexFiles {
            index: &index,
            state: &state,
            changes: set.steps.first().map(|step| step.changes.clone()).unwrap_or_default(),
        };
        note_failure(&mut set, |set| find_sources(set, &files, &contents, look));
        Ok(set)
    }

    /// Returns the change from HEAD to what is on disk.
    pub fn worktree(&self, look: &Look<'_>) -> Result<ChangeSet, GitError> {
        let root = self.work_tree()?;
        // Asked while the index is read: waiting for git takes as long as reading a small one.
        let (git, hash) = (self.git.clone(), self.hash);
        let rules = std::thread::spawn(move || disk_rules(&git, hash));
        let index = Index::read(self)?;
        let head_tree = self.head()?.map(|head| self.tree_of(&head)).transpose()?;
        let (built, entries, expanded);
        let prepared = (|| {
            let trees = index.build_trees(&self.objects)?;
            let listed = index.entries().collect::<Result<Vec<Tracked<'_>>, Fault>>()?;
            Ok((trees, listed))
        })();
        match prepared {
            Ok((trees, listed)) => {
                built = trees;
                expanded = self.expand(&listed)?;
                entries = merge_expanded(listed, &expanded);
            }
            Err(fault) => return Ok(ChangeSet { steps: Vec::new(), faults: vec![fault] }),
        }
        let trees = built.over(&self.objects);
        let step_trees = [StepTrees { olds: vec![head_tree], new: Some(built.root) }];
        let mut set = ChangeSet::default();
        push_step(&mut set, StepKind::Worktree, &trees, &step_trees[0]);
        let staged = set.steps.pop().map(|step| step.changes).unwrap_or_default();

        let walker = Walker {
            root,
            entries: &entries,
            index_written_at: index.written_at(),
            rules: rules.join().unwrap_or_else(|_| disk_rules(&self.git, self.hash))?,
            look,
            ignore_files: read_ignore_files(&entries, &self.objects),
        };
        let mut walked = walker.walk();
        walker.digest_untracked(&staged, &mut walked);
        set.faults.append(&mut walked.faults);
        self.drop_converted_line_endings(&mut walked.differing)?;
        let mut contents = Contents { objects: &self.objects, unstored: HashMap::new() };
        set.steps.push(Step {
            kind: StepKind::Worktree,
            changes: against_head(staged.clone(), walked.differing, &mut contents),
        });
        let state = State { trees: &trees, objects: &self.objects, steps: &step_trees };
        let is_link = |change: &&Change| change.new.is_some_and(|new| new.mode == Mode::Symlink);
        let links =
            set.steps.iter().flat_map(|step| &step.changes).filter(is_link).map(|change| change.path.clone()).collect();
        inspect(&mut set, &contents, &DiskLinks { root, links }, look);
        let files = IndexFiles { index: &index, state: &state, changes: staged };
        note_failure(&mut set, |set| find_sources(set, &files, &contents, look));
        Ok(set)
    }

    pub(super) fn tree_of(&self, commit_id: &Oid) -> Result<Oid, GitError> {
        let commit = self.objects.commit(commit_id);
        commit
            .map(|commit| commit.tree_id)
            .map_err(|reason| GitError::Unreadable { what: commit_id.to_string(), reason })
    }

    /// Returns the trees of the commits that would be the parents of the next one.
    fn parent_trees(&self, other_parent_ids: &[Oid]) -> Result<Vec<Option<Oid>>, GitError> {
        let head = self.head()?;
        let mut trees = vec![head.map(|head| self.tree_of(&head)).transpose()?];
        for id in other_parent_ids {
            trees.push(Some(self.tree_of(id)?));
        }
        Ok(trees)
    }

    /// Returns the files of collapsed directories that are on disk after all.
    fn expand(&self, listed: &[Tracked<'_>]) -> Result<Vec<(Vec<u8>, Mode, Oid)>, GitError> {
        let root = self.work_tree()?;
        let mut files = Vec::new();
        for directory in listed.iter().filter(|entry| entry.mode.is_none()) {
            if std::fs::symlink_metadata(root.join(OsStr::from_bytes(directory.path))).is_err() {
                continue;
            }
            let mut add =
                |path: &[u8], mode: Mode, id: Oid| files.push(([directory.path, b"/", path].concat(), mode, id));
            visit_files(&self.objects, directory.id, &mut HashSet::new(), &mut add)
                .map_err(|reason| GitError::Unreadable { what: RepoPath::new(directory.path).to_string(), reason })?;
        }
        Ok(files)
    }

    /// Drops files that differ in line endings only, where git converts those when it stores them.
    fn drop_converted_line_endings(&self, differing: &mut Vec<Differing>) -> Result<(), GitError> {
        let suspects: Vec<&RepoPath> =
            differing.iter().filter(|found| found.line_endings_only).map(|found| &found.path).collect();
        if suspects.is_empty() {
            return Ok(());
        }
        let conversions = self.git.line_endings(self.work_tree()?, &suspects)?;
        differing.retain(|found| match conversions.get(&found.path).filter(|_| found.line_endings_only) {
            Some(Conversion::Always) => false,
            Some(Conversion::OfText) => found.looks_binary,
            Some(Conversion::Never) | None => true,
        });
        Ok(())
    }
}

/// Returns what the repository says about its working tree.
fn disk_rules(git: &Git, hash: HashKind) -> Result<Rules, GitError> {
    let configured = git.config_bools(r"^core\.(filemode|symlinks)$")?;
    let is_on = |key: &str| configured.get(key).copied().unwrap_or(true);
    Ok(Rules { file_mode: is_on("core.filemode"), symlinks: is_on("core.symlinks"), hash })
}

/// Adds a step with the changes between its trees, or the reason why they cannot be compared.
pub(super) fn push_step(set: &mut ChangeSet, kind: StepKind, trees: &impl Trees, step: &StepTrees) {
    let commit = match kind {
        StepKind::Commit(id) => Some(id),
        _ => None,
    };
    match diff_trees(trees, &step.olds, step.new) {
        Ok(changes) => set.steps.push(Step { kind, changes }),
        Err(error) => {
            let message = error.to_string();
            let (kind_of_fault, path) = match error {
                DiffError::Unreadable { directory, .. } | DiffError::TooMany { directory } => {
                    (FaultKind::Unreadable, directory)
                }
                DiffError::Malformed { directory, .. } | DiffError::TooDeep { directory } => {
                    (FaultKind::Malformed, directory)
                }
            };
            set.steps.push(Step { kind, changes: Vec::new() });
            set.faults.push(Fault { kind: kind_of_fault, path, commit, message });
        }
    }
}

/// Runs a search over the set and keeps the reason when it fails.
pub(super) fn note_failure(set: &mut ChangeSet, search: impl FnOnce(&mut ChangeSet) -> Result<(), String>) {
    if let Err(message) = search(set) {
        set.faults.push(Fault { kind: FaultKind::Unreadable, path: RepoPath::new(""), commit: None, message });
    }
}

/// Joins what is staged with what differs on disk into the change from HEAD to the disk.
fn against_head(staged: Vec<Change>, differing: Vec<Differing>, contents: &mut Contents<'_>) -> Vec<Change> {
    let mut changes: HashMap<RepoPath, Change> =
        staged.into_iter().map(|change| (change.path.clone(), change)).collect();
    for found in differing {
        let old = changes.get(&found.path).map_or(found.tracked, |change| change.old);
        if let (Some(id), Some(content)) = (found.new.and_then(|new| new.id), found.content) {
            contents.unstored.insert(id, content);
        }
        changes.insert(found.path.clone(), Change::new(found.path, old, found.new));
    }
    let mut changes: Vec<Change> = changes.into_values().filter(|change| change.old != change.new).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// Puts the files of collapsed directories in the place of the directories.
fn merge_expanded<'a>(listed: Vec<Tracked<'a>>, expanded: &'a [(Vec<u8>, Mode, Oid)]) -> Vec<Tracked<'a>> {
    if expanded.is_empty() {
        return listed;
    }
    let files = expanded.iter().map(|(path, mode, id)| Tracked {
        path,
        mode: Some(*mode),
        id: *id,
        stat: Default::default(),
        skipped: true,
        announced: false,
        unmerged: false,
    });
    let is_expanded = |entry: &Tracked<'_>| {
        entry.mode.is_none()
            && expanded
                .iter()
                .any(|(path, ..)| path.starts_with(entry.path) && path.get(entry.path.len()) == Some(&b'/'))
    };
    let mut entries: Vec<Tracked<'a>> = listed.into_iter().filter(|entry| !is_expanded(entry)).chain(files).collect();
    entries.sort_by(|a, b| a.path.cmp(b.path));
    entries
}
