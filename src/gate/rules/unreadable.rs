//! `unreadable`: a content that cannot be read cannot be let through.

use super::Context;
use super::Finding;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(reason) = &context.change.facts.unreadable else { return Vec::new() };
    vec![Finding::new(Rule::Unreadable, format!("its content cannot be read: {reason}"))]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::edit;
    super::example::Examples {
        rule: Rule::Unreadable,
        passes: vec![edit("src/a.rs")],
        blocks: vec![edit("src/a.rs").with(|change| change.facts.unreadable = Some("object is missing".into()))],
    }
}
