//! `submodule`: a gitlink brings in commits that no rule here can see.

use super::Context;
use super::Finding;
use super::verb;
use crate::change::Kind;
use crate::contract::Permit;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let change = context.change;
    if ![change.old, change.new].into_iter().flatten().any(|side| side.mode.kind() == Kind::Gitlink) {
        return Vec::new();
    }
    let permit = context.policy().and_then(|policy| policy.submodule.as_ref());
    if permit.unwrap_or(&Permit::DENY).covers(&change.path) {
        return Vec::new();
    }
    vec![Finding::new(Rule::Submodule, format!("{} as a submodule", verb(change)))]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::change;
    use super::example::edit;
    use crate::change::Mode;
    let allow =
        |contract: &mut serde_json::Value| contract["diff_policy"] = serde_json::json!({"submodule": ["src/sub"]});
    super::example::Examples {
        rule: Rule::Submodule,
        passes: vec![edit("src/a.rs"), change("src/sub", None, Some(Mode::Gitlink)).contract(allow)],
        blocks: vec![
            change("src/sub", None, Some(Mode::Gitlink)),
            change("src/sub", Some(Mode::Gitlink), Some(Mode::Gitlink)),
            change("src/sub", Some(Mode::Gitlink), None),
            change("src/other", None, Some(Mode::Gitlink)).contract(allow),
        ],
    }
}
