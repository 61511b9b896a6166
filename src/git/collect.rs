//! Change sets out of a repository: staged, on disk, in a range of commits.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::DiffError;
use crate::change::Entry;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Mode;
use crate::change::Step;
use crate::change::StepKind;
use crate::change::Trees;
use crate::change::diff_trees;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::disk::Rules;
use crate::git::history::History;
use crate::git::history::Missing;
use crate::git::index::Index;
use crate::git::index::Tracked;
use crate::git::inspect::Contents;
use crate::git::inspect::Unstored;
use crate::git::inspect::inspect;
use crate::git::objects::Objects;
use crate::git::origin::entry_at;
use crate::git::origin::find_sources;
use crate::git::origin::visit_files;
use crate::git::program::Conversion;
use crate::git::state::CachedTrees;
use crate::git::state::DiskLinks;
use crate::git::state::IndexFiles;
use crate::git::state::PatchLinks;
use crate::git::state::State;
use crate::git::state::StepTrees;
use crate::git::state::TreeFiles;
use crate::git::worktree::Differing;
use crate::git::worktree::Walker;
use crate::git::worktree::read_ignore_files;

/// Fewer commits than this are not worth a second thread.
const MIN_COMMITS_PER_THREAD: usize = 64;

/// What the judge wants to know, so that nothing else is read.
pub struct Look<'a> {
    /// Contents are read for these paths; the others are refused for their path alone.
    pub in_scope: &'a (dyn Fn(&RepoPath) -> bool + Sync),
}

impl Repository {
    /// Returns the change that committing the index would make.
    pub fn staged(&self, look: &Look<'_>) -> Result<ChangeSet, GitError> {
        let index = Index::read(self)?;
        let olds = self.parent_trees()?;
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
            rules: self.disk_rules()?,
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

    /// Returns every commit from `from` to `to`, and the net change.
    pub fn range(&self, from: Oid, to: Oid, look: &Look<'_>) -> Result<ChangeSet, GitError> {
        let mut history = History::new(&self.objects);
        let commits = match history.range(to, &[from]) {
            Ok(commits) => commits,
            Err(missing) => return Ok(incomplete(missing)),
        };
        // An ancestor is compared as it is: that alone shows a merge which undoes upstream's work.
        let bases = history.merge_bases(from, to);
        let mut set = self.commits(&mut history, commits, to, &bases, look)?;
        if bases.len() > 1 {
            self.add_undone(&mut set, &mut history, from, to, &bases);
        }
        Ok(set)
    }

    /// Adds what a range undoes where two histories fork more than once: a path that equals one fork point may still
    /// take back what another one brought.
    fn add_undone(&self, set: &mut ChangeSet, history: &mut History<'_>, from: Oid, to: Oid, bases: &[Oid]) {
        let compared = (|| {
            let bases = bases.iter().map(|id| Ok(history.commit(*id)?.tree_id)).collect::<Result<Vec<Oid>, Missing>>();
            let (from, to) = (
                history.commit(from).map_err(|(_, reason)| reason)?.tree_id,
                history.commit(to).map_err(|(_, reason)| reason)?.tree_id,
            );
            let bases = bases.map_err(|(_, reason)| reason)?;
            let mut undone = diff_trees(&self.objects, &[Some(from)], Some(to)).map_err(|error| error.to_string())?;
            let mut failure = None;
            undone.retain(|change| {
                bases.iter().any(|base| match entry_at(&self.objects, *base, &change.path) {
                    Ok(found) => found.map(|found| Entry::object(found.mode, found.id)) == change.old,
                    Err(reason) => {
                        failure = Some(reason);
                        false
                    }
                })
            });
            failure.map_or(Ok(undone), Err)
        })();
        match compared {
            Ok(changes) => set.steps.push(Step { kind: StepKind::Net, changes }),
            Err(message) => {
                set.faults.push(Fault { kind: FaultKind::Unreadable, path: RepoPath::new(""), commit: None, message });
            }
        }
    }

    /// Returns every commit reachable from `tip` and not from `known`, and what they change in all.
    pub fn since(&self, tip: Oid, known: &[Oid], look: &Look<'_>) -> Result<ChangeSet, GitError> {
        let mut history = History::new(&self.objects);
        let commits = match history.range(tip, known) {
            Ok(commits) => commits,
            Err(missing) => return Ok(incomplete(missing)),
        };
        let boundary = boundary(&mut history, &commits);
        self.commits(&mut history, commits, tip, &boundary, look)
    }

    fn commits(
        &self,
        history: &mut History<'_>,
        commits: Vec<Oid>,
        tip: Oid,
        net_bases: &[Oid],
        look: &Look<'_>,
    ) -> Result<ChangeSet, GitError> {
        if commits.is_empty() {
            return Ok(ChangeSet::default());
        }
        let planned = (|| {
            let mut planned = Vec::with_capacity(commits.len() + 1);
            for id in &commits {
                let commit = history.commit(*id)?.clone();
                planned.push((StepKind::Commit(*id), step_trees(history, &commit.parent_ids, commit.tree_id)?));
            }
            let tip_tree = history.commit(tip)?.tree_id;
            planned.push((StepKind::Net, step_trees(history, net_bases, tip_tree)?));
            Ok(planned)
        })();
        let planned: Vec<(StepKind, StepTrees)> = match planned {
            Ok(planned) => planned,
            Err(missing) => return Ok(incomplete(missing)),
        };
        let (mut set, steps) = compare_all(&self.objects, planned);
        let contents = Contents { objects: &self.objects, unstored: HashMap::new() };
        let state = State { trees: &self.objects, objects: &self.objects, steps: &steps };
        inspect(&mut set, &contents, &state, look);
        let boundary_trees =
            boundary(history, &commits).into_iter().filter_map(|id| Some(history.commit(id).ok()?.tree_id));
        let files = TreeFiles { tree_ids: boundary_trees.collect(), state: &state };
        note_failure(&mut set, |set| find_sources(set, &files, &contents, look));
        Ok(set)
    }

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

    /// Tells whether `ancestor` is `descendant` or one of its ancestors.
    pub fn is_ancestor(&self, ancestor: Oid, descendant: Oid) -> bool {
        History::new(&self.objects).is_ancestor(ancestor, descendant)
    }

    fn tree_of(&self, commit_id: &Oid) -> Result<Oid, GitError> {
        let commit = self.objects.commit(commit_id);
        commit
            .map(|commit| commit.tree_id)
            .map_err(|reason| GitError::Unreadable { what: commit_id.to_string(), reason })
    }

    /// Returns the trees of the commits that would be the parents of the next one.
    fn parent_trees(&self) -> Result<Vec<Option<Oid>>, GitError> {
        let head = self.head()?;
        let mut trees = vec![head.map(|head| self.tree_of(&head)).transpose()?];
        for id in self.merge_heads()? {
            trees.push(Some(self.tree_of(&id)?));
        }
        Ok(trees)
    }

    fn disk_rules(&self) -> Result<Rules, GitError> {
        let configured = self.git.config_bools(r"^core\.(filemode|symlinks)$")?;
        let is_on = |key: &str| configured.get(key).copied().unwrap_or(true);
        Ok(Rules { file_mode: is_on("core.filemode"), symlinks: is_on("core.symlinks"), hash: self.hash })
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

/// Adds a step with the changes between its trees, or the reason why they cannot be compared.
fn push_step(set: &mut ChangeSet, kind: StepKind, trees: &impl Trees, step: &StepTrees) {
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

/// Compares the trees of all steps, on all processors when there are many.
fn compare_all(objects: &Objects, planned: Vec<(StepKind, StepTrees)>) -> (ChangeSet, Vec<StepTrees>) {
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(planned.len() / MIN_COMMITS_PER_THREAD + 1);
    // Neighbouring commits share most of their directories, so each thread takes a run of them.
    let run = planned.len().div_ceil(threads * 4).max(1);
    let next = AtomicUsize::new(0);
    let compared = Mutex::new(Vec::new());
    let work = |objects: &Objects| {
        let trees = CachedTrees::new(objects);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = planned.chunks(run).nth(number) else { break };
            let mut set = ChangeSet::default();
            for (kind, step) in part {
                push_step(&mut set, *kind, &trees, step);
            }
            compared.lock().unwrap_or_else(PoisonError::into_inner).push((number, set));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let objects = objects.clone();
            let work = &work;
            scope.spawn(move || work(&objects));
        }
        work(objects);
    });
    let mut parts = compared.into_inner().unwrap_or_else(PoisonError::into_inner);
    parts.sort_by_key(|(number, _)| *number);
    let mut set = ChangeSet::default();
    for (_, part) in parts {
        set.steps.extend(part.steps);
        set.faults.extend(part.faults);
    }
    (set, planned.into_iter().map(|(_, trees)| trees).collect())
}

/// Returns the trees of a commit's parents and its own. A root commit is compared with the empty tree.
fn step_trees(history: &mut History<'_>, parent_ids: &[Oid], tree_id: Oid) -> Result<StepTrees, Missing> {
    let mut olds = Vec::with_capacity(parent_ids.len().max(1));
    for id in parent_ids {
        olds.push(Some(history.commit(*id)?.tree_id));
    }
    if olds.is_empty() {
        olds.push(None);
    }
    Ok(StepTrees { olds, new: Some(tree_id) })
}

/// Returns the parents of these commits that are not among them.
fn boundary(history: &mut History<'_>, commits: &[Oid]) -> Vec<Oid> {
    let inside: HashSet<Oid> = commits.iter().copied().collect();
    let mut seen = HashSet::new();
    let mut outside = Vec::new();
    for id in commits {
        let parents = history.commit(*id).map(|commit| commit.parent_ids.clone()).unwrap_or_default();
        outside.extend(parents.into_iter().filter(|parent| !inside.contains(parent) && seen.insert(*parent)));
    }
    outside
}

/// Returns the change set of a history that cannot be read to its end.
fn incomplete((id, reason): Missing) -> ChangeSet {
    let fault = Fault { kind: FaultKind::Unreadable, path: RepoPath::new(""), commit: Some(id), message: reason };
    ChangeSet { steps: Vec::new(), faults: vec![fault] }
}

/// Runs a search over the set and keeps the reason when it fails.
fn note_failure(set: &mut ChangeSet, search: impl FnOnce(&mut ChangeSet) -> Result<(), String>) {
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
