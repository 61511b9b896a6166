//! In which respects one contract allows more than another.

use crate::base::RepoPath;
use crate::contract::Contract;
use crate::contract::Permit;
use crate::contract::Scope;
use crate::contract::file::DiffPolicy;
use crate::contract::file::Locks;
use crate::contract::file::PermitWord;

/// The sort of protected paths that an entry opens by naming them.
pub type Opens<'a> = &'a dyn Fn(&RepoPath) -> Option<&'static str>;

/// Returns one sentence for each respect in which `new` is wider than `old`. `opens` tells which sort
/// of paths an entry opens that are protected unless the contract names them.
pub fn widenings(old: &Contract, new: &Contract, opens: Opens<'_>) -> Vec<String> {
    let mut wider = Vec::new();
    let (before, after) = (&old.file, &new.file);
    for entry in new.scope.entries() {
        if !covers_entry(&old.scope, entry, opens) {
            wider.push(format!("allowed_paths gains {entry}"));
        }
    }
    let (old_policy, new_policy) = (policy(old), policy(new));
    let permits = [
        ("binary", &old_policy.binary, &new_policy.binary, Permit::DENY),
        ("symlink", &old_policy.symlink, &new_policy.symlink, Permit::DENY),
        ("submodule", &old_policy.submodule, &new_policy.submodule, Permit::DENY),
        ("mode_change", &old_policy.mode_change, &new_policy.mode_change, Permit::ALLOW),
    ];
    for (name, old, new, default) in permits {
        if is_wider(old.as_ref().unwrap_or(&default), new.as_ref().unwrap_or(&default)) {
            wider.push(format!("diff_policy.{name} allows more"));
        }
    }
    lost(&mut wider, "diff_policy.protected_extra", &old_policy.protected_extra, &new_policy.protected_extra);
    if new_policy.locks.unwrap_or(Locks::Exclusive) > old_policy.locks.unwrap_or(Locks::Exclusive) {
        wider.push("diff_policy.locks becomes shared".to_owned());
    }
    let (old_tools, new_tools) = (&before.tool_permissions, &after.tool_permissions);
    let rights = [
        ("filesystem", new_tools.filesystem > old_tools.filesystem),
        ("shell", new_tools.shell > old_tools.shell),
        ("network", new_tools.network > old_tools.network),
    ];
    wider.extend(
        rights.iter().filter(|(_, more)| *more).map(|(name, _)| format!("tool_permissions.{name} allows more")),
    );
    lost(&mut wider, "forbidden_actions", &before.forbidden_actions, &after.forbidden_actions);
    gained(&mut wider, "tool_permissions.mcp_tools", &old_tools.mcp_tools, &new_tools.mcp_tools);
    gained(&mut wider, "mcp_tool_set", &before.mcp_tool_set, &after.mcp_tool_set);
    let outputs = |contract: &Contract| -> Vec<String> {
        contract.file.required_outputs.iter().map(|output| output.name.clone()).collect()
    };
    lost(&mut wider, "required_outputs", &outputs(old), &outputs(new));
    if after.timeout_retry.max_retries > before.timeout_retry.max_retries {
        wider.push("timeout_retry.max_retries grows".to_owned());
    }
    if before.handoff_chain != after.handoff_chain && after.handoff_chain.is_some() {
        wider.push("handoff_chain changes".to_owned());
    }
    let required = |contract: &Contract| -> Vec<String> {
        let tests = contract.file.acceptance_tests.iter().filter(|test| test.must_pass);
        tests.map(|test| test.cmd.clone()).collect()
    };
    lost(&mut wider, "acceptance_tests", &required(old), &required(new));
    let strict = |contract: &Contract| {
        contract
            .file
            .runtime_options
            .as_ref()
            .and_then(|options| options.get("strict_acceptance")?.as_bool())
            .unwrap_or(false)
    };
    if strict(old) && !strict(new) {
        wider.push("runtime_options.strict_acceptance is off".to_owned());
    }
    if before.browser_policy != after.browser_policy && after.browser_policy.is_some() {
        wider.push("browser_policy changes".to_owned());
    }
    wider
}

fn policy(contract: &Contract) -> DiffPolicy {
    contract.file.diff_policy.clone().unwrap_or_default()
}

/// Tells whether an old scope already allowed everything that an entry allows.
fn covers_entry(old: &Scope, entry: &str, opens: Opens<'_>) -> bool {
    let path = RepoPath::from(entry.strip_suffix('/').unwrap_or(entry));
    let sort = opens(&path);
    old.covering(&path)
        .any(|known| sort.is_none() || opens(&RepoPath::from(known.strip_suffix('/').unwrap_or(known))) == sort)
}

fn is_wider(old: &Permit, new: &Permit) -> bool {
    match (old, new) {
        (Permit::Word(PermitWord::Allow), _) | (_, Permit::Word(PermitWord::Deny)) => false,
        (_, Permit::Word(PermitWord::Allow)) => true,
        (Permit::Word(PermitWord::Deny), Permit::Paths(paths)) => !paths.is_empty(),
        (Permit::Paths(known), Permit::Paths(paths)) => {
            let known = Scope::new(known);
            !paths.iter().all(|path| covers_entry(&known, path, &|_| None))
        }
    }
}

/// Notes what a list of restrictions lost.
fn lost(wider: &mut Vec<String>, field: &str, old: &[String], new: &[String]) {
    wider.extend(old.iter().filter(|entry| !new.contains(entry)).map(|entry| format!("{field} loses {entry}")));
}

/// Notes what a list of permissions gained.
fn gained(wider: &mut Vec<String>, field: &str, old: &[String], new: &[String]) {
    wider.extend(new.iter().filter(|entry| !old.contains(entry)).map(|entry| format!("{field} gains {entry}")));
}
