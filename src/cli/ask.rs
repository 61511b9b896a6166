//! `git oracle ask`.

use std::io::Write;

use serde_json::Value;

use crate::base::RepoPath;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::patch;
use crate::cli::patch::PatchArgs;
use crate::cli::render;
use crate::cli::session;
use crate::cli::talk;
use crate::cli::talk::TalkArgs;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::ask;
use crate::flows::ask::Answered;
use crate::flows::ask::Attached;
use crate::flows::ask::Automation;
use crate::flows::ask::Request;

/// Ask a chat page or an API one question and print the answer
///
/// The prompt goes to the page in a real browser, is sent once, and the answer comes back as markdown. What is sent is
/// scanned for secrets before; without a terminal, the person's configuration has to name where it goes. Everything is
/// kept in a session.
///
/// With --emit-diff-only, --diff-output, --strict-diff, --retry-if-no-diff, --max-retries, --followup-prompt or
/// --apply-mode the patch in the answer is judged, and taken as far as --apply-mode says.
#[derive(clap::Args, Debug)]
pub(super) struct AskArgs {
    /// The prompt; @FILE reads it from a file, - from stdin
    #[arg(short, long, value_name = "TEXT")]
    prompt: String,

    #[command(flatten)]
    pub(super) talk: TalkArgs,

    #[command(flatten)]
    patch: PatchArgs,

    /// Ask again when there is no patch in the answer that can be used
    #[arg(long)]
    retry_if_no_diff: bool,
}

impl AskArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.talk.json
    }

    fn request(&self) -> Result<Request, Failure> {
        let automation = (self.patch.is_given() || self.retry_if_no_diff).then(|| Automation {
            terms: self.patch.terms(patch::Defaults::ASK),
            git_root: self.patch.git_root.clone(),
            retries: if self.retry_if_no_diff { self.patch.max_retries.unwrap_or(2) } else { 0 },
            followup: self.patch.followup_prompt.clone(),
        });
        Ok(Request {
            prompt: talk::read_prompt(&self.prompt)?,
            engine: self.talk.wanted(),
            context: self.talk.context(),
            slug: self.talk.slug.clone(),
            patience: self.talk.patience(),
            sanitize: self.talk.sanitize_prompt,
            files: Files {
                diff: self.patch.diff_output.clone(),
                result: self.talk.json_output.clone(),
                metrics: self.talk.metrics_output.clone(),
            },
            automation,
        })
    }
}

pub(super) fn ask(app: &App, args: &AskArgs) -> Result<Exit, Failure> {
    let request = args.request()?;
    if args.talk.dry_run {
        let preview = ask::preview(&app.flows, &request, terminal::is_attended())?;
        match args.talk.json {
            true => document::print(&preview),
            false => talk::print_preview(&preview),
        }
        return Ok(Exit::Success);
    }
    let answered = talk::listen(app, args.talk.detached, |listener| {
        let person = patch::person(listener.attended, listener.tell);
        ask::run(&app.flows, &request, listener, &person)
    })?;
    if args.patch.emit_diff_only {
        let _ = std::io::stdout().write_all(&answered.outcome.agreed_patch);
        return Ok(talk::conclude(app, &answered.outcome));
    }
    Ok(print(app, args.talk.json, &answered))
}

/// Picks up a talk that was cut off.
pub(super) fn attach(app: &App, slug: Option<&str>, wants_json: bool) -> Result<Exit, Failure> {
    let attached = talk::listen(app, false, |listener| {
        let person = patch::person(listener.attended, listener.tell);
        ask::attach(&app.flows, slug, listener, &person)
    })?;
    let answered = match attached {
        Attached::PickedUp(answered) => answered,
        Attached::Ended { result, answer } => return Ok(print_ended(app, wants_json, &result, answer.as_deref())),
    };
    let outcome = &answered.outcome;
    // What is in already needs no next command but for the push, which the error tells.
    if outcome.hunks.is_empty() || wants_json {
        return Ok(print(app, wants_json, &answered));
    }
    patch::verdicts(outcome);
    let exit = talk::conclude(app, outcome);
    if !app.quiet && outcome.error.is_none() {
        let session = RepoPath::from(outcome.session.as_str()).typed();
        render::note(format!("next: git oracle apply --from-session {session} --apply-mode commit"));
    }
    Ok(exit)
}

/// Prints what a run wrote down that ended by itself.
fn print_ended(app: &App, wants_json: bool, result: &Value, answer: Option<&str>) -> Exit {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let hunks = session::hunks(result);
    match answer {
        _ if wants_json => document::print(result),
        _ if !hunks.is_empty() => hunks.iter().for_each(render::out),
        Some(answer) => talk::print_answer(answer),
        None => {}
    }
    let error = &result["error"];
    if error.is_object() {
        let hints = error["hint"].as_str().map(str::to_owned).into_iter().collect();
        render::failure(&Failure { hints, ..Failure::new(Kind::Other, text(&error["message"])) });
    }
    if !app.quiet
        && !wants_json
        && let Some(commit) = result["commitSha"].as_str()
    {
        render::note(format!("committed on {}: {}", visible(&text(&result["branch"])), visible(commit)));
    }
    match (result["status"].as_str(), error["kind"].as_str()) {
        (_, Some("interrupted")) => Exit::Interrupted,
        (Some(status), _) => Exit::of_status(status),
        (None, _) => Exit::Other,
    }
}

/// Prints the answer, or the result as a document.
fn print(app: &App, wants_json: bool, answered: &Answered) -> Exit {
    let outcome = &answered.outcome;
    match (wants_json, &answered.answer) {
        (true, _) => document::print(&outcome.to_json()),
        (false, Some(answer)) => talk::print_answer(answer),
        (false, None) => {}
    }
    if !wants_json && !app.quiet && outcome.mode > ApplyMode::None {
        patch::note(outcome);
    }
    talk::conclude(app, outcome)
}
