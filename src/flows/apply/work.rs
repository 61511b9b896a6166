//! One proposal being carried out, step by step.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::base::visible;
use crate::contract::Contract;
use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::evidence::Session;
use crate::evidence::slug;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate::removed_task;
use crate::flows::active::in_force;
use crate::flows::active::repo_config;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Proposal;
use crate::flows::apply::Status;
use crate::flows::apply::Terms;
use crate::flows::apply::Trouble;
use crate::flows::apply::acceptance;
use crate::flows::apply::judge;
use crate::flows::apply::judge::Bench;
use crate::flows::apply::judge::Chosen;
use crate::flows::apply::judge::Judgement;
use crate::flows::apply::land;
use crate::flows::apply::millis;
use crate::flows::apply::push;
use crate::flows::gate::refused;
use crate::flows::hooks::Summary;
use crate::flows::hooks::standing;
use crate::flows::secrets::Guard;
use crate::git::ApplyLock;
use crate::git::Became;
use crate::git::Candidate;
use crate::git::Desk;
use crate::git::LandingMode;
use crate::git::Pin;
use crate::git::Repository;
use crate::policy::MissingContract;
use crate::policy::Protected;
use crate::secret::Scanner;
use crate::system;

/// One proposal being carried out. `review` makes one for each reply.
pub(in crate::flows) struct Work<'a> {
    pub flows: &'a Flows,
    pub home: &'a Path,
    pub repository: Option<&'a Repository>,
    pub session: &'a Session,
    pub terms: &'a Terms,
    pub mode: ApplyMode,
    pub person: &'a Person<'a>,
    /// Takes secrets out of what is kept.
    pub scanner: &'a Scanner,
}

/// What holds in the repository.
struct Law {
    contract: Option<(Box<Contract>, Pin)>,
    protected: Protected,
    guard: Guard,
}

impl Law {
    fn contract(&self) -> Option<&Contract> {
        self.contract.as_ref().map(|(contract, _)| &**contract)
    }
}

impl Work<'_> {
    /// Judges a proposal and takes it as far as the mode says. What was found out on the way is in the outcome.
    pub fn carry_out(&self, proposal: &Proposal, outcome: &mut Outcome) -> Result<(), Trouble> {
        let began = Instant::now();
        outcome.found = proposal.found.clone();
        outcome.patch_bytes = Some(proposal.patch.len() as u64);
        // What is kept is kept without secrets.
        let path = self.session.write("diff.patch", &self.scanner.redact(&proposal.patch).0)?;
        outcome.diff_path = Some(path.display().to_string());
        self.session.record("extracted", json!({"sha256": Sha256Hex::of(&proposal.patch)}))?;
        if let Some(refusal) = &proposal.found.refusal {
            outcome.diff_reason = Some(refusal.reason.as_str());
            outcome.diff_found = !refusal.reason.is_missing();
            return Err(Failure::from(refusal).into());
        }
        // Held from the first look at the working tree to the last change of it.
        let lock = match self.repository.filter(|_| self.mode >= ApplyMode::Apply) {
            Some(repository) => {
                repository.work_tree()?;
                let lock = ApplyLock::take(repository)?;
                if let Some(done) = land::recover(repository, &self.session.directory.join("kept"), self.person.ask)? {
                    self.tell(&done);
                    outcome.notes.push(done);
                }
                Some(lock)
            }
            None => None,
        };
        let law = self.law()?;
        let head = match self.repository {
            Some(repository) => repository.head()?,
            None => None,
        };
        let bench = Bench {
            place: self.repository.zip(head),
            contract: law.contract(),
            protected: &law.protected,
            scanner: law.guard.scanner(),
            prefix: self.terms.prefix.as_deref(),
            strict: self.terms.strict,
        };
        let mut judgement = judge::judge(proposal, &bench).map_err(|(trouble, reason)| {
            outcome.diff_reason = Some(reason);
            trouble
        })?;
        outcome.diff_found = true;
        outcome.phases.extract = Some(millis(began));
        let chosen = self.choose(&mut judgement, &bench, outcome)?;
        outcome.agreed_patch.clone_from(&chosen.patch);
        if law.contract.is_none() {
            outcome.notes.push("no contract was active: judged by the rules that always hold".to_owned());
        }
        let (Some(repository), true) = (self.repository, self.mode > ApplyMode::None) else { return Ok(()) };
        let head = head.ok_or_else(|| {
            Trouble::new(Status::Error, "branch_refused", "there is no commit yet that a patch could be tried on")
                .hinted("git commit --allow-empty -m Begin")
        })?;
        if system::interrupted() {
            return Err(Trouble::interrupted());
        }
        let landing_mode = if self.mode == ApplyMode::Commit { LandingMode::Commit } else { LandingMode::Apply };
        if lock.is_some() {
            land::check_clean(repository, landing_mode, &chosen.paths)?;
        }
        let patch = self.session.write("chosen.patch", &chosen.patch)?;
        let became = self.try_out(repository, head, &law, &chosen, &patch, outcome)?;
        let Some(lock) = lock else { return Ok(()) };
        let began = Instant::now();
        let about = law.contract().map(|contract| contract.file.task_id.as_str()).or(outcome.branch.as_deref());
        let paths: Vec<_> = became.iter().map(|(path, _)| path.clone()).collect();
        let task = law.contract().map(|contract| contract.file.task_id.as_str());
        let cargo = land::Cargo {
            repository,
            lock: &lock,
            session: &self.session.slug,
            folder: &self.session.directory,
            head: head.to_string(),
            patch: &patch,
            became: &became,
            mode: landing_mode,
            message: land::message(
                self.terms.message.as_deref(),
                about.unwrap_or("HEAD"),
                &paths,
                task,
                &self.session.slug,
            ),
            attended: self.person.attended,
        };
        let landed = cargo.land(outcome);
        outcome.phases.apply = Some(millis(began));
        landed?;
        // The patch is in; that this cannot be written down does not take it out again.
        let facts = json!({"commit": outcome.commit, "files": paths.len()});
        let recorded = self.session.record("applied", facts).map_err(Trouble::from);
        if let Err(trouble) = recorded.and_then(|()| self.remember(repository, task, "PATCH_APPLIED", outcome)) {
            outcome.notes.push(trouble.message);
        }
        if self.terms.push && self.mode == ApplyMode::Commit {
            self.tell("pushing");
            let branches = repo_config(repository)?.protected_branches;
            push::push(repository, &self.flows.environment, &branches, &lock, outcome)?;
        }
        Ok(())
    }

    fn tell(&self, text: &str) {
        self.session.log(text);
        (self.person.tell)(text);
    }

    /// Records in the repository's log what became of a patch.
    fn remember(
        &self,
        repository: &Repository,
        task_id: Option<&str>,
        event_type: &str,
        outcome: &Outcome,
    ) -> Result<(), Trouble> {
        let payload = json!({
            "session": self.session.slug,
            "mode": self.mode.as_str(),
            "commit": outcome.commit,
            "hunks": outcome.hunks.iter().filter(|hunk| hunk.agreed).count(),
        });
        Ok(EventLog::of(&repository.common_dir).append(&Event { level: Level::Info, event_type, task_id, payload })?)
    }

    /// Finds out what holds here. A contract that is not the one that was activated stops everything.
    fn law(&self) -> Result<Law, Trouble> {
        let Some(repository) = self.repository else {
            let protected = Protected::new(None, Vec::new());
            let protected = protected.map_err(|error| Failure::new(Kind::Other, error.to_string()))?;
            return Ok(Law { contract: None, protected, guard: Guard::built_in() });
        };
        let state = ActiveContract::load(repository)?;
        let trouble = |state: &ActiveContract, message: String| {
            let hint = refused(state).violations.first().map(|violation| violation.hint.clone());
            Trouble::new(Status::GateFailed, "permission_denied", message).hinted(hint.unwrap_or_default())
        };
        match state {
            ActiveContract::Active { contract, pin } => {
                let (protected, guard) = in_force(repository, Some(&contract))?;
                Ok(Law { contract: Some((contract, pin)), protected, guard })
            }
            ActiveContract::Missing => {
                if let Some(task) = removed_task(repository, &EventLog::of(&repository.common_dir))? {
                    let message =
                        format!("the contract {task} was active here and its pin was removed without `contract clear`");
                    return Err(trouble(&state, message));
                }
                let hooked = standing(self.flows, repository)?.summary() != Summary::NotInstalled;
                let blocks = repo_config(repository)?.missing_contract == MissingContract::Block;
                if self.mode == ApplyMode::Commit && hooked && blocks {
                    return Err(trouble(
                        &state,
                        "no contract is active, and the hooks here would refuse the commit".to_owned(),
                    ));
                }
                let (protected, guard) = in_force(repository, None)?;
                Ok(Law { contract: None, protected, guard })
            }
            _ => {
                let message = state.trouble().unwrap_or("the contract cannot be used").to_owned();
                Err(trouble(&state, message))
            }
        }
    }

    /// Decides what of a patch gets in.
    fn choose(&self, judgement: &mut Judgement, bench: &Bench<'_>, outcome: &mut Outcome) -> Result<Chosen, Trouble> {
        outcome.secrets = Some(judgement.secrets.clone());
        outcome.gate = Some(judgement.report.to_json());
        outcome.hunks = judgement.verdicts();
        if let Some((trouble, reason)) = judgement.refusal(self.terms.accept) {
            outcome.diff_reason = reason;
            outcome.diff_validated = trouble.status != Status::InvalidDiff;
            let refused = matches!(trouble.status, Status::GateFailed | Status::SecretDetected);
            if let (Some((repository, _)), true) = (bench.place, refused) {
                let task = bench.contract.map(|contract| contract.file.task_id.as_str());
                self.remember(repository, task, "PATCH_REFUSED", outcome)?;
            }
            return Err(trouble);
        }
        outcome.diff_validated = true;
        if let Some(pick) = self.person.pick {
            judgement.pick(pick);
            outcome.hunks = judgement.verdicts();
            if outcome.hunks.iter().all(|hunk| !hunk.agreed) {
                return Err(Trouble::new(Status::Partial, "ambiguous_goal", "no hunk was picked, so nothing is done")
                    .hinted("Run the same command again and answer y to what you want."));
            }
        }
        judgement.choose(bench)
    }

    /// Applies what was chosen to a candidate, looks at the result and runs the contract's tests there.
    fn try_out(
        &self,
        repository: &Repository,
        head: Oid,
        law: &Law,
        chosen: &Chosen,
        patch: &Path,
        outcome: &mut Outcome,
    ) -> Result<Vec<Became>, Trouble> {
        let approved = match law.contract() {
            Some(contract) => acceptance::approve(contract, self.person.ask)?,
            None => Vec::new(),
        };
        // From here on there is something to put back. Before, a question can be answered with Ctrl-C.
        watch()?;
        self.tell("trying the patch on a candidate");
        let name = law.contract().and_then(|contract| slug(&contract.file.task_id));
        let mut candidate =
            Candidate::make(repository, self.home, &self.session.slug, name.as_deref().unwrap_or("candidate"), head)?;
        if let Some((_, pin)) = &law.contract {
            let bytes = Desk::of(repository).contract_bytes()?.unwrap_or_default();
            candidate.pin(&self.flows.environment, &bytes, pin)?;
        }
        if let Err(reason) = candidate.apply(patch)? {
            let reason = visible(reason.trim_end()).into_owned();
            let message = format!("git apply failed on the candidate: {}", reason.lines().next().unwrap_or_default());
            outcome.apply_error = Some(reason);
            return Err(Trouble::new(Status::ApplyFailed, "unknown_failure", message)
                .hinted("Make the patch against the present HEAD."));
        }
        let became = candidate.changes(candidate.tree()?)?;
        // A binary patch shows what it adds only when it is applied.
        for (path, new) in &became {
            if let Some((_, content)) = new
                && content.contains(&0)
                && let Some(finding) = law.guard.scanner().scan(content).first()
            {
                outcome.secrets.get_or_insert_default().push(finding.label.clone());
                let message = format!("what the patch makes has a secret ({}): {path}", finding.label);
                return Err(Trouble::new(Status::SecretDetected, "secret_detected", message)
                    .hinted("Leave this file out of the patch."));
            }
        }
        if let Some(path) = mismatch(chosen, &became) {
            let message = format!("git apply made something else of it than the patch says: {path}");
            outcome.apply_error = Some(message.clone());
            return Err(Trouble::new(Status::ApplyFailed, "unknown_failure", message)
                .hinted("Make the patch again with `git diff` and more lines of context."));
        }
        if let Some(contract) = law.contract() {
            let began = Instant::now();
            candidate.borrow(&repo_config(repository)?.reuse)?;
            let isolation = acceptance::Isolation::of(contract, &self.flows.environment, &candidate.path);
            if !isolation.is_enforced() {
                outcome.notes.push("network: deny is not enforced, this system gives no network namespaces".to_owned());
            }
            self.tell("running the acceptance tests");
            let environment = &self.flows.environment;
            let ran = acceptance::run(&approved, contract, &candidate.path, self.session, environment, &isolation);
            outcome.phases.test = Some(millis(began));
            let (tests, trouble) = ran?;
            outcome.tests = Some(tests);
            if let Some(trouble) = trouble {
                return Err(trouble);
            }
        }
        Ok(became)
    }
}

/// Returns a path that did not become what it had to, or that nobody asked to change.
fn mismatch(chosen: &Chosen, became: &[Became]) -> Option<RepoPath> {
    let unasked = became.iter().map(|(path, _)| path).find(|path| chosen.paths.binary_search(path).is_err());
    let wrong = became.iter().find(|(path, new)| {
        let expected = chosen.expected.get(path);
        expected.is_some_and(|expected| expected.as_ref() != new.as_ref().map(|(_, content)| content))
    });
    let touched: HashSet<&RepoPath> = became.iter().map(|(path, _)| path).collect();
    let untouched = chosen.changed.iter().find(|path| !touched.contains(path));
    unasked.or(wrong.map(|(path, _)| path)).or(untouched).cloned()
}

fn watch() -> Result<(), Failure> {
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for signals: {error}")).hinted("Try again.")
    })
}
