//! `apply`: judge a patch, try it on a candidate, bring it into the working tree, commit it, push it.
//!
//! - `proposal`: the patch, and what is known about it; the one way in
//! - `judge`: a verdict for each hunk
//! - `acceptance`: the contract's tests in the candidate
//! - `land`: the working tree and the commit; `push`: the remote
//! - `result`: how it ended

mod acceptance;
mod judge;
mod land;
mod proposal;
mod push;
mod result;

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;
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
use crate::evidence::write_json;
use crate::flows::ActiveContract;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate::removed_task;
use crate::flows::active::protected;
use crate::flows::active::repo_config;
use crate::flows::gate::MAX_PATCH_BYTES;
use crate::flows::gate::refused;
use crate::flows::hooks::Summary;
use crate::flows::hooks::standing;
use crate::git::ApplyLock;
use crate::git::Became;
use crate::git::Candidate;
use crate::git::Desk;
use crate::git::LandingMode;
use crate::git::Pin;
use crate::git::Repository;
use crate::policy::MissingContract;
use crate::policy::Protected;
use crate::system;
use crate::system::Environment;

use judge::Bench;
use judge::Chosen;
use judge::Judgement;

pub use crate::policy::ApplyMode;
pub use proposal::Found;
pub use proposal::Proposal;
pub use proposal::Unplaced;
pub use result::HunkVerdict;
pub use result::Outcome;
pub use result::Status;
pub use result::TestResult;
pub use result::Trouble;

/// Where a patch is taken from.
#[derive(Debug, Clone)]
pub enum Source {
    Patch(PathBuf),
    /// The patch of the session with this name, or of the last one.
    Session(Option<String>),
}

/// What happens to hunks that are not agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// They are left out.
    Agreed,
    /// One of them rejects the patch.
    All,
}

pub struct Request {
    pub source: Source,
    pub slug: Option<String>,
    pub git_root: Option<PathBuf>,
    pub terms: Terms,
    pub files: Files,
}

/// How a patch is judged and how far it goes.
pub struct Terms {
    /// As on the command line; else the person's configuration says it.
    pub mode: Option<ApplyMode>,
    pub accept: Accept,
    pub strict: bool,
    pub prefix: Option<String>,
    pub message: Option<String>,
    pub push: bool,
}

/// Where documents go besides the session's folder.
#[derive(Default)]
pub struct Files {
    pub diff: Option<PathBuf>,
    pub result: Option<PathBuf>,
    pub metrics: Option<PathBuf>,
}

/// Shows an agreed hunk with its lines and asks for it.
pub type Pick<'a> = &'a dyn Fn(&HunkVerdict, &[u8]) -> bool;

/// How a flow reaches a person.
pub struct Person<'a> {
    pub ask: Ask<'a>,
    /// Asks hunk by hunk, when that is wanted.
    pub pick: Option<Pick<'a>>,
    /// Somebody sits at the terminal.
    pub attended: bool,
    /// Takes what happens, as it happens.
    pub tell: &'a dyn Fn(&str),
}

/// Makes a session and takes a patch as far as the request says. What goes wrong after the session exists is in the
/// outcome, and in its `result.json`.
pub fn run(flows: &Flows, request: &Request, person: &Person<'_>) -> Result<Outcome, Failure> {
    let began = Instant::now();
    let home = home(flows)?;
    let mode = request.terms.mode.or(flows.person()?.apply_mode).unwrap_or(ApplyMode::Apply);
    let patch_file = match &request.source {
        Source::Patch(path) => flows.environment.current_dir.join(path),
        Source::Session(name) => session_patch(&home, name.as_deref())?,
    };
    let environment = match &request.git_root {
        Some(root) => {
            Environment { current_dir: flows.environment.current_dir.join(root), ..flows.environment.clone() }
        }
        None => flows.environment.clone(),
    };
    let flows = &Flows { environment };
    let repository = flows.repository();
    let branch = repository.as_ref().ok().and_then(|repository| repository.branch().ok().flatten());
    let name = match &request.slug {
        Some(text) => slug(text).ok_or_else(|| {
            Failure::new(Kind::Usage, "the slug has no word in it").hinted("--slug \"fix the parser\"")
        })?,
        None => slug(&format!("apply {}", branch.as_deref().unwrap_or("patch"))).unwrap_or_else(|| "apply".to_owned()),
    };
    let session = Session::create(&home, &name)?;
    let mut outcome = Outcome::new(mode, &session.slug);
    outcome.branch = branch;
    let options = json!({
        "patch": patch_file.display().to_string(),
        "applyMode": mode.as_str(),
        "accept": if request.terms.accept == Accept::All { "all" } else { "agreed" },
        "strictDiff": request.terms.strict,
        "restrictPathPrefix": request.terms.prefix,
        "push": request.terms.push,
    });
    write_session(flows, &session, "running", &options)?;
    let attempt = || -> Result<(), Trouble> {
        let patch = system::read_limited(&patch_file, MAX_PATCH_BYTES)?;
        let repository = match repository {
            Ok(repository) => Some(repository),
            Err(_) if mode == ApplyMode::None => None,
            Err(failure) => {
                let trouble = Trouble::from(failure);
                return Err(Trouble { kind: "not_a_repository", ..trouble });
            }
        };
        let work = Work {
            flows,
            home: &home,
            repository: repository.as_ref(),
            session: &session,
            terms: &request.terms,
            mode,
            person,
        };
        work.carry_out(&Proposal::of_patch(patch), &request.files, &mut outcome)
    };
    let ended = attempt();
    conclude(&mut outcome, ended, began);
    session.log(outcome.status.as_str());
    let document = outcome.to_json();
    session.write_json("result.json", &document)?;
    session.write_json("metrics.json", &outcome.metrics())?;
    if let Some(path) = &request.files.result {
        write_json(&flows.environment.current_dir.join(path), &document)?;
    }
    if let Some(path) = &request.files.metrics {
        write_json(&flows.environment.current_dir.join(path), &outcome.metrics())?;
    }
    write_session(flows, &session, outcome.status.as_str(), &options)?;
    Ok(outcome)
}

/// Puts right what a killed process left in this worktree. Returns what was done; `None` when there was nothing.
pub fn recover(flows: &Flows, ask: Ask<'_>) -> Result<Option<String>, Failure> {
    let repository = flows.repository()?;
    let home = home(flows)?;
    let _lock = ApplyLock::take(&repository)?;
    land::recover(&repository, &home.join("kept"), ask)
        .map_err(|trouble| Failure { hints: trouble.hints, ..Failure::new(Kind::Other, trouble.message) })
}

fn home(flows: &Flows) -> Result<PathBuf, Failure> {
    let missing = || Failure::new(Kind::Other, "there is no home directory").hinted("Set ORACLE_HOME_DIR or HOME.");
    flows.environment.oracle_home.clone().ok_or_else(missing)
}

fn watch() -> Result<(), Failure> {
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for signals: {error}")).hinted("Try again.")
    })
}

fn session_patch(home: &Path, name: Option<&str>) -> Result<PathBuf, Failure> {
    let missing = || match name {
        Some(name) => Failure::new(Kind::Other, format!("there is no session with a patch and this name: {name}")),
        None => Failure::new(Kind::Other, "there is no session with a patch"),
    };
    let folder = Session::find(home, name).ok_or_else(|| missing().hinted("git oracle apply --patch FILE"))?;
    Ok(folder.join("diff.patch"))
}

fn conclude(outcome: &mut Outcome, ended: Result<(), Trouble>, began: Instant) {
    match ended {
        Ok(()) => {
            let left_out = outcome.hunks.iter().any(|hunk| !hunk.agreed);
            outcome.status = if left_out { Status::Partial } else { Status::Success };
        }
        Err(trouble) => {
            outcome.status = trouble.status;
            outcome.error = Some(trouble);
        }
    }
    outcome.elapsed_ms = millis(began);
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn write_session(flows: &Flows, session: &Session, status: &str, options: &Value) -> Result<(), Failure> {
    let document = json!({
        "id": session.slug,
        "createdAt": session.created_at,
        "status": status,
        "promptPreview": null,
        "model": null,
        "cwd": flows.environment.current_dir.display().to_string(),
        "mode": null,
        "platform": null,
        "options": options,
        "usage": null,
        "turns": null,
    });
    Ok(session.write_json("session.json", &document)?)
}

/// One proposal being carried out. `review` makes one for each reply.
pub(super) struct Work<'a> {
    pub flows: &'a Flows,
    pub home: &'a Path,
    pub repository: Option<&'a Repository>,
    pub session: &'a Session,
    pub terms: &'a Terms,
    pub mode: ApplyMode,
    pub person: &'a Person<'a>,
}

/// What holds in the repository.
struct Law {
    contract: Option<(Box<Contract>, Pin)>,
    protected: Protected,
}

impl Law {
    fn contract(&self) -> Option<&Contract> {
        self.contract.as_ref().map(|(contract, _)| &**contract)
    }
}

impl Work<'_> {
    /// Judges a proposal and takes it as far as the mode says. What was found out on the way is in the outcome.
    pub fn carry_out(&self, proposal: &Proposal, files: &Files, outcome: &mut Outcome) -> Result<(), Trouble> {
        let began = Instant::now();
        outcome.found = proposal.found.clone();
        outcome.patch_bytes = Some(proposal.patch.len() as u64);
        let path = self.session.write("diff.patch", &proposal.patch)?;
        outcome.diff_path = Some(path.display().to_string());
        if let Some(other) = &files.diff {
            let other = self.flows.environment.current_dir.join(other);
            system::write_private(&other, &proposal.patch)?;
            outcome.diff_path = Some(other.display().to_string());
        }
        self.session.record("extracted", json!({"sha256": Sha256Hex::of(&proposal.patch)}))?;
        if let Some(reason) = proposal.found.reason {
            outcome.diff_reason = Some(reason);
            let trouble =
                Trouble::new(Status::DiffMissing, "ambiguous_goal", format!("there is no patch in it: {reason}"));
            return Err(trouble.hinted("Ask for a unified diff in one fenced block."));
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
            return Ok(Law { contract: None, protected });
        };
        let state = ActiveContract::load(repository)?;
        let trouble = |state: &ActiveContract, message: String| {
            let hint = refused(state).violations.first().map(|violation| violation.hint.clone());
            Trouble::new(Status::GateFailed, "permission_denied", message).hinted(hint.unwrap_or_default())
        };
        match state {
            ActiveContract::Active { contract, pin } => {
                let protected = protected(repository, Some(&contract))?;
                Ok(Law { contract: Some((contract, pin)), protected })
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
                Ok(Law { contract: None, protected: protected(repository, None)? })
            }
            _ => {
                let message = state.trouble().unwrap_or("the contract cannot be used").to_owned();
                Err(trouble(&state, message))
            }
        }
    }

    /// Decides what of a patch gets in.
    fn choose(&self, judgement: &mut Judgement, bench: &Bench<'_>, outcome: &mut Outcome) -> Result<Chosen, Trouble> {
        outcome.gate = Some(judgement.report.to_json());
        outcome.hunks = judgement.verdicts();
        if let Some((trouble, reason)) = judgement.refusal(self.terms.accept) {
            outcome.diff_reason = reason;
            outcome.diff_validated = trouble.status != Status::InvalidDiff;
            if let (Some((repository, _)), Status::GateFailed) = (bench.place, trouble.status) {
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
