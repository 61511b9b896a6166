//! What was agreed so far, and what another answer makes of it.
//!
//! All answers are about the same commit. An answer is read for the files of that commit; where it makes no sense there,
//! for the files as the answers before would leave them. What several answers change is joined: the later one has the
//! last word on the lines that both touch. The tests decide whether the whole is right.

use serde_json::json;

use crate::base::Oid;
use crate::base::Sha256Hex;
use crate::flows::Failure;
use crate::flows::apply::Chosen;
use crate::flows::apply::HunkVerdict;
use crate::flows::apply::Law;
use crate::flows::apply::Outcome;
use crate::flows::apply::Proposal;
use crate::flows::apply::Status;
use crate::flows::apply::Terms;
use crate::flows::apply::TestResult;
use crate::flows::apply::Tried;
use crate::flows::apply::Trouble;
use crate::flows::apply::Work;
use crate::flows::rounds::Trial;
use crate::flows::rounds::shortfall::Shortfall;
use crate::git::AtPath;
use crate::git::Became;
use crate::git::Repository;
use crate::patch::blend;

/// What stands between two turns.
pub(super) struct Standing {
    /// The commit that everything is about.
    ground: Oid,
    /// The last that passed everything.
    pub good: Option<Good>,
    /// What the files became with the answers so far, whether its tests passed or not.
    latest: Option<Vec<Became>>,
    is_failing: bool,
}

/// What was agreed, tried and found good, and what is told about it.
pub(super) struct Good {
    pub tried: Tried,
    patch: Vec<u8>,
    hunks: Vec<HunkVerdict>,
    tests: Option<Vec<TestResult>>,
    gate: Option<serde_json::Value>,
}

impl Good {
    fn new(tried: Tried, patch: Vec<u8>, outcome: &Outcome) -> Self {
        let (hunks, tests, gate) = (outcome.hunks.clone(), outcome.tests.clone(), outcome.gate.clone());
        Good { tried, patch, hunks, tests, gate }
    }

    /// Makes it what the command tells, and the session's patch.
    pub fn restore(&self, work: &Work<'_>, outcome: &mut Outcome) -> Result<(), Trouble> {
        outcome.hunks.clone_from(&self.hunks);
        outcome.tests.clone_from(&self.tests);
        outcome.gate.clone_from(&self.gate);
        outcome.agreed_patch.clone_from(&self.patch);
        (outcome.diff_found, outcome.diff_validated, outcome.diff_reason) = (true, true, None);
        outcome.apply_error = None;
        let path = work.session.write("diff.patch", &work.scanner.redact(&self.patch).0)?;
        work.session.record("agreed", json!({"sha256": Sha256Hex::of(&self.patch)}))?;
        outcome.diff_path = Some(path.display().to_string());
        outcome.patch_bytes = Some(self.patch.len() as u64);
        Ok(())
    }
}

impl Standing {
    pub const fn new(ground: Oid) -> Self {
        Standing { ground, good: None, latest: None, is_failing: false }
    }

    /// Reads an answer, and says for the files of which commit.
    pub fn read(&self, reply: &[u8], repository: &Repository, terms: &Terms) -> Result<(Proposal, Oid), Failure> {
        let proposal = Proposal::of_reply(reply, Some(self.ground), None, repository, terms)?;
        let Some(latest) = self.latest.as_ref().filter(|_| !is_whole(&proposal)) else {
            return Ok((proposal, self.ground));
        };
        let tree_id = repository.tree_with(self.ground, latest)?;
        let commit_id = repository.commit_candidate(tree_id, self.ground)?;
        let other = Proposal::of_reply(reply, Some(commit_id), None, repository, terms)?;
        Ok(if is_whole(&other) { (other, commit_id) } else { (proposal, self.ground) })
    }

    /// Adds what was chosen of an answer, and tries the whole.
    pub fn add(
        &mut self,
        trial: &Trial<'_>,
        law: &Law,
        chosen: &Chosen,
        at: Oid,
        outcome: &mut Outcome,
    ) -> Result<Option<Shortfall>, Trouble> {
        let (work, repository) = (trial.work, trial.repository);
        let Some(latest) = self.latest.clone() else {
            return match work.try_out(repository, self.ground, law, chosen, None, outcome) {
                Ok(tried) => {
                    self.accept(Good::new(tried, chosen.patch.clone(), outcome));
                    Ok(None)
                }
                Err(failed) => self.refuse(failed.trouble, failed.failing, outcome).map(Some),
            };
        };
        let became = match work.make_of(repository, at, law, chosen, outcome) {
            Ok(became) => became,
            Err(trouble) => return Shortfall::of(trouble, outcome).map(Some),
        };
        let rejected: Vec<HunkVerdict> = outcome.hunks.iter().filter(|hunk| !hunk.agreed).cloned().collect();
        let mut shortfall = None;
        for whole in self.wholes(&latest, became, at, repository)? {
            let tree_id = repository.tree_with(self.ground, &whole)?;
            let patch = repository.exact_patch(self.ground, tree_id)?;
            let mut tried = Outcome::new(work.mode, &work.session.slug);
            let ended = self.try_whole(trial, law, patch, &mut tried);
            tried.notes.iter().for_each(|note| outcome.note(note));
            outcome.tests = tried.tests.take();
            outcome.phases.test = tried.phases.test;
            match ended {
                Ok(good) => {
                    outcome.hunks = [&good.hunks[..], &rejected].concat();
                    outcome.gate.clone_from(&good.gate);
                    self.accept(Good { hunks: outcome.hunks.clone(), tests: outcome.tests.clone(), ..good });
                    return Ok(None);
                }
                Err((trouble, failing)) => {
                    outcome.apply_error = tried.apply_error.take();
                    shortfall = Some(self.refuse(trouble, failing, outcome)?);
                }
            }
        }
        Ok(shortfall)
    }

    /// Judges and tries a whole as one patch of the commit.
    fn try_whole(
        &self,
        trial: &Trial<'_>,
        law: &Law,
        patch: Vec<u8>,
        outcome: &mut Outcome,
    ) -> Result<Good, (Trouble, Option<Vec<Became>>)> {
        let (work, repository) = (trial.work, trial.repository);
        if patch.is_empty() {
            let message = "what was proposed so far changes nothing in the end";
            return Err((Trouble::new(Status::InvalidDiff, "ambiguous_goal", message), None));
        }
        let proposal = Proposal::of_patch(patch);
        let chosen = work.judge(&proposal, law, Some(self.ground), outcome).map_err(|trouble| (trouble, None))?;
        if let Some(hunk) = outcome.hunks.iter().find(|hunk| !hunk.agreed) {
            let reason = hunk.reasons.first().map(String::as_str).unwrap_or_default();
            let message = format!("what was agreed before does not go with it, {}: {reason}", hunk.file);
            return Err((Trouble::new(Status::InvalidDiff, "ambiguous_goal", message), None));
        }
        let tested = self.good.as_ref().map(|good| good.tried.tree_id);
        let tried = work
            .try_out(repository, self.ground, law, &chosen, tested, outcome)
            .map_err(|failed| (failed.trouble, failed.failing))?;
        if tested == Some(tried.tree_id) {
            outcome.tests = self.good.as_ref().and_then(|good| good.tests.clone());
        }
        Ok(Good::new(tried, chosen.patch, outcome))
    }

    /// Returns what the files may have become with an answer, the likeliest first.
    fn wholes(
        &self,
        latest: &[Became],
        became: Vec<Became>,
        at: Oid,
        repository: &Repository,
    ) -> Result<Vec<Vec<Became>>, Trouble> {
        if at != self.ground {
            return Ok(vec![over(latest, became)]);
        }
        let joined = self.join(latest, &became, repository)?;
        if same(&joined, &became) {
            return Ok(vec![became]);
        }
        let covers = latest.iter().all(|(path, _)| became.iter().any(|(other, _)| other == path));
        Ok(if self.is_failing && covers { vec![became, joined] } else { vec![joined, became] })
    }

    /// Joins two changes of the commit's files.
    fn join(&self, earlier: &[Became], later: &[Became], repository: &Repository) -> Result<Vec<Became>, Trouble> {
        let files = repository.commit_files(Some(&self.ground))?;
        let blended = |(path, new): &Became| {
            let before = earlier.iter().find(|(other, _)| other == path).and_then(|(_, content)| content.as_ref());
            let (Some((_, before)), Some((mode, after))) = (before, new) else { return (path.clone(), new.clone()) };
            let content = match files.look(path) {
                Ok(AtPath::File(_, base)) => blend(&base, before, after),
                _ => after.clone(),
            };
            (path.clone(), Some((*mode, content)))
        };
        Ok(over(earlier, later.iter().map(blended).collect()))
    }

    fn accept(&mut self, good: Good) {
        self.latest = joinable(good.tried.became.clone());
        self.is_failing = false;
        self.good = Some(good);
    }

    fn refuse(
        &mut self,
        trouble: Trouble,
        failing: Option<Vec<Became>>,
        outcome: &Outcome,
    ) -> Result<Shortfall, Trouble> {
        let Some(failing) = failing else { return Shortfall::of(trouble, outcome) };
        self.latest = joinable(failing);
        self.is_failing = true;
        Ok(Shortfall::failing(trouble))
    }
}

/// A link to another repository has no lines that could be joined; then every answer stands for itself.
fn joinable(became: Vec<Became>) -> Option<Vec<Became>> {
    let has_link =
        became.iter().any(|(_, new)| new.as_ref().is_some_and(|(mode, _)| *mode == crate::change::Mode::Gitlink));
    (!has_link).then_some(became)
}

fn is_whole(proposal: &Proposal) -> bool {
    proposal.found.refusal.is_none() && proposal.unplaced.is_empty()
}

/// Puts later files over earlier ones.
fn over(earlier: &[Became], later: Vec<Became>) -> Vec<Became> {
    let kept = earlier.iter().filter(|(path, _)| !later.iter().any(|(other, _)| other == path)).cloned();
    kept.collect::<Vec<_>>().into_iter().chain(later).collect()
}

fn same(one: &[Became], other: &[Became]) -> bool {
    one.len() == other.len() && one.iter().all(|became| other.contains(became))
}
