//! `git oracle apply`.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::base::RepoPath;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::extract::read_reply;
use crate::cli::patch;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply;
use crate::flows::apply::Accept;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::HunkVerdict;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Request;
use crate::flows::apply::Source;
use crate::flows::apply::Terms;

/// Judge a patch, try it, and bring it into the working tree
///
/// Every hunk is judged by the active contract. Then the patch is applied to a candidate, a worktree of its own, where the
/// contract's acceptance tests have to pass. Only then does it get into the working tree, wholly or not at all.
/// Uncommitted work is never touched.
#[derive(clap::Args, Debug)]
pub(super) struct ApplyArgs {
    #[command(flatten)]
    source: SourceArgs,

    /// With --from-reply: the commit that the reply was asked about; a file that changed since is merged
    #[arg(long, value_name = "REV", requires = "from_reply")]
    base: Option<String>,

    /// How far to go [default: apply, or the person's configuration]
    #[arg(long, value_name = "MODE")]
    apply_mode: Option<Mode>,

    /// What happens to hunks that are not agreed
    #[arg(long, value_name = "WHICH", default_value = "all")]
    accept: AcceptArg,

    /// Ask hunk by hunk at the terminal
    #[arg(long)]
    pick: bool,

    /// Refuse everything outside DIR, on top of the contract
    #[arg(long, value_name = "DIR")]
    restrict_path_prefix: Option<String>,

    /// Every file of the patch needs a `diff --git` line and hunks
    #[arg(long)]
    strict_diff: bool,

    /// Work in the repository at PATH
    #[arg(long, value_name = "PATH")]
    git_root: Option<PathBuf>,

    /// The message of the commit; trailers are added
    #[arg(long, value_name = "TEXT")]
    commit_message: Option<String>,

    /// After a commit, push the branch
    #[arg(long, overrides_with = "no_push")]
    push: bool,

    /// Do not push [default]
    #[arg(long)]
    no_push: bool,

    /// Name the session by these three to five words
    #[arg(long, value_name = "WORDS")]
    slug: Option<String>,

    /// Write the patch to FILE, too
    #[arg(long, value_name = "FILE")]
    diff_output: Option<PathBuf>,

    /// Write the result to FILE, too
    #[arg(long, value_name = "FILE")]
    json_output: Option<PathBuf>,

    /// Write the metrics to FILE, too
    #[arg(long, value_name = "FILE")]
    metrics_output: Option<PathBuf>,

    /// Print the patch as git would write it and nothing else on stdout; goes no further than `none`
    #[arg(long, conflicts_with_all = ["apply_mode", "json", "pick", "push"])]
    emit_diff_only: bool,

    /// Print the result as one JSON document (schemas/result.v1.json)
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct SourceArgs {
    /// Find the patch in an assistant's answer; - reads stdin
    #[arg(long, value_name = "FILE")]
    from_reply: Option<PathBuf>,

    /// Take the patch from FILE
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,

    /// Take the patch of the session SLUG
    #[arg(long, value_name = "SLUG")]
    from_session: Option<String>,

    /// Take the patch of the last session
    #[arg(long)]
    last: bool,

    /// Only put right what a killed process left here
    #[arg(long)]
    recover: bool,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
pub(super) enum Mode {
    /// Judge the patch and keep it
    None,
    /// Try it on a candidate; the working tree stays as it is
    Check,
    /// Then apply it to the working tree
    Apply,
    /// Then commit it
    Commit,
}

#[derive(ValueEnum, Debug, Clone, Copy)]
pub(super) enum AcceptArg {
    /// They are left out
    Agreed,
    /// One of them rejects the patch
    All,
}

impl From<Mode> for ApplyMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::None => ApplyMode::None,
            Mode::Check => ApplyMode::Check,
            Mode::Apply => ApplyMode::Apply,
            Mode::Commit => ApplyMode::Commit,
        }
    }
}

impl From<AcceptArg> for Accept {
    fn from(accept: AcceptArg) -> Self {
        match accept {
            AcceptArg::Agreed => Accept::Agreed,
            AcceptArg::All => Accept::All,
        }
    }
}

impl ApplyArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json
    }

    fn into_request(self) -> Result<Request, Failure> {
        let source = match self.source {
            SourceArgs { from_reply: Some(path), .. } => {
                Source::Reply { text: read_reply(Some(&path))?, place: path.display().to_string(), base: self.base }
            }
            SourceArgs { patch: Some(path), .. } => Source::Patch(path),
            SourceArgs { from_session, .. } => Source::Session(from_session),
        };
        let mode = self.apply_mode.or(self.emit_diff_only.then_some(Mode::None)).map(ApplyMode::from);
        Ok(Request {
            source,
            slug: self.slug,
            git_root: self.git_root,
            terms: Terms {
                mode,
                accept: self.accept.into(),
                strict: self.strict_diff,
                prefix: self.restrict_path_prefix,
                message: self.commit_message,
                push: self.push,
            },
            files: Files { diff: self.diff_output, result: self.json_output, metrics: self.metrics_output },
        })
    }
}

pub(super) fn apply(app: &App, args: ApplyArgs) -> Result<Exit, Failure> {
    if args.source.recover {
        match apply::recover(&app.flows, &terminal::confirm)? {
            Some(done) => render::out(visible(&done.message)),
            None => render::out("there is nothing to put right here"),
        }
        return Ok(Exit::Success);
    }
    if args.pick && !terminal::is_attended() {
        return Err(Failure::new(Kind::ApprovalRequired, "--pick asks at a terminal, and there is none")
            .hinted("Take what is agreed with --accept agreed."));
    }
    let (wants_json, picks, patch_only) = (args.json, args.pick, args.emit_diff_only);
    let picker = Picker::default();
    let pick = |hunk: &HunkVerdict, text: &[u8]| picker.ask(hunk, text);
    let tell = |text: &str| {
        if !app.quiet && terminal::is_attended() {
            render::note(format!("{}…", visible(text)));
        }
    };
    let person = Person {
        ask: &terminal::confirm,
        pick: picks.then_some(&pick),
        attended: terminal::is_attended(),
        tell: &tell,
    };
    let outcome = apply::run(&app.flows, &args.into_request()?, &person)?;
    match wants_json {
        true => document::print(&outcome.to_json()),
        false if patch_only => {
            let _ = std::io::stdout().write_all(&outcome.agreed_patch);
        }
        false => print(app, &outcome),
    }
    if let Some(trouble) = &outcome.error {
        let failure = Failure { hints: trouble.hints.clone(), ..Failure::new(Kind::Other, trouble.message.as_str()) };
        render::failure(&failure);
    }
    Ok(Exit::from(outcome.status))
}

/// Writes the hunks with their verdicts on stdout, and what was done on stderr.
fn print(app: &App, outcome: &Outcome) {
    patch::verdicts(outcome);
    if app.quiet {
        return;
    }
    outcome.notes.iter().for_each(|text| render::note(format!("note: {}", visible(text))));
    patch::note(outcome);
    render::note(format!("session: {}", outcome.session));
    if let Some(next) = patch::next(outcome) {
        render::note(format!("next: {next}"));
    }
}

/// Asks hunk by hunk, as `git add -p` does.
#[derive(Default)]
struct Picker {
    standing: RefCell<Option<Standing>>,
}

/// An answer that holds for more than one hunk.
struct Standing {
    answer: bool,
    /// For this file only; `None` for everything that is left.
    file: Option<RepoPath>,
}

impl Picker {
    fn ask(&self, hunk: &HunkVerdict, text: &[u8]) -> bool {
        let mut standing = self.standing.borrow_mut();
        if let Some(known) = standing.as_ref().filter(|known| known.file.as_ref().is_none_or(|file| *file == hunk.file))
        {
            return known.answer;
        }
        *standing = None;
        render::note(format!("{} {}", hunk.file, visible(&hunk.header)));
        render::note(visible(String::from_utf8_lossy(text).trim_end_matches('\n')));
        loop {
            // The end of input is the end of the questions.
            let answer = terminal::ask_line("Apply this hunk [y,n,q,a,d,?]? ").unwrap_or_else(|| "q".to_owned());
            let file = Some(hunk.file.clone());
            let (wanted, rest) = match answer.trim() {
                "y" => (true, None),
                "n" => (false, None),
                "a" => (true, Some(Standing { answer: true, file })),
                "d" => (false, Some(Standing { answer: false, file })),
                "q" => (false, Some(Standing { answer: false, file: None })),
                _ => {
                    render::note("y - apply this hunk");
                    render::note("n - leave this hunk out");
                    render::note("q - leave out this hunk and all that are left");
                    render::note("a - apply this hunk and all that are left in the file");
                    render::note("d - leave out this hunk and all that are left in the file");
                    continue;
                }
            };
            *standing = rest;
            return wanted;
        }
    }
}
