//! `gate`: load the contract, ask git for the change, judge it.

use std::path::Path;
use std::path::PathBuf;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::contract::Contract;
use crate::contract::Problem;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::active::check_contract;
use crate::flows::active::in_force;
use crate::flows::active::read_contract_file;
use crate::flows::review;
use crate::flows::secrets::Guard;
use crate::flows::secrets::note_secrets;
use crate::gate;
use crate::gate::Checked;
use crate::gate::Report;
use crate::gate::Rule;
use crate::gate::Verdict;
use crate::gate::Violation;
use crate::git::Look;
use crate::git::Repository;
use crate::patch;
use crate::patch::Patch;
use crate::secret::Scanner;
use crate::system;

/// A longer patch is not read.
pub(super) const MAX_PATCH_BYTES: u64 = 256 << 20;

/// Where the contract lies in a tree, and what violations of the contract itself are about.
const CONTRACT_PATH: &str = ".oracle/contract.json";

/// What to judge, and by which contract.
pub struct Request {
    pub subject: Subject,
    pub contract: ContractSource,
}

pub enum Subject {
    Staged,
    Worktree,
    Range(String),
    Patch(PathBuf),
}

pub enum ContractSource {
    /// The active one of this worktree; for a range, else the one in its first revision.
    Active,
    File(PathBuf),
    /// `REV:PATH`.
    Revision(String),
}

/// Judges a change.
pub fn run(flows: &Flows, request: &Request) -> Result<Report, Failure> {
    // Both ends are resolved first: a misspelt revision should not look like a missing contract.
    let (repository, range) = match &request.subject {
        Subject::Range(text) => {
            let (repository, [from, to]) = Repository::discover_with(&flows.environment, parse_range(text)?)?;
            (repository, Some((from, to)))
        }
        _ => (flows.repository()?, None),
    };
    if matches!(request.subject, Subject::Staged | Subject::Worktree) {
        repository.work_tree()?;
    }
    let comparison = range.map(|(from, to)| repository.start_range(from, to));
    let contract = match load_contract(&repository, request, range.map(|(from, _)| from))? {
        Loaded::Contract(contract) => contract,
        Loaded::Refused(report) => return Ok(report),
    };
    let (protected, mut guard) = in_force(&repository, Some(&contract))?;
    if let Some((from, _)) = range {
        guard = Guard::of_commit(&repository, &from)?;
    }
    let watch = guard.watch();
    let in_scope = |path: &RepoPath| contract.scope.covers(path);
    let look = Look { in_scope: &in_scope, secrets: Some(&watch) };
    let set = match (&request.subject, comparison) {
        (Subject::Staged, _) => repository.staged(&look)?,
        (Subject::Worktree, _) => repository.worktree(&look)?,
        (Subject::Range(_), Some(comparison)) => repository.range(comparison, &look),
        (Subject::Range(_), None) => return Err(Failure::new(Kind::Usage, "no range was given")),
        // Nobody's word counts for what a patch adds.
        (Subject::Patch(path), _) => match read_patch(&repository, path, &look, guard.scanner())? {
            Ok(set) => set,
            Err(report) => return Ok(report),
        },
    };
    let mut report = gate::judge(&set, &contract, &protected);
    if let (Subject::Range(text), Some((from, to))) = (&request.subject, range)
        && review::is_required(&repository, Some(from))?
        && let Some(violation) = review::violation(&repository, parse_range(text)?[1], to)?
    {
        report.verdict = Verdict::Block;
        report.violations.push(violation);
    }
    Ok(report)
}

/// Returns the two revisions of a range.
pub(super) fn parse_range(text: &str) -> Result<[&str; 2], Failure> {
    let usage = |message: &str| {
        Failure::new(Kind::Usage, format!("{message}: {text}"))
            .hinted("Write --range A..B, for example --range origin/main..HEAD")
    };
    if text.contains("...") {
        return Err(usage("a range has two dots, not three"));
    }
    let (from, to) = text.split_once("..").ok_or_else(|| usage("this is not a range"))?;
    Ok([from, to].map(|name| if name.is_empty() { "HEAD" } else { name }))
}

enum Loaded {
    Contract(Box<Contract>),
    Refused(Report),
}

fn load_contract(repository: &Repository, request: &Request, range_start: Option<Oid>) -> Result<Loaded, Failure> {
    match &request.contract {
        ContractSource::File(path) => checked(&read_contract_file(path)?, &path.to_string_lossy(), repository),
        ContractSource::Revision(text) => {
            let missing = || {
                Failure::new(Kind::Other, format!("there is no such file: {text}"))
                    .hinted("Write --contract-from REV:PATH")
            };
            let (revision, path) = text.split_once(':').ok_or_else(missing)?;
            let commit_id = repository.resolve(revision)?;
            checked(&repository.file_at(&commit_id, &path.into())?.ok_or_else(missing)?, path, repository)
        }
        ContractSource::Active => {
            let state = ActiveContract::load(repository)?;
            let in_range = || match range_start {
                Some(from) => Ok::<_, Failure>(repository.file_at(&from, &CONTRACT_PATH.into())?),
                None => Ok(None),
            };
            match state {
                ActiveContract::Active { contract, .. } => Ok(Loaded::Contract(contract)),
                ActiveContract::Missing | ActiveContract::NeverActivated => match in_range()? {
                    Some(bytes) => checked(&bytes, CONTRACT_PATH, repository),
                    None => without_contract(repository, request, &state),
                },
                ActiveContract::Deleted(_) | ActiveContract::Edited(_) => Ok(Loaded::Refused(refused(&state))),
            }
        }
    }
}

fn checked(bytes: &[u8], name: &str, repository: &Repository) -> Result<Loaded, Failure> {
    Ok(match check_contract(bytes, Some(repository))? {
        Ok((contract, _)) => Loaded::Contract(Box::new(contract)),
        Err(problems) => {
            let violations =
                problems.iter().filter(|problem| problem.is_error()).map(|problem| of_problem(problem, name)).collect();
            Loaded::Refused(Report {
                verdict: Verdict::Block,
                contract: None,
                checked: Checked::default(),
                violations,
                notes: Vec::new(),
            })
        }
    })
}

fn of_problem(problem: &Problem, name: &str) -> Violation {
    let place = if problem.pointer.is_empty() { String::new() } else { format!("{}: ", problem.pointer) };
    let hint =
        problem.hint.clone().unwrap_or_else(|| format!("git oracle contract check {}", RepoPath::from(name).typed()));
    Violation::of_path(Rule::ContractInvalid, name.into(), format!("{place}{}", problem.message), hint)
}

/// Without a contract nothing passes, except that a team may share its own `.oracle/` files.
fn without_contract(repository: &Repository, request: &Request, state: &ActiveContract) -> Result<Loaded, Failure> {
    if matches!((state, &request.subject), (ActiveContract::Missing, Subject::Staged)) && repository.work_tree.is_some()
    {
        let set = repository.staged(&Look { in_scope: &|_| false, secrets: None })?;
        if only_our_files(&set) {
            let note = "no contract is active; a change of .oracle/ alone passes".to_owned();
            return Ok(Loaded::Refused(Report {
                verdict: Verdict::Warn,
                contract: None,
                checked: Checked::from(&set),
                violations: Vec::new(),
                notes: vec![note],
            }));
        }
    }
    Ok(Loaded::Refused(refused(state)))
}

/// Tells whether a change touches `.oracle/` and nothing else.
pub(super) fn only_our_files(set: &ChangeSet) -> bool {
    let mut changes = set.steps.iter().flat_map(|step| &step.changes).peekable();
    set.faults.is_empty() && changes.peek().is_some() && changes.all(|change| change.path.is_within(b".oracle"))
}

/// Returns the report that says why there is no contract to judge by.
pub(super) fn refused(state: &ActiveContract) -> Report {
    let new = "git oracle contract new --task \"…\" --allow PATH --test CMD --activate";
    let again = "git oracle contract activate .oracle/contract.json";
    let (rule, hint) = match state {
        ActiveContract::Missing => (Rule::ContractMissing, new),
        ActiveContract::NeverActivated => (Rule::ContractMissing, again),
        ActiveContract::Deleted(_) => {
            (Rule::ContractChanged, "Put the contract back, or run `git oracle contract clear`.")
        }
        ActiveContract::Edited(_) | ActiveContract::Active { .. } => (Rule::ContractChanged, again),
    };
    let message = state.trouble().unwrap_or("the contract cannot be used");
    Report::refused(Violation::of_path(rule, CONTRACT_PATH.into(), message, hint), Checked::default())
}

/// Reads a patch; one that cannot be understood is refused, not guessed at.
fn read_patch(
    repository: &Repository,
    path: &Path,
    look: &Look<'_>,
    scanner: &Scanner,
) -> Result<Result<ChangeSet, Report>, Failure> {
    let bytes = system::read_limited(path, MAX_PATCH_BYTES)?;
    let refused = |message: String| {
        let hint = "Make the patch with `git diff` or `git format-patch`.";
        let path = RepoPath::new(path.to_string_lossy().as_bytes());
        Report::refused(Violation::of_path(Rule::Unreadable, path, message, hint), Checked::default())
    };
    if patch::is_encoded_mail(&bytes) {
        return Ok(Err(refused("the patch is an encoded mail, which `git am` would decode first".to_owned())));
    }
    let patch = match patch::parse_patch(&bytes) {
        Ok(patch) => patch,
        Err(error) => return Ok(Err(refused(format!("failed to {error}")))),
    };
    Ok(Ok(change_set(repository, &patch, look, scanner)?))
}

/// Returns what a patch would change here.
pub(super) fn change_set(
    repository: &Repository,
    patch: &Patch,
    look: &Look<'_>,
    scanner: &Scanner,
) -> Result<ChangeSet, Failure> {
    let paths: Vec<RepoPath> = patch
        .files
        .iter()
        .flat_map(|file| [&file.old_path, &file.new_path])
        .flatten()
        .map(|path| RepoPath::new(path.clone()))
        .collect();
    let present = repository.head_entries(paths.iter())?;
    let changes = patch::to_changes(patch, &|path| present.get(path).copied());
    // The lines are what a patch adds, whether the file is there or not.
    let look = Look { in_scope: look.in_scope, secrets: None };
    let mut set = repository.patch(changes.set, changes.contents, &look)?;
    note_secrets(&mut set, patch, scanner);
    Ok(set)
}
