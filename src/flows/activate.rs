//! `contract activate`: make a contract the active one.
//!
//! Activating launders nothing: what was committed under the old contract is judged by the old contract first. A wider
//! contract needs a person, so that an agent that hits the gate cannot sign itself a larger scope.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::contract::Contract;
use crate::contract::Problem;
use crate::contract::widenings;
use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::Question;
use crate::flows::active::check_contract;
use crate::flows::active::in_force;
use crate::flows::active::protected;
use crate::flows::active::read_contract_file;
use crate::gate;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::git::Binding;
use crate::git::Desk;
use crate::git::Look;
use crate::git::Pin;
use crate::git::Repository;
use crate::policy::Widen;
use crate::system;

pub struct Request {
    pub file: PathBuf,
    /// Bind the contract to the refs that match, in a bare repository.
    pub ref_pattern: Option<String>,
}

/// What was activated.
pub struct Activated {
    pub pin: Pin,
    pub contract: Contract,
    pub warnings: Vec<Problem>,
    pub contract_path: PathBuf,
    pub ref_pattern: Option<String>,
}

pub fn run(flows: &Flows, request: &Request, ask: Ask<'_>) -> Result<Activated, Failure> {
    let repository = flows.repository()?;
    let bytes = read_contract_file(&request.file)?;
    let name = request.file.display().to_string();
    let change = Change {
        event_type: "CONTRACT_ACTIVATED",
        baseline: Baseline::OfContract,
        ref_pattern: request.ref_pattern.clone(),
    };
    apply(flows, &repository, &bytes, &name, &change, ask)
}

/// How a contract becomes the active one.
pub(super) struct Change {
    pub event_type: &'static str,
    pub baseline: Baseline,
    pub ref_pattern: Option<String>,
}

/// Where the task begins.
pub(super) enum Baseline {
    /// Where the contract says.
    OfContract,
    /// At HEAD: what came before has been judged.
    Head,
}

pub(super) fn apply(
    flows: &Flows,
    repository: &Repository,
    bytes: &[u8],
    name: &str,
    change: &Change,
    ask: Ask<'_>,
) -> Result<Activated, Failure> {
    if change.ref_pattern.is_some() && repository.work_tree.is_some() {
        return Err(Failure::new(Kind::Usage, "--ref binds a contract in a bare repository")
            .hinted("Here the contract holds for the whole worktree; leave --ref out."));
    }
    let (contract, warnings) =
        check_contract(bytes, Some(repository))?.map_err(|problems| Failure::contract(name, problems))?;
    let desk = Desk::of(repository);
    let _lock = desk.lock()?;
    // Before anything is decided: a configuration that cannot be read decides nothing.
    let protected = protected(repository, Some(&contract))?;
    let head = repository.head()?;
    let baseline = baseline(repository, &contract, head, &change.baseline)?;
    let log = EventLog::of(&repository.common_dir);
    let old_pin = match &change.ref_pattern {
        // What held for these refs until now: their own contract, else the one for all refs.
        Some(pattern) => {
            let bound = desk.bindings()?.into_iter().find(|binding| binding.pattern == *pattern);
            bound.map(|binding| binding.pin).or(desk.pin()?)
        }
        // A pin that was removed by hand, or that an interrupted activation did not get to write, holds as the log has it.
        None => match desk.pin()? {
            None => removed_event(repository, &log)?.and_then(|event| logged_pin(&event)),
            pin => pin,
        },
    };
    let before = match &old_pin {
        Some(pin) => Some(pin.clone()),
        None if change.ref_pattern.is_none() => desk.previous_pin()?,
        None => None,
    };
    if repository.work_tree.is_some()
        && let (Some(pin), Some(head)) = (&before, head)
    {
        judge_history(repository, pin, head, ask)?;
    }
    if old_pin.is_none()
        && let Some(task) = removed_task(repository, &log)?
    {
        let details =
            vec![format!("the contract {task} was active here and its pin was removed without `contract clear`")];
        approve(flows, ask, "what is active now cannot be compared", details, "Activate the new contract?")?;
    }
    if let Some(pin) = &old_pin {
        let wider = match old_contract(&desk, pin)? {
            Some(old) => {
                widenings(&old, &contract, &|path: &RepoPath| protected.unless_named(path).map(|kind| kind.name()))
            }
            None => vec!["the contract that is active now cannot be read, so the two cannot be compared".to_owned()],
        };
        approve(flows, ask, "the new contract allows more than the active one", wider, "Activate the wider contract?")?;
    }
    let pin = Pin {
        version: Pin::VERSION,
        sha256: contract.sha256.clone(),
        task_id: contract.file.task_id.clone(),
        baseline: baseline.to_string(),
        activated_at: system::now(),
    };
    desk.prepare()?;
    // Recorded before it takes effect: an activation without its event must not exist.
    log.append(&Event {
        level: Level::Info,
        event_type: change.event_type,
        task_id: Some(&pin.task_id),
        payload: json!({
            "sha256": pin.sha256,
            "baseline": pin.baseline,
            "ref": change.ref_pattern,
            "replaces": old_pin.as_ref().map(|pin| &pin.sha256),
            "worktree": worktree_name(repository),
        }),
    })?;
    let applied = match &change.ref_pattern {
        Some(pattern) => {
            let bound = desk.bind(bytes, Binding { pattern: pattern.clone(), pin: pin.clone() });
            bound.map(|()| repository.git_dir.join("oracle/bindings.json"))
        }
        None => desk.activate(bytes, &pin).map(|()| desk.contract_path()),
    };
    let contract_path = match applied {
        Ok(path) => path,
        Err(error) => {
            // The log must not claim what did not happen.
            log.append(&Event {
                level: Level::Warn,
                event_type: "CONTRACT_ACTIVATION_FAILED",
                task_id: Some(&pin.task_id),
                payload: json!({"sha256": pin.sha256, "ref": change.ref_pattern, "worktree": worktree_name(repository)}),
            })?;
            return Err(error.into());
        }
    };
    Ok(Activated { pin, contract, warnings, contract_path, ref_pattern: change.ref_pattern.clone() })
}

/// Returns how events name this worktree.
pub(super) fn worktree_name(repository: &Repository) -> String {
    repository.work_tree.as_ref().unwrap_or(&repository.git_dir).to_string_lossy().into_owned()
}

/// Returns the task that the log knows to be active here, when its pin is gone.
pub(super) fn removed_task(repository: &Repository, log: &EventLog) -> Result<Option<String>, Failure> {
    let event = removed_event(repository, log)?;
    Ok(event.and_then(|event| event["task_id"].as_str().map(str::to_owned)))
}

/// Returns the pin that an activation was to write.
fn logged_pin(event: &Value) -> Option<Pin> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Pin {
        version: Pin::VERSION,
        sha256: serde_json::from_value(event["payload"]["sha256"].clone()).ok()?,
        task_id: text(&event["task_id"])?,
        baseline: text(&event["payload"]["baseline"])?,
        activated_at: text(&event["ts"])?,
    })
}

/// Returns the activation that the log knows to hold here, when its pin is gone.
fn removed_event(repository: &Repository, log: &EventLog) -> Result<Option<Value>, Failure> {
    let here = worktree_name(repository);
    let (mut before, mut active) = (None, None);
    for event in log.events()? {
        if event["payload"]["worktree"] != here.as_str() || !event["payload"]["ref"].is_null() {
            continue;
        }
        match event["event_type"].as_str() {
            Some("CONTRACT_ACTIVATED" | "CONTRACT_AMENDED") => before = active.replace(event),
            // What failed to replace a contract left it in force.
            Some("CONTRACT_ACTIVATION_FAILED") => active = before.take(),
            Some("CONTRACT_CLEARED") => active = None,
            _ => {}
        }
    }
    let Some(last) = active else { return Ok(None) };
    // A worktree that was made anew at the same place has never had that contract.
    let sha256 = serde_json::from_value::<Sha256Hex>(last["payload"]["sha256"].clone());
    let was_here = match sha256 {
        Ok(sha256) => Desk::of(repository).kept_contract(&sha256)?.is_some(),
        Err(_) => true,
    };
    Ok(Some(last).filter(|_| was_here))
}

/// Returns the contract that a pin names, as it was activated.
fn old_contract(desk: &Desk<'_>, pin: &Pin) -> Result<Option<Contract>, Failure> {
    let bytes = desk.kept_contract(&pin.sha256)?;
    Ok(bytes.and_then(|bytes| Contract::from_pinned(&bytes).ok()))
}

/// Returns the commit where the task begins: HEAD or one of its ancestors, so that no foreign commit counts as judged.
fn baseline(
    repository: &Repository,
    contract: &Contract,
    head: Option<Oid>,
    baseline: &Baseline,
) -> Result<Oid, Failure> {
    let Some(head) = head else { return Ok(Oid::null(repository.hash_kind())) };
    let name = &contract.file.rollback.baseline_ref;
    let refused = |message: &str| {
        let problem = Problem::error("/rollback/baseline_ref", format!("{message}: {}", crate::base::visible(name)));
        let problem = problem.hinted("Write \"HEAD\", or the commit where the task begins.");
        Failure::contract("its baseline cannot be used", vec![problem])
    };
    let commit_id = match baseline {
        Baseline::Head => head,
        // A contract that was made before the first commit begins with the first commit.
        Baseline::OfContract if Oid::from_hex(name).is_some_and(|id| id.is_null()) => {
            return Ok(Oid::null(repository.hash_kind()));
        }
        Baseline::OfContract => repository.resolve(name).map_err(|_| refused("it names no commit here"))?,
    };
    // A bare repository has no branch of its own that a task could begin on.
    if repository.work_tree.is_some() && commit_id != head && !repository.is_ancestor(commit_id, head) {
        return Err(refused("it is not an ancestor of HEAD"));
    }
    Ok(commit_id)
}

/// Judges what was committed since an old baseline by the contract that was in force.
fn judge_history(repository: &Repository, pin: &Pin, head: Oid, ask: Ask<'_>) -> Result<(), Failure> {
    let title = format!("commits since the contract {} began do not fit it", pin.task_id);
    let Some(contract) = old_contract(&Desk::of(repository), pin)? else {
        let missing =
            format!("the contract {} is gone from the git directory, so nobody can say what it allowed", pin.task_id);
        return accept(ask, title, vec![missing], None);
    };
    // What a remote has is not this task's work. Tracking refs can be written by whoever works here, as they can for a
    // push; the server and CI, which trust none, close that gap.
    let mut known = repository.remote_tips()?;
    known.extend(pin.baseline_commit_id());
    let (protected, guard) = in_force(repository, Some(&contract))?;
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let set = repository.since(head, &known, &Look { in_scope: &in_scope, secrets: Some(&watch) });
    let report = gate::judge(&set, &contract, &protected);
    if report.verdict < Verdict::Block {
        return Ok(());
    }
    accept(ask, title, violation_lines(&report), Some(Box::new(report)))
}

/// Lets a person accept history that a contract does not excuse.
fn accept(ask: Ask<'_>, title: String, details: Vec<String>, report: Option<Box<Report>>) -> Result<(), Failure> {
    let question = Question { title, details, prompt: "Activate the new contract all the same?".to_owned() };
    if ask(&question) == Some(true) {
        return Ok(());
    }
    let message =
        if report.is_some() { question.title } else { format!("{}: {}", question.title, question.details.join("; ")) };
    Err(Failure { report, ..Failure::new(Kind::GateFailed, message) }
        .hinted("Take these changes out of the commits, or activate at a terminal where a person can accept them."))
}

fn violation_lines(report: &Report) -> Vec<String> {
    report
        .violations
        .iter()
        .map(|violation| format!("{}: {}: {}", violation.path, violation.rule, violation.message))
        .collect()
}

/// Lets a person decide about something that widens what is allowed. Nothing to widen needs nobody.
pub(super) fn approve(
    flows: &Flows,
    ask: Ask<'_>,
    title: &str,
    details: Vec<String>,
    prompt: &str,
) -> Result<(), Failure> {
    if details.is_empty() || flows.person()?.widen == Widen::Allow {
        return Ok(());
    }
    let question = Question { title: title.to_owned(), details, prompt: prompt.to_owned() };
    match ask(&question) {
        Some(true) => Ok(()),
        Some(false) => {
            Err(Failure::new(Kind::ApprovalRequired, "the person said no; nothing was changed")
                .hinted("git oracle status"))
        }
        None => {
            let message = format!("{title}: {}", question.details.join("; "));
            Err(Failure::new(Kind::ApprovalRequired, message)
                .hinted("Run this at a terminal, or set [contract] widen = \"allow\" in ~/.oracle/config.toml."))
        }
    }
}
