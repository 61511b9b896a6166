//! `git oracle doctor`.

use serde_json::json;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::doctor;
use crate::flows::doctor::State;

/// Check what the gate depends on, and say how to mend what is broken
///
/// Exits with 1 when something is broken.
#[derive(clap::Args, Debug)]
pub(super) struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn doctor(app: &App, args: &DoctorArgs) -> Result<Exit, Failure> {
    let checks = doctor::run(&app.flows);
    let worst = checks.iter().map(|check| check.state).max().unwrap_or(State::Fine);
    if args.json {
        let listed: Vec<_> = checks
            .iter()
            .map(|check| json!({"name": check.name, "state": check.state.as_str(), "message": check.message, "hint": check.hint}))
            .collect();
        document::print(&json!({"state": worst.as_str(), "checks": listed}));
    } else {
        for check in &checks {
            render::out(format!("{:<6}  {:<10}  {}", check.state.as_str(), check.name, visible(&check.message)));
            if let Some(hint) = &check.hint {
                render::out(format!("{:<6}  {:<10}  mend: {}", "", "", visible(hint)));
            }
        }
    }
    Ok(if worst == State::Broken { Exit::Other } else { Exit::Success })
}
