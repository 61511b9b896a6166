//! The terminal: arguments become requests, answers become text, JSON and exit codes.
//!
//! Every command has a file with its arguments and one function. Results go to stdout, messages to stderr.

mod agent;
mod agent_setup;
mod apply;
mod ask;
mod auth;
mod background;
mod bundle;
mod contract;
mod demo;
mod doctor;
mod document;
mod events;
mod exit;
mod extract;
mod gate;
mod generate;
mod github;
mod guard;
mod hook;
mod hooks;
mod init;
mod markdown;
mod patch;
mod render;
mod review;
mod sarif;
mod scan;
mod session;
mod session_page;
mod status;
mod talk;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::CommandFactory;
use clap::FromArgMatches;
use clap::Parser;
use clap::Subcommand;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::system::Environment;
use crate::system::may_detach;

pub use exit::Exit;
pub use exit::exit_code_table;

/// Decide which AI-made changes get into a repository, and prove it afterwards
///
/// A task contract says what a change may touch. The gate judges any change by it: staged, on disk, in a range of
/// commits, or in a patch file.
#[derive(Parser, Debug)]
#[command(name = "git-oracle", version, disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    directory: Option<PathBuf>,

    /// Say less: only results and errors
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Say more; ORACLE_LOG sets finer filters
    #[arg(short, long, global = true)]
    verbose: bool,

    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are respected too
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    color: Color,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
enum Command {
    Init(init::InitArgs),
    Status(status::StatusArgs),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    Contract(contract::ContractArgs),
    Gate(gate::GateArgs),
    Apply(apply::ApplyArgs),
    Ask(ask::AskArgs),
    Review(review::ReviewArgs),
    Bundle(bundle::BundleArgs),
    Auth(auth::AuthArgs),
    Hook(hook::HookArgs),
    Hooks(hooks::HooksArgs),
    Events(events::EventsArgs),
    Extract(extract::ExtractArgs),
    Session(session::SessionArgs),
    #[command(hide = true)]
    Guard(guard::GuardArgs),
    Scan(scan::ScanArgs),
    #[command(hide = true)]
    Generate(generate::GenerateArgs),
}

/// What every command works with.
struct App {
    flows: Flows,
    quiet: bool,
}

/// Runs the program with these arguments.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    match agent::is_asked(&args) {
        true => agent::guarded(|| start(args)),
        false => start(args),
    }
}

fn start(args: Vec<OsString>) -> Exit {
    if let Some(hook_args) = hook::called_by_git(&args) {
        return match App::new(false, false) {
            Ok(app) => hook::hook(&app, hook_args).unwrap_or_else(|failure| render::failure(&failure)),
            Err(failure) => render::failure(&failure),
        };
    }
    // Help speaks of the command as it is typed; man pages and completions need the program's name.
    let parsed = Cli::command().bin_name("git oracle").try_get_matches_from(args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success };
        }
    };
    match cli.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let wants_json = cli.command.wants_json();
    run_command(cli).unwrap_or_else(|failure| {
        if wants_json {
            document::print(&document::failure(&failure));
        }
        render::failure(&failure)
    })
}

fn run_command(cli: Cli) -> Result<Exit, Failure> {
    if cli.command.is_for_background() {
        return background::start(cli.quiet, cli.command.wants_json());
    }
    if let Some(directory) = &cli.directory
        && let Err(error) = std::env::set_current_dir(directory)
    {
        let message = format!("failed to enter {}: {error}", directory.display());
        return Err(Failure::new(Kind::Other, message).hinted("-C names a directory that is there."));
    }
    let app = App::new(cli.quiet, cli.verbose)?;
    match cli.command {
        Command::Init(args) => init::init(&app, &args),
        Command::Status(args) => status::status(&app, &args),
        Command::Doctor(args) => doctor::doctor(&app, &args),
        Command::Demo(args) => demo::demo(&app, &args),
        Command::Contract(args) => contract::contract(&app, args),
        Command::Gate(args) => gate::gate(&app, args),
        Command::Apply(args) => apply::apply(&app, args),
        Command::Ask(args) => ask::ask(&app, &args),
        Command::Review(args) => review::review(&app, &args),
        Command::Bundle(args) => bundle::bundle(&app, args),
        Command::Auth(args) => auth::auth(&app, args),
        Command::Hook(args) => hook::hook(&app, args),
        Command::Hooks(args) => hooks::hooks(&app, &args),
        Command::Events(args) => events::events(&app, &args),
        Command::Extract(args) => extract::extract(&app, args),
        Command::Session(args) => session::session(&app, args),
        Command::Guard(args) => Ok(guard::guard(args)),
        Command::Scan(args) => scan::scan(&app, args),
        Command::Generate(args) => generate::generate(&args, Cli::command()),
    }
}

impl App {
    fn new(quiet: bool, verbose: bool) -> Result<Self, Failure> {
        let environment = Environment::of_process().map_err(|error| {
            let message = format!("failed to find the current directory: {error}");
            Failure::new(Kind::Other, message).hinted("Change to a directory that is there.")
        })?;
        start_tracing(&environment, verbose);
        Ok(App { flows: Flows { environment }, quiet })
    }
}

impl Command {
    /// Tells whether a script reads the result as JSON, and then also a failure.
    const fn wants_json(&self) -> bool {
        match self {
            Command::Status(args) => args.json,
            Command::Doctor(args) => args.json,
            Command::Contract(args) => args.wants_json(),
            Command::Gate(args) => args.wants_json(),
            Command::Apply(args) => args.wants_json(),
            Command::Ask(args) => args.wants_json(),
            Command::Review(args) => args.wants_json(),
            Command::Bundle(args) => args.wants_json(),
            Command::Hooks(args) => args.wants_json(),
            Command::Scan(args) => args.wants_json(),
            Command::Events(args) => args.wants_json(),
            Command::Session(args) => args.wants_json(),
            // It prints its own document, also when there is no patch.
            Command::Init(_)
            | Command::Extract(_)
            | Command::Demo(_)
            | Command::Auth(_)
            | Command::Hook(_)
            | Command::Guard(_)
            | Command::Generate(_) => false,
        }
    }
}

impl Command {
    /// Tells whether it is to go on in the background, and is not there yet.
    fn is_for_background(&self) -> bool {
        let talk = match self {
            Command::Ask(args) => &args.talk,
            Command::Review(args) => &args.talk,
            _ => return false,
        };
        talk.detach && !talk.detached && may_detach()
    }
}

/// Starts tracing to stderr when somebody asked for it.
fn start_tracing(environment: &Environment, verbose: bool) {
    let filter = environment.log.clone().or_else(|| verbose.then(|| "git_oracle=debug".to_owned()));
    let Some(filter) = filter.and_then(|filter| filter.parse::<tracing_subscriber::filter::Targets>().ok()) else {
        return;
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).without_time().with_filter(filter);
    let _ = tracing_subscriber::registry().with(layer).try_init();
}
