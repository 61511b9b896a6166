//! What is said after an answer that falls short. It is made of what was found out, never of the answer's own words.

use std::path::Path;

use crate::base::Oid;
use crate::base::fence;
use crate::base::visible;
use crate::contract::AcceptanceTest;
use crate::contract::Contract;
use crate::flows::apply::HunkVerdict;
use crate::flows::apply::Outcome;
use crate::flows::rounds::shortfall::Shortfall;
use crate::flows::rounds::shortfall::Why;
use crate::secret::Scanner;
use crate::system;

/// How an answer has to be written, so that its patch can be read.
pub(in crate::flows) const FORMAT: &str = "\
Answer with one patch: a unified diff as `git diff` prints it, in one fenced block marked `diff`.
- Begin each file with its `diff --git a/PATH b/PATH`, `--- a/PATH` and `+++ b/PATH` lines; a new file has `--- /dev/null`.
- Paths are relative to the top of the repository.
- Begin each hunk with `@@ -line,count +line,count @@` and give three lines of context, exactly as they are in the file.
- Leave nothing out inside a hunk: no ellipsis, no line numbers, no comment in place of code.
Explain in a few sentences outside the block what you changed and why.";

/// So much of what a failed test printed is sent along: its end.
const LOG_LINES: usize = 60;
const LOG_BYTES: usize = 6000;

/// The lines that say how a test was run.
const LOG_HEAD: [&str; 5] = ["# command: ", "# decision: ", "# network: ", "# directory: ", "# limit: "];

/// So many rejected hunks are told one by one.
const SHOWN_HUNKS: usize = 20;

/// What an answer has to keep to.
#[derive(Debug, Clone)]
pub(in crate::flows) struct Briefing {
    /// The commit that is asked about.
    pub commit: String,
    pub task: String,
    pub scope: String,
    pub tests: String,
    /// The person's own words, instead of all others.
    pub own: Option<String>,
}

impl Briefing {
    /// Returns what a contract asks for, in words.
    pub fn of(contract: Option<&Contract>, task: &str, commit_id: Oid) -> Self {
        let (mut scope, mut tests) = (
            "No contract is active. Keep to the files that this is about, their tests and their documents.".to_owned(),
            "There are no acceptance tests. The patch has to apply.".to_owned(),
        );
        if let Some(contract) = contract {
            let paths = contract.file.allowed_paths.iter().map(|path| format!("- `{}`", visible(path)));
            let list = paths.collect::<Vec<_>>().join("\n");
            scope = format!("Only these files and directories, and nothing else:\n\n{list}");
            let row = |test: &AcceptanceTest| format!("- {}: `{}`", visible(&test.name), visible(&test.cmd));
            let rows = contract.file.acceptance_tests.iter().filter(|test| test.must_pass).map(row);
            tests = format!("These commands have to succeed:\n\n{}", rows.collect::<Vec<_>>().join("\n"));
        }
        Briefing { commit: commit_id.to_string(), task: task.to_owned(), scope, tests, own: None }
    }
}

/// Returns what is said next.
pub(super) fn text(shortfall: &Shortfall, briefing: &Briefing, outcome: &Outcome, scanner: &Scanner) -> String {
    if let Some(own) = &briefing.own {
        return own.clone();
    }
    let Briefing { commit, task, scope, tests, .. } = briefing;
    let message = visible(&shortfall.trouble.message).into_owned();
    let whole = format!("The patch is still for commit {commit}.");
    match shortfall.why {
        Why::Missing => format!("There is no patch in your answer that can be read: {message}.\n\n{whole} {FORMAT}"),
        Why::Questions => format!(
            "Nobody is here who could answer questions. Decide by yourself within these terms, and prefer the smallest \
             change that does what is asked.\n\n{task}\n\nWhat the patch may touch:\n{scope}\n\nIt is accepted when these \
             pass:\n{tests}\n\n{whole} {FORMAT}"
        ),
        Why::Unusable => format!(
            "The patch in your answer cannot be used: {message}.\n{}\n{whole} Send all of it again, corrected. {FORMAT}",
            rejections(&outcome.hunks)
        ),
        Why::Rejected => format!(
            "{} These parts do not get in:\n{}\nWhat the patch may touch:\n{scope}\n\n{whole} Send what is missing in a \
             form that can get in; for a file that you change again, include all its changes. {FORMAT}",
            match outcome.hunks.iter().any(|hunk| hunk.agreed) {
                true => "The other parts of your patch are agreed and kept.",
                false => "Nothing of your patch was taken.",
            },
            rejections(&outcome.hunks)
        ),
        Why::Failing => format!(
            "Your patch applies, but then this happens: {message}.\n\n{}{whole} Send all of it again, corrected; it takes \
             the place of the one before. {FORMAT}",
            log_of_failure(outcome, scanner)
        ),
    }
}

fn rejections(hunks: &[HunkVerdict]) -> String {
    let rejected: Vec<&HunkVerdict> = hunks.iter().filter(|hunk| !hunk.agreed).collect();
    let mut text = String::new();
    for hunk in rejected.iter().take(SHOWN_HUNKS) {
        let reasons = hunk.reasons.iter().map(|reason| visible(reason)).collect::<Vec<_>>().join("; ");
        text.push_str(&format!("- {} {}: {reasons}\n", hunk.file, visible(&hunk.header)));
    }
    if let Some(more) = rejected.len().checked_sub(SHOWN_HUNKS).filter(|more| *more > 0) {
        text.push_str(&format!("- and {more} more\n"));
    }
    text
}

/// Returns the end of what the failed test printed, without secrets.
fn log_of_failure(outcome: &Outcome, scanner: &Scanner) -> String {
    let failed = outcome.tests.iter().flatten().find(|test| matches!(test.status, "failed" | "timeout"));
    let Some(bytes) = failed
        .and_then(|test| test.log.as_deref())
        .and_then(|path| system::read_limited(Path::new(path), 256 << 20).ok())
    else {
        return String::new();
    };
    let text = end_of_log(&String::from_utf8_lossy(&scanner.redact(&bytes).0));
    let fence = fence(text.as_bytes());
    format!("The end of what the test printed:\n{fence}text\n{text}\n{fence}\n\n")
}

/// Returns the last lines of a log. Where on this machine the test ran is nobody's business.
fn end_of_log(log: &str) -> String {
    let directory = log.lines().find_map(|line| line.strip_prefix("# directory: ")).unwrap_or("\0");
    let is_head = |line: &&str| LOG_HEAD.iter().any(|head| line.starts_with(head));
    let lines: Vec<&str> = log.lines().filter(|line| !is_head(line)).collect();
    let mut kept: Vec<String> = Vec::new();
    let mut bytes = 0;
    for line in lines.iter().rev().take(LOG_LINES) {
        let line = visible(&without_colour(line)).replace(&format!("{directory}/"), "").replace(directory, ".");
        bytes += line.len() + 1;
        if bytes > LOG_BYTES {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.join("\n")
}

/// Takes the sequences out with which programs colour their words.
fn without_colour(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        text.push_str(before);
        let end = after.find(|character: char| character.is_ascii_alphabetic()).map_or(after.len(), |at| at + 1);
        rest = &after[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_says_what_failed_and_not_where() {
        let head = "# command: cargo test\n# directory: /home/me/.oracle/worktrees/x/s/t\n# limit: 600 s\n";
        let log =
            format!("{head}\u{1b}[31merror\u{1b}[0m at /home/me/.oracle/worktrees/x/s/t/src/a.rs:1\n# Exited(1)\n");
        assert_eq!(end_of_log(&log), "error at src/a.rs:1\n# Exited(1)");
        let long = (0..1000).map(|number| format!("line {number}\n")).collect::<String>();
        let end = end_of_log(&long);
        assert!(end.lines().count() == LOG_LINES && end.ends_with("line 999"), "{end}");
        assert!(end_of_log(&"x".repeat(100_000)).is_empty());
        assert_eq!(end_of_log(""), "");
    }
}
