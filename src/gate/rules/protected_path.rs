//! `protected_path` and `protected_test`: control files, agents' settings, tests.

use super::Context;
use super::Finding;
use super::verb;
use crate::base::RepoPath;
use crate::gate::Rule;
use crate::policy::Protection;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let path = &context.change.path;
    let verb = verb(context.change);
    match context.protected.always(path) {
        Some(Protection::Configured(glob)) => {
            let glob = crate::base::visible(&glob).into_owned();
            return vec![Finding::new(Rule::ProtectedPath, format!("{verb}, and {glob} is protected here"))];
        }
        Some(Protection::Control(what)) => {
            return vec![Finding::new(
                Rule::ProtectedPath,
                format!("{verb}, and it is {what}, which no contract opens"),
            )];
        }
        _ => {}
    }
    // Outside the scope the path alone is reason enough.
    if !context.is_in_scope(path) {
        return Vec::new();
    }
    let Some(protection) = context.protected.unless_named(path) else { return Vec::new() };
    let Some(contract) = context.contract else {
        // Tests are a contract's matter. Settings that make an agent run commands are everybody's.
        let message = format!("{verb}, and it is {}, which only a contract opens", protection.name());
        let settings = protection == Protection::AgentSettings;
        return settings.then(|| Finding::new(Rule::ProtectedPath, message)).into_iter().collect();
    };
    // An entry opens the sort of path that it names, and no other.
    let named = contract.scope.covering(path).any(|entry| {
        context.protected.unless_named(&RepoPath::from(entry.strip_suffix('/').unwrap_or(entry))).as_ref()
            == Some(&protection)
    });
    if named {
        return Vec::new();
    }
    let rule = if protection == Protection::Test { Rule::ProtectedTest } else { Rule::ProtectedPath };
    vec![Finding::new(rule, format!("{verb}, and it is {}, which the contract does not name", protection.name()))]
}

#[cfg(test)]
pub(super) fn path_examples() -> super::example::Examples {
    use super::example::add;
    use super::example::delete;
    use super::example::edit;
    super::example::Examples {
        rule: Rule::ProtectedPath,
        passes: vec![
            add("src/.env.example"),
            edit("src/environment.ts"),
            edit(".claude/settings.json").allow(&[".claude/"]),
            edit("src/hooks/a.ts"),
        ],
        blocks: vec![
            edit(".oracle/contract.json").allow(&[".oracle/"]),
            add(".gitmodules").allow(&[".gitmodules"]),
            delete("src/.env"),
            add("src/.env.local"),
            edit("tools/hooks/pre-commit").allow(&["tools/"]),
            add("src/.claude/settings.json"),
            add("tests/.claude/settings.json").allow(&["tests/"]),
            edit("src/schema.sql")
                .contract(|contract| contract["diff_policy"] = serde_json::json!({"protected_extra": ["*.sql"]})),
        ],
    }
}

#[cfg(test)]
pub(super) fn test_examples() -> super::example::Examples {
    use super::example::add;
    use super::example::edit;
    super::example::Examples {
        rule: Rule::ProtectedTest,
        passes: vec![
            edit("src/latest.rs"),
            edit("src/tests/a.rs").allow(&["src/", "src/tests"]),
            edit("tests/fixtures/a.json").allow(&["tests/"]),
            edit("src/parser_test.go").allow(&["src/", "src/parser_test.go"]),
        ],
        blocks: vec![
            edit("src/tests/a.rs"),
            add("src/app.test.tsx"),
            add("src/fixtures/a.json"),
            edit("src/other_test.go").allow(&["src/", "src/parser_test.go"]),
        ],
    }
}
