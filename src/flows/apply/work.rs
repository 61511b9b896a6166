//! One proposal being carried out, step by step.

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;
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
use crate::flows::apply::acceptance::Approved;
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
use crate::git::Landing;
use crate::git::LandingMode;
use crate::git::Pin;
use crate::git::Repository;
use crate::policy::MissingContract;
use crate::policy::Protected;
use crate::secret::Scanner;
use crate::system;

/// How proposals are carried out. `review` carries out one for each reply.
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
    /// Which of several proposals in one session it is; files are named after it.
    pub turn: Cell<Option<u32>>,
    /// What may run under the contract with this digest. Asked once.
    approved: RefCell<Option<(Sha256Hex, Rc<[Approved]>)>>,
}

/// A patch that was tried on a candidate and found good.
pub(in crate::flows) struct Tried {
    /// The commit that it was tried on.
    pub ground: Oid,
    /// What it makes of that commit.
    pub tree_id: Oid,
    pub became: Vec<Became>,
    /// Where the chosen patch lies.
    patch: PathBuf,
}

/// Why a patch was not found good.
pub(in crate::flows) struct NotTried {
    pub trouble: Trouble,
    /// Its tests failed: what it makes of the commit.
    pub failing: Option<Vec<Became>>,
}

impl<E: Into<Trouble>> From<E> for NotTried {
    fn from(error: E) -> Self {
        NotTried { trouble: error.into(), failing: None }
    }
}

/// What holds in the repository.
pub(in crate::flows) struct Law {
    contract: Option<(Box<Contract>, Pin)>,
    protected: Protected,
    guard: Guard,
}

impl Law {
    pub fn contract(&self) -> Option<&Contract> {
        self.contract.as_ref().map(|(contract, _)| &**contract)
    }

    /// Returns the task of the active contract.
    pub fn task_id(&self) -> Option<&str> {
        self.contract().map(|contract| contract.file.task_id.as_str())
    }

    /// Returns the digest of the active contract.
    pub fn contract_sha256(&self) -> Option<&Sha256Hex> {
        self.contract.as_ref().map(|(_, pin)| &pin.sha256)
    }

    /// Finds out what holds here. A contract that is not the one that was activated stops everything.
    pub fn of(flows: &Flows, repository: Option<&Repository>, mode: ApplyMode) -> Result<Self, Trouble> {
        let Some(repository) = repository else {
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
                let hooked = standing(flows, repository)?.summary() != Summary::NotInstalled;
                let blocks = repo_config(repository)?.missing_contract == MissingContract::Block;
                if mode == ApplyMode::Commit && hooked && blocks {
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
}

impl<'a> Work<'a> {
    pub fn new(
        flows: &'a Flows,
        home: &'a Path,
        repository: Option<&'a Repository>,
        session: &'a Session,
        (terms, mode): (&'a Terms, ApplyMode),
        person: &'a Person<'a>,
        scanner: &'a Scanner,
    ) -> Self {
        let (turn, approved) = (Cell::default(), RefCell::default());
        Work { flows, home, repository, session, terms, mode, person, scanner, turn, approved }
    }

    /// Judges a proposal and takes it as far as the mode says. What was found out on the way is in the outcome.
    pub fn carry_out(&self, proposal: &Proposal, outcome: &mut Outcome) -> Result<(), Trouble> {
        self.keep(proposal, outcome)?;
        // Held from the first look at the working tree to the last change of it.
        let lock = match self.repository.filter(|_| self.mode >= ApplyMode::Apply) {
            Some(repository) => Some(self.lock(repository, outcome)?),
            None => None,
        };
        let law = self.law()?;
        let head = self.head()?;
        let chosen = self.judge(proposal, &law, head, outcome)?;
        let (Some(repository), true) = (self.repository, self.mode > ApplyMode::None) else { return Ok(()) };
        let head = head.ok_or_else(no_commit)?;
        if system::interrupted() {
            return Err(Trouble::interrupted());
        }
        if lock.is_some() {
            land::check_clean(repository, self.landing_mode(), &chosen.paths)?;
        }
        let tried = self.try_out(repository, head, &law, &chosen, None, outcome).map_err(|failed| failed.trouble)?;
        match lock {
            Some(lock) => self.land(repository, &law, &tried, &lock, outcome),
            None => Ok(()),
        }
    }

    /// Keeps what is proposed, without secrets, and refuses what is no patch.
    pub fn keep(&self, proposal: &Proposal, outcome: &mut Outcome) -> Result<(), Trouble> {
        outcome.found = proposal.found.clone();
        outcome.patch_bytes = Some(proposal.patch.len() as u64);
        let clean = self.scanner.redact(&proposal.patch).0;
        let path = self.session.write("diff.patch", &clean)?;
        if let Some(turn) = self.turn.get() {
            self.session.write(&format!("diff-{turn}.patch"), &clean)?;
        }
        outcome.diff_path = Some(path.display().to_string());
        let facts = json!({"sha256": Sha256Hex::of(&proposal.patch), "turn": self.turn.get()});
        self.session.record("extracted", facts)?;
        if let Some(refusal) = &proposal.found.refusal {
            outcome.diff_reason = Some(refusal.reason.as_str());
            outcome.diff_found = !refusal.reason.is_missing();
            return Err(Failure::from(refusal).into());
        }
        Ok(())
    }

    /// Returns the commit that patches are for; `None` where there is none yet.
    fn head(&self) -> Result<Option<Oid>, Trouble> {
        Ok(match self.repository {
            Some(repository) => repository.head()?,
            None => None,
        })
    }

    const fn landing_mode(&self) -> LandingMode {
        if matches!(self.mode, ApplyMode::Commit) { LandingMode::Commit } else { LandingMode::Apply }
    }

    /// Takes the lock of the working tree, and puts right what a killed process left there.
    fn lock(&self, repository: &Repository, outcome: &mut Outcome) -> Result<ApplyLock, Trouble> {
        repository.work_tree()?;
        let lock = ApplyLock::take(repository)?;
        if let Some(done) = land::recover(repository, &self.session.directory.join("kept"), self.person.ask)? {
            self.tell(&done.message);
            outcome.notes.push(done.message);
        }
        Ok(lock)
    }

    /// Puts right what a killed process left in the working tree, where it left something.
    pub fn recover(&self, repository: &Repository, outcome: &mut Outcome) -> Result<(), Trouble> {
        if Landing::is_there(repository) {
            self.lock(repository, outcome)?;
        }
        Ok(())
    }

    /// Gives every hunk a verdict and returns what of the proposal gets in, for the files of `ground`.
    pub fn judge(
        &self,
        proposal: &Proposal,
        law: &Law,
        ground: Option<Oid>,
        outcome: &mut Outcome,
    ) -> Result<Chosen, Trouble> {
        let began = Instant::now();
        let bench = Bench {
            place: self.repository.zip(ground),
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
            outcome.note("no contract was active: judged by the rules that always hold");
        }
        Ok(chosen)
    }

    /// Brings a patch that was tried on HEAD into the working tree, as far as the mode says.
    pub fn bring_in(&self, tried: &Tried, outcome: &mut Outcome) -> Result<(), Trouble> {
        let (Some(repository), true) = (self.repository, self.mode >= ApplyMode::Apply) else { return Ok(()) };
        let lock = self.lock(repository, outcome)?;
        // It may be another one than when the patch was tried.
        let law = self.law()?;
        self.land(repository, &law, tried, &lock, outcome)
    }

    fn land(
        &self,
        repository: &Repository,
        law: &Law,
        tried: &Tried,
        lock: &ApplyLock,
        outcome: &mut Outcome,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        let task = law.task_id();
        let about = task.or(outcome.branch.as_deref());
        let paths: Vec<_> = tried.became.iter().map(|(path, _)| path.clone()).collect();
        let cargo = land::Cargo {
            repository,
            lock,
            session: &self.session.slug,
            folder: &self.session.directory,
            head: tried.ground.to_string(),
            patch: &tried.patch,
            became: &tried.became,
            mode: self.landing_mode(),
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
            let branch = outcome.branch.clone();
            let what = (branch.as_deref(), "the commit is made and");
            push::push(repository, &self.flows.environment, &branches, lock, what, outcome)?;
        }
        Ok(())
    }

    /// Returns what may run under the active contract. A person is asked once.
    pub fn approve(&self, law: &Law) -> Result<Rc<[Approved]>, Trouble> {
        let Some((contract, pin)) = &law.contract else { return Ok(Rc::from([])) };
        if let Some((sha256, approved)) = &*self.approved.borrow()
            && *sha256 == pin.sha256
        {
            return Ok(Rc::clone(approved));
        }
        let approved: Rc<[Approved]> = acceptance::approve(contract, self.person.ask)?.into();
        *self.approved.borrow_mut() = Some((pin.sha256.clone(), Rc::clone(&approved)));
        Ok(approved)
    }

    /// Says what happens, and logs it.
    pub fn tell(&self, text: &str) {
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

    /// Finds out what holds here.
    pub fn law(&self) -> Result<Law, Trouble> {
        Law::of(self.flows, self.repository, self.mode)
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

    /// Applies what was chosen to a candidate at `ground`, looks at the result and runs the contract's tests there, unless
    /// they passed for this very tree before.
    pub fn try_out(
        &self,
        repository: &Repository,
        ground: Oid,
        law: &Law,
        chosen: &Chosen,
        tested: Option<Oid>,
        outcome: &mut Outcome,
    ) -> Result<Tried, NotTried> {
        let approved = self.approve(law)?;
        let patch = self.keep_chosen(chosen)?;
        self.tell("trying the patch on a candidate");
        let (mut candidate, tree_id, became) = self.make(repository, ground, law, chosen, &patch, outcome)?;
        if let Some(contract) = law.contract().filter(|_| tested != Some(tree_id)) {
            self.test(repository, contract, &approved, &mut candidate, outcome).map_err(|trouble| NotTried {
                // What stopped the tests from outside says nothing about the patch.
                failing: (trouble.status == Status::GateFailed).then(|| became.clone()),
                trouble,
            })?;
        }
        Ok(Tried { ground, tree_id, became, patch })
    }

    /// Returns what becomes of the files of `ground` with what was chosen. Nothing is tested.
    pub fn make_of(
        &self,
        repository: &Repository,
        ground: Oid,
        law: &Law,
        chosen: &Chosen,
        outcome: &mut Outcome,
    ) -> Result<Vec<Became>, Trouble> {
        let patch = self.keep_chosen(chosen)?;
        Ok(self.make(repository, ground, law, chosen, &patch, outcome)?.2)
    }

    fn keep_chosen(&self, chosen: &Chosen) -> Result<PathBuf, Trouble> {
        // From here on there is something to put back. Before, a question can be answered with Ctrl-C.
        watch()?;
        let name = match self.turn.get() {
            Some(turn) => format!("chosen-{turn}.patch"),
            None => "chosen.patch".to_owned(),
        };
        Ok(self.session.write(&name, &chosen.patch)?)
    }

    /// Applies a patch to a candidate and looks at what came of it.
    fn make<'r>(
        &self,
        repository: &'r Repository,
        ground: Oid,
        law: &Law,
        chosen: &Chosen,
        patch: &Path,
        outcome: &mut Outcome,
    ) -> Result<(Candidate<'r>, Oid, Vec<Became>), Trouble> {
        let name = law.task_id().and_then(slug);
        let name = name.as_deref().unwrap_or("candidate");
        let candidate = Candidate::make(repository, self.home, &self.session.slug, name, ground)?;
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
        let tree_id = candidate.tree()?;
        let became = candidate.changes(tree_id)?;
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
        Ok((candidate, tree_id, became))
    }

    /// Runs the contract's tests in a candidate.
    fn test(
        &self,
        repository: &Repository,
        contract: &Contract,
        approved: &[Approved],
        candidate: &mut Candidate<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        candidate.borrow(&repo_config(repository)?.reuse)?;
        let isolation = acceptance::Isolation::of(contract, &self.flows.environment, &candidate.path);
        if !isolation.is_enforced() {
            outcome.note("network: deny is not enforced, this system gives no network namespaces");
        }
        self.tell("running the acceptance tests");
        let place = acceptance::Place {
            directory: &candidate.path,
            session: self.session,
            turn: self.turn.get(),
            environment: &self.flows.environment,
            isolation: &isolation,
        };
        let ran = acceptance::run(approved, contract, &place);
        outcome.phases.test = Some(millis(began));
        let (tests, trouble) = ran?;
        outcome.tests = Some(tests);
        trouble.map_or(Ok(()), Err)
    }
}

pub(in crate::flows) fn no_commit() -> Trouble {
    Trouble::new(Status::Error, "branch_refused", "there is no commit yet that a patch could be tried on")
        .hinted("git commit --allow-empty -m Begin")
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
