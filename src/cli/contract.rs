//! `git oracle contract …`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::put_path;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::activate;
use crate::flows::activate::Activated;
use crate::flows::amend;
use crate::flows::check;
use crate::flows::clear;
use crate::flows::explain;
use crate::flows::new;
use crate::flows::show;

/// Write, check, activate and explain task contracts
#[derive(clap::Args, Debug)]
pub(super) struct ContractArgs {
    #[command(subcommand)]
    command: ContractCommand,
}

#[derive(Subcommand, Debug)]
enum ContractCommand {
    New(NewArgs),
    Check(CheckArgs),
    Activate(ActivateArgs),
    Amend(AmendArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Clear(ClearArgs),
}

impl ContractArgs {
    pub(super) const fn wants_json(&self) -> bool {
        match &self.command {
            ContractCommand::Check(args) => args.json,
            ContractCommand::Show(args) => args.json,
            ContractCommand::Explain(args) => args.json,
            _ => false,
        }
    }
}

/// Write a complete contract from a task, paths and tests
///
/// Everything that is not asked for gets the least privilege. At a terminal, what is missing is asked for.
#[derive(clap::Args, Debug)]
struct NewArgs {
    /// What is to be done
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// A file or directory that the task may change; can be repeated
    #[arg(long, value_name = "PATH", num_args = 1..)]
    allow: Vec<String>,

    /// A command that must pass; can be repeated
    #[arg(long, value_name = "CMD")]
    test: Vec<String>,

    /// Write to FILE instead of .oracle/contracts/<task>.json
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Activate the contract at once
    #[arg(long)]
    activate: bool,
}

/// Report everything that is wrong with a contract, at once
#[derive(clap::Args, Debug)]
struct CheckArgs {
    /// The contract
    file: PathBuf,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Make a contract the active one of this worktree
///
/// A contract that allows more than the active one needs a person at the terminal.
#[derive(clap::Args, Debug)]
struct ActivateArgs {
    /// The contract
    file: PathBuf,

    /// In a bare repository: bind the contract to the refs that match, such as refs/heads/agent/*
    #[arg(long = "ref", value_name = "PATTERN")]
    ref_pattern: Option<String>,
}

/// Change the paths or tests of the active contract
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = true)]
struct AmendArgs {
    /// A further path; needs a person when it widens the scope
    #[arg(long, value_name = "PATH", num_args = 1..)]
    allow: Vec<String>,

    /// A path to take out of the scope
    #[arg(long, value_name = "PATH", num_args = 1..)]
    drop: Vec<String>,

    /// A further command that must pass
    #[arg(long, value_name = "CMD")]
    test: Vec<String>,
}

/// Show the active contract
#[derive(clap::Args, Debug)]
struct ShowArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Say why a path is in the scope or not
#[derive(clap::Args, Debug)]
struct ExplainArgs {
    /// Files or directories, from the current directory
    #[arg(required = true)]
    path: Vec<OsString>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// End the hold of the active contract; needs a person
#[derive(clap::Args, Debug)]
struct ClearArgs {}

pub(super) fn contract(app: &App, args: ContractArgs) -> Result<Exit, Failure> {
    match args.command {
        ContractCommand::New(args) => new(app, args),
        ContractCommand::Check(args) => check(app, &args),
        ContractCommand::Activate(args) => activate(app, args),
        ContractCommand::Amend(args) => amend(app, args),
        ContractCommand::Show(args) => show(app, &args),
        ContractCommand::Explain(args) => explain(app, &args),
        ContractCommand::Clear(ClearArgs {}) => clear(app),
    }
}

fn new(app: &App, args: NewArgs) -> Result<Exit, Failure> {
    let request = new::Request {
        task: required(args.task.into_iter().collect(), "task", "What is to be done? ")?.join(" "),
        allow: required(args.allow, "allow", "Which paths may change (separated by spaces)? ")?,
        tests: match args.test.is_empty() {
            true => vec![required(Vec::new(), "test", "Which command must pass? ")?.join(" ")],
            false => args.test,
        },
        output: args.output,
        activate: args.activate,
    };
    let written = new::run(&app.flows, &request, &terminal::confirm)?;
    render::out(written.path.display().to_string());
    match &written.activated {
        Some(activated) => report_activation(app, activated),
        None => {
            render::problems(&written.warnings);
            if !app.quiet {
                render::note(format!("next: git oracle contract activate {}", written.path.display()));
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns what was given, or asks for it; without a terminal a missing flag is a usage error.
fn required(given: Vec<String>, flag: &str, prompt: &str) -> Result<Vec<String>, Failure> {
    if !given.is_empty() {
        return Ok(given);
    }
    let missing = || {
        Failure::new(Kind::Usage, format!("--{flag} is missing"))
            .hinted("git oracle contract new --task \"…\" --allow PATH --test CMD")
    };
    if !terminal::is_attended() {
        return Err(missing());
    }
    let line = terminal::ask_line(prompt).ok_or_else(missing)?;
    let words = shlex::split(&line).filter(|words| !words.is_empty()).ok_or_else(missing)?;
    Ok(if flag == "allow" { words } else { vec![line] })
}

fn check(app: &App, args: &CheckArgs) -> Result<Exit, Failure> {
    let checked = check::run(&app.flows, &args.file);
    if args.json {
        let (valid, problems) = match &checked {
            Ok((_, warnings)) => (true, warnings),
            Err(failure) if failure.kind == Kind::GateFailed => (false, &failure.problems),
            Err(_) => return checked.map(|_| Exit::Success),
        };
        document::print(&json!({"valid": valid, "problems": problems}));
        return Ok(if valid { Exit::Success } else { Exit::GateFailed });
    }
    let (contract, warnings) = checked?;
    render::problems(&warnings);
    if !app.quiet {
        render::out(format!("{}: valid, sha256 {}", visible(&contract.file.task_id), contract.sha256));
    }
    Ok(Exit::Success)
}

fn activate(app: &App, args: ActivateArgs) -> Result<Exit, Failure> {
    let request = activate::Request { file: args.file, ref_pattern: args.ref_pattern };
    report_activation(app, &activate::run(&app.flows, &request, &terminal::confirm)?);
    Ok(Exit::Success)
}

fn amend(app: &App, args: AmendArgs) -> Result<Exit, Failure> {
    let request = amend::Request { allow: args.allow, drop: args.drop, tests: args.test };
    report_activation(app, &amend::run(&app.flows, &request, &terminal::confirm)?);
    Ok(Exit::Success)
}

fn report_activation(app: &App, activated: &Activated) {
    render::problems(&activated.warnings);
    if app.quiet {
        return;
    }
    let refs = activated.ref_pattern.as_ref().map(|pattern| format!(" for {}", visible(pattern))).unwrap_or_default();
    render::note(format!("active{refs}: {}", visible(&activated.pin.task_id)));
    render::note(format!("scope: {}", visible(&activated.contract.file.allowed_paths.join(" "))));
}

fn show(app: &App, args: &ShowArgs) -> Result<Exit, Failure> {
    let (contract, pin) = show::run(&app.flows)?;
    if args.json {
        let shell = contract.file.tool_permissions.shell.approval_policy();
        document::print(
            &json!({"contract": contract.file, "pin": pin, "sha256": contract.sha256, "approval_policy": shell}),
        );
        return Ok(Exit::Success);
    }
    let file = &contract.file;
    let list =
        |items: &[String]| if items.is_empty() { "none".to_owned() } else { visible(&items.join(" ")).into_owned() };
    let tests: Vec<String> = file.acceptance_tests.iter().map(|test| test.cmd.clone()).collect();
    let rows = [
        ("task id", file.task_id.clone()),
        ("task", file.inputs.spec.clone()),
        ("allowed", list(&file.allowed_paths)),
        ("tests", tests.join(", ")),
        (
            "assigned",
            format!(
                "{} ({})",
                file.assigned_agent.agent_id,
                json!(file.assigned_agent.role).as_str().unwrap_or_default()
            ),
        ),
        ("forbidden", file.forbidden_actions.join(", ")),
        ("baseline", pin.baseline.clone()),
        ("since", pin.activated_at.clone()),
        ("sha256", contract.sha256.to_string()),
    ];
    for (name, value) in rows {
        render::out(format!("{name:<10}{}", visible(&value)));
    }
    Ok(Exit::Success)
}

fn explain(app: &App, args: &ExplainArgs) -> Result<Exit, Failure> {
    let explained = explain::run(&app.flows, &args.path)?;
    if args.json {
        let listed: Vec<Value> = explained
            .iter()
            .map(|one| {
                let mut fields = Map::new();
                put_path(&mut fields, "path", &one.path);
                fields.insert("allowed".into(), json!(one.allowed));
                fields.insert("reason".into(), json!(one.reason));
                fields.insert("hint".into(), json!(one.hint));
                Value::Object(fields)
            })
            .collect();
        document::print(&json!({"paths": listed}));
        return Ok(Exit::Success);
    }
    for one in &explained {
        render::out(format!(
            "{}: {}: {}",
            one.path,
            if one.allowed { "allowed" } else { "refused" },
            visible(&one.reason)
        ));
        if let Some(hint) = &one.hint {
            render::hint(hint);
        }
    }
    Ok(Exit::Success)
}

fn clear(app: &App) -> Result<Exit, Failure> {
    let tasks = clear::run(&app.flows, &terminal::confirm)?;
    if !app.quiet {
        match tasks.as_slice() {
            [] => render::note("there was no active contract"),
            tasks => render::note(format!("cleared: {}", visible(&tasks.join(", ")))),
        }
    }
    Ok(Exit::Success)
}
