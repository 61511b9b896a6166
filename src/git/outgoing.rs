//! Where a branch is pushed to, and the push.

use std::ffi::OsStr;
use std::fs::File;
use std::time::Duration;

use crate::git::GitError;
use crate::git::Repository;
use crate::git::Wrote;
use crate::git::program::first_line;
use crate::git::writer::Terms;
use crate::system::Environment;
use crate::system::Group;

/// A push that takes longer waits for something that nobody gives.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Where a branch is pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub remote: String,
    /// Full name of the ref there.
    pub reference: String,
    /// The branch has no upstream yet; pushing sets it.
    pub is_new: bool,
}

impl Destination {
    /// Returns the name of the branch there.
    pub fn branch(&self) -> &str {
        self.reference.strip_prefix("refs/heads/").unwrap_or(&self.reference)
    }
}

impl Repository {
    /// Returns where a branch is pushed to; `None` when there is no remote to choose.
    pub fn destination(&self, branch: &str) -> Result<Option<Destination>, GitError> {
        let git = self.user_git()?;
        let remote = git.config(&format!("branch.{branch}.remote"))?;
        let merge = git.config(&format!("branch.{branch}.merge"))?;
        if let (Some(remote), Some(reference)) = (remote, merge) {
            return Ok(Some(Destination { remote, reference, is_new: false }));
        }
        let remotes = git.remotes()?;
        let chosen = match git.config("remote.pushDefault")? {
            Some(name) => Some(name),
            None if remotes.contains_key("origin") => Some("origin".to_owned()),
            None if remotes.len() == 1 => remotes.into_keys().next(),
            None => None,
        };
        let reference = format!("refs/heads/{branch}");
        Ok(chosen.map(|remote| Destination { remote, reference, is_new: true }))
    }

    /// Returns the branch that a remote shows to whoever clones it, as far as we know it here.
    pub fn known_default_branch(&self, remote: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/remotes/{remote}/HEAD");
        let finished = self.user_git()?.run(&["symbolic-ref", "--quiet", "--", &name])?;
        let target = String::from_utf8_lossy(&finished.stdout).trim_end().to_owned();
        Ok(target.strip_prefix(&format!("refs/remotes/{remote}/")).map(str::to_owned))
    }

    /// Asks a remote for its default branch. What it says when it cannot be asked is in the error.
    pub fn ask_default_branch(
        &self,
        remote: &str,
        environment: &Environment,
    ) -> Result<Result<Option<String>, Wrote>, GitError> {
        let wrote = self.talk(&["ls-remote", "--symref", "--", remote, "HEAD"], None, environment)?;
        if !wrote.succeeded() {
            return Ok(Err(wrote));
        }
        let rows = wrote.output.lines().filter_map(|row| row.strip_prefix("ref: ")?.split('\t').next());
        Ok(Ok(rows.filter_map(|name| name.strip_prefix("refs/heads/")).map(str::to_owned).next()))
    }

    /// Makes a branch at HEAD and switches to it. Inside is what git has against the name.
    pub fn create_branch(&self, name: &str) -> Result<Result<(), String>, GitError> {
        let mut command = self.user_command(OsStr::new("git"))?;
        command.args(["switch", "--quiet", "--create", name]).env("LC_ALL", "C");
        let wrote = self.write(command, &Terms { timeout: None, held: None, group: Group::Own, stoppable: false })?;
        Ok(if wrote.succeeded() { Ok(()) } else { Err(first_line(&wrote.output)) })
    }

    /// Pushes a branch, never by force.
    pub fn push(
        &self,
        branch: &str,
        destination: &Destination,
        held: &File,
        environment: &Environment,
    ) -> Result<Wrote, GitError> {
        let refspec = format!("refs/heads/{branch}:{}", destination.reference);
        let mut args = vec!["push", "--porcelain", "--no-force-with-lease"];
        if destination.is_new {
            args.push("--set-upstream");
        }
        args.extend(["--", destination.remote.as_str(), refspec.as_str()]);
        self.talk(&args, Some(held), environment)
    }

    /// Runs a git command that talks to a remote: without a prompt of any kind, and not for ever.
    fn talk(&self, args: &[&str], held: Option<&File>, environment: &Environment) -> Result<Wrote, GitError> {
        let mut command = self.user_command(OsStr::new("git"))?;
        command.args(["-c", "core.askPass="]).args(args);
        command
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("SSH_ASKPASS_REQUIRE", "never")
            .env("GCM_INTERACTIVE", "never")
            .env("LC_ALL", "C");
        // Only where no other program than ssh is named can we know what it understands.
        if !environment.names_ssh_program {
            let configured = match &environment.git_ssh_command {
                Some(command) => Some(command.clone()),
                None => self.user_git()?.config("core.sshCommand")?,
            };
            let ssh = configured.filter(|command| !command.is_empty()).unwrap_or_else(|| "ssh".to_owned());
            command.env("GIT_SSH_COMMAND", format!("{ssh} -o BatchMode=yes"));
        }
        self.write(command, &Terms { timeout: Some(TIMEOUT), held, group: Group::Own, stoppable: true })
    }
}
