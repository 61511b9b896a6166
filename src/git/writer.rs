//! Changing the repository through the `git` program.
//!
//! In the user's own worktree git behaves as the user expects: hooks run, files are signed and filtered, the
//! configuration holds. In worktrees of ours nothing that the repository configures is run.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::base::RepoPath;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::program::LOCATION_VARIABLES;
use crate::git::program::first_line;
use crate::system;
use crate::system::Ended;
use crate::system::Group;
use crate::system::Job;

/// So much of what git says is kept.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

/// What a command that writes left behind.
#[derive(Debug, Clone)]
pub struct Wrote {
    pub ended: Ended,
    /// What it printed, stdout and stderr as they came.
    pub output: String,
}

impl Wrote {
    pub fn succeeded(&self) -> bool {
        self.ended == Ended::Exited(Some(0))
    }
}

/// How long a command may take, and who may stop it.
pub(super) struct Terms<'a> {
    pub timeout: Option<Duration>,
    /// Held by the command as its standard input, until the last process of it is gone.
    pub held: Option<&'a File>,
    pub group: Group,
    pub stoppable: bool,
}

impl Repository {
    /// Returns a command of the user's at the top of the working tree: a git command, or a program of the repository.
    pub(super) fn user_command(&self, program: &OsStr) -> Result<Command, GitError> {
        let top = self.work_tree()?;
        let mut command = Command::new(program);
        // Nobody is there to answer an editor or a prompt. Whoever signs asks in a window or at the terminal by itself.
        command.current_dir(top).env("GIT_TERMINAL_PROMPT", "0").env("GIT_EDITOR", ":");
        command.env_remove("GIT_LITERAL_PATHSPECS").env_remove("GIT_GLOB_PATHSPECS").env_remove("GIT_PREFIX");
        if self.named {
            // A relative place is meant from where we were called.
            command.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", top).env("GIT_INDEX_FILE", &self.index_path);
        }
        Ok(command)
    }

    /// Returns a git command that runs no hook and no filter of the repository; `dir` is one of our worktrees or, with
    /// `None`, the repository itself.
    pub(super) fn silent_command(&self, dir: Option<&Path>, args: &[&OsStr]) -> Result<Command, GitError> {
        let mut command = Command::new("git");
        for name in LOCATION_VARIABLES {
            command.env_remove(name);
        }
        match dir {
            Some(dir) => drop(command.current_dir(dir)),
            None => drop(command.current_dir(&self.common_dir).env("GIT_DIR", &self.common_dir)),
        }
        for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "submodule.recurse=false", "gc.auto=0"] {
            command.args(["-c", setting]);
        }
        // What these would change is not what was judged.
        for setting in ["apply.whitespace=nowarn", "apply.ignoreWhitespace=no", "core.sparseCheckout=false"] {
            command.args(["-c", setting]);
        }
        for filter in self.filters()? {
            for setting in ["clean=", "smudge=", "process=", "required=false"] {
                command.arg("-c").arg(format!("filter.{filter}.{setting}"));
            }
        }
        command.args(args).env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
        Ok(command)
    }

    /// Returns the names of the filters that are configured here.
    fn filters(&self) -> Result<Vec<String>, GitError> {
        let finished = self.git.run(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."])?;
        let text = String::from_utf8_lossy(&finished.stdout).into_owned();
        let mut names: Vec<String> = text
            .split('\0')
            .filter_map(|key| Some(key.strip_prefix("filter.")?.rsplit_once('.')?.0.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        match names.iter().find(|name| name.contains('=') || name.contains('\n')) {
            Some(name) => Err(GitError::Failed {
                command: "config filter".to_owned(),
                reason: format!("the filter {} cannot be switched off by its name", crate::base::visible(name)),
            }),
            None => Ok(names),
        }
    }

    /// Runs a command that writes, and keeps what it says.
    pub(super) fn write(&self, command: Command, terms: &Terms<'_>) -> Result<Wrote, GitError> {
        let directory = self.git_dir.join("oracle");
        system::create_private_dir(&directory)?;
        let output = system::scratch_file(&directory)?;
        let unreadable = |error: std::io::Error| GitError::Unreadable {
            what: directory.display().to_string(),
            reason: error.to_string(),
        };
        let kept = output.try_clone().map_err(unreadable)?;
        let input = terms.held.map(File::try_clone).transpose().map_err(unreadable)?;
        let job =
            Job { command, timeout: terms.timeout, output, input, group: terms.group, stoppable: terms.stoppable };
        let ended = job.run()?;
        Ok(Wrote { ended, output: system::read_output(&kept, MAX_OUTPUT_BYTES) })
    }

    /// Runs a silent git command that has to succeed.
    pub(super) fn write_silently(&self, dir: Option<&Path>, args: &[&OsStr]) -> Result<Wrote, GitError> {
        let terms = Terms { timeout: None, held: None, group: Group::Own, stoppable: false };
        let wrote = self.write(self.silent_command(dir, args)?, &terms)?;
        match wrote.succeeded() {
            true => Ok(wrote),
            false => {
                let command = args.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                Err(GitError::Failed { command, reason: first_line(&wrote.output) })
            }
        }
    }

    /// Returns what is not as HEAD has it, in the eyes of `git status`: staged, unstaged, conflicted or untracked, and
    /// not ignored.
    pub fn dirty(&self) -> Result<Vec<RepoPath>, GitError> {
        let args =
            ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"];
        let finished = self.user_git()?.run(&args)?;
        if !finished.succeeded() {
            return Err(GitError::Failed { command: "status".to_owned(), reason: first_line(&finished.stderr) });
        }
        let rows = finished.stdout.split(|byte| *byte == 0).filter(|row| row.len() > 3);
        // Our own folder is not the user's work, and no patch reaches it.
        let is_ours = |row: &[u8]| row.starts_with(b"?? .oracle/");
        // A repository inside is listed as a directory.
        let name = |row: &[u8]| RepoPath::new(row[3..].strip_suffix(b"/").unwrap_or(&row[3..]));
        Ok(rows.filter(|row| !is_ours(row)).map(name).collect())
    }

    /// Returns what is under way here, so that the next commit would be a part of it.
    pub fn under_way(&self) -> Option<&'static str> {
        let signs = [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ];
        signs.into_iter().find(|(name, _)| self.git_dir.join(name).exists()).map(|(_, what)| what)
    }

    /// Returns those of `paths` at which git was told not to look.
    pub fn unwatched(&self, paths: &[RepoPath]) -> Result<Vec<RepoPath>, GitError> {
        let finished = self.user_git()?.run(&["ls-files", "-v", "-z"])?;
        let rows = finished.stdout.split(|byte| *byte == 0).filter(|row| row.len() > 2);
        let flagged = rows.filter(|row| row[0] == b'S' || row[0].is_ascii_lowercase()).map(|row| &row[2..]);
        Ok(flagged.filter(|name| paths.iter().any(|path| path.as_bytes() == *name)).map(RepoPath::new).collect())
    }

    /// Returns git for questions, at the top of the working tree.
    pub(super) fn user_git(&self) -> Result<crate::git::Git, GitError> {
        let top = self.work_tree()?;
        Ok(match self.named {
            true => crate::git::Git::at(top, &self.git_dir),
            false => crate::git::Git::in_dir(top),
        })
    }

    /// Applies a patch file to the working tree. The index stays as it is.
    pub fn apply_to_worktree(&self, patch: &Path, held: &File) -> Result<Wrote, GitError> {
        let mut command = self.user_command(OsStr::new("git"))?;
        command.args(["-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no", "apply", "--"]).arg(patch);
        command.env("LC_ALL", "C");
        // It is not stopped half-way: it takes milliseconds.
        self.write(command, &Terms { timeout: None, held: Some(held), group: Group::Own, stoppable: false })
    }

    /// Puts these paths into the index as they are on disk.
    pub fn stage(&self, paths: &[RepoPath], list: &Path, held: &File) -> Result<Wrote, GitError> {
        let bytes: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        system::write_private(list, &bytes)?;
        let mut command = self.user_command(OsStr::new("git"))?;
        let mut from = OsString::from("--pathspec-from-file=");
        from.push(list);
        // Forced: a file that the patch adds belongs into the commit even where a rule would hide it.
        command.args(["add", "--all", "--force", "--pathspec-file-nul"]).arg(from).env("GIT_LITERAL_PATHSPECS", "1");
        self.write(command, &Terms { timeout: None, held: Some(held), group: Group::Own, stoppable: false })
    }

    /// Commits the index, with all hooks.
    pub fn commit_index(&self, message: &str, held: &File, group: Group) -> Result<Wrote, GitError> {
        let mut command = self.user_command(OsStr::new("git"))?;
        command.args(["commit", "--quiet", "--cleanup=whitespace", "--message", message]);
        self.write(command, &commit_terms(held, group))
    }

    /// Commits these paths through the repository's own script.
    pub fn commit_by_script(
        &self,
        script: &Path,
        message: &str,
        paths: &[RepoPath],
        held: &File,
        group: Group,
    ) -> Result<Wrote, GitError> {
        let mut command = self.user_command(script.as_os_str())?;
        command.arg(message).args(paths.iter().map(|path| OsStr::from_bytes(path.as_bytes())));
        self.write(command, &commit_terms(held, group))
    }

    /// Returns the script through which this repository commits: tracked, executable and a plain file.
    pub fn committer(&self) -> Result<Option<(RepoPath, std::path::PathBuf)>, GitError> {
        use std::os::unix::fs::PermissionsExt;
        let path = RepoPath::from("scripts/committer");
        let tracked = self.head_entries([&path].into_iter())?.get(&path).map(|entry| entry.mode);
        let file = self.work_tree()?.join("scripts/committer");
        let runs = std::fs::symlink_metadata(&file)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
        let usable = tracked.is_some_and(|mode| mode.kind() == crate::change::Kind::File) && runs;
        Ok(usable.then_some((path, file)))
    }
}

/// A commit may wait for hooks, and for somebody who signs it; nobody waits for ever unattended.
fn commit_terms(held: &File, group: Group) -> Terms<'_> {
    let timeout = (group != Group::Foreground).then_some(Duration::from_secs(1800));
    Terms { timeout, held: Some(held), group, stoppable: true }
}
