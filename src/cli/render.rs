//! Text for people: violations, failures, hints.

use std::io::Write;

use anstyle::AnsiColor;
use anstyle::Style;

use crate::base::plural;
use crate::base::visible;
use crate::cli::Exit;
use crate::contract::Problem;
use crate::contract::Severity;
use crate::flows::Failure;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::gate::Violation;

const BOLD: Style = Style::new().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// A refusal shows this many paths, then a count.
const SHOWN_PATHS: usize = 10;

/// A refusal shows this many hints; more of the same help nobody.
const SHOWN_HINTS: usize = 3;

/// Writes a line to stdout. A reader that went away is no error of ours.
pub(super) fn out(line: impl AsRef<str>) {
    let _ = writeln!(anstream::stdout(), "{}", line.as_ref());
}

/// Writes a command as somebody types it.
pub(super) fn command(line: &str) {
    out(format!("{BOLD}$ {}{BOLD:#}", visible(line)));
}

/// Writes a line to stderr.
pub(super) fn note(line: impl AsRef<str>) {
    let _ = writeln!(anstream::stderr(), "{}", line.as_ref());
}

/// Shows where long work is, over the line that said so before.
pub(super) fn progress(line: &str) {
    let mut err = anstream::stderr();
    let _ = write!(err, "\r\x1b[K{line}");
    let _ = err.flush();
}

/// Makes room for the next line.
pub(super) fn end_progress() {
    let _ = write!(anstream::stderr(), "\r\x1b[K");
}

pub(super) fn hint(text: &str) {
    note(format!("{YELLOW}hint:{YELLOW:#} {}", visible(text)));
}

pub(super) fn warning(text: &str) {
    note(format!("{YELLOW}warning:{YELLOW:#} {}", visible(text)));
}

/// Writes why a hook refuses: a title, a line for each thing that is wrong, what to do.
pub(super) fn refusal(title: &str, lines: &[String], hints: &[String]) {
    note(format!("{RED}git-oracle:{RED:#} {}", visible(title)));
    lines.iter().for_each(|line| note(format!("  {}", visible(line))));
    hints.iter().for_each(|text| hint(text));
}

/// Writes what went wrong and returns the exit code for it.
pub(super) fn failure(failure: &Failure) -> Exit {
    note(format!("{RED}error:{RED:#} {}", visible(&failure.message)));
    problems(&failure.problems);
    if let Some(report) = &failure.report {
        report.violations.iter().take(SHOWN_PATHS).for_each(|violation| note(format!("  {}", line(violation))));
        if report.violations.len() > SHOWN_PATHS {
            note(format!("  … and {} more", report.violations.len() - SHOWN_PATHS));
        }
    }
    failure.hints.iter().for_each(|text| hint(text));
    Exit::from(failure.kind)
}

/// Writes every problem of a contract.
pub(super) fn problems(problems: &[Problem]) {
    for problem in problems {
        let style = if problem.severity == Severity::Error { RED } else { YELLOW };
        let word = if problem.severity == Severity::Error { "error" } else { "warning" };
        let pointer = if problem.pointer.is_empty() { "(document)" } else { &problem.pointer };
        note(format!("  {style}{word}{style:#} {}: {}", visible(pointer), visible(&problem.message)));
        if let Some(text) = &problem.hint {
            note(format!("    {}", visible(text)));
        }
    }
}

/// Returns one violation as a line: `path: rule: why`.
pub(super) fn line(violation: &Violation) -> String {
    let commit = violation.commit.map(|id| format!(" (in {})", id.short())).unwrap_or_default();
    format!("{}: {}: {}{commit}", violation.path, violation.rule, visible(&violation.message))
}

/// Writes a report: a line per violation on stdout; the verdict and what to do next on stderr.
pub(super) fn report(report: &Report, quiet: bool) {
    report.violations.iter().for_each(|violation| out(line(violation)));
    if quiet {
        return;
    }
    note(summary(report));
    report.notes.iter().for_each(|text| note(format!("note: {text}")));
    let mut hints: Vec<&str> = Vec::new();
    for violation in &report.violations {
        if hints.len() == SHOWN_HINTS {
            break;
        }
        if !hints.contains(&violation.hint.as_str()) {
            hints.push(&violation.hint);
        }
    }
    hints.iter().for_each(|text| hint(text));
}

/// Returns the verdict with what it is about, in one line.
pub(super) fn summary(report: &Report) -> String {
    let (style, word) = match report.verdict {
        Verdict::Pass => (GREEN, "pass"),
        Verdict::Warn => (YELLOW, "warn"),
        Verdict::Block => (RED, "block"),
    };
    let contract = report
        .contract
        .as_ref()
        .map(|contract| format!(", contract {}", visible(&contract.task_id)))
        .unwrap_or_default();
    let violations = match report.violations.len() {
        0 => String::new(),
        count => format!(", {}", plural(count as u64, "violation")),
    };
    format!("{style}{word}{style:#}: {}{violations}{contract}", checked(report))
}

/// Returns how much was looked at.
pub(super) fn checked(report: &Report) -> String {
    let changes = plural(report.checked.changes as u64, "change");
    match report.checked.commits {
        0 => changes,
        commits => format!("{changes} in {}", plural(commits as u64, "commit")),
    }
}
