//! The hooks directory: our shims in it, and what was there before.
//!
//! The hook that was there before keeps its bytes, its mode and its times: it gets a second name in the same directory
//! and is renamed back when our shim goes. At every moment the hook's own name is there, whole, as the old hook or as
//! ours. What cannot be seen from the files is kept in a record in the git directory: which directories are ours to
//! remove, and where hooks were installed.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::base::quote;
use crate::base::unquote;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::shim;
use crate::git::shim::Before;
use crate::git::shim::Runner;
use crate::git::shim::SHIM_VERSION;
use crate::git::shim::Shim;
use crate::system;
use crate::system::FileError;

/// Where people work.
const WORKTREE_HOOKS: [&str; 4] = ["pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"];

/// Where people push to.
const BARE_HOOKS: [&str; 1] = ["pre-receive"];

/// A hook is a script or a program; none is longer.
const MAX_HOOK_BYTES: u64 = 256 << 20;

/// What follows the name of the hook that was there before.
const BEFORE_SUFFIX: &str = ".before-oracle";

/// The hooks directory of a repository.
pub struct Hooks<'a> {
    repository: &'a Repository,
}

/// Where the hooks directory is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the one in the git directory.
    Default,
    /// In this repository or worktree.
    Repository,
    /// For every repository of the person or the machine, or for this one command: not ours to write into.
    Elsewhere { scope: String },
}

/// What was done with one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Installed,
    /// An older shim, or one for a program elsewhere, was replaced.
    Renewed,
    Unchanged,
}

/// How one hook stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookStatus {
    pub name: &'static str,
    pub state: HookState,
    /// The hook that was there before and runs first.
    pub before: Option<Earlier>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    /// There is no hook.
    Missing,
    /// There is a hook, and it is not ours.
    Foreign(Option<Runner>),
    Ours {
        shim: Shim,
        /// git runs it, and it is the one that this program would write.
        executable: bool,
        current: bool,
    },
}

/// A hook of somebody else that is kept beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    pub runner: Option<Runner>,
    /// git would ignore it otherwise, and so do we.
    pub executable: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    version: u32,
    directories: Vec<RecordedDirectory>,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedDirectory {
    path: String,
    /// Directories that were made for it, outermost first.
    made: Vec<String>,
}

/// What lies under the name of a hook.
enum Found {
    Nothing,
    Shim(Shim, Vec<u8>),
    Other(Vec<u8>),
}

impl<'a> Hooks<'a> {
    pub fn of(repository: &'a Repository) -> Self {
        Hooks { repository }
    }

    /// Returns the hooks that belong into this repository.
    pub fn names(&self) -> &'static [&'static str] {
        if self.repository.work_tree.is_some() { &WORKTREE_HOOKS } else { &BARE_HOOKS }
    }

    pub fn directory(&self) -> &Path {
        &self.repository.hooks_dir
    }

    /// Returns where the hooks directory is configured.
    pub fn origin(&self) -> Result<Origin, GitError> {
        let scope = self.repository.git.config_scope("core.hooksPath")?;
        Ok(match scope.as_deref() {
            None => Origin::Default,
            Some("local" | "worktree") => Origin::Repository,
            Some(scope) => Origin::Elsewhere { scope: scope.to_owned() },
        })
    }

    /// Tells whether git tracks files in the hooks directory.
    pub fn is_tracked(&self) -> Result<bool, GitError> {
        let Some(path) = self.repository.tracked_hooks_dir() else { return Ok(false) };
        let pathspec = format!(":(top,literal){}", String::from_utf8_lossy(path.as_bytes()));
        let finished = self.repository.git.run(&["ls-files", "-z", "--", &pathspec])?;
        Ok(!finished.stdout.is_empty())
    }

    /// Installs every hook that belongs here. `program` is what the hooks run.
    pub fn install(&self, program: &Path) -> Result<Vec<(&'static str, Done)>, GitError> {
        self.note_directory()?;
        self.names().iter().map(|name| Ok((*name, self.place(name).install(program)?))).collect()
    }

    /// Removes our hooks wherever they were installed, and puts back what was there. Returns the names that were ours.
    pub fn uninstall(&self) -> Result<Vec<String>, GitError> {
        let mut record = self.read_record()?;
        let here = encode(self.directory());
        if record.directories.iter().all(|directory| directory.path != here) {
            record.directories.push(RecordedDirectory { path: here, made: Vec::new() });
        }
        let mut removed = Vec::new();
        for directory in &record.directories {
            let path = decode(&directory.path);
            for name in WORKTREE_HOOKS.iter().chain(&BARE_HOOKS) {
                if (Place { directory: &path, name }).uninstall()? {
                    removed.push((*name).to_owned());
                }
            }
            for made in directory.made.iter().rev() {
                // Somebody else's files keep it.
                let _ = fs::remove_dir(decode(made));
            }
        }
        system::remove_file(&self.record_path())?;
        Ok(removed)
    }

    /// Returns how each hook that belongs here stands.
    pub fn status(&self, program: Option<&Path>) -> Result<Vec<HookStatus>, GitError> {
        self.names().iter().map(|name| self.place(name).status(name, program)).collect()
    }

    fn place(&self, name: &'a str) -> Place<'_> {
        Place { directory: self.directory(), name }
    }

    fn private_dir(&self) -> PathBuf {
        self.repository.common_dir.join("oracle")
    }

    fn record_path(&self) -> PathBuf {
        self.private_dir().join("hooks.json")
    }

    fn read_record(&self) -> Result<Record, GitError> {
        let path = self.record_path();
        let Some(bytes) = Repository::read_optional(&path, 1 << 20)? else { return Ok(Record::default()) };
        serde_json::from_slice(&bytes)
            .map_err(|error| GitError::Unreadable { what: path.display().to_string(), reason: error.to_string() })
    }

    /// Makes the hooks directory where there is none, and writes down that it is ours before it is.
    fn note_directory(&self) -> Result<(), GitError> {
        let path = encode(self.directory());
        let mut record = self.read_record()?;
        if record.directories.iter().all(|known| known.path != path) {
            let absent = |directory: &&Path| fs::symlink_metadata(directory).is_err();
            let mut made: Vec<String> = self.directory().ancestors().take_while(absent).map(encode).collect();
            made.reverse();
            record.version = 1;
            record.directories.push(RecordedDirectory { path, made });
            let mut bytes = serde_json::to_vec_pretty(&record).unwrap_or_default();
            bytes.push(b'\n');
            system::create_private_dir(&self.private_dir())?;
            system::write_private(&self.record_path(), &bytes)?;
        }
        let failed = |source: io::Error| FileError::Io { action: "create", path: self.directory().to_owned(), source };
        fs::create_dir_all(self.directory()).map_err(failed)?;
        Ok(())
    }
}

/// Writes a path so that any bytes survive in JSON.
fn encode(path: &Path) -> String {
    quote(path.as_os_str().as_bytes())
}

fn decode(text: &str) -> PathBuf {
    let bytes = unquote(text.as_bytes()).map_or_else(|| text.as_bytes().to_vec(), |(bytes, _)| bytes);
    PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))
}

/// One hook in one directory.
struct Place<'a> {
    directory: &'a Path,
    name: &'a str,
}

impl Place<'_> {
    fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }

    /// Returns where the hook that was there before is kept.
    fn before_path(&self) -> PathBuf {
        self.with_suffix(BEFORE_SUFFIX)
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        self.directory.join(format!("{}{suffix}", self.name))
    }

    fn install(&self, program: &Path) -> Result<Done, GitError> {
        self.remove_leftovers()?;
        if let Found::Other(bytes) = look(&self.path())? {
            let legacy = self.with_suffix(".legacy");
            let is_ours = matches!(look(&legacy)?, Found::Shim(..));
            // The pre-commit tool was installed over us and runs us from there.
            if is_ours && Runner::of(&bytes) == Some(Runner::PreCommit) {
                return self.write_shim(&legacy, program);
            }
            self.set_before(&bytes)?;
        }
        for suffix in [".legacy", ".old"] {
            self.remove_own(&self.with_suffix(suffix))?;
        }
        self.write_shim(&self.path(), program)
    }

    /// Gives the hook that is there a second name.
    fn set_before(&self, bytes: &[u8]) -> Result<(), GitError> {
        let (path, before) = (self.path(), self.before_path());
        if let Found::Other(stale) | Found::Shim(_, stale) = look(&before)? {
            // An install that was interrupted left both names to one file.
            if is_same_file(&path, &before) {
                return Ok(());
            }
            if is_made_anew(&stale, bytes) {
                system::remove_file(&before)?;
            } else {
                // Somebody replaced our shim and with it what it ran. That hook stays, under a name of its own.
                let names = (1_u32..).map(|number| self.with_suffix(&format!("{BEFORE_SUFFIX}-{number}")));
                let free = names.into_iter().find(|path| fs::symlink_metadata(path).is_err());
                system::move_file(&before, &free.unwrap_or_else(|| before.clone()))?;
            }
        }
        Ok(system::link_or_move(&path, &before)?)
    }

    fn write_shim(&self, path: &Path, program: &Path) -> Result<Done, GitError> {
        let script = shim::render(self.name, program, self.before()?);
        let done = match look(path)? {
            Found::Shim(_, bytes) if bytes == script && is_executable(path) => return Ok(Done::Unchanged),
            Found::Shim(..) => Done::Renewed,
            Found::Nothing | Found::Other(_) => Done::Installed,
        };
        system::write_executable(path, &script)?;
        Ok(done)
    }

    fn before(&self) -> Result<Before, GitError> {
        Ok(match look(&self.before_path())? {
            Found::Nothing | Found::Shim(..) => Before::None,
            Found::Other(bytes) => Before::of(&bytes),
        })
    }

    /// Tells whether something of ours was there.
    fn uninstall(&self) -> Result<bool, GitError> {
        self.remove_leftovers()?;
        let (path, before) = (self.path(), self.before_path());
        let has_before = matches!(look(&before)?, Found::Other(_));
        match look(&path)? {
            Found::Shim(..) | Found::Nothing if has_before => {
                system::move_file(&before, &path)?;
            }
            Found::Shim(..) => system::remove_file(&path)?,
            Found::Nothing => return Ok(false),
            Found::Other(bytes) => return self.uninstall_beside(&bytes, has_before),
        }
        for suffix in [".legacy", ".old", BEFORE_SUFFIX] {
            self.remove_own(&self.with_suffix(suffix))?;
        }
        Ok(true)
    }

    /// Leaves a hook that somebody put in our place, and puts back what we kept where that tool would have put it.
    fn uninstall_beside(&self, bytes: &[u8], has_before: bool) -> Result<bool, GitError> {
        let before = self.before_path();
        let mut was_ours = has_before;
        if has_before {
            let kept = read(&before)?;
            if is_same_file(&self.path(), &before) || is_made_anew(&kept, bytes) {
                system::remove_file(&before)?;
            }
        }
        for suffix in [".legacy", ".old"] {
            let aside = self.with_suffix(suffix);
            if !matches!(look(&aside)?, Found::Shim(..)) {
                continue;
            }
            was_ours = true;
            match matches!(look(&before)?, Found::Other(_)) {
                true => system::move_file(&before, &aside)?,
                false => system::remove_file(&aside)?,
            }
        }
        Ok(was_ours)
    }

    fn status(&self, name: &'static str, program: Option<&Path>) -> Result<HookStatus, GitError> {
        let ours = |path: &Path, shim: Shim, bytes: &[u8]| -> Result<HookState, GitError> {
            let wanted = program.map(|program| Ok::<_, GitError>(shim::render(name, program, self.before()?)));
            let current = match wanted.transpose()? {
                Some(wanted) => wanted == bytes,
                None => shim.version == SHIM_VERSION,
            };
            Ok(HookState::Ours { shim, executable: is_executable(path), current })
        };
        let state = match look(&self.path())? {
            Found::Nothing => HookState::Missing,
            Found::Shim(shim, bytes) => ours(&self.path(), shim, &bytes)?,
            Found::Other(bytes) => {
                let runner = Runner::of(&bytes);
                let legacy = self.with_suffix(".legacy");
                match look(&legacy)? {
                    Found::Shim(shim, bytes) if runner == Some(Runner::PreCommit) => ours(&legacy, shim, &bytes)?,
                    _ => HookState::Foreign(runner),
                }
            }
        };
        let before = match look(&self.before_path())? {
            Found::Other(bytes) => {
                Some(Earlier { runner: Runner::of(&bytes), executable: is_executable(&self.before_path()) })
            }
            Found::Nothing | Found::Shim(..) => None,
        };
        Ok(HookStatus { name, state, before })
    }

    fn remove_own(&self, path: &Path) -> Result<(), GitError> {
        if matches!(look(path)?, Found::Shim(..)) {
            system::remove_file(path)?;
        }
        Ok(())
    }

    /// Removes what an install that was interrupted did not get to name.
    fn remove_leftovers(&self) -> Result<(), GitError> {
        let Ok(entries) = fs::read_dir(self.directory) else { return Ok(()) };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_temporary = name.strip_prefix('.').is_some_and(|rest| rest.starts_with(&format!("{}.", self.name)));
            if is_temporary && name.ends_with(".tmp") {
                system::remove_file(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Looks at what lies under a name. A link is followed to see what it is, and never written through.
fn look(path: &Path) -> Result<Found, GitError> {
    let link = match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Found::Nothing);
        }
        Err(source) => return Err(FileError::Io { action: "read", path: path.to_owned(), source }.into()),
        Ok(metadata) => metadata.is_symlink(),
    };
    let bytes = match system::read_limited(path, MAX_HOOK_BYTES) {
        Ok(bytes) => bytes,
        // A link that leads nowhere is a hook that git ignores.
        Err(error) if link && error.is_not_found() => Vec::new(),
        // What we may not read we can still set aside.
        Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(match shim::recognise(&bytes).filter(|_| !link) {
        Some(shim) => Found::Shim(shim, bytes),
        None => Found::Other(bytes),
    })
}

/// Tells whether a hook is the same as an older one, or what the tool that made the older one has made again.
fn is_made_anew(older: &[u8], newer: &[u8]) -> bool {
    older == newer || Runner::of(newer).is_some() && Runner::of(newer) == Runner::of(older)
}

fn read(path: &Path) -> Result<Vec<u8>, GitError> {
    Ok(match look(path)? {
        Found::Nothing => Vec::new(),
        Found::Shim(_, bytes) | Found::Other(bytes) => bytes,
    })
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(a).is_some() && identity(a) == identity(b)
}
