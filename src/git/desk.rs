//! Our own files: the active contract, its pin, and what a repository configures.
//!
//! The pin lies in the worktree's own git directory, so every linked worktree has its own, and `git clean` does not
//! reach it. The contract's bytes are kept beside it under their sha256, so that an edited or deleted copy in the
//! working tree can still be compared and judged by.

use std::fs::File;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::base::Oid;
use crate::base::Sha256Hex;
use crate::git::GitError;
use crate::git::Repository;
use crate::system;

const MAX_FILE_BYTES: u64 = 1 << 20;

/// Which contract is active here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub version: u32,
    pub sha256: Sha256Hex,
    pub task_id: String,
    /// Full id of the commit where the task began; all zeros before the first commit.
    pub baseline: String,
    pub activated_at: String,
}

impl Pin {
    /// The form of the pin file that this program writes.
    pub const VERSION: u32 = 1;

    /// Returns the baseline; `None` before the first commit.
    pub fn baseline_commit_id(&self) -> Option<Oid> {
        Oid::from_hex(&self.baseline).filter(|id| !id.is_null())
    }
}

/// A contract that holds for the refs that match a pattern, in a bare repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    #[serde(rename = "ref")]
    pub pattern: String,
    #[serde(flatten)]
    pub pin: Pin,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct BindingsFile {
    bindings: Vec<Binding>,
}

/// Held while our files change.
pub struct Lock {
    _file: File,
}

/// Our files in one worktree or bare repository.
pub struct Desk<'a> {
    repository: &'a Repository,
}

impl<'a> Desk<'a> {
    pub fn of(repository: &'a Repository) -> Self {
        Desk { repository }
    }

    /// Returns our directory in the working tree; `None` in a bare repository.
    pub fn oracle_dir(&self) -> Option<PathBuf> {
        self.repository.work_tree.as_ref().map(|top| top.join(".oracle"))
    }

    /// Returns where the active contract lies.
    pub fn contract_path(&self) -> PathBuf {
        self.oracle_dir().unwrap_or_else(|| self.private_dir()).join("contract.json")
    }

    /// Returns our directory in the worktree's own git directory.
    fn private_dir(&self) -> PathBuf {
        self.repository.git_dir.join("oracle")
    }

    fn pin_path(&self) -> PathBuf {
        self.private_dir().join("active.json")
    }

    fn previous_path(&self) -> PathBuf {
        self.private_dir().join("previous.json")
    }

    fn kept_path(&self, sha256: &Sha256Hex) -> PathBuf {
        self.private_dir().join("contracts").join(format!("{sha256}.json"))
    }

    fn bindings_path(&self) -> PathBuf {
        self.private_dir().join("bindings.json")
    }

    /// Keeps other processes from changing our files here, until the returned lock is dropped.
    pub fn lock(&self) -> Result<Lock, GitError> {
        system::create_private_dir(&self.private_dir())?;
        let path = self.private_dir().join("lock");
        let failed = |reason: String| GitError::Unreadable { what: path.display().to_string(), reason };
        let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = options.map_err(|error| failed(error.to_string()))?;
        match system::lock(&file) {
            Ok(true) => Ok(Lock { _file: file }),
            Ok(false) => Err(GitError::Locked { git_dir: self.repository.git_dir.clone() }),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Returns the pin of the active contract.
    pub fn pin(&self) -> Result<Option<Pin>, GitError> {
        self.read_json(self.pin_path())
    }

    /// Returns the pin that was active before the last `contract clear`.
    pub fn previous_pin(&self) -> Result<Option<Pin>, GitError> {
        self.read_json(self.previous_path())
    }

    /// Returns the bytes of the contract in the working tree.
    pub fn contract_bytes(&self) -> Result<Option<Vec<u8>>, GitError> {
        self.read(self.contract_path())
    }

    /// Returns the bytes of a contract that was active once.
    pub fn kept_contract(&self, sha256: &Sha256Hex) -> Result<Option<Vec<u8>>, GitError> {
        let bytes = self.read(self.kept_path(sha256))?;
        Ok(bytes.filter(|bytes| Sha256Hex::of(bytes) == *sha256))
    }

    /// Makes a contract the active one. Until the pin is written, a new contract beside an old pin blocks everything.
    pub fn activate(&self, bytes: &[u8], pin: &Pin) -> Result<(), GitError> {
        self.keep(bytes, &pin.sha256)?;
        if let Some(directory) = self.oracle_dir() {
            system::ensure_real_dir(&directory)?;
            system::write_shared(&self.contract_path(), bytes)?;
        } else {
            system::write_private(&self.contract_path(), bytes)?;
        }
        self.write_json(self.pin_path(), pin)
    }

    /// Forgets the active contract, but not what the next activation has to judge.
    pub fn clear(&self, pin: Option<&Pin>) -> Result<(), GitError> {
        if let Some(pin) = pin {
            self.write_json(self.previous_path(), pin)?;
        }
        system::remove_file(&self.pin_path())?;
        system::remove_file(&self.contract_path())?;
        Ok(())
    }

    /// Returns the contracts that hold for certain refs of a bare repository.
    pub fn bindings(&self) -> Result<Vec<Binding>, GitError> {
        Ok(self.read_json::<BindingsFile>(self.bindings_path())?.unwrap_or_default().bindings)
    }

    /// Binds a contract to the refs that match a pattern, in place of an earlier one with the same pattern.
    pub fn bind(&self, bytes: &[u8], binding: Binding) -> Result<(), GitError> {
        self.keep(bytes, &binding.pin.sha256)?;
        let mut bindings = self.bindings()?;
        bindings.retain(|known| known.pattern != binding.pattern);
        bindings.push(binding);
        self.write_json(self.bindings_path(), &BindingsFile { bindings })
    }

    /// Removes every binding to refs.
    pub fn unbind_all(&self) -> Result<(), GitError> {
        Ok(system::remove_file(&self.bindings_path())?)
    }

    /// Returns the bytes of one of the repository's own files in `.oracle/`.
    pub fn configured(&self, name: &str) -> Result<Option<Vec<u8>>, GitError> {
        self.read(self.oracle_dir().unwrap_or_else(|| self.private_dir()).join(name))
    }

    /// Makes our directories and the ignore file that keeps them out of `git add -A`. Returns what is new.
    pub fn prepare(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut made = Vec::new();
        let private = self.private_dir();
        if !private.exists() {
            made.push(private.clone());
        }
        system::create_private_dir(&private)?;
        if let Some(directory) = self.oracle_dir() {
            let fresh = !directory.exists();
            system::ensure_real_dir(&directory)?;
            let ignore = directory.join(".gitignore");
            if self.read(ignore.clone())?.is_none() {
                system::write_new(&ignore, b"*\n")?;
            }
            if fresh {
                made.push(directory);
            }
        }
        Ok(made)
    }

    fn keep(&self, bytes: &[u8], sha256: &Sha256Hex) -> Result<(), GitError> {
        let path = self.kept_path(sha256);
        if let Some(directory) = path.parent() {
            system::create_private_dir(directory)?;
        }
        Ok(system::write_private(&path, bytes)?)
    }

    fn read(&self, path: PathBuf) -> Result<Option<Vec<u8>>, GitError> {
        Ok(Repository::read_optional(&path, MAX_FILE_BYTES)?)
    }

    fn read_json<T: for<'de> Deserialize<'de>>(&self, path: PathBuf) -> Result<Option<T>, GitError> {
        let Some(bytes) = self.read(path.clone())? else { return Ok(None) };
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|error| GitError::Unreadable { what: path.display().to_string(), reason: error.to_string() })
    }

    fn write_json(&self, path: PathBuf, value: &impl Serialize) -> Result<(), GitError> {
        system::create_private_dir(&self.private_dir())?;
        let mut bytes = serde_json::to_vec_pretty(value)
            .map_err(|error| GitError::Unreadable { what: path.display().to_string(), reason: error.to_string() })?;
        bytes.push(b'\n');
        Ok(system::write_private(&path, &bytes)?)
    }
}
