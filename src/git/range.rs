//! Change sets out of commits: every commit of a range, and what they change in all.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Fault;
use crate::change::FaultKind;
use crate::change::Step;
use crate::change::StepKind;
use crate::change::diff_trees;
use crate::git::Look;
use crate::git::Repository;
use crate::git::collect::note_failure;
use crate::git::collect::push_step;
use crate::git::history::History;
use crate::git::history::Missing;
use crate::git::inspect::Contents;
use crate::git::inspect::forgive_moved;
use crate::git::inspect::look_through;
use crate::git::inspect::note_facts;
use crate::git::objects::Objects;
use crate::git::origin::Olds;
use crate::git::origin::entry_at;
use crate::git::origin::note_sources;
use crate::git::state::CachedTrees;
use crate::git::state::State;
use crate::git::state::StepTrees;
use crate::git::state::TreeFiles;
use crate::system;

/// Fewer commits than this are not worth a second thread.
const MIN_COMMITS_PER_THREAD: usize = 64;

impl Repository {
    /// Starts to compare the trees of every commit from `from` to `to`, while the caller finds out what to look for.
    pub fn start_range(&self, from: Oid, to: Oid) -> Comparison {
        let objects = self.objects.clone();
        Comparison(std::thread::spawn(move || Compared::range(&objects, from, to)))
    }

    /// Returns every commit of a range, and the net change.
    pub fn range(&self, comparison: Comparison, look: &Look<'_>) -> ChangeSet {
        match comparison.0.join() {
            Ok(compared) => compared.inspect(&self.objects, look),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Returns every commit reachable from `tip` and not from `known`, and what they change in all.
    pub fn since(&self, tip: Oid, known: &[Oid], look: &Look<'_>) -> ChangeSet {
        Compared::since(&self.objects, tip, known).inspect(&self.objects, look)
    }

    /// Tells whether `ancestor` is `descendant` or one of its ancestors.
    pub fn is_ancestor(&self, ancestor: Oid, descendant: Oid) -> bool {
        History::new(&self.objects).is_ancestor(ancestor, descendant)
    }
}

/// A range whose trees are being compared.
pub struct Comparison(JoinHandle<Compared>);

/// Commits whose trees have been compared, before any content is read.
#[derive(Default)]
struct Compared {
    set: ChangeSet,
    steps: Vec<StepTrees>,
    /// The trees that the first commits build upon.
    boundary_tree_ids: Vec<Oid>,
    /// What takes back the work of others, which the steps do not show.
    undone: ChangeSet,
}

impl Compared {
    fn range(objects: &Objects, from: Oid, to: Oid) -> Self {
        let mut history = History::new(objects);
        let commits = match history.range(to, &[from]) {
            Ok(commits) => commits,
            Err(missing) => return Compared { set: incomplete(missing), ..Default::default() },
        };
        // An ancestor is compared as it is: that alone shows a merge which undoes upstream's work.
        let bases = history.merge_bases(from, to);
        let mut compared = Self::commits(objects, &mut history, &commits, to, &bases);
        if bases.len() > 1 {
            compared.undone = undone(objects, &mut history, from, to, &bases);
        }
        compared
    }

    fn since(objects: &Objects, tip: Oid, known: &[Oid]) -> Self {
        let mut history = History::new(objects);
        match history.range(tip, known) {
            Ok(commits) => {
                let boundary = boundary(&mut history, &commits);
                Self::commits(objects, &mut history, &commits, tip, &boundary)
            }
            Err(missing) => Compared { set: incomplete(missing), ..Default::default() },
        }
    }

    fn commits(objects: &Objects, history: &mut History<'_>, commits: &[Oid], tip: Oid, net_bases: &[Oid]) -> Self {
        if commits.is_empty() {
            return Compared::default();
        }
        let planned = (|| {
            let mut planned = Vec::with_capacity(commits.len() + 1);
            for id in commits {
                let commit = history.commit(*id)?.clone();
                planned.push((StepKind::Commit(*id), step_trees(history, &commit.parent_ids, commit.tree_id)?));
            }
            let tip_tree = history.commit(tip)?.tree_id;
            planned.push((StepKind::Net, step_trees(history, net_bases, tip_tree)?));
            Ok(planned)
        })();
        let planned: Vec<(StepKind, StepTrees)> = match planned {
            Ok(planned) => planned,
            Err(missing) => return Compared { set: incomplete(missing), ..Default::default() },
        };
        let (set, steps) = compare_all(objects, planned);
        let outside = boundary(history, commits);
        let boundary_tree_ids = outside.into_iter().filter_map(|id| Some(history.commit(id).ok()?.tree_id)).collect();
        Compared { set, steps, boundary_tree_ids, undone: ChangeSet::default() }
    }

    /// Reads the contents that matter.
    fn inspect(mut self, objects: &Objects, look: &Look<'_>) -> ChangeSet {
        let contents = Contents { objects, unstored: HashMap::new() };
        let (set, steps, tree_ids) = (&mut self.set, &self.steps, self.boundary_tree_ids);
        let collect = |objects: &Objects| {
            let state = State { trees: objects, objects, steps };
            Olds::collect(set, &TreeFiles { tree_ids: tree_ids.clone(), state: &state }, look)
        };
        // In a long range, old files are looked through while contents are: neither needs the other.
        let (seen, olds) = match steps.len() < MIN_COMMITS_PER_THREAD {
            true => (look_through(set, &contents, look), collect(objects)),
            false => std::thread::scope(|scope| {
                let (collect, objects) = (&collect, objects.clone());
                let olds = scope.spawn(move || collect(&objects));
                let seen = look_through(set, &contents, look);
                (seen, olds.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }),
        };
        let state = State { trees: objects, objects, steps };
        note_facts(set, &seen, &contents, &state, look);
        let files = TreeFiles { tree_ids, state: &state };
        note_failure(set, |set| match olds? {
            Some(olds) => note_sources(set, &olds, &files, &contents, look),
            None => Ok(()),
        });
        forgive_moved(set, &contents, look);
        self.set.steps.append(&mut self.undone.steps);
        self.set.faults.append(&mut self.undone.faults);
        self.set
    }
}

/// Returns what a range undoes where two histories fork more than once: a path that equals one fork point may still
/// take back what another one brought.
fn undone(objects: &Objects, history: &mut History<'_>, from: Oid, to: Oid, bases: &[Oid]) -> ChangeSet {
    let compared = (|| {
        let mut tree_of = |id: Oid| Ok(history.commit(id).map_err(|(_, reason): Missing| reason)?.tree_id);
        let (from, to) = (tree_of(from)?, tree_of(to)?);
        let bases = bases.iter().map(|id| tree_of(*id)).collect::<Result<Vec<Oid>, String>>()?;
        let mut undone = diff_trees(objects, &[Some(from)], Some(to)).map_err(|error| error.to_string())?;
        let mut failure = None;
        undone.retain(|change| {
            bases.iter().any(|base| match entry_at(objects, *base, &change.path) {
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
        Ok(changes) => ChangeSet { steps: vec![Step { kind: StepKind::Net, changes }], faults: Vec::new() },
        Err(message) => {
            let fault = Fault { kind: FaultKind::Unreadable, path: RepoPath::new(""), commit: None, message };
            ChangeSet { steps: Vec::new(), faults: vec![fault] }
        }
    }
}

/// Compares the trees of all steps, on all processors when there are many.
fn compare_all(objects: &Objects, planned: Vec<(StepKind, StepTrees)>) -> (ChangeSet, Vec<StepTrees>) {
    let threads = system::threads_for(planned.len() / MIN_COMMITS_PER_THREAD);
    // Neighbouring commits share most of their directories, so each thread takes a run of them. The last run has the net
    // change in it, which takes longest, so that the runs are taken from the end.
    let run = planned.len().div_ceil(threads * 8).max(1);
    let next = AtomicUsize::new(0);
    let compared = Mutex::new(Vec::new());
    let work = |objects: &Objects| {
        let trees = CachedTrees::new(objects);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = planned.chunks(run).rev().nth(number) else { break };
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
    parts.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
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
