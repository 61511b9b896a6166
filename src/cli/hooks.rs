//! `git oracle hooks`.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use serde_json::json;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::agent_setup;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::agents;
use crate::flows::hooks;
use crate::flows::hooks::Earlier;
use crate::flows::hooks::HookState;
use crate::flows::hooks::HookStatus;
use crate::flows::hooks::Installed;
use crate::flows::hooks::Standing;
use crate::flows::hooks::trouble;

/// Install or remove the hooks that hold commits and pushes to the contract
#[derive(clap::Args, Debug)]
pub(super) struct HooksArgs {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(Subcommand, Debug)]
enum HooksCommand {
    /// Install the hooks; hooks that are there keep running
    Install {
        #[command(flatten)]
        which: Which,
    },
    /// Remove the hooks and put back what was there before
    Uninstall {
        #[command(flatten)]
        which: Which,
    },
    /// Show how each hook stands
    ///
    /// Exits with 1 when a hook is missing or cannot do its work.
    Status {
        #[command(flatten)]
        which: Which,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Which hooks are meant: git's, or those of a coding agent.
#[derive(clap::Args, Debug)]
struct Which {
    /// The hook of a coding agent, in its settings in this repository
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(agents::names()))]
    agent: Option<String>,
}

impl HooksArgs {
    pub(super) const fn wants_json(&self) -> bool {
        matches!(self.command, HooksCommand::Status { json: true, .. })
    }
}

pub(super) fn hooks(app: &App, args: &HooksArgs) -> Result<Exit, Failure> {
    match &args.command {
        HooksCommand::Install { which: Which { agent: Some(agent) } } => agent_setup::install(app, agent),
        HooksCommand::Uninstall { which: Which { agent: Some(agent) } } => agent_setup::uninstall(app, agent),
        HooksCommand::Status { which: Which { agent: Some(agent) }, json } => agent_setup::status(app, agent, *json),
        HooksCommand::Install { .. } => {
            show_installed(app, &hooks::install(&app.flows)?);
            Ok(Exit::Success)
        }
        HooksCommand::Uninstall { .. } => uninstall(app),
        HooksCommand::Status { json, .. } => status(app, *json),
    }
}

/// Says what was installed, and what a person should know about the place.
pub(super) fn show_installed(app: &App, installed: &Installed) {
    installed.warnings.iter().for_each(|text| render::warning(text));
    if !app.quiet {
        let names: Vec<&str> = installed.hooks.iter().map(|(name, _)| *name).collect();
        let place = visible(&installed.directory.to_string_lossy()).into_owned();
        render::note(match installed.is_news() {
            true => format!("installed {} in {place}", names.join(", ")),
            false => format!("the hooks are installed in {place}"),
        });
    }
}

fn uninstall(app: &App) -> Result<Exit, Failure> {
    let removed = hooks::uninstall(&app.flows)?;
    if !app.quiet {
        render::note(match removed.is_empty() {
            true => "there is no hook of ours".to_owned(),
            false => format!("removed {}", removed.join(", ")),
        });
    }
    Ok(Exit::Success)
}

fn status(app: &App, json: bool) -> Result<Exit, Failure> {
    let standing = hooks::status(&app.flows)?;
    if json {
        document::print(&to_document(&standing));
    } else {
        for hook in &standing.hooks {
            render::out(format!("{:<22}{}", hook.name, visible(&describe(hook))));
        }
        render::out(format!("{:<22}{}", "directory", visible(&standing.directory.to_string_lossy())));
    }
    let broken = standing.hooks.iter().any(|hook| trouble(hook).is_some());
    if broken && !json {
        render::hint("git oracle hooks install");
    }
    Ok(if broken { Exit::Other } else { Exit::Success })
}

fn describe(hook: &HookStatus) -> String {
    let state = match (&hook.state, trouble(hook)) {
        (_, Some(trouble)) => trouble,
        (HookState::Ours { shim, .. }, None) => format!("version {}, runs {}", shim.version, shim.program.display()),
        (_, None) => String::new(),
    };
    match &hook.before {
        Some(Earlier { executable: false, .. }) => {
            format!("{state}; the hook before it is not executable and does not run")
        }
        Some(Earlier { runner: Some(runner), .. }) => format!("{state}, after {}", runner.name()),
        Some(Earlier { runner: None, .. }) => format!("{state}, after the hook that was there before"),
        None => state,
    }
}

/// Returns the document about the hooks, which `status --json` contains too.
pub(super) fn to_document(standing: &Standing) -> Value {
    let hook = |hook: &HookStatus| {
        let (state, version, program) = match &hook.state {
            HookState::Missing => ("missing", None, None),
            HookState::Foreign(_) => ("foreign", None, None),
            HookState::Ours { shim, .. } => ("installed", Some(shim.version), Some(shim.program.to_string_lossy())),
        };
        let program_found = match &hook.state {
            HookState::Ours { shim, .. } => Some(shim.program.exists()),
            _ => None,
        };
        let before = hook.before.as_ref().map(
            |before| json!({"runner": before.runner.map(|runner| runner.name()), "executable": before.executable}),
        );
        json!({
            "name": hook.name,
            "state": state,
            "version": version,
            "program": program,
            "program_found": program_found,
            "chained": before,
            "trouble": trouble(hook),
        })
    };
    json!({
        "state": standing.summary().as_str(),
        "directory": standing.directory.to_string_lossy(),
        "hooks": standing.hooks.iter().map(hook).collect::<Vec<_>>(),
    })
}
