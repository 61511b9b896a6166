//! `apply`: judge a patch, try it on a candidate, bring it into the working tree, commit it, push it.
//!
//! - `proposal`: the patch, and what is known about it; the one way in
//! - `judge`: a verdict for each hunk; `contents`: the files that the patch is about
//! - `acceptance`: the contract's tests in the candidate
//! - `land`: the working tree and the commit; `push`: the remote
//! - `work`: the steps in their order
//! - `result`: how it ended

mod acceptance;
mod contents;
mod judge;
mod land;
mod proposal;
pub(in crate::flows) mod push;
mod result;
mod work;

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::base::Sha256Hex;
use crate::evidence::KeptSession;
use crate::evidence::Session;
use crate::evidence::Shelf;
use crate::evidence::slug;
use crate::evidence::write_json;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::gate::MAX_PATCH_BYTES;
use crate::git::ApplyLock;
use crate::secret::REDACTED;
use crate::secret::Scanner;
use crate::system;

pub(in crate::flows) use judge::Chosen;
pub(in crate::flows) use work::Law;
pub(in crate::flows) use work::Tried;
pub(in crate::flows) use work::Work;
pub(in crate::flows) use work::no_commit;

pub use crate::policy::ApplyMode;
pub use land::Recovered;
pub use proposal::Found;
pub use proposal::Proposal;
pub use proposal::Unplaced;
pub use result::HunkVerdict;
pub use result::Outcome;
pub use result::Status;
pub use result::TestResult;
pub use result::Trouble;
pub use result::Turns;

/// Where a patch is taken from.
#[derive(Debug, Clone)]
pub enum Source {
    Patch(PathBuf),
    /// An assistant's answer, where it was read, and the commit that it was asked about.
    Reply {
        text: Vec<u8>,
        place: String,
        base: Option<String>,
    },
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
#[derive(Debug, Clone)]
pub struct Terms {
    /// As on the command line; else the person's configuration says it.
    pub mode: Option<ApplyMode>,
    pub accept: Accept,
    pub strict: bool,
    pub prefix: Option<String>,
    pub message: Option<String>,
    pub push: bool,
}

impl Terms {
    /// Returns them as a session keeps them.
    pub(in crate::flows) fn to_json(&self) -> Value {
        json!({
            "applyMode": self.mode.map(ApplyMode::as_str),
            "accept": if self.accept == Accept::All { "all" } else { "agreed" },
            "strictDiff": self.strict,
            "restrictPathPrefix": self.prefix,
            "push": self.push,
        })
    }

    /// Reads how answers are judged from what a session kept; how far they go is never taken from there.
    pub(in crate::flows) fn kept(terms: &Value, mode: ApplyMode) -> Self {
        Terms {
            mode: Some(mode),
            accept: if terms["accept"] == "agreed" { Accept::Agreed } else { Accept::All },
            strict: terms["strictDiff"] == true,
            prefix: terms["restrictPathPrefix"].as_str().map(str::to_owned),
            message: None,
            push: false,
        }
    }
}

/// Where documents go besides the session's folder.
#[derive(Default)]
pub struct Files {
    pub diff: Option<PathBuf>,
    pub result: Option<PathBuf>,
    pub metrics: Option<PathBuf>,
}

impl Files {
    /// Returns them as seen from `directory`. A place where no file can be is noticed before anything is done.
    pub(in crate::flows) fn absolute(&self, directory: &Path) -> Result<Files, Failure> {
        let absolute = |path: &Option<PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let path = directory.join(path);
            if path.is_dir() || !path.parent().is_some_and(Path::is_dir) {
                let message = format!("no file can be written here: {}", path.display());
                return Err(Failure::new(Kind::Usage, message).hinted("Name a file in a directory that is there."));
            }
            Ok(Some(path))
        };
        Ok(Files { diff: absolute(&self.diff)?, result: absolute(&self.result)?, metrics: absolute(&self.metrics)? })
    }

    /// Writes the patch where else it is wanted; last, because a file in the working tree would be in the way of it.
    pub(in crate::flows) fn write_diff(&self, session: &Session, outcome: &mut Outcome) -> Result<(), Failure> {
        if let (Some(path), Some(_)) = (&self.diff, outcome.patch_bytes) {
            system::write_private(
                path,
                &system::read_limited(&session.directory.join("diff.patch"), MAX_PATCH_BYTES)?,
            )?;
            outcome.diff_path = Some(path.display().to_string());
        }
        Ok(())
    }

    /// Writes `result.json` and `metrics.json` into the session, and where else they are wanted.
    pub(in crate::flows) fn write_documents(&self, session: &Session, outcome: &Outcome) -> Result<(), Failure> {
        for (name, document, place) in
            [("result.json", outcome.to_json(), &self.result), ("metrics.json", outcome.metrics(), &self.metrics)]
        {
            session.write_json(name, &document)?;
            if let Some(path) = place {
                write_json(path, &document)?;
            }
        }
        Ok(())
    }
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
    let home = flows.home()?;
    let files = request.files.absolute(&flows.environment.current_dir)?;
    let mode = request.terms.mode.or(flows.person()?.apply_mode).unwrap_or(ApplyMode::Apply);
    let patch_file = match &request.source {
        Source::Patch(path) => Some(flows.environment.current_dir.join(path)),
        Source::Session(name) => {
            Some(session_patch(&flows.rooted(request.git_root.as_deref()), &home, name.as_deref())?)
        }
        Source::Reply { .. } => None,
    };
    let flows = &flows.rooted(request.git_root.as_deref());
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
        "patch": patch_file.as_ref().map(|path| path.display().to_string()),
        "reply": match &request.source {
            Source::Reply { place, .. } => Some(place),
            Source::Patch(_) | Source::Session(_) => None,
        },
        "applyMode": mode.as_str(),
        "base": match &request.source {
            Source::Reply { base, .. } => base.as_deref(),
            Source::Patch(_) | Source::Session(_) => None,
        },
        "accept": if request.terms.accept == Accept::All { "all" } else { "agreed" },
        "strictDiff": request.terms.strict,
        "restrictPathPrefix": request.terms.prefix,
        "push": request.terms.push,
    });
    write_session(flows, &session, "running", &options)?;
    // What is kept for later is kept without secrets, whatever a repository's own rules say.
    let scanner = Scanner::built_in();
    let attempt = || -> Result<(), Trouble> {
        let repository = match repository {
            Ok(repository) => Some(repository),
            Err(_) if mode == ApplyMode::None && patch_file.is_some() => None,
            Err(failure) => {
                let trouble = Trouble::from(failure);
                return Err(Trouble { kind: "not_a_repository", ..trouble });
            }
        };
        let proposal = match (&request.source, &patch_file, &repository) {
            (Source::Reply { text, base, .. }, _, Some(repository)) => {
                session.write("response-1.md", &scanner.redact(text).0)?;
                Proposal::of_reply(text, repository.head()?, base.as_deref(), repository, &request.terms)?
            }
            (Source::Session(_), Some(path), _) => Proposal::of_patch(kept_patch(path)?),
            (_, Some(path), _) => Proposal::of_patch(system::read_limited(path, MAX_PATCH_BYTES)?),
            _ => Proposal::default(),
        };
        let work = Work::new(flows, &home, repository.as_ref(), &session, (&request.terms, mode), person, &scanner);
        work.carry_out(&proposal, &mut outcome)
    };
    let ended = attempt();
    conclude(&mut outcome, ended, began);
    outcome.redact(&scanner);
    clean_files(&session, &scanner)?;
    session.log(outcome.status.as_str());
    files.write_diff(&session, &mut outcome)?;
    files.write_documents(&session, &outcome)?;
    write_session(flows, &session, outcome.status.as_str(), &options)?;
    Ok(outcome)
}

/// Takes secrets out of the files that had to have them while a patch was carried out, and of what tests printed.
pub(in crate::flows) fn clean_files(session: &Session, scanner: &Scanner) -> Result<(), Failure> {
    for path in system::entries_of(&session.directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("chosen") || name.ends_with(".log") && name != "output.log" {
            let text = system::read_limited(&path, MAX_PATCH_BYTES)?;
            let (redacted, found) = scanner.redact(&text);
            if !found.is_empty() {
                system::write_private(&path, &redacted)?;
            }
        }
    }
    Ok(())
}

/// Puts right what a killed process left in this worktree. Returns what was done; `None` when there was nothing.
pub fn recover(flows: &Flows, ask: Ask<'_>) -> Result<Option<Recovered>, Failure> {
    let repository = flows.repository()?;
    let home = flows.home()?;
    let _lock = ApplyLock::take(&repository)?;
    land::recover(&repository, &home.join("kept"), ask)
        .map_err(|trouble| Failure { hints: trouble.hints, ..Failure::new(Kind::Other, trouble.message) })
}

/// Finds the patch of the session with this name, or of the last one that was about this working tree: others may be at
/// work beside it.
fn session_patch(flows: &Flows, home: &Path, name: Option<&str>) -> Result<PathBuf, Failure> {
    let shelf = Shelf::of(home);
    let here = flows.repository().ok().map(|repository| repository.git_dir);
    let is_here = |session: &KeptSession| {
        let Some(here) = &here else { return true };
        let there = session.document["cwd"].as_str().map(|cwd| flows.rooted(Some(Path::new(cwd))).repository());
        matches!(there, Some(Ok(there)) if there.git_dir == *here)
    };
    let found = match name {
        Some(name) => shelf.session(name),
        None => shelf.last(|session| session.has("diff.patch") && is_here(session))?,
    };
    let missing = || match name {
        Some(name) => Failure::new(Kind::Other, format!("there is no session with this name: {name}"))
            .hinted("git oracle session list"),
        None => Failure::new(Kind::Other, "there is no session with a patch for this working tree")
            .hinted("git oracle session list, then git oracle apply --from-session SLUG"),
    };
    let session = found.ok_or_else(missing)?;
    Ok(session.directory.join("diff.patch"))
}

/// Reads the patch of a session. One from which a secret was taken out is another one than was proposed.
fn kept_patch(path: &Path) -> Result<Vec<u8>, Trouble> {
    let patch = system::read_limited(path, MAX_PATCH_BYTES)?;
    if !patch.windows(REDACTED.len()).any(|window| window == REDACTED) {
        return Ok(patch);
    }
    let ledger = system::read_limited(&path.with_file_name("ledger.jsonl"), MAX_PATCH_BYTES).unwrap_or_default();
    let lines = ledger.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let sha256 = json!(Sha256Hex::of(&patch));
    if lines.into_iter().any(|line| line["facts"]["sha256"] == sha256) {
        return Ok(patch);
    }
    let message = "a secret was taken out of this session's patch when it was kept, so it cannot be carried out";
    Err(Trouble::new(Status::SecretDetected, "secret_detected", message)
        .hinted("Take the patch from where it came from: git oracle apply --from-reply FILE"))
}

/// Puts down how it ended: what was left out makes a success a partial one.
pub(in crate::flows) fn conclude(outcome: &mut Outcome, ended: Result<(), Trouble>, began: Instant) {
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

/// Returns how long it has been since then.
pub(in crate::flows) fn millis(since: Instant) -> u64 {
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
