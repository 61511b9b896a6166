//! The environment variables that git-oracle listens to, read once.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::Oid;

/// What the surroundings say. No variable here can switch a gate off.
#[derive(Debug, Clone)]
pub struct Environment {
    pub current_dir: PathBuf,
    /// `$ORACLE_HOME_DIR`, else `~/.oracle`; `None` where there is no home.
    pub oracle_home: Option<PathBuf>,
    /// `$ORACLE_LOG`: tracing filters.
    pub log: Option<String>,
    /// Inside a GitHub Actions step: where the step summary is written.
    pub github_step_summary: Option<PathBuf>,
    /// Objects that a push has brought but not yet stored (`GIT_ALTERNATE_OBJECT_DIRECTORIES`).
    pub alternate_object_dirs: Option<OsString>,
    /// The commits that `git merge` is about to join (`GITHEAD_<id>`): it announces them before it writes MERGE_HEAD.
    pub merge_heads: Vec<Oid>,
    /// This very program, when the system can say where it lies.
    pub program: Option<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn of_process() -> std::io::Result<Self> {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Ok(Environment {
            current_dir: env::current_dir()?,
            oracle_home: path("ORACLE_HOME_DIR").or_else(|| path("HOME").map(|home| home.join(".oracle"))),
            log: env::var("ORACLE_LOG").ok().filter(|value| !value.is_empty()),
            github_step_summary: path("GITHUB_STEP_SUMMARY"),
            alternate_object_dirs: env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES").filter(|value| !value.is_empty()),
            merge_heads: env::vars_os()
                .filter_map(|(name, _)| Oid::from_hex(name.to_str()?.strip_prefix("GITHEAD_")?))
                .collect(),
            program: env::current_exe().ok(),
        })
    }
}
