//! The user's working tree: looked at, written, committed, and put back exactly when something goes wrong on the way.

use std::path::Path;

use crate::base::RepoPath;
use crate::base::visible;
use crate::flows::Ask;
use crate::flows::Question;
use crate::flows::apply::result::Outcome;
use crate::flows::apply::result::Status;
use crate::flows::apply::result::Trouble;
use crate::git::ApplyLock;
use crate::git::Became;
use crate::git::Landing;
use crate::git::LandingMode;
use crate::git::Left;
use crate::git::Repository;
use crate::git::Wrote;
use crate::system;
use crate::system::Ended;
use crate::system::Group;

/// A message names so many files, then a count.
const SHOWN_FILES: usize = 10;

/// What became of a patch whose process was killed while it landed.
pub struct Recovered {
    /// The session that it came from.
    pub session: String,
    /// All of it is in.
    pub is_in: bool,
    /// What was done, in a sentence.
    pub message: String,
}

/// Puts right what an earlier process left when it was killed.
pub(super) fn recover(repository: &Repository, aside: &Path, ask: Ask<'_>) -> Result<Option<Recovered>, Trouble> {
    let Some(landing) = Landing::left_behind(repository)? else { return Ok(None) };
    let session = landing.session().to_owned();
    landing.break_stale_locks()?;
    let left = landing.look()?;
    let is_in = left == Left::Done;
    let message = match left {
        Left::Done => {
            landing.finish()?;
            format!("the patch of the session {session}, which was cut off at the end, is wholly in")
        }
        Left::HalfWay => {
            landing.undo(aside)?;
            format!("the patch of the session {session} was cut off half-way; everything is as it was before")
        }
        Left::Changed(files) if keeps(&files, &session, ask) => {
            landing.finish()?;
            format!("everything stays as it is; the patch of the session {session} is forgotten")
        }
        Left::Changed(files) => {
            let message =
                format!("a patch was cut off half-way here, and these files were edited since: {}", listed(&files));
            return Err(Trouble::new(Status::ApplyFailed, "dirty_tree", message).hinted(format!(
                "Move your edits away and run `git oracle apply --recover`; what was there before is in {}",
                repository.git_dir.join("oracle/apply").display()
            )));
        }
    };
    Ok(Some(Recovered { session, is_in, message }))
}

/// Asks whether files that somebody edited after a kill shall stay as they are.
fn keeps(files: &[RepoPath], session: &str, ask: Ask<'_>) -> bool {
    let question = Question {
        title: format!("the patch of the session {session} was cut off, and these files were edited since"),
        details: files.iter().map(RepoPath::to_string).collect(),
        prompt: "Keep everything as it is now and forget what was there before?".to_owned(),
    };
    ask(&question) == Some(true)
}

/// Refuses a working tree in which something could be lost or swept along.
pub(super) fn check_clean(repository: &Repository, mode: LandingMode, paths: &[RepoPath]) -> Result<(), Trouble> {
    if let Some(what) = repository.under_way().filter(|_| mode == LandingMode::Commit) {
        let message = format!("{what} is under way here, and a commit would become a part of it");
        return Err(Trouble::new(Status::ApplyFailed, "dirty_tree", message).hinted("Finish or abort it: git status"));
    }
    let mut dirty = repository.dirty()?;
    let (what, hint) = match mode {
        LandingMode::Commit => ("there are uncommitted or untracked files", "Commit or stash them: git stash -u"),
        LandingMode::Apply => {
            // A path is touched by what happens to it, above it or below it.
            dirty.retain(|dirty| {
                paths.iter().any(|path| path.is_within(dirty.as_bytes()) || dirty.is_within(path.as_bytes()))
            });
            ("the patch touches files with uncommitted changes", "Commit or stash them: git stash -u -- FILE")
        }
    };
    if !dirty.is_empty() {
        let message = format!("{what}: {}", listed(&dirty));
        return Err(Trouble::new(Status::ApplyFailed, "dirty_tree", message).hinted(hint));
    }
    let unwatched = repository.unwatched(paths)?;
    if !unwatched.is_empty() {
        let message = format!("git was told not to look at files that the patch touches: {}", listed(&unwatched));
        return Err(Trouble::new(Status::ApplyFailed, "dirty_tree", message)
            .hinted("git update-index --no-assume-unchanged --no-skip-worktree FILE"));
    }
    Ok(())
}

fn listed(paths: &[RepoPath]) -> String {
    let shown: Vec<String> = paths.iter().take(SHOWN_FILES).map(RepoPath::to_string).collect();
    match paths.len().saturating_sub(SHOWN_FILES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What lands, and how far.
pub(super) struct Cargo<'a> {
    pub repository: &'a Repository,
    pub lock: &'a ApplyLock,
    pub session: &'a str,
    /// The folder of the session.
    pub folder: &'a Path,
    pub head: String,
    pub patch: &'a Path,
    pub became: &'a [Became],
    pub mode: LandingMode,
    pub message: String,
    pub attended: bool,
}

impl Cargo<'_> {
    /// Brings a patch into the working tree and, if that is wanted, into a commit.
    pub fn land(&self, outcome: &mut Outcome) -> Result<(), Trouble> {
        let paths: Vec<RepoPath> = self.became.iter().map(|(path, _)| path.clone()).collect();
        check_clean(self.repository, self.mode, &paths)?;
        let now = self.repository.head()?.map(|id| id.to_string()).unwrap_or_default();
        if now != self.head {
            let message = format!("HEAD moved while the patch was tried: it was {} and is {now}", self.head);
            return Err(Trouble::new(Status::ApplyFailed, "dirty_tree", message).hinted("Run the same command again."));
        }
        if system::interrupted() {
            return Err(Trouble::interrupted());
        }
        let landing = Landing::begin(self.repository, self.session, self.mode, now, self.became)?;
        match self.carry(&landing, &paths, outcome) {
            Ok(()) => Ok(landing.finish()?),
            Err(trouble) => Err(self.put_back(landing, trouble)),
        }
    }

    fn carry(&self, landing: &Landing<'_>, paths: &[RepoPath], outcome: &mut Outcome) -> Result<(), Trouble> {
        let wrote = self.repository.apply_to_worktree(self.patch, &self.lock.file)?;
        if !wrote.succeeded() {
            outcome.apply_error = Some(said(&wrote));
            let message = format!("git apply failed: {}", first_line(&wrote));
            return Err(Trouble::new(Status::ApplyFailed, "unknown_failure", message).hinted("git status"));
        }
        if let Some(path) = landing.not_in()? {
            outcome.apply_error = Some(format!("{path} is not what the patch makes of it"));
            let message = format!("git apply made something else than the candidate has: {path}");
            return Err(Trouble::new(Status::ApplyFailed, "unknown_failure", message)
                .hinted("A filter of this repository may change the file: git check-attr -a -- FILE"));
        }
        if system::interrupted() {
            return Err(Trouble::interrupted());
        }
        if self.mode == LandingMode::Commit {
            self.commit(paths, outcome)?;
        }
        outcome.diff_applied = true;
        Ok(())
    }

    fn commit(&self, paths: &[RepoPath], outcome: &mut Outcome) -> Result<(), Trouble> {
        let group = if self.attended { Group::Foreground } else { Group::Own };
        let script = self.repository.committer()?.filter(|(path, _)| !paths.contains(path));
        let wrote = match &script {
            Some((_, script)) => {
                outcome.notes.push("committed through scripts/committer".to_owned());
                self.repository.commit_by_script(script, &self.message, paths, &self.lock.file, group)?
            }
            None => {
                let staged = self.repository.stage(paths, &self.folder.join("paths"), &self.lock.file)?;
                match staged.succeeded() {
                    true => self.repository.commit_index(&self.message, &self.lock.file, group)?,
                    false => staged,
                }
            }
        };
        let head = self.repository.head()?.map(|id| id.to_string()).unwrap_or_default();
        if head != self.head {
            outcome.commit = Some(head);
            if !wrote.succeeded() {
                outcome.notes.push(format!("the commit was made, and then something failed: {}", first_line(&wrote)));
            }
            let rest = self.repository.dirty()?;
            if !rest.is_empty() {
                outcome.notes.push(format!("after the commit these files differ from it: {}", listed(&rest)));
            }
            return Ok(());
        }
        outcome.notes.retain(|note| !note.starts_with("committed"));
        if wrote.ended == Ended::Interrupted {
            return Err(Trouble::interrupted());
        }
        let why = match (&wrote.ended, wrote.succeeded()) {
            (Ended::TimedOut, _) => "it took too long".to_owned(),
            (_, true) => "scripts/committer made no commit".to_owned(),
            _ => first_line(&wrote),
        };
        outcome.commit_error = Some(if said(&wrote).is_empty() { why.clone() } else { said(&wrote) });
        let message = format!("the commit failed, and everything is as it was before: {why}");
        Err(Trouble::new(Status::CommitFailed, "unknown_failure", message)
            .hinted("See what the hook says, mend it and run the same command again."))
    }

    /// Puts everything back. Where that fails too, the journal stays and the next command goes on with it.
    fn put_back(&self, landing: Landing<'_>, mut trouble: Trouble) -> Trouble {
        match landing.undo(&self.folder.join("kept")) {
            Ok(kept) if kept.is_empty() => trouble,
            Ok(kept) => {
                let place = self.folder.join("kept");
                trouble.hint(format!("What a hook wrote meanwhile is in {}: {}", place.display(), listed(&kept)));
                trouble
            }
            Err(error) => {
                trouble.message = format!("{}; and putting the files back failed: {error}", trouble.message);
                trouble.hint("git oracle apply --recover".to_owned());
                trouble
            }
        }
    }
}

/// Returns what a program said, safe to print.
pub(super) fn said(wrote: &Wrote) -> String {
    visible(wrote.output.trim_end()).into_owned()
}

/// Returns the first line that says something.
pub(super) fn first_line(wrote: &Wrote) -> String {
    let line = wrote.output.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gave no reason");
    visible(line.strip_prefix("error: ").or_else(|| line.strip_prefix("fatal: ")).unwrap_or(line)).into_owned()
}

/// Returns the message of a commit: the text, the files, and trailers that lead back to the evidence.
pub(super) fn message(
    given: Option<&str>,
    about: &str,
    paths: &[RepoPath],
    task: Option<&str>,
    session: &str,
) -> String {
    let mut message = match given {
        Some(text) => text.trim_end().to_owned(),
        None => {
            let mut text = format!("Apply review of {}\n", visible(about).replace(['\n', '\t'], " "));
            paths.iter().take(50).for_each(|path| text.push_str(&format!("\n{path}")));
            if paths.len() > 50 {
                text.push_str(&format!("\nand {} more", paths.len() - 50));
            }
            text
        }
    };
    let one_line = |text: &str| visible(text).replace(['\n', '\t'], " ");
    let is_trailer = |line: &str| {
        line.split_once(": ").is_some_and(|(key, _)| {
            !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
        })
    };
    // Trailers form one paragraph, the last one.
    let mut paragraphs = message.rsplit("\n\n");
    let last = paragraphs.next().unwrap_or_default();
    let joins = paragraphs.next().is_some() && !last.is_empty() && last.lines().all(is_trailer);
    message.push_str(if joins { "\n" } else { "\n\n" });
    if let Some(task) = task {
        message.push_str(&format!("Oracle-Task: {}\n", one_line(task)));
    }
    message.push_str(&format!("Oracle-Session: {}\n", one_line(session)));
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_with_one_paragraph_of_trailers() {
        let paths = ["src/a.rs".into(), "src/b.rs".into()];
        assert_eq!(
            message(None, "task-1", &paths, Some("task-1"), "s-1"),
            "Apply review of task-1\n\nsrc/a.rs\nsrc/b.rs\n\nOracle-Task: task-1\nOracle-Session: s-1\n"
        );
        assert_eq!(
            message(Some("Fix\n\nSigned-off-by: A <a@b>\n"), "x", &paths, None, "s"),
            "Fix\n\nSigned-off-by: A <a@b>\nOracle-Session: s\n"
        );
        assert_eq!(message(Some("fix: it"), "x", &paths, None, "s"), "fix: it\n\nOracle-Session: s\n");
    }
}
