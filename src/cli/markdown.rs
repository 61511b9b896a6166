//! Reports as the markdown of a CI step summary.

use crate::cli::render;
use crate::gate::Report;
use crate::gate::Violation;

/// GitHub drops a summary of more than 1 MiB.
const MAX_BYTES: usize = 1_000_000;

/// Returns the summary of a report.
pub(super) fn summary(report: &Report) -> String {
    let contract = report.contract.as_ref().map_or_else(|| "none".to_owned(), |contract| code(&contract.task_id));
    let mut text =
        format!("## git-oracle: {}\n\n{}, contract {contract}\n\n", report.verdict.as_str(), render::checked(report),);
    if report.violations.is_empty() {
        return text;
    }
    text.push_str("| path | rule | why | what to do |\n|---|---|---|---|\n");
    for (number, violation) in report.violations.iter().enumerate() {
        let row = row(violation);
        if text.len() + row.len() > MAX_BYTES {
            text.push_str(&format!("\n… and {} more\n", report.violations.len() - number));
            break;
        }
        text.push_str(&row);
    }
    text
}

fn row(violation: &Violation) -> String {
    let path = code(&violation.path.to_string());
    format!("| {path} | `{}` | {} | {} |\n", violation.rule, cell(&violation.message), cell(&violation.hint))
}

/// Returns text that stays text inside a table cell.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\r' => escaped.push(' '),
            '|' | '<' | '>' | '&' | '*' | '_' | '[' | ']' | '`' | '\\' | '#' | '@' => {
                escaped.push_str(&format!("&#{};", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", cell(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Checked;
    use crate::gate::Rule;

    #[test]
    fn a_name_cannot_leave_its_cell() {
        let violation = Violation::of_path(Rule::OutOfScope, "a|b`<img src=x>".into(), "changed", "hint");
        let text = summary(&Report::refused(violation, Checked::default()));
        assert!(text.contains("<code>a&#124;b&#96;&#60;img src=x&#62;</code>"), "{text}");
    }

    #[test]
    fn a_long_list_is_cut_below_the_limit() {
        let violation = Violation::of_path(Rule::OutOfScope, "x".repeat(1000).as_str().into(), "changed", "hint");
        let mut report = Report::refused(violation.clone(), Checked::default());
        report.violations = vec![violation; 2000];
        let text = summary(&report);
        assert!(text.len() < 1 << 20 && text.trim_end().ends_with("more"));
    }
}
