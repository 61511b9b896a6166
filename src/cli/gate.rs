//! `git oracle gate`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::github;
use crate::cli::markdown;
use crate::cli::render;
use crate::cli::sarif;
use crate::flows::Failure;
use crate::flows::gate;
use crate::flows::gate::ContractSource;
use crate::flows::gate::Request;
use crate::flows::gate::Subject;
use crate::gate::Report;
use crate::system;

/// Judge a change by a contract
///
/// Exits with 0 when the change may get in, with 7 when it may not, and with 1 when that could not be found out.
/// Nothing that the repository configures is executed while judging.
#[derive(clap::Args, Debug)]
pub(super) struct GateArgs {
    #[command(flatten)]
    subject: SubjectArgs,

    /// Judge by the contract in FILE instead of the active one
    #[arg(long, value_name = "FILE", conflicts_with = "contract_from")]
    contract: Option<PathBuf>,

    /// Judge by the contract at PATH in the revision REV
    #[arg(long, value_name = "REV:PATH")]
    contract_from: Option<String>,

    /// How to print the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct SubjectArgs {
    /// Judge what `git commit` would commit now
    #[arg(long)]
    staged: bool,

    /// Judge what is on disk against HEAD, untracked files included
    #[arg(long)]
    worktree: bool,

    /// Judge every commit from A (without it) to B, and what they change in all
    #[arg(long, value_name = "A..B")]
    range: Option<String>,

    /// Judge a patch file
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// One line for each violation: `path: rule: why`
    Text,
    /// One JSON document (schemas/gate_report.v1.json)
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// GitHub Actions annotations; the whole list goes to $GITHUB_STEP_SUMMARY
    Github,
}

impl GateArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json || matches!(self.format, Format::Json)
    }

    fn into_request(self) -> Request {
        let subject = match self.subject {
            SubjectArgs { range: Some(range), .. } => Subject::Range(range),
            SubjectArgs { patch: Some(path), .. } => Subject::Patch(path),
            SubjectArgs { worktree: true, .. } => Subject::Worktree,
            SubjectArgs { .. } => Subject::Staged,
        };
        let contract = match (self.contract, self.contract_from) {
            (Some(path), _) => ContractSource::File(path),
            (None, Some(text)) => ContractSource::Revision(text),
            (None, None) => ContractSource::Active,
        };
        Request { subject, contract }
    }
}

pub(super) fn gate(app: &App, args: GateArgs) -> Result<Exit, Failure> {
    let format = if args.wants_json() { Format::Json } else { args.format };
    let report = gate::run(&app.flows, &args.into_request())?;
    match format {
        Format::Text => render::report(&report, app.quiet),
        Format::Json => document::print(&report.to_json()),
        Format::Sarif => document::print(&sarif::document(&report)),
        Format::Github => print_for_github(app, &report)?,
    }
    Ok(Exit::from(report.verdict))
}

fn print_for_github(app: &App, report: &Report) -> Result<(), Failure> {
    github::annotations(report).iter().for_each(render::out);
    if let Some(path) = &app.flows.environment.github_step_summary {
        system::append(path, markdown::summary(report).as_bytes())?;
    }
    Ok(())
}
