//! `out_of_scope`: the path is not under an allowed path.

use super::Context;
use super::Finding;
use super::verb;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    if context.is_in_scope(&context.change.path) {
        return Vec::new();
    }
    vec![Finding::new(Rule::OutOfScope, format!("{} outside the contract's allowed paths", verb(context.change)))]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::add;
    use super::example::delete;
    use super::example::edit;
    super::example::Examples {
        rule: Rule::OutOfScope,
        passes: vec![
            edit("src/a.rs"),
            add("src/deep/b.rs"),
            delete("src/c.rs"),
            edit("README.md").allow(&["README.md"]),
        ],
        blocks: vec![edit("docs/a.md"), add("src2/a.rs"), delete("README.md"), edit("SRC/a.rs"), add("src.bak/x")],
    }
}
