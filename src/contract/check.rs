//! From foreign bytes to a valid contract, with all problems at once.

use serde_json::Value;

use crate::base::Sha256Hex;
use crate::base::glob_problem;
use crate::base::parse_strict;
use crate::base::visible;
use crate::contract::Contract;
use crate::contract::ContractFile;
use crate::contract::MAX_CONTRACT_BYTES;
use crate::contract::Problem;
use crate::contract::Registry;
use crate::contract::commands::command_problem;
use crate::contract::commands::is_trivial;
use crate::contract::embedded_schema;
use crate::contract::file::Agent;
use crate::contract::file::ToolPermissions;
use crate::contract::path_problem;
use crate::contract::schema_problems;

/// What a contract is checked against besides its schema.
pub struct Surroundings<'a> {
    pub registry: &'a Registry,
    /// Returns the content of a file of the repository, for output schemas.
    pub file: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

/// A valid contract with its warnings, or everything that is wrong with it.
pub type Validated = Result<(Contract, Vec<Problem>), Vec<Problem>>;

/// Checks the bytes of a contract. Warnings come with the contract, errors instead of it.
pub fn validate(bytes: &[u8], around: &Surroundings<'_>) -> Validated {
    let value = match parse_strict(bytes, MAX_CONTRACT_BYTES) {
        Ok(value) => value,
        Err(error) => {
            let hint = "A contract is one JSON object in UTF-8; `git oracle contract new` writes one.";
            return Err(vec![Problem::error("", format!("the contract {error}")).hinted(hint)]);
        }
    };
    let mut problems = schema_problems("task_contract.v1.json", &value);
    problems.extend(path_problems(&value));
    problems.extend(test_problems(&value));
    problems.extend(agent_problems(&value, around.registry));
    problems.extend(output_schema_problems(&value, around));
    problems.extend(role_contract_problems(&value));
    problems.extend(browser_problems(&value));
    problems.extend(rollback_problems(&value));
    if !problems.iter().any(Problem::is_error) {
        match serde_json::from_value::<ContractFile>(value) {
            Ok(file) => return Ok((Contract::new(file, bytes), problems)),
            Err(error) => problems.push(Problem::error("", visible(&error.to_string()).into_owned())),
        }
    }
    Err(problems)
}

/// Returns the strings of an array with the pointer to each.
fn strings<'a>(value: &'a Value, pointer: &'a str) -> impl Iterator<Item = (String, &'a str)> {
    let items = value.pointer(pointer).and_then(Value::as_array).into_iter().flatten().enumerate();
    items.filter_map(move |(index, item)| Some((format!("{pointer}/{index}"), item.as_str()?)))
}

fn path_problems(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lists = [
        "/allowed_paths",
        "/diff_policy/binary",
        "/diff_policy/symlink",
        "/diff_policy/submodule",
        "/diff_policy/mode_change",
    ];
    for (pointer, entry) in lists.iter().flat_map(|list| strings(value, list)) {
        if let Some((message, hint)) = path_problem(entry) {
            problems.push(Problem::error(pointer, format!("{message}: {:?}", visible(entry))).hinted(hint));
        }
    }
    for (pointer, entry) in strings(value, "/allowed_paths") {
        let trimmed = entry.strip_suffix('/').unwrap_or(entry);
        if path_problem(entry).is_none() && entry.ends_with('/') && !trimmed.contains('/') {
            let message = format!("the whole top-level directory {:?} is in the scope", visible(entry));
            problems.push(Problem::warning(pointer, message).hinted("Name the directories that the task needs."));
        }
    }
    for (pointer, glob) in strings(value, "/diff_policy/protected_extra") {
        if let Some(reason) = glob_problem(glob) {
            let message = format!("the pattern cannot be used: {}", visible(&reason));
            problems.push(
                Problem::error(pointer, message)
                    .hinted("Write it from the top of the repository, such as src/gen/ or *.sql."),
            );
        }
    }
    problems
}

fn test_problems(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some(tests) = value.pointer("/acceptance_tests").and_then(Value::as_array) else { return problems };
    let strict = value.pointer("/runtime_options/strict_acceptance") == Some(&Value::Bool(true));
    for (index, test) in tests.iter().enumerate() {
        let Some(command) = test.get("cmd").and_then(Value::as_str) else { continue };
        let pointer = format!("/acceptance_tests/{index}/cmd");
        if let Some(reason) = command_problem(command) {
            let hint = "A test is a program with its arguments; put anything longer into a script.";
            problems.push(Problem::error(pointer, format!("the command cannot be run: {reason}")).hinted(hint));
        } else if strict && is_trivial(command) {
            let message = "the command proves nothing, and strict_acceptance is on";
            problems.push(Problem::error(pointer, message).hinted("Name the command that runs the tests."));
        }
    }
    let must_pass = |test: &Value| test.get("must_pass") == Some(&Value::Bool(true));
    if !tests.is_empty() && !tests.iter().any(must_pass) {
        let problem = Problem::error("/acceptance_tests", "no acceptance test must pass");
        problems.push(problem.hinted("Set \"must_pass\": true for at least one."));
    }
    problems
}

fn agent_problems(value: &Value, registry: &Registry) -> Vec<Problem> {
    let agent = |field: &str| serde_json::from_value::<Agent>(value.get(field)?.clone()).ok();
    let mut problems = Vec::new();
    for field in ["owner_agent", "assigned_agent"] {
        if let Some(agent) = agent(field) {
            problems.extend(registry.agent_problem(&format!("/{field}"), &agent));
        }
    }
    let permissions = value.get("tool_permissions").cloned().map(serde_json::from_value::<ToolPermissions>);
    if let (Some(agent), Some(Ok(permissions))) = (agent("assigned_agent"), permissions) {
        problems.extend(registry.permission_problems(&agent, &permissions));
    }
    problems
}

/// Checks the artifacts that bind the output of a role to a schema, by name, place and sha256.
fn output_schema_problems(value: &Value, around: &Surroundings<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let artifacts = value.pointer("/inputs/artifacts").and_then(Value::as_array);
    for (index, artifact) in artifacts.into_iter().flatten().enumerate() {
        let text = |field: &str| artifact.get(field).and_then(Value::as_str);
        let (Some(name), Some(uri), Some(sha256)) = (text("name"), text("uri"), text("sha256")) else { continue };
        let role = match name.split_once('.') {
            None if name == "output_schema" => {
                value.pointer("/assigned_agent/role").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            Some(("output_schema", role)) => role.to_uppercase(),
            _ => continue,
        };
        let expected = match role.as_str() {
            "REVIEWER" => "review_report.v1.json",
            "TEST_RUNNER" | "TEST" => "test_report.v1.json",
            _ => "agent_task_result.v1.json",
        };
        let pointer = format!("/inputs/artifacts/{index}");
        let under_schemas = uri.strip_prefix("schemas/").filter(|rest| path_problem(rest).is_none());
        let Some(file_name) = under_schemas.map(|rest| rest.rsplit('/').next().unwrap_or(rest)) else {
            let problem = Problem::error(format!("{pointer}/uri"), "an output schema lies under schemas/");
            problems.push(problem.hinted(format!("Write \"schemas/{expected}\".")));
            continue;
        };
        if file_name != expected {
            let message = format!("the output of this role is bound to {expected}");
            problems.push(
                Problem::error(format!("{pointer}/uri"), message).hinted(format!("Write \"schemas/{expected}\".")),
            );
            continue;
        }
        let content = (around.file)(uri).or_else(|| embedded_schema(file_name).map(|text| text.as_bytes().to_vec()));
        match content.map(|bytes| Sha256Hex::of(&bytes)) {
            None => problems.push(Problem::error(format!("{pointer}/uri"), "there is no such schema")),
            Some(found) if !found.is(sha256) => {
                let problem = Problem::error(format!("{pointer}/sha256"), "the schema has another sha256");
                problems.push(problem.hinted(format!("It is {found}.")));
            }
            Some(_) => {}
        }
    }
    problems
}

/// Checks that the resolved role view says what the contract itself says.
fn role_contract_problems(value: &Value) -> Vec<Problem> {
    if value.get("role_contract").is_none() {
        return Vec::new();
    }
    const EQUAL: [(&str, &str); 10] = [
        ("/role_contract/identity/role", "/assigned_agent/role"),
        ("/role_contract/identity/agent_id", "/assigned_agent/agent_id"),
        ("/role_contract/tool_permissions/filesystem", "/tool_permissions/filesystem"),
        ("/role_contract/tool_permissions/shell", "/tool_permissions/shell"),
        ("/role_contract/tool_permissions/network", "/tool_permissions/network"),
        ("/role_contract/resolved_mcp_tool_set", "/mcp_tool_set"),
        ("/role_contract/runtime_binding/runner", "/runtime_options/runner"),
        ("/role_contract/runtime_binding/provider", "/runtime_options/provider"),
        ("/role_contract/handoff/chain_roles", "/handoff_chain/roles"),
        ("/role_contract/handoff/max_handoffs", "/handoff_chain/max_handoffs"),
    ];
    // What the contract leaves out is null or empty in the view.
    let plain = |pointer: &str| match value.pointer(pointer) {
        Some(Value::Array(items)) if items.is_empty() => Value::Null,
        found => found.cloned().unwrap_or_default(),
    };
    EQUAL
        .iter()
        .filter(|(view, top)| plain(view) != plain(top))
        .map(|(view, top)| {
            let hint = "The contract itself decides; write the same here or leave role_contract out.";
            Problem::error(*view, format!("it differs from {top}")).hinted(hint)
        })
        .collect()
}

/// Refuses what would get around a provider's restrictions.
fn browser_problems(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    if value.pointer("/browser_policy/profile_mode").and_then(Value::as_str) == Some("cookie_file")
        || value.pointer("/browser_policy/cookie_ref").is_some()
    {
        let problem = Problem::error("/browser_policy/profile_mode", "cookie files are not used");
        problems.push(problem.hinted("Sign in in the browser profile; write \"ephemeral\" or \"allow_profile\"."));
    }
    let stealth = value.pointer("/browser_policy/stealth_mode").and_then(Value::as_str);
    if stealth.is_some_and(|mode| mode != "none") {
        let problem = Problem::error("/browser_policy/stealth_mode", "stealth modes are not used");
        problems.push(problem.hinted("Write \"none\": no provider's restriction is bypassed."));
    }
    problems
}

fn rollback_problems(value: &Value) -> Vec<Problem> {
    let strategy = value.pointer("/rollback/strategy").and_then(Value::as_str);
    if value.pointer("/rollback/target_ref").is_some() && strategy != Some("git_revert_commit") {
        let message = "a target_ref means something only with git_revert_commit";
        return vec![Problem::warning("/rollback/target_ref", message)];
    }
    Vec::new()
}
