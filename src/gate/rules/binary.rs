//! `binary`: content that nobody can review.

use super::Context;
use super::Finding;
use super::verb;
use crate::contract::Permit;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let permit = context.policy().and_then(|policy| policy.binary.as_ref());
    if !context.change.facts.binary || permit.unwrap_or(&Permit::DENY).covers(&context.change.path) {
        return Vec::new();
    }
    vec![Finding::new(Rule::Binary, format!("{} with binary content", verb(context.change)))]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::add;
    use super::example::delete;
    use super::example::edit;
    let images =
        |contract: &mut serde_json::Value| contract["diff_policy"] = serde_json::json!({"binary": ["src/img/"]});
    super::example::Examples {
        rule: Rule::Binary,
        passes: vec![edit("src/a.rs"), add("src/img/a.png").with(|change| change.facts.binary = true).contract(images)],
        blocks: vec![
            add("src/a.bin").with(|change| change.facts.binary = true),
            delete("src/a.bin").with(|change| change.facts.binary = true),
            add("src/a.png").with(|change| change.facts.binary = true).contract(images),
        ],
    }
}
