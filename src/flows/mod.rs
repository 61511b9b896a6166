//! One file per verb; the only place where rooms meet.
//!
//! A flow takes a request and returns what a door shows. It prints nothing and asks nobody: where a person has to
//! decide, it calls the [`Ask`] that the door gave it.

pub mod activate;
mod active;
pub mod agents;
pub mod amend;
pub mod apply;
pub mod ask;
pub mod auth;
pub mod bundle;
pub mod check;
pub mod clear;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod extract;
mod failure;
pub mod gate;
pub mod guard;
pub mod hook;
pub mod hooks;
pub mod init;
pub mod new;
pub mod review;
mod rounds;
pub mod scan;
pub mod secrets;
pub mod session;
pub mod show;
pub mod status;
pub mod talk;

use std::path::Path;
use std::path::PathBuf;

use crate::git::Repository;
use crate::policy::PersonConfig;
use crate::system;
use crate::system::Environment;

pub use active::ActiveContract;
pub use failure::Failure;
pub use failure::Kind;

/// A configuration file is never longer.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// What every flow works with.
pub struct Flows {
    pub environment: Environment,
}

/// Puts a question to the person at the terminal. `None` when there is nobody to ask.
pub type Ask<'a> = &'a dyn Fn(&Question) -> Option<bool>;

/// Something that only a person can decide.
pub struct Question {
    pub title: String,
    pub details: Vec<String>,
    pub prompt: String,
}

impl Flows {
    /// Returns the person's directory.
    pub fn home(&self) -> Result<PathBuf, Failure> {
        let missing = || Failure::new(Kind::Other, "there is no home directory").hinted("Set ORACLE_HOME_DIR or HOME.");
        self.environment.oracle_home.clone().ok_or_else(missing)
    }

    /// Returns the flows as started in another directory, where one is named.
    fn rooted(&self, root: Option<&Path>) -> Flows {
        let mut environment = self.environment.clone();
        if let Some(root) = root {
            environment.current_dir = environment.current_dir.join(root);
        }
        Flows { environment }
    }

    /// Finds the repository around the current directory.
    pub fn repository(&self) -> Result<Repository, Failure> {
        Ok(Repository::discover(&self.environment)?)
    }

    /// Finds the repository that git runs a hook for, with the directory that the hook lies in where it is known.
    pub fn hooked_repository(&self, hooks_dir: Option<&Path>) -> Result<Repository, Failure> {
        Ok(Repository::discover_for_hook(&self.environment, hooks_dir)?)
    }

    /// Reads what the person has configured.
    pub fn person(&self) -> Result<PersonConfig, Failure> {
        let Some(home) = &self.environment.oracle_home else { return Ok(PersonConfig::default()) };
        let path = home.join("config.toml");
        match system::read_limited(&path, MAX_CONFIG_BYTES) {
            Ok(bytes) => PersonConfig::parse(&bytes).map_err(|error| Failure::config(&path, &error)),
            Err(error) if error.is_not_found() => Ok(PersonConfig::default()),
            Err(error) => Err(error.into()),
        }
    }
}
