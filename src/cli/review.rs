//! `git oracle review`.

use std::io::Write;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::patch;
use crate::cli::patch::PatchArgs;
use crate::cli::render;
use crate::cli::talk;
use crate::cli::talk::TalkArgs;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Outcome;
use crate::flows::apply::Trouble;
use crate::flows::review;
use crate::flows::review::Request;

/// How often something is sent where nobody says it.
const TURNS: u32 = 3;

/// Take the feature branch to a chat page or an API, and bring back what is agreed
///
/// The request names the branch, its change, the contract's scope and its tests. The patch in the answer is judged hunk by
/// hunk, tried on a candidate and tested there; where it falls short, the page is asked again in the same conversation.
/// With --apply-mode commit what is agreed is committed on the branch and pushed.
#[derive(clap::Args, Debug)]
pub(super) struct ReviewArgs {
    /// What is asked, instead of the contract's task; @FILE reads it from a file, - from stdin
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Make this branch first, from where you are
    #[arg(long, value_name = "NAME")]
    create_branch: Option<String>,

    /// Push the branch first
    #[arg(long)]
    push_first: bool,

    /// Print the request for pasting it by hand; send nothing
    #[arg(long, conflicts_with_all = ["dry_run", "json", "emit_diff_only"])]
    print: bool,

    /// Send at most N prompts [default: 3]
    #[arg(long, visible_alias = "copilot-max-turns", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,

    #[command(flatten)]
    pub(super) talk: TalkArgs,

    #[command(flatten)]
    patch: PatchArgs,

    /// Ask again when there is no patch in the answer; this is always on
    #[arg(long)]
    retry_if_no_diff: bool,
}

impl ReviewArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.talk.json
    }

    fn request(&self) -> Result<Request, Failure> {
        let turns = self.patch.max_retries.map(|retries| retries.saturating_add(1));
        let turns = match (self.max_turns, turns) {
            (Some(a), Some(b)) => a.min(b),
            (one, other) => one.or(other).unwrap_or(TURNS),
        };
        Ok(Request {
            prompt: self.prompt.as_deref().map(talk::read_prompt).transpose()?,
            engine: self.talk.wanted(),
            context: self.talk.context(),
            slug: self.talk.slug.clone(),
            patience: self.talk.patience(),
            sanitize: self.talk.sanitize_prompt,
            git_root: self.patch.git_root.clone(),
            terms: self.patch.terms(patch::Defaults::REVIEW),
            files: Files {
                diff: self.patch.diff_output.clone(),
                result: self.talk.json_output.clone(),
                metrics: self.talk.metrics_output.clone(),
            },
            create_branch: self.create_branch.clone(),
            push_first: self.push_first,
            turns,
            followup: self.patch.followup_prompt.clone(),
        })
    }
}

pub(super) fn review(app: &App, args: &ReviewArgs) -> Result<Exit, Failure> {
    let request = args.request()?;
    if args.print {
        return Ok(match review::print(&app.flows, &request) {
            Ok((text, commit)) => print_request(app, &text, &commit),
            Err(trouble) => refused(&trouble),
        });
    }
    if args.talk.dry_run {
        return Ok(match review::preview(&app.flows, &request, terminal::is_attended()) {
            Ok(preview) => {
                match args.talk.json {
                    true => document::print(&preview),
                    false => talk::print_preview(&preview),
                }
                Exit::Success
            }
            Err(trouble) => refused(&trouble),
        });
    }
    let outcome = talk::listen(app, args.talk.detached, |listener| {
        let person = patch::person(listener.attended, listener.tell);
        review::run(&app.flows, &request, listener, &person)
    })?;
    Ok(print(app, args, &outcome))
}

fn print(app: &App, args: &ReviewArgs, outcome: &Outcome) -> Exit {
    match () {
        () if args.talk.json => document::print(&outcome.to_json()),
        () if args.patch.emit_diff_only => drop(std::io::stdout().write_all(&outcome.agreed_patch)),
        () => patch::verdicts(outcome),
    }
    if !app.quiet && !args.talk.json {
        if let Some(turns) = outcome.heard.turns.filter(|turns| turns.used > 0) {
            let limit = if turns.limit_hit { "; there was more to ask" } else { "" };
            render::note(format!("turn {} of {}{limit}", turns.used, turns.limit));
        }
        patch::note(outcome);
    }
    let exit = talk::conclude(app, outcome);
    // What was agreed is tried and tested, so nothing is left to do but to land it.
    let next = match outcome.mode {
        ApplyMode::Check if outcome.error.is_none() => Some("git oracle apply --last --apply-mode commit".to_owned()),
        _ => patch::next(outcome),
    };
    if let Some(next) = next.filter(|_| !app.quiet) {
        render::note(format!("next: {next}"));
    }
    exit
}

fn print_request(app: &App, text: &str, commit: &str) -> Exit {
    let _ = writeln!(std::io::stdout(), "{text}");
    if !app.quiet {
        render::note("next: paste this, save the answer as answer.md, then");
        render::note(format!("  git oracle apply --from-reply answer.md --base {}", visible(commit)));
    }
    Exit::Success
}

fn refused(trouble: &Trouble) -> Exit {
    let failure = Failure { hints: trouble.hints.clone(), ..Failure::new(Kind::Other, trouble.message.as_str()) };
    render::failure(&failure);
    Exit::from(trouble.status)
}
