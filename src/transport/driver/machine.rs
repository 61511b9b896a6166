//! What this machine has: a browser, a driver, a place for temporary files.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::system;
use crate::system::Ended;
use crate::system::Environment;
use crate::system::Group;
use crate::system::Job;
use crate::system::is_root;
use crate::system::random_hex;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::profile::TEMPORARY;

/// Names of the browser on PATH, the first one that is there counts.
const BROWSERS: [&str; 3] = ["google-chrome", "chromium", "chromium-browser"];
const DRIVER: &str = "chromedriver";

/// The browser puts a socket below its temporary directory, and the path of a socket is at most 107 bytes long.
const MAX_TEMPORARY_BYTES: usize = 40;

/// A program that does not say its version by then never will.
const VERSION: Duration = Duration::from_secs(10);
const MAX_VERSION_BYTES: u64 = 4096;

/// What the person configured. The environment counts more, PATH less.
#[derive(Debug, Clone, Default)]
pub struct Configured {
    pub browser: Option<PathBuf>,
    pub driver: Option<PathBuf>,
    pub profile: Option<PathBuf>,
}

/// The programs of this machine and what they are started with.
#[derive(Debug, Clone)]
pub struct Machine {
    /// This very program: it guards what it starts, in a process of its own.
    pub(super) guard: PathBuf,
    /// All that they may know of our environment.
    pub(super) variables: Vec<(OsString, OsString)>,
    temporary: PathBuf,
    pub(super) is_root: bool,
    has_display: bool,
    named_browser: Option<PathBuf>,
    named_driver: Option<PathBuf>,
}

impl Machine {
    pub fn of(environment: &Environment, configured: &Configured) -> Result<Self, Fault> {
        let guard = environment.program.clone().ok_or_else(|| {
            let message = "the system does not say where this program lies, and it has to start itself";
            Fault::new(FaultKind::DriverMissing, message, "Run it from a file system that is mounted.")
        })?;
        let mut variables = environment.inherited.clone();
        variables.extend(environment.browser.inherited.iter().cloned());
        let temporary = find(&variables, "TMPDIR").map(PathBuf::from);
        let short = temporary.filter(|path| path.is_absolute() && path.as_os_str().len() <= MAX_TEMPORARY_BYTES);
        Ok(Machine {
            guard,
            temporary: short.unwrap_or_else(|| PathBuf::from("/tmp")),
            is_root: is_root(),
            has_display: environment.browser.has_display(),
            named_browser: environment.browser.browser.clone().or_else(|| configured.browser.clone()),
            named_driver: environment.browser.driver.clone().or_else(|| configured.driver.clone()),
            variables,
        })
    }

    /// Takes another program for itself; it has to know the word `guard`.
    pub fn guarded_by(mut self, program: &Path) -> Self {
        self.guard = program.to_owned();
        self
    }

    /// Returns where the browser is.
    pub fn browser(&self) -> Result<PathBuf, Fault> {
        let missing = |message: String| {
            let hint = "Install Chromium or Google Chrome, or say where it is with CHROME_PATH.";
            Fault::new(FaultKind::BrowserMissing, message, hint)
        };
        match &self.named_browser {
            Some(path) if is_program(path) => Ok(path.clone()),
            Some(path) => Err(missing(format!("there is no program at {}", path.display()))),
            None => {
                let found = BROWSERS.iter().find_map(|name| self.on_path(name));
                found.ok_or_else(|| missing(format!("no browser is on PATH: {}", BROWSERS.join(", "))))
            }
        }
    }

    /// Returns where the driver is.
    pub fn driver(&self) -> Result<PathBuf, Fault> {
        let missing = |message: String| {
            let hint = "Install chromedriver (Debian: chromium-driver) of the browser's version, or say where it is with CHROMEDRIVER_PATH.";
            Fault::new(FaultKind::DriverMissing, message, hint)
        };
        match &self.named_driver {
            Some(path) if is_program(path) => Ok(path.clone()),
            Some(path) => Err(missing(format!("there is no program at {}", path.display()))),
            None => self.on_path(DRIVER).ok_or_else(|| missing(format!("{DRIVER} is not on PATH"))),
        }
    }

    /// Returns the version that a program says it has. One that says nothing for a while has none.
    pub fn version_of(&self, program: &Path) -> Option<String> {
        let output = system::scratch_file(&self.temporary).ok()?;
        let kept = output.try_clone().ok()?;
        let mut command = Command::new(program);
        command.arg("--version").env_clear().envs(self.variables.iter().cloned()).current_dir("/");
        let (timeout, group) = (Some(VERSION), Group::Contained);
        let ended = Job { command, timeout, output, input: None, group, stoppable: false }.run().ok()?;
        let said = (ended == Ended::Exited(Some(0))).then(|| system::read_output(&kept, MAX_VERSION_BYTES))?;
        let is_version =
            |word: &&str| word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        said.split_whitespace().find(is_version).map(str::to_owned)
    }

    /// Returns the name of a temporary directory that nobody can foresee.
    pub(super) fn temporary_dir(&self) -> Result<PathBuf, Fault> {
        let name = random_hex(4).map_err(|error| {
            let message = format!("failed to find a name for a temporary directory: {error}");
            Fault::new(FaultKind::DriverMissing, message, "git oracle doctor")
        })?;
        Ok(self.temporary.join(format!("{TEMPORARY}{name}")))
    }

    /// Makes sure that a window can appear.
    pub(super) fn require_display(&self) -> Result<(), Fault> {
        if self.has_display {
            return Ok(());
        }
        let hint = "Start it where DISPLAY or WAYLAND_DISPLAY is set, or under xvfb-run.";
        Err(Fault::new(FaultKind::BrowserMissing, "there is no display for a browser with a window", hint))
    }

    fn on_path(&self, name: &str) -> Option<PathBuf> {
        let path = find(&self.variables, "PATH")?;
        // An empty or relative entry would depend on where we stand, and that may be somebody's repository.
        let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
        directories.map(|directory| directory.join(name)).find(|path| is_program(path))
    }
}

fn find<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsString> {
    variables.iter().find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value)
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
