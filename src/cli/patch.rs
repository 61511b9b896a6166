//! What `ask` and `review` have in common on the command line about the patch in an answer, and how verdicts look.

use std::path::PathBuf;

use crate::base::RepoPath;
use crate::base::plural;
use crate::base::visible;
use crate::cli::apply::AcceptArg;
use crate::cli::apply::Mode;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::apply::Accept;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Terms;

/// How the patch in an answer is judged, and how far it goes.
#[derive(clap::Args, Debug)]
pub(super) struct PatchArgs {
    /// How far to go [default: none for ask; check for review, or the person's configuration]
    #[arg(long, value_name = "MODE")]
    apply_mode: Option<Mode>,

    /// What happens to hunks that are not agreed [default: all for ask, agreed for review]
    #[arg(long, value_name = "WHICH")]
    accept: Option<AcceptArg>,

    /// Refuse everything outside DIR, on top of the contract
    #[arg(long, value_name = "DIR")]
    restrict_path_prefix: Option<String>,

    /// Every file of the patch needs a `diff --git` line and hunks
    #[arg(long)]
    strict_diff: bool,

    /// Work in the repository at PATH
    #[arg(long, value_name = "PATH")]
    pub git_root: Option<PathBuf>,

    /// The message of the commit; trailers are added
    #[arg(long, value_name = "TEXT")]
    commit_message: Option<String>,

    /// After a commit, push the branch [default for review]
    #[arg(long, overrides_with = "no_push")]
    push: bool,

    /// Do not push [default for ask]
    #[arg(long)]
    no_push: bool,

    /// Ask again at most N times [default: 2]
    #[arg(long, value_name = "N")]
    pub max_retries: Option<u32>,

    /// What to say when an answer falls short, instead of what was found out about it
    #[arg(long, value_name = "TEXT")]
    pub followup_prompt: Option<String>,

    /// Write the patch to FILE, too
    #[arg(long, value_name = "FILE")]
    pub diff_output: Option<PathBuf>,

    /// Print the patch as git would write it and nothing else on stdout; goes no further than `none`
    #[arg(long, conflicts_with_all = ["apply_mode", "json", "push"])]
    pub emit_diff_only: bool,
}

/// What holds where the command line does not say.
pub(super) struct Defaults {
    accept: Accept,
    push: bool,
    mode: Option<ApplyMode>,
}

impl Defaults {
    pub const ASK: Defaults = Defaults { accept: Accept::All, push: false, mode: Some(ApplyMode::None) };
    pub const REVIEW: Defaults = Defaults { accept: Accept::Agreed, push: true, mode: None };
}

impl PatchArgs {
    /// Tells whether something is said that only makes sense about a patch.
    pub const fn is_given(&self) -> bool {
        self.emit_diff_only
            || self.diff_output.is_some()
            || self.strict_diff
            || self.max_retries.is_some()
            || self.followup_prompt.is_some()
            || self.apply_mode.is_some()
    }

    pub fn terms(&self, defaults: Defaults) -> Terms {
        let mode = match self.apply_mode {
            _ if self.emit_diff_only => Some(ApplyMode::None),
            Some(mode) => Some(mode.into()),
            None => defaults.mode,
        };
        Terms {
            mode,
            accept: self.accept.map_or(defaults.accept, Accept::from),
            strict: self.strict_diff,
            prefix: self.restrict_path_prefix.clone(),
            message: self.commit_message.clone(),
            push: if defaults.push { !self.no_push } else { self.push },
        }
    }
}

/// Returns the person at the terminal, who is asked nothing hunk by hunk.
pub(super) fn person<'a>(attended: bool, tell: &'a dyn Fn(&str)) -> Person<'a> {
    Person { ask: &terminal::confirm, pick: None, attended, tell }
}

/// Writes the hunks with their verdicts and the tests on stdout.
pub(super) fn verdicts(outcome: &Outcome) {
    for hunk in &outcome.hunks {
        let word = if hunk.agreed { "agreed  " } else { "rejected" };
        render::out(format!("{word}  {}  {}", hunk.file, visible(&hunk.header)));
        for mend in &hunk.mends {
            render::out(format!("          mended: {}", visible(mend)));
        }
        hunk.reasons.iter().for_each(|reason| render::out(format!("          {}", visible(reason))));
    }
    for test in outcome.tests.iter().flatten() {
        render::out(format!("{:<8}  test {}", test.status, visible(&test.name)));
    }
}

/// Says on stderr what was done with a patch, in a line.
pub(super) fn note(outcome: &Outcome) {
    if let Some(done) = done(outcome) {
        render::note(done);
    }
}

fn done(outcome: &Outcome) -> Option<String> {
    let agreed = match outcome.hunks.iter().filter(|hunk| hunk.agreed).count() {
        0 => "the patch".to_owned(),
        count => plural(count as u64, "hunk"),
    };
    match (&outcome.commit, outcome.mode) {
        (Some(commit), _) => {
            let place = outcome.branch.as_deref().map(|branch| format!(" on {}", visible(branch))).unwrap_or_default();
            Some(format!("committed {agreed}{place}: {}", &commit[..12.min(commit.len())]))
        }
        _ if outcome.error.is_some() => None,
        (None, ApplyMode::None) => Some(format!("judged {agreed}; nothing was applied")),
        (None, ApplyMode::Check) => Some(format!("{agreed} passed on the candidate; nothing was applied")),
        (None, _) => Some(format!("applied {agreed} to the working tree")),
    }
}

/// Returns the next command to type.
pub(super) fn next(outcome: &Outcome) -> Option<String> {
    let again = |mode: &str| {
        let session = RepoPath::from(outcome.session.as_str()).typed();
        format!("git oracle apply --from-session {session} --apply-mode {mode}")
    };
    match outcome.mode {
        _ if outcome.error.is_some() => None,
        ApplyMode::None => Some(again("check")),
        ApplyMode::Check => Some(again("apply")),
        ApplyMode::Apply => Some("git diff".to_owned()),
        ApplyMode::Commit if outcome.pushed == Some(true) => None,
        ApplyMode::Commit => Some("git push".to_owned()),
    }
}
