//! `tests/scenarios/gate/`: one folder for each change. Adding a case means adding a folder.
//!
//! `case.toml` says what the contract allows and what must come out; `before.sh` prepares the base commit, `change.sh`
//! makes the change. The change is then judged on disk, staged, and as a commit, unless `subjects` says otherwise.

use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::support::TestEnv;
use crate::support::contract;
use crate::support::violations;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Why this case exists.
    why: String,
    #[serde(default = "default_allow")]
    allow: Vec<String>,
    #[serde(default)]
    diff_policy: Option<toml::Table>,
    #[serde(default)]
    filesystem: Option<String>,
    #[serde(default = "default_subjects")]
    subjects: Vec<String>,
    /// `path rule` for each violation, sorted; empty when the change passes.
    violations: Vec<String>,
}

fn default_allow() -> Vec<String> {
    vec!["src/".into()]
}

fn default_subjects() -> Vec<String> {
    ["worktree", "staged", "range"].map(str::to_owned).to_vec()
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/gate");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

fn script(env: &TestEnv, folder: &Path, name: &str) {
    let path = folder.join(name);
    if path.exists() {
        let ran = env.run_in(&env.repo(), "sh", &["-eu", &path.to_string_lossy()], &[]);
        assert_eq!(ran.code, 0, "{}: {}", path.display(), ran.shown());
    }
}

fn play(folder: &Path) -> Result<(), String> {
    let case: Case = toml::from_str(&std::fs::read_to_string(folder.join("case.toml")).unwrap())
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let env = TestEnv::new();
    script(&env, folder, "before.sh");
    if !env.git(&["status", "--porcelain"]).is_empty() {
        env.commit_all("Before");
    }
    let allow: Vec<&str> = case.allow.iter().map(String::as_str).collect();
    let mut wanted = contract(&allow);
    if let Some(policy) = &case.diff_policy {
        wanted["diff_policy"] = serde_json::to_value(policy).unwrap();
    }
    if let Some(filesystem) = &case.filesystem {
        wanted["tool_permissions"]["filesystem"] = Value::String(filesystem.clone());
    }
    let file = env.contract_file("contract.json", &wanted);
    env.expect(0, &["contract", "activate", &file]);
    script(&env, folder, "change.sh");
    for subject in &case.subjects {
        let args: &[&str] = match subject.as_str() {
            "worktree" => &["gate", "--worktree", "--json"],
            "staged" => {
                env.git(&["add", "-A", "-f", "--", ":!.oracle"]);
                &["gate", "--staged", "--json"]
            }
            "index" => &["gate", "--staged", "--json"],
            "range" => {
                env.git(&["commit", "-q", "-m", "Change"]);
                &["gate", "--range", "HEAD~1..HEAD", "--json"]
            }
            other => panic!("{}: {other} is no subject", folder.display()),
        };
        let ran = env.oracle(args);
        let mut found = violations(&ran);
        found.sort();
        let code = if case.violations.is_empty() { 0 } else { 7 };
        if found != case.violations || ran.code != code {
            return Err(format!(
                "{subject}: {}\nexpected {:?}\nfound    {found:?} ({})",
                case.why, case.violations, ran.code
            ));
        }
    }
    Ok(())
}

#[test]
fn every_scenario_comes_out_as_told() {
    let folders = folders();
    assert!(folders.len() > 20, "the scenarios are there");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(folder) = folders.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if let Err(failure) = play(folder) {
                        let name = folder.file_name().unwrap().to_string_lossy();
                        failures.lock().unwrap().push(format!("{name}: {failure}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
