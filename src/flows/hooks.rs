//! `hooks`: install the hooks, remove them, say how they stand.

use std::path::PathBuf;

use serde_json::json;

use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate::worktree_name;
use crate::git::Desk;
use crate::git::Hooks;
use crate::git::Origin;
use crate::git::Repository;
use crate::git::Runner;

pub use crate::git::Done;
pub use crate::git::Earlier;
pub use crate::git::HookState;
pub use crate::git::HookStatus;

/// What was installed where.
pub struct Installed {
    pub directory: PathBuf,
    pub hooks: Vec<(&'static str, Done)>,
    /// What a person should know about this place.
    pub warnings: Vec<String>,
}

impl Installed {
    /// Tells whether anything is different from before.
    pub fn is_news(&self) -> bool {
        self.hooks.iter().any(|(_, done)| *done != Done::Unchanged)
    }
}

/// How the hooks of this repository stand.
pub struct Standing {
    pub directory: PathBuf,
    pub hooks: Vec<HookStatus>,
}

/// How all hooks together stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summary {
    Installed,
    /// Some hook is not ours, is older, or cannot run.
    Incomplete,
    NotInstalled,
}

impl Summary {
    pub const fn as_str(self) -> &'static str {
        match self {
            Summary::Installed => "installed",
            Summary::Incomplete => "incomplete",
            Summary::NotInstalled => "not installed",
        }
    }
}

impl Standing {
    pub fn summary(&self) -> Summary {
        let ours = self.hooks.iter().filter(|hook| matches!(hook.state, HookState::Ours { .. })).count();
        match ours {
            0 => Summary::NotInstalled,
            _ if self.hooks.iter().all(|hook| trouble(hook).is_none()) => Summary::Installed,
            _ => Summary::Incomplete,
        }
    }
}

/// Returns what is wrong with a hook, when something is.
pub fn trouble(hook: &HookStatus) -> Option<String> {
    match &hook.state {
        HookState::Missing => Some("is not installed".to_owned()),
        HookState::Foreign(Some(runner)) => Some(format!("was taken back by {}", runner.name())),
        HookState::Foreign(None) => Some("is another hook, and ours does not run".to_owned()),
        HookState::Ours { executable: false, .. } => Some("is not executable, so git ignores it".to_owned()),
        HookState::Ours { shim, .. } if !shim.program.exists() => {
            Some(format!("runs a program that is gone: {}", shim.program.display()))
        }
        HookState::Ours { current: false, .. } => Some("is of another version of git-oracle".to_owned()),
        HookState::Ours { .. } => None,
    }
}

/// Installs the hooks. Safe to repeat.
pub fn install(flows: &Flows) -> Result<Installed, Failure> {
    install_into(flows, &flows.repository()?)
}

pub(super) fn install_into(flows: &Flows, repository: &Repository) -> Result<Installed, Failure> {
    let hooks = Hooks::of(repository);
    let directory = hooks.directory().to_owned();
    if let Origin::Elsewhere { scope } = hooks.origin()? {
        return Err(shared(&scope, &directory.display().to_string()));
    }
    if directory.exists() && !directory.is_dir() {
        let message = format!("the hooks directory is not a directory: {}", directory.display());
        return Err(Failure::new(Kind::Other, message).hinted("git config --local --unset core.hooksPath"));
    }
    let unknown = || Failure::new(Kind::Other, "failed to find this program").hinted("Run it by its full path.");
    let program = flows.environment.program.clone().filter(|program| program.exists()).ok_or_else(unknown)?;
    let _lock = Desk::of(repository).lock()?;
    let warnings = warnings(repository, &hooks)?;
    let installed = Installed { directory, hooks: hooks.install(&program)?, warnings };
    if installed.is_news() {
        record(repository, "HOOKS_INSTALLED")?;
    }
    Ok(installed)
}

/// Refuses a hooks directory that other repositories use too: our hooks would stop commits there.
fn shared(scope: &str, directory: &str) -> Failure {
    let message = match scope {
        "command" => format!("core.hooksPath is set for this command only: {directory}"),
        _ => format!("core.hooksPath is set for every repository, in the {scope} configuration: {directory}"),
    };
    let failure = Failure::new(Kind::Other, message);
    match scope {
        "command" => failure.hinted("Run this without it, or set it with `git config --local core.hooksPath DIR`."),
        _ => failure
            .hinted("Give this repository a directory of its own: git config --local core.hooksPath .git/hooks")
            .hinted("Hooks in the shared directory do not run here then; copy those that should."),
    }
}

fn warnings(repository: &Repository, hooks: &Hooks<'_>) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    if hooks.is_tracked()? {
        warnings.push(format!(
            "the hooks directory is part of the repository, so tracked files change: {}",
            hooks.directory().display()
        ));
    }
    let runs = |runner: Runner| -> Result<bool, Failure> {
        let is_its = |hook: &HookStatus| {
            hook.state == HookState::Foreign(Some(runner))
                || hook.before.is_some_and(|before| before.runner == Some(runner))
        };
        Ok(hooks.status(None)?.iter().any(is_its))
    };
    for runner in [Runner::Husky, Runner::Lefthook, Runner::PreCommit] {
        if runs(runner)? {
            let name = runner.name();
            warnings.push(format!(
                "{name} keeps running; when it installs its hooks again, run `git oracle hooks install` again"
            ));
        }
    }
    let outside = repository.work_tree.as_ref().is_none_or(|top| !hooks.directory().starts_with(top));
    if outside && !hooks.directory().starts_with(&repository.common_dir) {
        warnings.push(format!(
            "the hooks directory lies outside of this repository; others that use it are held to a contract too: {}",
            hooks.directory().display()
        ));
    }
    Ok(warnings)
}

/// Removes the hooks and puts back what was there. Returns the names of those that were ours.
pub fn uninstall(flows: &Flows) -> Result<Vec<String>, Failure> {
    let repository = flows.repository()?;
    let _lock = Desk::of(&repository).lock()?;
    let removed = Hooks::of(&repository).uninstall()?;
    if !removed.is_empty() {
        record(&repository, "HOOKS_REMOVED")?;
    }
    Ok(removed)
}

/// Returns how the hooks stand.
pub fn status(flows: &Flows) -> Result<Standing, Failure> {
    standing(flows, &flows.repository()?)
}

pub(super) fn standing(flows: &Flows, repository: &Repository) -> Result<Standing, Failure> {
    let hooks = Hooks::of(repository);
    let listed = hooks.status(flows.environment.program.as_deref())?;
    Ok(Standing { directory: hooks.directory().to_owned(), hooks: listed })
}

fn record(repository: &Repository, event_type: &str) -> Result<(), Failure> {
    let payload = json!({
        "directory": Hooks::of(repository).directory().to_string_lossy(),
        "worktree": worktree_name(repository),
    });
    let event = Event { level: Level::Info, event_type, task_id: None, payload };
    Ok(EventLog::of(&repository.common_dir).append(&event)?)
}
