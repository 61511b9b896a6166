//! `doctor`: what is fine, what is not, and the command that mends it.

mod browser;

use std::path::Path;

use crate::base::plural;
use crate::evidence::ChainState;
use crate::evidence::EventLog;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::active::check_contract;
use crate::flows::active::repo_config;
use crate::flows::agents;
use crate::flows::agents::AgentHook;
use crate::flows::agents::Presence;
use crate::flows::hooks::Summary;
use crate::flows::hooks::standing;
use crate::flows::hooks::trouble;
use crate::flows::secrets::Guard;
use crate::flows::talk::Wanted;
use crate::git::Desk;
use crate::git::Git;
use crate::git::Repository;
use crate::git::SHIM_VERSION;
use crate::policy::Widen;
pub use crate::transport::conversation::Examined;

/// The oldest git that the gate was made for: it introduced `rev-parse --path-format`.
const OLDEST_GIT: (u32, u32) = (2, 31);

/// One thing that was looked at.
pub struct Check {
    pub name: &'static str,
    pub state: State,
    pub message: String,
    /// How to mend it.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Fine,
    /// Works, but somebody should know.
    Note,
    Broken,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Fine => "ok",
            State::Note => "note",
            State::Broken => "broken",
        }
    }
}

impl Check {
    fn fine(name: &'static str, message: impl Into<String>) -> Self {
        Check { name, state: State::Fine, message: message.into(), hint: None }
    }

    fn note(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Check { name, state: State::Note, message: message.into(), hint: Some(hint.into()) }
    }

    fn broken(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Check { state: State::Broken, ..Check::note(name, message, hint) }
    }

    fn of_failure(name: &'static str, failure: Failure) -> Self {
        let hint = failure.hints.into_iter().next().unwrap_or_default();
        Check::broken(name, failure.message, hint)
    }
}

/// What to look at beyond what is always looked at.
#[derive(Debug, Default)]
pub struct Request {
    /// Start the browser and have a prompt answered on the built-in page.
    pub browser: bool,
    /// Open the page that this profile is for.
    pub page: Option<String>,
    /// Which browser, and another address of the page.
    pub wanted: Wanted,
}

/// What was found.
pub struct Report {
    pub checks: Vec<Check>,
    /// What matched on the page, where one was opened.
    pub page: Option<Examined>,
}

impl Report {
    /// Returns the state of what is worst.
    pub fn state(&self) -> State {
        self.checks.iter().map(|check| check.state).max().unwrap_or(State::Fine)
    }
}

/// Looks at everything that git-oracle depends on. `begun` hears of what takes long.
pub fn run(flows: &Flows, request: &Request, begun: &dyn Fn(&str)) -> Report {
    let mut checks = offline(flows);
    checks.extend(browser::installed(flows, request));
    if request.browser {
        begun("asking the built-in page in a browser");
        checks.push(browser::self_test(flows, &request.wanted));
    }
    let page = request.page.as_ref().and_then(|name| {
        begun("opening the page in a browser");
        let (check, examined) = browser::page(flows, name, &request.wanted);
        checks.push(check);
        examined
    });
    Report { checks, page }
}

/// Looks at what the gate depends on.
fn offline(flows: &Flows) -> Vec<Check> {
    let mut checks = vec![git_version(flows), person_config(flows)];
    match flows.repository() {
        Ok(repository) => {
            checks.push(Check::fine("repository", describe(&repository)));
            checks.push(history(&repository));
            checks.push(own_directory(&repository));
            checks.push(repository_config(&repository));
            checks.push(contract(&repository));
            checks.push(hooks(flows, &repository));
            checks.extend(agents::installed(&repository).iter().map(agent));
            checks.push(events(&repository));
        }
        Err(failure) => checks.push(Check::of_failure("repository", failure)),
    }
    checks
}

fn git_version(flows: &Flows) -> Check {
    let version = match Git::in_dir(&flows.environment.current_dir).version() {
        Ok(version) => version,
        Err(error) => return Check::of_failure("git", error.into()),
    };
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST_GIT {
        let message = format!("git {version} is older than {}.{}", OLDEST_GIT.0, OLDEST_GIT.1);
        return Check::broken("git", message, "Install a newer git.");
    }
    Check::fine("git", format!("git {version}"))
}

fn person_config(flows: &Flows) -> Check {
    let Some(home) = &flows.environment.oracle_home else {
        return Check::note("person", "there is no home directory", "Set HOME or ORACLE_HOME_DIR.");
    };
    match flows.person() {
        Ok(config) => {
            let widen = if config.widen == Widen::Allow { "allow" } else { "ask" };
            Check::fine("person", format!("widen = \"{widen}\", in {}", home.join("config.toml").display()))
        }
        Err(failure) => Check::of_failure("person", failure),
    }
}

fn describe(repository: &Repository) -> String {
    match &repository.work_tree {
        Some(top) => format!("working tree {}", top.display()),
        None => format!("bare repository {}", repository.git_dir.display()),
    }
}

fn history(repository: &Repository) -> Check {
    match repository.is_incomplete() {
        Ok(false) => Check::fine("history", "complete"),
        Ok(true) => Check::note(
            "history",
            "shallow or partial: a commit or file that is missing blocks",
            "git fetch --unshallow brings the history, git fetch --refetch --no-filter the contents",
        ),
        Err(error) => Check::of_failure("history", error.into()),
    }
}

fn own_directory(repository: &Repository) -> Check {
    let Some(directory) = Desk::of(repository).oracle_dir() else {
        return Check::fine("directory", "a bare repository keeps its contract in the git directory");
    };
    match std::fs::symlink_metadata(&directory) {
        Ok(metadata) if !metadata.is_dir() => {
            Check::broken("directory", ".oracle is not a directory", "Move it away, then: git oracle init")
        }
        Ok(_) if !directory.join(".gitignore").exists() => {
            Check::note("directory", "`git add -A` would take .oracle/ into a commit", "git oracle init")
        }
        Ok(_) => Check::fine("directory", ".oracle/ is there and ignored"),
        Err(_) => Check::note("directory", "there is no .oracle/ yet", "git oracle init"),
    }
}

fn repository_config(repository: &Repository) -> Check {
    match repo_config(repository).and_then(|config| Guard::of_config(&config).map(|_| config)) {
        Ok(config) => {
            Check::fine("config", format!("{} of its own", plural(config.protected.len() as u64, "protected pattern")))
        }
        Err(failure) => Check::of_failure("config", failure),
    }
}

fn contract(repository: &Repository) -> Check {
    let state = match ActiveContract::load(repository) {
        Ok(state) => state,
        Err(failure) => return Check::of_failure("contract", failure),
    };
    match (&state, state.trouble()) {
        (ActiveContract::Active { contract, pin }, _) => {
            // A registry or a schema may have changed since.
            let bytes = Desk::of(repository).contract_bytes().ok().flatten().unwrap_or_default();
            match check_contract(&bytes, Some(repository)) {
                Ok(Ok(_)) => Check::fine("contract", format!("{} since {}", contract.file.task_id, pin.activated_at)),
                Ok(Err(problems)) => {
                    let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
                    Check::broken(
                        "contract",
                        format!("it is no longer valid: {first}"),
                        "git oracle contract check .oracle/contract.json",
                    )
                }
                Err(failure) => Check::of_failure("contract", failure),
            }
        }
        (ActiveContract::Missing, Some(trouble)) => {
            Check::note("contract", trouble, "git oracle contract new --task \"…\" --allow PATH --test CMD --activate")
        }
        (_, trouble) => Check::broken(
            "contract",
            trouble.unwrap_or("it cannot be used"),
            "git oracle contract activate FILE, or git oracle contract clear",
        ),
    }
}

fn hooks(flows: &Flows, repository: &Repository) -> Check {
    let standing = match standing(flows, repository) {
        Ok(standing) => standing,
        Err(failure) => return Check::of_failure("hooks", failure),
    };
    let chained = standing.hooks.iter().filter(|hook| hook.before.is_some()).count();
    let directory = standing.directory.display();
    match standing.summary() {
        Summary::Installed if chained == 0 => Check::fine("hooks", format!("version {SHIM_VERSION}, in {directory}")),
        Summary::Installed => Check::fine(
            "hooks",
            format!("version {SHIM_VERSION}, after {} of others, in {directory}", plural(chained as u64, "hook")),
        ),
        Summary::NotInstalled => {
            Check::note("hooks", "not installed: nothing keeps a commit from getting in", "git oracle hooks install")
        }
        Summary::Incomplete => {
            let first = standing.hooks.iter().find_map(|hook| Some(format!("{} {}", hook.name, trouble(hook)?)));
            Check::broken("hooks", first.unwrap_or_default(), "git oracle hooks install")
        }
    }
}

/// Agents can skip a hook without a word, so what counts is when it last ran.
fn agent(hook: &AgentHook) -> Check {
    let (name, file) = (hook.recipe.agent, hook.recipe.file);
    match (&hook.presence, &hook.last_fired) {
        (Presence::Whole, Some(time)) => Check::fine("agent", format!("{name}: in {file}, last fired {time}")),
        (Presence::Whole, None) => Check::note("agent", format!("{name}: in {file}, never fired"), hook.recipe.advice),
        _ => Check::broken(
            "agent",
            format!("{name}: {file} has only a part of the hook, or another version of it"),
            format!("git oracle hooks install --agent {name}"),
        ),
    }
}

fn events(repository: &Repository) -> Check {
    let log = EventLog::of(&repository.common_dir);
    let name = Path::new("oracle/events.jsonl").display();
    match log.check() {
        Ok(None) => Check::fine("events", "no events yet"),
        Ok(Some(ChainState::Intact { events })) => {
            Check::fine("events", format!("{}, the chain is intact", plural(events, "event")))
        }
        Ok(Some(ChainState::Torn { events, bytes })) => Check::note(
            "events",
            format!("{}, then {bytes} bytes that a crash cut off", plural(events, "event")),
            "Nothing to do: the next event sets them aside.",
        ),
        Ok(Some(ChainState::Broken(broken))) => Check::broken(
            "events",
            format!("line {} of {name} was tampered with: {}", broken.line, broken.reason),
            "Keep the file for whoever investigates, then move it away.",
        ),
        Err(error) => Check::of_failure("events", error.into()),
    }
}
