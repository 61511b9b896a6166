//! `mode_change`: the executable bit, where the contract denies touching it.

use super::Context;
use super::Finding;
use crate::change::Mode;
use crate::contract::Permit;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let modes = [context.change.old, context.change.new].map(|side| side.map(|side| side.mode));
    let message = match modes {
        [Some(Mode::Regular), Some(Mode::Executable)] => "it became executable",
        [Some(Mode::Executable), Some(Mode::Regular)] => "it is no longer executable",
        _ => return Vec::new(),
    };
    let permit = context.policy().and_then(|policy| policy.mode_change.as_ref());
    if permit.unwrap_or(&Permit::ALLOW).covers(&context.change.path) {
        return Vec::new();
    }
    vec![Finding::new(Rule::ModeChange, message)]
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::change;
    let deny = |contract: &mut serde_json::Value| contract["diff_policy"] = serde_json::json!({"mode_change": "deny"});
    let scripts =
        |contract: &mut serde_json::Value| contract["diff_policy"] = serde_json::json!({"mode_change": ["src/bin/"]});
    let executable = |path: &str| change(path, Some(Mode::Regular), Some(Mode::Executable));
    super::example::Examples {
        rule: Rule::ModeChange,
        passes: vec![
            executable("src/a.sh"),
            executable("src/bin/a.sh").contract(scripts),
            change("src/new.sh", None, Some(Mode::Executable)).contract(deny),
        ],
        blocks: vec![
            executable("src/a.sh").contract(deny),
            change("src/a.sh", Some(Mode::Executable), Some(Mode::Regular)).contract(deny),
            executable("src/a.sh").contract(scripts),
        ],
    }
}
