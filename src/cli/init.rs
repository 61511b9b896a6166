//! `git oracle init`.

use crate::cli::App;
use crate::cli::Exit;
use crate::cli::hooks;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::init;

/// Prepare this repository for contracts
///
/// Makes `.oracle/`, which `git add -A` never takes, and installs the hooks. Safe to repeat.
#[derive(clap::Args, Debug)]
pub(super) struct InitArgs {}

pub(super) fn init(app: &App, _: &InitArgs) -> Result<Exit, Failure> {
    let done = init::run(&app.flows)?;
    if app.quiet {
        return Ok(Exit::Success);
    }
    for path in &done.made {
        render::note(format!("made {}", path.display()));
    }
    if done.hooks.is_news() {
        hooks::show_installed(app, &done.hooks);
    }
    if done.made.is_empty() && !done.hooks.is_news() {
        render::note("everything is there already");
    }
    match done.trouble {
        None => render::note("a contract is active; see: git oracle status"),
        Some(_) if done.bare => render::note("next: git oracle contract activate FILE"),
        Some(_) => render::note("next: git oracle contract new --task \"…\" --allow PATH --test CMD --activate"),
    }
    Ok(Exit::Success)
}
