//! Reports as GitHub Actions annotations.
//!
//! GitHub shows ten annotations of a kind for each step; the rest is in the step summary. Names of files come from
//! whoever made the change, so everything that could end a command and begin another is escaped.

use crate::cli::render;
use crate::gate::Report;
use crate::gate::Verdict;
use crate::gate::Violation;

const SHOWN: usize = 10;

/// Returns the lines that a step prints.
pub(super) fn annotations(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report.violations.iter().take(SHOWN).map(annotation).collect();
    if report.violations.len() > SHOWN {
        let more = report.violations.len() - SHOWN;
        lines.push(format!("::notice title=git-oracle::and {more} more violations, listed in the step summary"));
    }
    if report.verdict < Verdict::Block {
        lines.push(format!("::notice title=git-oracle::{}: {}", report.verdict.as_str(), render::checked(report)));
    }
    lines
}

fn annotation(violation: &Violation) -> String {
    let line = violation.line.map(|line| format!(",line={line}")).unwrap_or_default();
    let file = property(&violation.path.to_string());
    let commit = violation.commit.map(|id| format!(" in {}", id.short())).unwrap_or_default();
    let message = data(&format!("{}{commit} ({})", violation.message, violation.hint));
    format!("::error file={file}{line},title={}::{message}", property(&format!("git-oracle {}", violation.rule)))
}

/// Escapes the text after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Checked;
    use crate::gate::Rule;

    #[test]
    fn a_file_name_cannot_start_a_command_of_its_own() {
        let path = crate::base::RepoPath::new(*b"a\n::set-env name=X::y,line=1:%0A");
        let violation = Violation::of_path(Rule::OutOfScope, path, "changed\n::error::x", "hint");
        let [line] = &annotations(&Report::refused(violation, Checked::default()))[..] else { panic!("one line") };
        assert_eq!(
            line,
            "::error file=\"a\\n%3A%3Aset-env name=X%3A%3Ay%2Cline=1%3A%250A\",title=git-oracle out_of_scope::changed%0A::error::x (hint)"
        );
    }

    #[test]
    fn ten_are_shown_and_the_rest_counted() {
        let violation = Violation::of_path(Rule::OutOfScope, "a".into(), "changed", "hint");
        let mut report = Report::refused(violation.clone(), Checked::default());
        report.violations = vec![violation; 12];
        let lines = annotations(&report);
        assert_eq!((lines.len(), lines[10].contains("2 more")), (11, true));
    }
}
