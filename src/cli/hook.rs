//! `git oracle hook`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;

use clap::Subcommand;

use crate::base::RepoPath;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::agent;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::hook;
use crate::flows::hook::Answer;
use crate::flows::hook::Hook;
use crate::flows::hook::Reason;
use crate::flows::hook::Refusal;
use crate::gate::Report;
use crate::gate::Violation;

/// git writes less; whoever sends more is not git.
const MAX_INPUT_BYTES: u64 = 256 << 20;

/// A refusal shows this many paths, then a count.
const SHOWN_PATHS: usize = 10;

/// A refusal gives this many hints, so that it fits on a screen.
const SHOWN_HINTS: usize = 3;

/// Answer git before it commits, merges, moves a branch, pushes or receives
///
/// The installed hooks call this. It is silent and ends with 0 when the operation may go on. It ends with 1 and says why
/// on stderr when it may not, or when that could not be found out. `agent` answers coding agents, with 0 or 2.
#[derive(clap::Args, Debug)]
pub(super) struct HookArgs {
    /// The directory that the hook was run from; saves asking git for it
    #[arg(long, value_name = "DIR", hide = true)]
    hooks_dir: Option<PathBuf>,

    #[command(subcommand)]
    hook: HookCommand,
}

#[derive(Subcommand, Debug)]
enum HookCommand {
    #[command(flatten)]
    Git(GitHook),
    Agent(agent::AgentArgs),
}

#[derive(Subcommand, Debug)]
enum GitHook {
    /// Judge what is staged
    PreCommit(Rest),
    /// Judge what a merge changes of its own
    PreMergeCommit(Rest),
    /// Judge the commits that the remote does not have; the refs are read from stdin
    PrePush {
        #[arg(allow_hyphen_values = true)]
        remote: OsString,
        #[arg(allow_hyphen_values = true)]
        url: OsString,
        #[command(flatten)]
        rest: Rest,
    },
    /// Judge the commits that a branch or HEAD is about to get; the refs are read from stdin
    ReferenceTransaction {
        /// `prepared` is judged, every other state passes
        state: String,
        #[command(flatten)]
        rest: Rest,
    },
    /// Judge what a server has been sent; the refs are read from stdin
    PreReceive(Rest),
}

/// What a later git may add.
#[derive(clap::Args, Debug, Default)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    more: Vec<OsString>,
}

impl GitHook {
    fn into_hook(self) -> Result<Hook, Failure> {
        let text = |value: OsString| value.to_string_lossy().into_owned();
        Ok(match self {
            GitHook::PreCommit(_) => Hook::PreCommit,
            GitHook::PreMergeCommit(_) => Hook::PreMergeCommit,
            GitHook::PrePush { remote, url, .. } => {
                Hook::PrePush { remote: text(remote), url: text(url), input: read_input()? }
            }
            GitHook::ReferenceTransaction { state, .. } => Hook::ReferenceTransaction { state, input: read_input()? },
            GitHook::PreReceive(_) => Hook::PreReceive { input: read_input()? },
        })
    }
}

/// Reads the arguments as an installed hook gives them, without everything that it takes to read any others.
///
/// A hook is started several times for every commit, and making the whole of the command line known takes a quarter of
/// what an answer does.
pub(super) fn called_by_git(args: &[OsString]) -> Option<HookArgs> {
    let [_, hook, option, hooks_dir, name, rest @ ..] = args else { return None };
    if hook != "hook" || option != "--hooks-dir" {
        return None;
    }
    let git_hook = match (name.to_str()?, rest) {
        ("pre-commit", []) => GitHook::PreCommit(Rest::default()),
        ("pre-merge-commit", []) => GitHook::PreMergeCommit(Rest::default()),
        ("reference-transaction", [state]) => {
            GitHook::ReferenceTransaction { state: state.to_str()?.to_owned(), rest: Rest::default() }
        }
        _ => return None,
    };
    Some(HookArgs { hooks_dir: Some(PathBuf::from(hooks_dir)), hook: HookCommand::Git(git_hook) })
}

pub(super) fn hook(app: &App, args: HookArgs) -> Result<Exit, Failure> {
    let hook = match args.hook {
        HookCommand::Git(hook) => hook.into_hook()?,
        HookCommand::Agent(args) => return Ok(agent::agent(app, args)),
    };
    match hook::run(&app.flows, args.hooks_dir.as_deref(), &hook) {
        Answer::Allowed => Ok(Exit::Success),
        Answer::Warned(why) => {
            // A commit asks twice; the first answer is enough.
            if !matches!(hook, Hook::ReferenceTransaction { .. }) && !app.quiet {
                render::warning(why);
            }
            Ok(Exit::Success)
        }
        Answer::Refused(refusal) => {
            let shown = shown(&hook, &refusal);
            render::refusal(&shown.title, &shown.lines, &shown.hints);
            Ok(Exit::Other)
        }
    }
}

fn read_input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let failed = |reason: String| {
        Failure::new(Kind::Other, format!("failed to read what git says: {reason}"))
            .hinted("A hook is called by git. To judge by hand: git oracle gate --staged")
    };
    let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut input);
    match read.map_err(|error| failed(error.to_string()))? as u64 {
        0..=MAX_INPUT_BYTES => Ok(input),
        _ => Err(failed("it is too long".to_owned())),
    }
}

/// A refusal as it is shown: never more than 24 lines.
struct Shown {
    title: String,
    lines: Vec<String>,
    hints: Vec<String>,
}

fn shown(hook: &Hook, refusal: &Refusal) -> Shown {
    let what = what(hook);
    let mut shown = match &refusal.reason {
        Reason::Judged(report) => judged(what, report),
        Reason::Undecided(failure) => Shown {
            title: format!("{what} is refused, because it could not be judged: {}", one_line(&failure.message)),
            lines: Vec::new(),
            hints: failure.hints.iter().take(SHOWN_HINTS).map(|hint| one_line(hint)).collect(),
        },
    };
    if let Some(why) = &refusal.unrecorded {
        shown.lines.push(format!("this refusal is not in the log of events: {}", one_line(why)));
    }
    shown
}

/// Returns what git is kept from, in the words of whoever typed the command.
const fn what(hook: &Hook) -> &'static str {
    match hook {
        Hook::PreCommit => "the commit",
        Hook::PreMergeCommit => "the merge",
        Hook::PrePush { .. } | Hook::PreReceive { .. } => "the push",
        Hook::ReferenceTransaction { .. } => "the new position of the branch",
    }
}

fn judged(what: &str, report: &Report) -> Shown {
    let contract = report.contract.as_ref().map(|contract| format!(" by the contract {}", visible(&contract.task_id)));
    let mut places: HashMap<&RepoPath, usize> = HashMap::new();
    let mut paths: Vec<Vec<&Violation>> = Vec::new();
    for violation in &report.violations {
        let place = *places.entry(&violation.path).or_insert(paths.len());
        match paths.get_mut(place) {
            Some(violations) => violations.push(violation),
            None => paths.push(vec![violation]),
        }
    }
    let mut lines: Vec<String> = paths.iter().take(SHOWN_PATHS).map(|violations| line(violations)).collect();
    if paths.len() > SHOWN_PATHS {
        lines.push(format!("… and {} more", paths.len() - SHOWN_PATHS));
    }
    let mut hints: Vec<String> = Vec::new();
    for violation in &report.violations {
        if hints.len() == SHOWN_HINTS {
            break;
        }
        let hint = one_line(&violation.hint);
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    Shown { title: format!("{what} is refused{}", contract.unwrap_or_default()), lines, hints }
}

/// Returns what is wrong with one path: the first reason in full, further rules by their names.
fn line(violations: &[&Violation]) -> String {
    let Some((first, others)) = violations.split_first() else { return String::new() };
    let mut more: Vec<&str> = Vec::new();
    for other in others {
        if other.rule != first.rule && !more.contains(&other.rule.id()) {
            more.push(other.rule.id());
        }
    }
    let more = if more.is_empty() { String::new() } else { format!(" (also {})", more.join(", ")) };
    one_line(&format!("{}{more}", render::line(first)))
}

pub(super) fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Whole {
        #[command(subcommand)]
        command: Words,
    }

    #[derive(Subcommand, Debug)]
    enum Words {
        Hook(HookArgs),
    }

    #[test]
    fn what_git_calls_is_read_as_any_other_arguments_are() {
        let cases: [&[&str]; 3] = [&["pre-commit"], &["pre-merge-commit"], &["reference-transaction", "prepared"]];
        for words in cases {
            let args: Vec<OsString> =
                ["git-oracle", "hook", "--hooks-dir", ".git/hooks"].iter().chain(words).map(OsString::from).collect();
            let Words::Hook(expected) = Whole::try_parse_from(&args).unwrap().command;
            assert_eq!(format!("{:?}", called_by_git(&args)), format!("{:?}", Some(expected)));
        }
        for words in [&["pre-commit", "more"][..], &["reference-transaction"], &["agent"], &["--help"], &[]] {
            let args: Vec<OsString> =
                ["git-oracle", "hook", "--hooks-dir", "x"].iter().chain(words).map(OsString::from).collect();
            assert!(called_by_git(&args).is_none(), "{words:?}");
        }
    }
}
