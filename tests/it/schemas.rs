//! `schemas/` is frozen: a file that changes without its entry in the registry is drift.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use serde_json::json;
use sha2::Digest;

use crate::support::TestEnv;
use crate::support::contract;
use crate::support::project_file;

fn schema_files() -> BTreeMap<String, Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".v1.json"))
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn the_registry_knows_every_schema_by_its_sha256() {
    let registry: Value = serde_json::from_str(&project_file("schemas/schema_registry.json")).unwrap();
    let mut expected = serde_json::Map::new();
    for (name, bytes) in schema_files() {
        let sha256: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        expected.insert(name, json!({"sha256": sha256, "bytes": bytes.len()}));
    }
    assert_eq!(registry["schemas"], Value::Object(expected), "a schema changed: is that meant, and is it compatible?");
}

#[test]
fn the_schemas_that_the_contract_system_names_are_there_and_compile() {
    let files = schema_files();
    for name in [
        "task_contract",
        "run_manifest",
        "task_result",
        "work_report",
        "review_report",
        "test_report",
        "evidence_report",
        "evidence_bundle",
        "reexec_report",
        "agent_registry",
        "orchestrator_event",
        "approval_pack",
        "tool_call",
        "agent_task_result",
        "handoff",
        "task_chain",
        "run_compare_report",
        "browser_tasks",
        "gate_report",
        "scan_report",
        "result",
        "context_manifest",
        "excluded_files",
        "bundle_report",
    ] {
        let bytes = files.get(&format!("{name}.v1.json")).unwrap_or_else(|| panic!("{name} is missing"));
        let schema: Value = serde_json::from_slice(bytes).unwrap();
        jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(schema["additionalProperties"], json!(false), "{name} is closed");
    }
}

#[test]
fn reports_and_events_fit_their_schemas() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("docs/guide.md", "changed\n");
    env.write("src/b\u{7}in", "\0");
    env.git(&["add", "-A"]);
    let validator = |name: &str| {
        let schema: Value = serde_json::from_str(&project_file(&format!("schemas/{name}.v1.json"))).unwrap();
        jsonschema::draft202012::new(&schema).unwrap()
    };
    let report = env.expect(7, &["gate", "--staged", "--json"]).json();
    assert_eq!(
        validator("gate_report").iter_errors(&report).map(|error| error.to_string()).collect::<Vec<_>>(),
        [] as [String; 0]
    );
    let log = std::fs::read_to_string(env.repo().join(".git/oracle/events.jsonl")).unwrap();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let errors: Vec<_> =
            validator("orchestrator_event").iter_errors(&event).map(|error| error.to_string()).collect();
        assert_eq!(errors, [] as [String; 0], "{line}");
    }
    let errors: Vec<_> =
        validator("task_contract").iter_errors(&contract(&["src/"])).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0]);
}
