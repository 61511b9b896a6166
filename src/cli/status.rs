//! `git oracle status`.

use serde_json::Value;
use serde_json::json;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::hooks;
use crate::cli::render;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::hooks::Summary;
use crate::flows::session;
use crate::flows::status;
use crate::flows::status::Status;
use crate::gate::Report;

/// A screen has room for so many violations of each kind.
const SHOWN: usize = 5;

/// Show the contract, its scope, the verdict on what is staged and on disk, the hooks and the last session
#[derive(clap::Args, Debug)]
pub(super) struct StatusArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn status(app: &App, args: &StatusArgs) -> Result<Exit, Failure> {
    let status = status::run(&app.flows)?;
    if args.json {
        document::print(&to_document(&status));
        return Ok(Exit::Success);
    }
    if let Some(branch) = &status.branch {
        render::out(format!("branch    {}", visible(branch)));
    }
    match &status.contract {
        ActiveContract::Active { contract, pin } => {
            render::out(format!("contract  {} (since {})", visible(&contract.file.task_id), pin.activated_at));
            render::out(format!("task      {}", visible(&contract.file.inputs.spec)));
            render::out(format!("scope     {}", visible(&contract.file.allowed_paths.join(" "))));
            let tests: Vec<&str> = contract.file.acceptance_tests.iter().map(|test| test.cmd.as_str()).collect();
            render::out(format!("tests     {}", visible(&tests.join(", "))));
        }
        state => render::out(format!("contract  {}", state.trouble().unwrap_or("none"))),
    }
    for (name, report) in [("staged  ", &status.staged), ("on disk ", &status.worktree)] {
        let Some(report) = report else { continue };
        render::out(format!("{name}  {}", render::summary(report)));
        for violation in report.violations.iter().take(SHOWN) {
            render::out(format!("          {}", render::line(violation)));
        }
        if report.violations.len() > SHOWN {
            render::out(format!("          … and {} more", report.violations.len() - SHOWN));
        }
    }
    render::out(format!("hooks     {}", status.hooks.summary().as_str()));
    if status.hooks.summary() != Summary::Installed {
        render::hint("git oracle hooks install");
    }
    if let Some(kept) = &status.session {
        render::out(format!("session   {} ({})", kept.slug, visible(session::state(kept))));
    }
    let hint = [&status.staged, &status.worktree].into_iter().flatten().flat_map(|report| &report.violations).next();
    if let Some(violation) = hint {
        render::hint(&violation.hint);
    }
    Ok(Exit::Success)
}

fn to_document(status: &Status) -> Value {
    let contract = match &status.contract {
        ActiveContract::Active { contract, pin } => json!({
            "state": "active",
            "task_id": contract.file.task_id,
            "sha256": contract.sha256,
            "baseline": pin.baseline,
            "activated_at": pin.activated_at,
            "allowed_paths": contract.file.allowed_paths,
        }),
        ActiveContract::Missing => json!({"state": "missing"}),
        ActiveContract::NeverActivated => json!({"state": "never_activated"}),
        ActiveContract::Deleted(pin) => json!({"state": "deleted", "task_id": pin.task_id}),
        ActiveContract::Edited(pin) => json!({"state": "edited", "task_id": pin.task_id}),
    };
    let report = |report: &Option<Report>| report.as_ref().map(Report::to_json);
    json!({
        "branch": status.branch,
        "contract": contract,
        "staged": report(&status.staged),
        "worktree": report(&status.worktree),
        "hooks": hooks::to_document(&status.hooks),
        "session": status.session.as_ref().map(|kept| json!({"id": kept.slug, "status": session::state(kept)})),
    })
}
