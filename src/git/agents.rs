//! What we keep about coding agents: their settings files, what those were before, when a hook last fired.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::base::Sha256Hex;
use crate::git::GitError;
use crate::git::Repository;
use crate::system;

/// Settings are never longer.
const MAX_BYTES: u64 = 1 << 20;

/// Our files about coding agents in one worktree.
pub struct Agents<'a> {
    repository: &'a Repository,
}

/// What an install has found and left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The settings file, from the top of the working tree.
    pub file: String,
    /// Its text before; `None` when there was none.
    pub before: Option<String>,
    /// What the install left in it.
    pub sha256: Sha256Hex,
    /// Directories that were made for it, outermost first.
    pub made: Vec<String>,
}

impl<'a> Agents<'a> {
    pub fn of(repository: &'a Repository) -> Self {
        Agents { repository }
    }

    fn private_dir(&self) -> PathBuf {
        self.repository.git_dir.join("oracle").join("agents")
    }

    fn shared_file(&self, name: &str) -> PathBuf {
        self.repository.common_dir.join("oracle").join("agents").join(name)
    }

    fn setup_path(&self, agent: &str) -> PathBuf {
        self.private_dir().join(format!("{agent}.json"))
    }

    /// Notes that a hook was run. Nothing depends on it but what `doctor` says, so it may fail and is not made durable.
    pub fn mark_fired(&self, agent: &str) {
        let path = self.shared_file(&format!("{agent}.fired"));
        let text = system::now();
        if std::fs::write(&path, &text).is_err()
            && path.parent().is_some_and(|parent| system::create_private_dir(parent).is_ok())
        {
            let _ = std::fs::write(&path, text);
        }
    }

    /// Returns when a hook was last run.
    pub fn last_fired(&self, agent: &str) -> Option<String> {
        let bytes = system::read_limited(&self.shared_file(&format!("{agent}.fired")), 64).ok()?;
        String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
    }

    /// Returns how often a session of an agent was sent back to work in a row.
    pub fn times_continued(&self, agent: &str, session: &str) -> u64 {
        let path = self.private_dir().join(format!("{agent}.continued"));
        let bytes = system::read_limited(&path, MAX_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.split_once('\n')
            .filter(|(_, last)| *last == session)
            .and_then(|(count, _)| count.parse().ok())
            .unwrap_or(0)
    }

    pub fn set_times_continued(&self, agent: &str, session: &str, count: u64) -> Result<(), GitError> {
        let path = self.private_dir().join(format!("{agent}.continued"));
        if count == 0 {
            return Ok(system::remove_file(&path)?);
        }
        system::create_private_dir(&self.private_dir())?;
        Ok(system::write_private(&path, format!("{count}\n{session}").as_bytes())?)
    }

    /// Returns what the last install in this worktree has found and left.
    pub fn setup(&self, agent: &str) -> Result<Option<Setup>, GitError> {
        let path = self.setup_path(agent);
        let Some(bytes) = Repository::read_optional(&path, 4 * MAX_BYTES)? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| GitError::Unreadable {
            what: path.display().to_string(),
            reason: error.to_string(),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(unreadable)
    }

    pub fn keep_setup(&self, agent: &str, setup: &Setup) -> Result<(), GitError> {
        let path = self.setup_path(agent);
        system::create_private_dir(&self.private_dir())?;
        let bytes = serde_json::to_vec_pretty(setup)
            .map_err(|error| GitError::Unreadable { what: path.display().to_string(), reason: error.to_string() })?;
        Ok(system::write_private(&path, &bytes)?)
    }

    pub fn forget_setup(&self, agent: &str) -> Result<(), GitError> {
        Ok(system::remove_file(&self.setup_path(agent))?)
    }

    /// Returns the text of a settings file; `None` when there is none.
    pub fn settings(&self, file: &str) -> Result<Option<String>, GitError> {
        let path = self.settings_path(file)?;
        let Some(bytes) = Repository::read_optional(&path, MAX_BYTES)? else { return Ok(None) };
        let not_text =
            |_| GitError::Unreadable { what: path.display().to_string(), reason: "it is not UTF-8".to_owned() };
        String::from_utf8(bytes).map(Some).map_err(not_text)
    }

    /// Returns the directories that a settings file needs and that are not there, outermost first.
    pub fn missing_directories(&self, file: &str) -> Result<Vec<String>, GitError> {
        let top = self.repository.work_tree()?;
        let parents = Path::new(file).ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
        let missing = parents.filter(|parent| !top.join(parent).exists());
        let mut missing: Vec<String> = missing.map(|parent| parent.to_string_lossy().into_owned()).collect();
        missing.reverse();
        Ok(missing)
    }

    /// Writes a settings file whole, with the permissions that it had.
    pub fn write_settings(&self, file: &str, text: &str) -> Result<(), GitError> {
        let path = self.settings_path(file)?;
        for directory in self.missing_directories(file)? {
            system::ensure_real_dir(&self.repository.work_tree()?.join(directory))?;
        }
        let mode = std::fs::metadata(&path).ok().map(|metadata| metadata.permissions().mode());
        system::write_shared(&path, text.as_bytes())?;
        if let Some(mode) = mode {
            let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
        }
        Ok(())
    }

    /// Removes a settings file, and the directories that were made for it where nothing else is in them.
    pub fn remove_settings(&self, file: &str, made: &[String]) -> Result<(), GitError> {
        system::remove_file(&self.settings_path(file)?)?;
        for directory in made.iter().rev() {
            let is_above = Path::new(file).ancestors().skip(1).any(|parent| parent == Path::new(directory));
            // One that others use by now stays: only an empty directory can be removed.
            if is_above && !directory.is_empty() {
                let _ = std::fs::remove_dir(self.repository.work_tree()?.join(directory));
            }
        }
        Ok(())
    }

    /// Returns where a settings file lies. A link on the way is refused: a cloned repository could make us write elsewhere.
    fn settings_path(&self, file: &str) -> Result<PathBuf, GitError> {
        let mut path = self.repository.work_tree()?.to_owned();
        let names: Vec<OsString> = Path::new(file).iter().map(OsString::from).collect();
        for (at, name) in names.iter().enumerate() {
            path.push(name);
            let expected = if at + 1 == names.len() { "a regular file" } else { "a directory" };
            match std::fs::symlink_metadata(&path) {
                Ok(metadata) if at + 1 == names.len() && metadata.is_file() => {}
                Ok(metadata) if at + 1 < names.len() && metadata.is_dir() => {}
                Ok(_) => return Err(system::FileError::WrongType { path, expected }.into()),
                Err(_) => {}
            }
        }
        Ok(path)
    }
}
