//! The environment variables that git-oracle listens to, read once.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::Oid;
use crate::base::Secret;

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
    /// `$GIT_SSH_COMMAND`, and whether `$GIT_SSH` names a program of which only its user knows what it understands.
    pub git_ssh_command: Option<String>,
    pub names_ssh_program: bool,
    /// `$PATH` and the other variables that a program may inherit from us.
    pub inherited: Vec<(OsString, OsString)>,
    /// This very program, when the system can say where it lies.
    pub program: Option<PathBuf>,
    pub git: GitVariables,
    pub browser: BrowserVariables,
    pub api: ApiVariables,
}

/// What says how an API is reached.
#[derive(Debug, Clone, Default)]
pub struct ApiVariables {
    /// `$OPENAI_API_KEY`.
    pub key: Option<Secret>,
    /// `$OPENAI_BASE_URL`.
    pub base_url: Option<String>,
}

/// What says where the browser and its profile are, and what a browser needs to run.
#[derive(Debug, Clone, Default)]
pub struct BrowserVariables {
    /// `$CHROME_PATH`.
    pub browser: Option<PathBuf>,
    /// `$CHROMEDRIVER_PATH`.
    pub driver: Option<PathBuf>,
    /// `$CHROME_PROFILE_DIR`.
    pub profile: Option<PathBuf>,
    /// Where windows appear, proxies, and the like.
    pub inherited: Vec<(OsString, OsString)>,
}

/// What a browser may need beside the variables that every program inherits.
const BROWSER: [&str; 16] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "DBUS_SESSION_BUS_ADDRESS",
    "FONTCONFIG_FILE",
    "FONTCONFIG_PATH",
    "all_proxy",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "HTTP_PROXY",
];

impl BrowserVariables {
    /// Tells whether a window can appear anywhere.
    pub fn has_display(&self) -> bool {
        self.inherited.iter().any(|(name, value)| (name == "DISPLAY" || name == "WAYLAND_DISPLAY") && !value.is_empty())
    }
}

/// What git tells a hook about where things are.
#[derive(Debug, Clone, Default)]
pub struct GitVariables {
    pub dir: Option<PathBuf>,
    pub work_tree: Option<PathBuf>,
    pub index_file: Option<PathBuf>,
    /// Whether there are variables that may change where things are or what git is configured to do.
    pub has_others: bool,
}

/// Variables of git, or beginnings of their names, that move nothing. Whatever is not listed may.
const HARMLESS: [&str; 21] = [
    "GIT_ASKPASS",
    "GIT_AUTHOR_",
    "GIT_CHERRY_PICK_HELP",
    "GIT_COMMITTER_",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_HTTP_",
    "GIT_MERGE_AUTOEDIT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_PAGER",
    "GIT_PREFIX",
    "GIT_PROXY_",
    "GIT_REFLOG_ACTION",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSL_",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
];

impl GitVariables {
    /// Tells whether they say which repository, working tree or index is meant.
    pub const fn names_place(&self) -> bool {
        self.dir.is_some() || self.work_tree.is_some() || self.index_file.is_some()
    }

    fn note(&mut self, name: &str, value: OsString) {
        match name {
            "GIT_DIR" => self.dir = Some(PathBuf::from(value)),
            "GIT_WORK_TREE" => self.work_tree = Some(PathBuf::from(value)),
            "GIT_INDEX_FILE" => self.index_file = Some(PathBuf::from(value)),
            _ => self.has_others |= !HARMLESS.iter().any(|start| name.starts_with(start)),
        }
    }
}

impl Environment {
    /// Reads the environment of this process.
    pub fn of_process() -> std::io::Result<Self> {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let mut merge_heads = Vec::new();
        let mut git = GitVariables::default();
        let mut inherited = Vec::new();
        let mut for_browser = Vec::new();
        for (name, value) in env::vars_os() {
            match name.to_str() {
                Some(name) if name.starts_with("GIT_") => git.note(name, value),
                Some(text) if TOOLS.contains(&text) || text.starts_with("LC_") => inherited.push((name, value)),
                Some(text) if BROWSER.contains(&text) => for_browser.push((name, value)),
                Some(name) => merge_heads.extend(name.strip_prefix("GITHEAD_").and_then(Oid::from_hex)),
                None => {}
            }
        }
        Ok(Environment {
            current_dir: env::current_dir()?,
            oracle_home: path("ORACLE_HOME_DIR").or_else(|| path("HOME").map(|home| home.join(".oracle"))),
            log: text("ORACLE_LOG"),
            github_step_summary: path("GITHUB_STEP_SUMMARY"),
            alternate_object_dirs: env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES").filter(|value| !value.is_empty()),
            merge_heads,
            git_ssh_command: text("GIT_SSH_COMMAND"),
            names_ssh_program: path("GIT_SSH").is_some(),
            inherited,
            program: env::current_exe().ok(),
            git,
            browser: BrowserVariables {
                browser: path("CHROME_PATH"),
                driver: path("CHROMEDRIVER_PATH"),
                profile: path("CHROME_PROFILE_DIR"),
                inherited: for_browser,
            },
            api: ApiVariables { key: text("OPENAI_API_KEY").map(Secret::new), base_url: text("OPENAI_BASE_URL") },
        })
    }
}

/// What a test needs to find its tools, and nothing that opens a door: no tokens, no sockets of agents, nothing of git's.
const TOOLS: [&str; 24] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TZ",
    "TMPDIR",
    "LANG",
    "LANGUAGE",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SOURCE_DATE_EPOCH",
];

/// Returns how this very program is started again, also when its file was replaced meanwhile.
pub fn own_program() -> std::io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { env::current_exe() }
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Tells whether a run may go to the background (`$ORACLE_NO_DETACH` keeps it where it is).
pub fn may_detach() -> bool {
    env::var_os("ORACLE_NO_DETACH").is_none_or(|value| value.is_empty() || value == "0")
}

/// Returns the user as whom we act.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Tells whether we may do everything.
pub fn is_root() -> bool {
    user_id() == 0
}
