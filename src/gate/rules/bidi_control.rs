//! `bidi_control`: an added line reads in another order than it runs (Trojan Source, CVE-2021-42574).

use super::Context;
use super::Finding;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let lines = &context.change.facts.bidi_lines;
    let Some(first) = lines.first() else { return Vec::new() };
    let message = match lines.len() {
        1 => format!("line {first} has bidirectional control characters"),
        count => format!("line {first} and {} more have bidirectional control characters", count - 1),
    };
    vec![Finding { line: Some(*first), ..Finding::new(Rule::BidiControl, message) }]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::edit;
    super::example::Examples {
        rule: Rule::BidiControl,
        passes: vec![edit("src/a.rs")],
        blocks: vec![edit("src/a.rs").with(|change| change.facts.bidi_lines = vec![3, 7])],
    }
}
