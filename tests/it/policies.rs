//! `policies/` is data that the code embeds; it must stay readable and complete.

use serde_json::Value;

use crate::support::project_file;

#[test]
fn every_role_of_the_contract_has_rights() {
    let schema: Value = serde_json::from_str(&project_file("schemas/task_contract.v1.json")).unwrap();
    let text = schema.to_string();
    let registry: Value = serde_json::from_str(&project_file("policies/agent_registry.json")).unwrap();
    let roles = registry["roles"].as_object().unwrap();
    assert_eq!(roles.len(), 15);
    for (role, rights) in roles {
        assert!(text.contains(&format!("\"{role}\"")), "{role} is no role of a contract");
        assert_ne!(rights["shell"], "on-request", "{role}: nobody runs commands by itself");
    }
    for reader in ["PM", "TECH_LEAD", "REVIEWER"] {
        assert_eq!(roles[reader]["filesystem"], "read-only", "{reader}");
    }
}

#[test]
fn protected_names_are_plain_patterns() {
    let lists: Value = serde_json::from_str(&project_file("policies/protected.json")).unwrap();
    for list in ["test_directories", "test_files", "agent_settings"] {
        for pattern in lists[list].as_array().unwrap() {
            let pattern = pattern.as_str().unwrap();
            let longest = pattern.split('*').map(str::len).max().unwrap_or(0);
            assert!(list != "test_files" || longest >= 4, "{pattern} has no piece that tells it from other names");
            assert!(
                !pattern.is_empty() && !pattern.contains(['?', '[', '{', '\\']),
                "{list}: only `*` is understood: {pattern}"
            );
        }
    }
}
