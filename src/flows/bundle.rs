//! `bundle`: files of the working tree become a package of context.
//!
//! `ask` and `review` take the same way: [`pack`] makes the package, and what is sent is written from memory.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use crate::base::RepoPath;
use crate::bundle::Exclusion;
use crate::bundle::Filters;
use crate::bundle::Format;
use crate::bundle::Limits;
use crate::bundle::Package;
use crate::bundle::Packer;
use crate::bundle::Prepared;
use crate::bundle::Preparer;
use crate::bundle::Reason;
use crate::bundle::Refused;
use crate::bundle::Selection;
use crate::bundle::name_problem;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::active::repo_config;
use crate::flows::secrets::Guard;
use crate::git::Found;
use crate::git::FoundKind;
use crate::policy::BundleConfig;
use crate::secret::Scanner;
use crate::system;
use crate::system::Beneath;
use crate::system::Unread;

/// So many files are read ahead of the decision whether there is room for them, and so many bytes.
const AHEAD_FILES: usize = 512;
const AHEAD_BYTES: u64 = 8 << 20;

/// A thread takes so many files at a time: neighbours lie in one directory.
const PORTION: usize = 16;

/// What to pack.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Patterns from the top of the repository; none selects everything.
    pub patterns: Vec<String>,
    pub format: Format,
    pub max_file_size: Option<u64>,
    pub max_total_size: Option<u64>,
    /// Where the package will be kept: it does not hold itself.
    pub output: Option<PathBuf>,
}

/// Makes the package that goes with a prompt, if one is wanted, and says which files stay out.
pub(in crate::flows) fn context(
    flows: &Flows,
    request: Option<&Request>,
) -> Result<(Option<Package>, Vec<String>), Failure> {
    let Some(request) = request else { return Ok((None, Vec::new())) };
    let package = pack(flows, request)?;
    let told = |exclusion: &Exclusion| format!("{}: {}", exclusion.path, exclusion.reason.as_str());
    let excluded = package.exclusions.iter().map(told).collect();
    Ok((Some(package), excluded))
}

/// Makes a package of the files that are meant. Nothing is written.
pub fn pack(flows: &Flows, request: &Request) -> Result<Package, Failure> {
    let repository = flows.repository()?;
    let Some(top) = repository.work_tree.as_deref() else {
        let message = format!("there are no files here: {} is a bare repository", repository.git_dir.display());
        return Err(Failure::new(Kind::Other, message).hinted("Run this in a clone with a working tree."));
    };
    let config = repo_config(&repository)?;
    // The repository may know more secrets than we do. What it allows counts only for its own commits.
    let guard = Guard::of_config(&config)?;
    let (scanner, config) = (guard.scanner(), config.bundle);
    let limits = limits(request, &config)?;
    let selection = select(&request.patterns, &config, top, scanner)?;
    let found = repository.working_files(&flows.environment, &|directory| selection.reaches(directory))?;
    if let [pattern, ..] = selection.idle(found.iter().map(|found| &found.path)).as_slice() {
        return Err(Failure::new(Kind::Other, format!("no file matches the pattern: {}", told(pattern, scanner)))
            .hinted("A pattern is written from the top of the repository: src/, '*.md', 'src/**/*.rs'."));
    }
    let own = request.output.as_deref().and_then(|output| inside(&flows.environment.current_dir.join(output), top));
    let mut packer = Packer::new(request.format, limits, scanner);
    let mut candidates = Vec::new();
    for found in found {
        match refuse(&found, &selection, own.as_ref()) {
            Fate::NotMeant => {}
            Fate::Refused(refused) => packer.exclude(found.path, refused),
            Fate::Candidate(size) => candidates.push((found.path, size)),
        }
    }
    let source = Source { beneath: Beneath::open(top)?, format: request.format, limit: limits.file, scanner };
    fill(&mut packer, candidates, &source)?;
    let package = packer.finish(Filters {
        include: selection.include,
        exclude: selection.exclude,
        max_file_size: limits.file,
        max_total_size: limits.total,
    });
    if package.manifest.files.is_empty() {
        return Err(nothing_left(&package));
    }
    Ok(package)
}

/// Keeps a package as a file. It appears whole or not at all.
pub fn save(flows: &Flows, package: &Package, path: &Path) -> Result<(), Failure> {
    // From here to the rename a signal is only noted, so that no half of a file stays behind.
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for Ctrl-C: {error}")).hinted("git oracle doctor")
    })?;
    let path = flows.environment.current_dir.join(path);
    Ok(system::stream_shared(&path, &mut |out| package.write_to(out))?)
}

/// Returns the limits that hold: those asked for, within what the repository permits.
fn limits(request: &Request, config: &BundleConfig) -> Result<Limits, Failure> {
    let limit = |asked: Option<u64>, permitted: Option<u64>, default: u64, what: &str| match (asked, permitted) {
        (Some(asked), Some(permitted)) if asked > permitted => {
            let message = format!("the repository permits {permitted} bytes for {what}, not {asked}");
            Err(Failure::new(Kind::Other, message).hinted("[bundle] in .oracle/config.toml says so."))
        }
        (asked, permitted) => Ok(asked.unwrap_or(default).min(permitted.unwrap_or(u64::MAX))),
    };
    Ok(Limits {
        file: limit(request.max_file_size, config.max_file_size, Limits::DEFAULT.file, "a file")?,
        total: limit(request.max_total_size, config.max_total_size, Limits::DEFAULT.total, "a package")?,
    })
}

/// Reads the patterns. A path that names the working tree in full is taken from its top.
fn select(patterns: &[String], config: &BundleConfig, top: &Path, scanner: &Scanner) -> Result<Selection, Failure> {
    let from_top = |pattern: &String| match Path::new(pattern).strip_prefix(top).ok().and_then(Path::to_str) {
        Some("") => ".".to_owned(),
        Some(rest) => rest.to_owned(),
        None => pattern.clone(),
    };
    let patterns: Vec<String> = patterns.iter().map(from_top).collect();
    Selection::parse(&patterns, &config.exclude).map_err(|error| {
        Failure::new(Kind::Usage, told(&error.to_string(), scanner))
            .hinted("A pattern is written from the top of the repository: src/, '*.md', 'src/**/*.rs'.")
    })
}

/// Returns a text that somebody typed, as it may be shown.
fn told(text: &str, scanner: &Scanner) -> String {
    String::from_utf8_lossy(&scanner.redact(text.as_bytes()).0).into_owned()
}

/// What happens to something that was found, as far as its content does not matter.
enum Fate {
    NotMeant,
    Refused(Refused),
    Candidate(u64),
}

fn refuse(found: &Found, selection: &Selection, own: Option<&RepoPath>) -> Fate {
    // A whole directory is named when something in it may be meant; others were not looked at.
    let is_directory = found.path.as_bytes().ends_with(b"/");
    if !is_directory && !selection.takes(&found.path) {
        return Fate::NotMeant;
    }
    let reason = match &found.kind {
        FoundKind::Ignored => Reason::Ignored,
        FoundKind::Symlink => Reason::Symlink,
        FoundKind::Special => Reason::SpecialFile,
        FoundKind::Submodule => Reason::Submodule,
        FoundKind::Nested => Reason::NestedRepository,
        FoundKind::Unreadable(error) => return Fate::Refused((Reason::Unreadable, Some(error.clone()))),
        FoundKind::File { .. } if own == Some(&found.path) => Reason::Output,
        FoundKind::File { .. } if selection.is_excluded(&found.path) => Reason::Excluded,
        FoundKind::File { size } => match name_problem(&found.path) {
            Some(problem) => problem,
            None => return Fate::Candidate(*size),
        },
    };
    Fate::Refused((reason, None))
}

/// Reads the candidates in their order, some of them at a time, until there is no room left.
fn fill(packer: &mut Packer<'_>, candidates: Vec<(RepoPath, u64)>, source: &Source<'_>) -> Result<(), Failure> {
    let mut candidates = candidates.into_iter().peekable();
    while candidates.peek().is_some() {
        let (mut ahead, mut bytes) = (Vec::new(), 0);
        while ahead.len() < AHEAD_FILES
            && let Some((path, size)) = candidates.next_if(|(_, size)| bytes == 0 || bytes + size <= AHEAD_BYTES)
        {
            match packer.refuses(size) {
                Some(refused) => packer.exclude(path, refused),
                None => {
                    bytes += size;
                    ahead.push(path);
                }
            }
        }
        let prepared = source.prepare(&ahead);
        for (path, prepared) in ahead.into_iter().zip(prepared) {
            match prepared {
                Ok(prepared) => packer.add(&path, prepared).map_err(|error| {
                    Failure::new(Kind::Other, format!("{error}, and a package holds no more"))
                        .hinted("Name what belongs to the question: git oracle bundle src/ '*.md'")
                })?,
                Err(refused) => packer.exclude(path, refused),
            }
        }
    }
    Ok(())
}

/// Where contents come from, and how they are packed.
struct Source<'s> {
    beneath: Beneath,
    format: Format,
    limit: u64,
    scanner: &'s Scanner,
}

impl Source<'_> {
    /// Reads files and packs each, on all processors. The content that is looked at is the one that is packed.
    fn prepare(&self, paths: &[RepoPath]) -> Vec<Result<Prepared, Refused>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let (mut beneath, mut preparer, mut done) =
                (self.beneath.fork(), Preparer::new(self.format, self.scanner), Vec::new());
            loop {
                let start = next.fetch_add(PORTION, Ordering::Relaxed);
                let Some(portion) = paths.get(start..(start + PORTION).min(paths.len())) else { return done };
                if portion.is_empty() {
                    return done;
                }
                for (offset, path) in portion.iter().enumerate() {
                    let read = beneath.read(path.as_bytes(), self.limit).map_err(|error| refused(&error));
                    done.push((start + offset, read.and_then(|content| preparer.prepare(path, content))));
                }
            }
        };
        let mut done: Vec<_> = match system::threads_for(paths.len() / PORTION) {
            1 => work(),
            threads => std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
                    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                workers.into_iter().flat_map(join).collect()
            }),
        };
        done.sort_unstable_by_key(|(position, _)| *position);
        done.into_iter().map(|(_, prepared)| prepared).collect()
    }
}

fn refused(error: &Unread) -> Refused {
    let reason = match error {
        Unread::Symlink => Reason::Symlink,
        Unread::Special => Reason::SpecialFile,
        Unread::TooLarge { .. } => Reason::TooLarge,
        Unread::Gone | Unread::Changed => Reason::Changed,
        Unread::Io(_) => Reason::Unreadable,
    };
    (reason, Some(error.to_string()))
}

/// Returns a file's path from the top of the working tree, when it lies there.
fn inside(path: &Path, top: &Path) -> Option<RepoPath> {
    let directory = path.parent()?.canonicalize().ok()?;
    let path = directory.join(path.file_name()?);
    let path = path.strip_prefix(top.canonicalize().ok()?).ok()?;
    Some(RepoPath::new(path.as_os_str().as_bytes()))
}

fn nothing_left(package: &Package) -> Failure {
    let Some(first) = package.exclusions.first() else {
        return Failure::new(Kind::Other, "there is no file to pack")
            .hinted("Only files of the working tree are packed, tracked or not.");
    };
    let message = format!(
        "no file is left to pack: {} left out, the first is {} ({})",
        package.exclusions.len(),
        first.path,
        first.reason.as_str()
    );
    Failure::new(Kind::Other, message).hinted("docs/bundle.md says what each reason means.")
}
