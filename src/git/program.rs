//! The one place where the `git` program is started.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::git::GitError;
use crate::system;
use crate::system::Finished;

/// The `git` program, run in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    /// The repository that is meant, where the environment names it from another directory.
    git_dir: Option<PathBuf>,
}

impl Git {
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Git { dir: dir.into(), git_dir: None }
    }

    /// Returns git at the top of a working tree with this git directory, whatever the environment says.
    pub fn at(top: &Path, git_dir: &Path) -> Self {
        Git { dir: top.to_owned(), git_dir: Some(git_dir.to_owned()) }
    }

    /// Returns a command that asks a question and runs nothing that the repository has configured.
    ///
    /// `GIT_DIR`, `GIT_WORK_TREE`, `GIT_INDEX_FILE` and the like stay: they say which repository is meant.
    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.dir)
            // A monitor named by the repository is somebody else's program; none of our questions runs a hook. A name that
            // means two things must be noticed.
            .args(["-c", "core.fsmonitor=false", "-c", "core.warnAmbiguousRefs=true"])
            .args(args)
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            // Messages are read by us; a translation would not be recognised.
            .env("LC_ALL", "C")
            .env_remove("GIT_EXTERNAL_DIFF")
            .env_remove("GIT_TRACE");
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", &self.dir);
        }
        command
    }

    /// Runs git with these arguments to its end.
    pub fn run(&self, args: &[&str]) -> Result<Finished, GitError> {
        self.run_with_input(args, b"")
    }

    /// Runs git with these arguments and `input` on its standard input.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Result<Finished, GitError> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        Ok(system::run(self.command(&args), input)?)
    }

    /// Returns the version of the git program, such as `2.47.3`.
    pub fn version(&self) -> Result<String, GitError> {
        let finished = self.run(&["--version"])?;
        let text = String::from_utf8_lossy(&finished.stdout);
        let version = text.trim().strip_prefix("git version ").unwrap_or_default();
        if !finished.succeeded() || version.is_empty() {
            return Err(GitError::Failed { command: "--version".to_owned(), reason: first_line(&finished.stderr) });
        }
        Ok(version.to_owned())
    }

    /// Returns the commit that a submodule, in whose directory this git runs, has checked out.
    pub(super) fn submodule_head(&self) -> Result<Oid, GitError> {
        let args = ["rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"].map(OsStr::new);
        let mut command = self.command(&args);
        for name in LOCATION_VARIABLES {
            command.env_remove(name);
        }
        let finished = system::run(command, b"")?;
        let failed = || GitError::Failed { command: "rev-parse HEAD".to_owned(), reason: first_line(&finished.stderr) };
        Oid::from_hex(String::from_utf8_lossy(&finished.stdout).trim_end()).ok_or_else(failed)
    }

    /// Tells for each of `paths` whether git converts its line endings when it stores it.
    pub(super) fn line_endings(
        &self,
        root: &Path,
        paths: &[&RepoPath],
    ) -> Result<HashMap<RepoPath, Conversion>, GitError> {
        let automatic = match self.config("core.autocrlf")?.map(|value| value.to_lowercase()).as_deref() {
            Some("true" | "input" | "yes" | "on" | "1") => Conversion::OfText,
            _ => Conversion::Never,
        };
        let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let finished =
            Git::in_dir(root).run_with_input(&["check-attr", "-z", "--stdin", "text", "crlf", "eol"], &input)?;
        if !finished.succeeded() {
            return Err(GitError::Failed { command: "check-attr".to_owned(), reason: first_line(&finished.stderr) });
        }
        let fields: Vec<&[u8]> = finished.stdout.split(|byte| *byte == 0).collect();
        let mut attributes: HashMap<(RepoPath, &[u8]), &[u8]> = HashMap::new();
        for [path, attribute, value] in fields.as_chunks::<3>().0 {
            attributes.insert((RepoPath::new(*path), attribute), value);
        }
        let conversion = |path: &RepoPath| {
            let value = |name: &'static [u8]| attributes.get(&(path.clone(), name)).copied().unwrap_or(b"unspecified");
            // `crlf` is the old name of `text`; `eol` makes a text of a file that says nothing else.
            let text = if value(b"text") == b"unspecified" { value(b"crlf") } else { value(b"text") };
            match text {
                b"unset" => Conversion::Never,
                b"auto" => Conversion::OfText,
                b"unspecified" if matches!(value(b"eol"), b"lf" | b"crlf") => Conversion::Always,
                b"unspecified" => automatic,
                _ => Conversion::Always,
            }
        };
        Ok(paths.iter().map(|path| ((*path).clone(), conversion(path))).collect())
    }

    /// Returns the values of the boolean keys that match a pattern, by their names in lower case.
    pub(super) fn config_bools(&self, pattern: &str) -> Result<HashMap<String, bool>, GitError> {
        let finished = self.run(&["config", "--null", "--type=bool", "--get-regexp", "--", pattern])?;
        if !matches!(finished.code, Some(0 | 1)) {
            return Err(GitError::Failed {
                command: format!("config {pattern}"),
                reason: first_line(&finished.stderr),
            });
        }
        let text = String::from_utf8_lossy(&finished.stdout);
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('\n'));
        Ok(pairs.map(|(key, value)| (key.to_owned(), value == "true")).collect())
    }

    /// Returns the configured remotes by name.
    pub(super) fn remotes(&self) -> Result<HashMap<String, Remote>, GitError> {
        let finished = self.run(&["config", "--null", "--get-regexp", r"^remote\..*\.(url|pushurl|fetch)$"])?;
        if !matches!(finished.code, Some(0 | 1)) {
            return Err(GitError::Failed { command: "config remote".to_owned(), reason: first_line(&finished.stderr) });
        }
        let text = String::from_utf8_lossy(&finished.stdout);
        let mut remotes: HashMap<String, Remote> = HashMap::new();
        for (key, value) in text.split('\0').filter_map(|pair| pair.split_once('\n')) {
            let Some((name, field)) = key.strip_prefix("remote.").and_then(|rest| rest.rsplit_once('.')) else {
                continue;
            };
            let remote = remotes.entry(name.to_owned()).or_default();
            let values = if field == "fetch" { &mut remote.fetch } else { &mut remote.urls };
            values.push(value.to_owned());
        }
        Ok(remotes)
    }

    /// Returns where a key is set that holds here: `local`, `worktree`, `global`, `system` or `command`.
    pub(super) fn config_scope(&self, key: &str) -> Result<Option<String>, GitError> {
        let finished = self.run(&["config", "--show-scope", "--get", "--", key])?;
        match finished.code {
            Some(0) => {
                let text = String::from_utf8_lossy(&finished.stdout);
                Ok(Some(text.split('\t').next().unwrap_or_default().to_owned()))
            }
            Some(1) => Ok(None),
            _ => Err(GitError::Failed { command: format!("config {key}"), reason: first_line(&finished.stderr) }),
        }
    }

    /// Returns the value of a plain configuration key of this repository.
    pub fn config(&self, key: &str) -> Result<Option<String>, GitError> {
        let finished = self.run(&["config", "--get", "--", key])?;
        match finished.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&finished.stdout).trim_end_matches('\n').to_owned())),
            Some(1) => Ok(None),
            _ => Err(GitError::Failed { command: format!("config {key}"), reason: first_line(&finished.stderr) }),
        }
    }
}

/// What is configured about a remote.
#[derive(Debug, Default)]
pub(super) struct Remote {
    pub urls: Vec<String>,
    pub fetch: Vec<String>,
}

/// When git turns the line endings of a file into line feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Never,
    /// When the content looks like text to git.
    OfText,
    Always,
}

/// Variables that say which repository is meant. A question about another repository must not inherit them.
pub(super) const LOCATION_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Returns the first line of what git said, without its `fatal:`.
pub(super) fn first_line(stderr: &str) -> String {
    let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    let line = line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")).unwrap_or(line);
    crate::base::visible(line).into_owned()
}
