//! Commits: which ones a range names, and where two histories fork.
//!
//! Parents are read from the commit objects themselves. Where a commit is missing on the side that is not judged, more
//! is judged than necessary, never less.

use std::collections::BinaryHeap;
use std::collections::HashMap;

use crate::base::Oid;
use crate::change::Commit;
use crate::git::objects::Objects;

/// How many commits more are looked at after everything seems settled, because clocks differ.
const SLOP: usize = 5;

/// The commits read so far.
pub struct History<'a> {
    objects: &'a Objects,
    commits: HashMap<Oid, Result<Commit, String>>,
}

/// A commit that could not be read, and why.
pub type Missing = (Oid, String);

impl<'a> History<'a> {
    pub fn new(objects: &'a Objects) -> Self {
        History { objects, commits: HashMap::new() }
    }

    pub fn commit(&mut self, id: Oid) -> Result<&Commit, Missing> {
        let objects = self.objects;
        let found = self.commits.entry(id).or_insert_with(|| objects.commit(&id));
        found.as_ref().map_err(|reason| (id, reason.clone()))
    }

    /// Returns the parents and the date of a commit; none and the oldest date when it is missing.
    fn parents_or_none(&mut self, id: Oid) -> (Vec<Oid>, i64) {
        self.commit(id).map_or((Vec::new(), i64::MIN), |commit| (commit.parent_ids.clone(), commit.committed_at))
    }

    /// Returns the commits reachable from `tip` and from none of `known`, newest first.
    pub fn range(&mut self, tip: Oid, known: &[Oid]) -> Result<Vec<Oid>, Missing> {
        self.range_of(&[tip], known)
    }

    /// Returns the commits reachable from any of `tips` and from none of `known`, newest first.
    pub fn range_of(&mut self, tips: &[Oid], known: &[Oid]) -> Result<Vec<Oid>, Missing> {
        let mut walk = Walk::default();
        for id in known {
            self.mark(&mut walk, *id, KNOWN);
        }
        for tip in tips {
            self.commit(*tip)?;
            self.mark(&mut walk, *tip, 0);
        }
        let mut listed = Vec::new();
        let mut oldest = i64::MAX;
        let mut slop = SLOP;
        while slop > 0 {
            let Some((id, marks)) = walk.pop() else { break };
            if marks & KNOWN != 0 {
                self.mark_ancestors(&mut walk, id);
                // When all that waits is known already and older than what was found, look a little further for clocks
                // that went wrong. Commits of the same second have no order: any of them may lead to one that was found.
                let is_settled = walk.unsettled == 0 && walk.newest().is_none_or(|date| date < oldest);
                slop = if is_settled { slop - 1 } else { SLOP };
                continue;
            }
            // A commit of the range must be readable, and so must its parents: nothing can be said about it otherwise.
            let commit = self.commit(id)?;
            oldest = oldest.min(commit.committed_at);
            let parents = commit.parent_ids.clone();
            for parent in parents {
                self.commit(parent)?;
                self.mark(&mut walk, parent, 0);
            }
            listed.push(id);
        }
        listed.retain(|id| walk.marks[id] & KNOWN == 0);
        Ok(listed)
    }

    /// Marks the ancestors of a known commit as known, as far as they were met before.
    fn mark_ancestors(&mut self, walk: &mut Walk, id: Oid) {
        let mut open = self.parents_or_none(id).0;
        while let Some(ancestor) = open.pop() {
            let met = walk.marks.get(&ancestor).copied();
            self.mark(walk, ancestor, KNOWN);
            if met.is_some_and(|marks| marks & (KNOWN | QUEUED) == 0) {
                open.extend(self.parents_or_none(ancestor).0);
            }
        }
    }

    /// Adds marks to a commit and queues it when it has not been met before.
    fn mark(&mut self, walk: &mut Walk, id: Oid, marks: u8) {
        if !walk.add(id, marks) {
            let date = self.parents_or_none(id).1;
            walk.push(date, id);
        }
    }

    /// Returns the best common ancestors of two commits; `[a]` when `a` is an ancestor of `b`.
    pub fn merge_bases(&mut self, a: Oid, b: Oid) -> Vec<Oid> {
        let mut candidates = self.common_ancestors(a, b);
        // An ancestor of another candidate is not a best one.
        let mut position = 0;
        while position < candidates.len() {
            let candidate = candidates[position];
            let others: Vec<Oid> = candidates.iter().copied().filter(|other| *other != candidate).collect();
            if others.iter().any(|other| self.is_ancestor(candidate, *other)) {
                candidates.remove(position);
            } else {
                position += 1;
            }
        }
        candidates
    }

    pub fn is_ancestor(&mut self, ancestor: Oid, descendant: Oid) -> bool {
        // Everything that the descendant reaches before it is certain is marked, whatever the clocks say.
        let (_, walk) = self.paint(ancestor, descendant);
        ancestor == descendant || walk.marks.get(&ancestor).is_some_and(|marks| marks & RIGHT != 0)
    }

    /// Returns common ancestors that are not known to be ancestors of another common one.
    fn common_ancestors(&mut self, a: Oid, b: Oid) -> Vec<Oid> {
        if a == b {
            return vec![a];
        }
        let (mut found, walk) = self.paint(a, b);
        found.sort_unstable();
        found.dedup();
        found.retain(|id| walk.marks[id] & KNOWN == 0);
        found
    }

    /// Walks from both commits and marks what each reaches, until only common ancestors of common ones are left.
    fn paint(&mut self, a: Oid, b: Oid) -> (Vec<Oid>, Walk) {
        let mut walk = Walk::default();
        self.mark(&mut walk, a, LEFT);
        self.mark(&mut walk, b, RIGHT);
        let mut found: Vec<Oid> = Vec::new();
        while walk.unsettled > 0 {
            let Some((id, mut marks)) = walk.pop() else { break };
            if marks & (BOTH | KNOWN) == BOTH {
                found.push(id);
                // What lies behind a common ancestor is common too, but not the best.
                marks |= KNOWN;
            }
            for parent in self.parents_or_none(id).0 {
                if walk.marks.get(&parent).is_none_or(|known| known & marks != marks) {
                    walk.add(parent, marks);
                    let date = self.parents_or_none(parent).1;
                    walk.push(date, parent);
                }
            }
        }
        (found, walk)
    }
}

/// Reachable from the left commit, the right one, both.
const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;
/// Settled: known already, or behind a common ancestor.
const KNOWN: u8 = 4;
/// Waiting in the queue.
const QUEUED: u8 = 8;

/// A walk through history, newest first, with marks on the commits it met.
#[derive(Default)]
struct Walk {
    marks: HashMap<Oid, u8>,
    queue: BinaryHeap<(i64, Oid)>,
    /// How many commits in the queue are not settled.
    unsettled: usize,
}

impl Walk {
    /// Adds marks to a commit; tells whether it had been met before.
    fn add(&mut self, id: Oid, marks: u8) -> bool {
        let met = self.marks.get(&id).copied();
        let before = met.unwrap_or(0);
        if before & QUEUED != 0 && before & KNOWN == 0 && marks & KNOWN != 0 {
            self.unsettled -= 1;
        }
        self.marks.insert(id, before | marks);
        met.is_some()
    }

    fn push(&mut self, date: i64, id: Oid) {
        let marks = self.marks.entry(id).or_default();
        if *marks & QUEUED == 0 {
            *marks |= QUEUED;
            self.unsettled += usize::from(*marks & KNOWN == 0);
            self.queue.push((date, id));
        }
    }

    /// Returns the date of the newest commit that waits.
    fn newest(&self) -> Option<i64> {
        self.queue.peek().map(|(date, _)| *date)
    }

    /// Returns the newest commit that waits, with its marks.
    fn pop(&mut self) -> Option<(Oid, u8)> {
        let (_, id) = self.queue.pop()?;
        let marks = self.marks.entry(id).or_default();
        *marks &= !QUEUED;
        self.unsettled -= usize::from(*marks & KNOWN == 0);
        Some((id, *marks))
    }
}
