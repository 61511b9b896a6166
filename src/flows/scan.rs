//! `scan`: find secrets in files, in what is staged, in a range of commits.

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
use crate::secret::Finding;
use crate::secret::Piece;
use crate::secret::Stream;
use crate::secret::salted;
use crate::system;
use crate::system::Node;

/// Larger files are scanned piece by piece.
const MAX_WHOLE_BYTES: u64 = 8 << 20;

/// Fewer files than this are not worth a second thread.
const MIN_PER_THREAD: usize = 32;

/// What to scan.
pub enum Subject {
    Paths {
        paths: Vec<PathBuf>,
        /// Whether to say by which hash each value could be allowed.
        hashes: bool,
    },
    Staged,
    Range(String),
}

/// A secret, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    pub path: RepoPath,
    pub commit: Option<Oid>,
    pub secret: Secret,
    /// The salted hash of the value, where it was asked for.
    pub hash: Option<String>,
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
        Subject::Paths { paths, hashes } => {
            let guard = guard(flows)?;
            let desk = Desk { guard: &guard, current_dir: &flows.environment.current_dir, hashes: *hashes };
            desk.scan_paths(paths)
        }
        Subject::Staged => {
            let repository = Repository::discover_to_read(&flows.environment)?;
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
                hash: None,
            }));
        }
    }
    Ok(outcome)
}

/// What files are scanned with.
struct Desk<'a> {
    guard: &'a Guard,
    current_dir: &'a Path,
    hashes: bool,
}

impl Desk<'_> {
    fn scan_paths(&self, paths: &[PathBuf]) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        let mut files = Vec::new();
        let here = [PathBuf::from(".")];
        for path in if paths.is_empty() { &here } else { paths } {
            if self.current_dir.join(path).is_dir() {
                walk(self.current_dir, path.clone(), &mut files, &mut outcome.unreadable)?;
            } else {
                files.push((path.clone(), false));
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
                mine.push((number, self.scan_file(path, *listed)));
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

    /// Scans one file, its name first. A symlink that was come across is scanned as git stores it: as the text of its target.
    fn scan_file(&self, path: &Path, listed: bool) -> Result<(Vec<Match>, usize), Failure> {
        let place = self.current_dir.join(path);
        let mut name = RepoPath::new(path.as_os_str().as_bytes());
        let (shown, in_name) = self.guard.scanner().redact(name.as_bytes());
        // A name that has a secret in it is shown without.
        name = RepoPath::new(shown);
        let mut matches: Vec<Match> = in_name.iter().map(|finding| found(&name, finding)).collect();
        let (mut inside, allowed) = match system::node_at(&place)? {
            Node::Link { target } if listed => self.of_bytes(&name, &target),
            Node::File { size } if size <= MAX_WHOLE_BYTES => {
                self.of_bytes(&name, &system::read_limited(&place, MAX_WHOLE_BYTES)?)
            }
            _ => self.of_stream(&name, &place)?,
        };
        matches.append(&mut inside);
        Ok((matches, allowed))
    }

    fn of_stream(&self, name: &RepoPath, place: &Path) -> Result<(Vec<Match>, usize), Failure> {
        let mut stream = Stream::new(self.guard.scanner(), name, self.guard.allowing());
        let (mut matches, mut allowed) = (Vec::new(), 0);
        let mut keep = |piece: Piece| {
            allowed += piece.allowed;
            matches.extend(piece.findings.iter().map(|finding| found(name, finding)));
        };
        system::read_pieces(place, |piece| keep(stream.push(piece)))?;
        keep(stream.finish());
        Ok((matches, allowed))
    }

    fn of_bytes(&self, name: &RepoPath, bytes: &[u8]) -> (Vec<Match>, usize) {
        let mut findings = self.guard.scanner().scan(bytes);
        let allowed = self.guard.allowing().screen(name, bytes, &mut findings);
        let matches = findings.iter().map(|finding| {
            // Without random numbers there is no hash that would be hard to guess.
            let salt = self.hashes.then(|| system::random_hex(16).ok()).flatten();
            let hash = salt.map(|salt| salted(&salt, &bytes[finding.range.clone()]));
            Match { hash, ..found(name, finding) }
        });
        (matches.collect(), allowed)
    }
}

/// Returns a finding in a file.
pub fn found(name: &RepoPath, finding: &Finding) -> Match {
    Match { path: name.clone(), commit: None, secret: Guard::fact(finding), hash: None }
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
