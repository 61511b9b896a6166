//! `read_only`: the contract's filesystem permission is read-only, so nothing may change.

use super::Context;
use super::Finding;
use super::verb;
use crate::contract::Filesystem;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.contract.is_none_or(|contract| contract.file.tool_permissions.filesystem > Filesystem::ReadOnly) {
        return Vec::new();
    }
    vec![Finding::new(Rule::ReadOnly, format!("{} under a contract that allows reading only", verb(context.change)))]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::add;
    use super::example::edit;
    let read_only = |contract: &mut serde_json::Value| contract["tool_permissions"]["filesystem"] = "read-only".into();
    super::example::Examples {
        rule: Rule::ReadOnly,
        passes: vec![edit("src/a.rs")],
        blocks: vec![edit("src/a.rs").contract(read_only), add("docs/a.md").contract(read_only)],
    }
}
