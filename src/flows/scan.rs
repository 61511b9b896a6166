//! `scan`: find secrets in files, in what is staged, in a range of commits.

use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::change::Secret;
use crate::change::StepKind;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::gate::parse_range;
use crate::flows::secrets::Guard;
use crate::git::Look;
use crate::git::Repository;
use crate::git::listed_files;
use crate::secret::Piece;
use crate::secret::Stream;
use crate::system;
use crate::system::Node;

/// Larger files are scanned piece by piece.
const MAX_WHOLE_BYTES: u64 = 8 << 20;

/// Fewer files than this are not worth a second thread.
const MIN_PER_THREAD: usize = 32;

/// What to scan.
pub enum Subject {
    Paths(Vec<PathBuf>),
    Staged,
    Range(String),
}

/// A secret, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub path: RepoPath,
    pub commit: Option<Oid>,
    pub secret: Secret,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Outcome {
    pub matches: Vec<Match>,
    /// How many more there were that somebody allowed.
    pub allowed: usize,
    /// What could not be read: nothing can be said about it.
    pub unreadable: Vec<String>,
}

/// Scans.
pub fn run(flows: &Flows, subject: &Subject) -> Result<Outcome, Failure> {
    match subject {
        Subject::Paths(paths) => scan_paths(&guard(flows)?, &flows.environment.current_dir, paths),
        Subject::Staged => {
            let repository = flows.repository()?;
            repository.work_tree()?;
            let guard = Guard::of_repository(&repository)?;
            let watch = guard.watch();
            of_changes(&repository.staged(&Look { in_scope: &|_| true, secrets: Some(&watch) })?)
        }
        Subject::Range(text) => {
            let (repository, [from, to]) = Repository::discover_with(&flows.environment, parse_range(text)?)?;
            let guard = Guard::of_commit(&repository, &from)?;
            let watch = guard.watch();
            let look = Look { in_scope: &|_| true, secrets: Some(&watch) };
            of_changes(&repository.range(repository.start_range(from, to), &look))
        }
    }
}

/// Returns what holds where we are, in a repository or not.
pub fn guard(flows: &Flows) -> Result<Guard, Failure> {
    match flows.repository() {
        Ok(repository) => Guard::of_repository(&repository),
        Err(_) => Ok(Guard::built_in()),
    }
}

/// Collects what was found in a change set. What could not be read is an error: it may hide anything.
fn of_changes(set: &ChangeSet) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let faults = set.faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message));
    outcome.unreadable.extend(faults);
    for step in &set.steps {
        let commit = match step.kind {
            StepKind::Commit(id) => Some(id),
            // The commits have said it all.
            StepKind::Net if set.commit_count() > 0 => continue,
            _ => None,
        };
        for change in &step.changes {
            outcome
                .unreadable
                .extend(change.facts.unreadable.iter().map(|reason| format!("{}: {reason}", change.path)));
            outcome.allowed += change.facts.allowed_secrets;
            outcome.matches.extend(change.facts.secrets.iter().map(|secret| Match {
                path: change.path.clone(),
                commit,
                secret: secret.clone(),
            }));
        }
    }
    Ok(outcome)
}

fn scan_paths(guard: &Guard, current_dir: &Path, paths: &[PathBuf]) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let mut files = Vec::new();
    let mut named: VecDeque<PathBuf> = paths.iter().cloned().collect();
    if named.is_empty() {
        named.push_back(PathBuf::from("."));
    }
    for path in named {
        if current_dir.join(&path).is_dir() {
            walk(current_dir, path, &mut files, &mut outcome.unreadable)?;
        } else {
            files.push((path, false));
        }
    }
    let threads = system::threads_for(files.len() / MIN_PER_THREAD);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        let mut mine = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((path, listed)) = files.get(number) else { break };
            mine.push((number, scan_file(guard, current_dir, path, *listed)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).append(&mut mine);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    for (_, scanned) in done {
        match scanned {
            Ok((mut matches, allowed)) => {
                outcome.matches.append(&mut matches);
                outcome.allowed += allowed;
            }
            Err(error) => outcome.unreadable.push(error.message),
        }
    }
    Ok(outcome)
}

/// Lists the files below a directory: in a repository those that git would take, elsewhere all of them.
fn walk(
    current_dir: &Path,
    directory: PathBuf,
    files: &mut Vec<(PathBuf, bool)>,
    unreadable: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut open = vec![directory];
    while let Some(directory) = open.pop() {
        let place = current_dir.join(&directory);
        let listed = listed_files(&place)?.filter(|listed| !listed.is_empty());
        let entries = match listed {
            Some(listed) => listed,
            // What somebody names is scanned, even where a rule ignores the whole of it.
            None => match system::entries_of(&place) {
                Ok(entries) => entries,
                Err(error) => {
                    unreadable.push(Failure::from(error).message);
                    continue;
                }
            },
        };
        for entry in entries {
            let inside = entry.strip_prefix(&place).unwrap_or(&entry);
            let path = if directory == Path::new(".") { inside.to_owned() } else { directory.join(inside) };
            match system::node_at(&entry) {
                Ok(Node::Directory) if entry.file_name().is_some_and(|name| name == ".git") => {}
                Ok(Node::Directory) => open.push(path),
                Ok(_) => files.push((path, true)),
                // A tracked file that was deleted.
                Err(error) if error.is_not_found() => {}
                Err(error) => unreadable.push(Failure::from(error).message),
            }
        }
    }
    files.sort();
    Ok(())
}

/// Scans one file. A symlink that was come across is scanned as git stores it: as the text of its target.
fn scan_file(guard: &Guard, current_dir: &Path, path: &Path, listed: bool) -> Result<(Vec<Match>, usize), Failure> {
    let place = current_dir.join(path);
    let name = RepoPath::new(path.as_os_str().as_bytes());
    if listed && let Node::Link { target } = system::node_at(&place)? {
        return Ok(of_bytes(guard, &name, &target));
    }
    if let Ok(Node::File { size }) = system::node_at(&place)
        && size <= MAX_WHOLE_BYTES
    {
        let bytes = system::read_limited(&place, MAX_WHOLE_BYTES)?;
        return Ok(of_bytes(guard, &name, &bytes));
    }
    let mut stream = Stream::new(guard.scanner(), &name, guard.allowing());
    let (mut matches, mut allowed) = (Vec::new(), 0);
    let mut keep = |piece: Piece| {
        allowed += piece.allowed;
        matches.extend(piece.findings.iter().map(|finding| Match {
            path: name.clone(),
            commit: None,
            secret: Guard::fact(finding),
        }));
    };
    system::read_pieces(&place, |piece| keep(stream.push(piece)))?;
    keep(stream.finish());
    Ok((matches, allowed))
}

fn of_bytes(guard: &Guard, name: &RepoPath, bytes: &[u8]) -> (Vec<Match>, usize) {
    let mut findings = guard.scanner().scan(bytes);
    let allowed = guard.allowing().screen(name, bytes, &mut findings);
    let matches =
        findings.iter().map(|finding| Match { path: name.clone(), commit: None, secret: Guard::fact(finding) });
    (matches.collect(), allowed)
}

/// Returns the failure of a scan that could not look at everything.
pub fn incomplete(unreadable: &[String]) -> Option<Failure> {
    let first = unreadable.first()?;
    let more = match unreadable.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(
        Failure::new(Kind::Other, format!("not everything could be scanned: {first}{more}"))
            .hinted("What cannot be read may hide a secret: name only what can, or mend it."),
    )
}
