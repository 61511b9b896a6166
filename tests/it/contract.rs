//! The life of a contract through the program.

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;
use crate::support::contract;

#[test]
fn three_flags_make_a_complete_contract() {
    let env = TestEnv::new();
    let made = env.expect(
        0,
        &["contract", "new", "--task", "Teach the parser tabs", "--allow", "src/parser.rs", "--test", "cargo test"],
    );
    let path = made.stdout.trim().replace("[ROOT]", &env.root().to_string_lossy());
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written["allowed_paths"], json!(["src/parser.rs"]));
    assert_eq!(written["rollback"]["baseline_ref"], json!(env.head()), "the baseline is a full id");
    assert_eq!(
        written["tool_permissions"],
        json!({"filesystem": "workspace-write", "shell": "never", "network": "deny", "mcp_tools": []})
    );
    env.expect(0, &["contract", "check", &path]);
    env.expect(0, &["contract", "activate", &path]);
    let shown = env.expect(0, &["contract", "show", "--json"]).json();
    assert_eq!(shown["contract"], written);
    assert_eq!(shown["pin"]["baseline"], json!(env.head()));
}

#[test]
fn what_is_missing_is_a_usage_error_without_a_terminal_and_a_question_at_one() {
    let env = TestEnv::new();
    let refused = env.expect(129, &["contract", "new", "--task", "x"]);
    assert!(refused.stderr.contains("--allow is missing"), "{}", refused.shown());
    let asked =
        env.at_terminal("Teach tabs\nsrc/parser.rs docs/guide.md\ncargo test\n", &["contract", "new", "--activate"]);
    assert_eq!(asked.code, 0, "{}", asked.shown());
    let shown = env.expect(0, &["contract", "show", "--json"]).json();
    assert_eq!(shown["contract"]["inputs"]["spec"], json!("Teach tabs"));
    assert_eq!(shown["contract"]["allowed_paths"], json!(["src/parser.rs", "docs/guide.md"]));
    assert_eq!(shown["contract"]["acceptance_tests"][0]["cmd"], json!("cargo test"));
}

#[test]
fn all_problems_are_reported_at_once_with_pointer_and_hint() {
    let env = TestEnv::new();
    let mut broken = contract(&["src/*", "."]);
    broken["alowed_paths"] = json!([]);
    broken.as_object_mut().unwrap().remove("rollback");
    broken["acceptance_tests"] = json!([{"name": "a", "cmd": "make && rm", "must_pass": false}]);
    broken["tool_permissions"]["network"] = json!("allow");
    broken["tool_permissions"]["shell"] = json!("somtimes");
    broken["browser_policy"] = json!({"stealth_mode": "plugin", "profile_mode": "cookie_file"});
    broken["inputs"]["artifacts"] =
        json!([{"name": "output_schema", "uri": "schemas/test_report.v1.json", "sha256": "0".repeat(64)}]);
    let file = env.contract_file("broken.json", &broken);
    let checked = env.expect(7, &["contract", "check", "--json", &file]).json();
    let pointers: Vec<&str> =
        checked["problems"].as_array().unwrap().iter().map(|problem| problem["pointer"].as_str().unwrap()).collect();
    for expected in [
        "/alowed_paths",
        "/rollback",
        "/allowed_paths/0",
        "/allowed_paths/1",
        "/acceptance_tests/0/cmd",
        "/acceptance_tests",
        "/tool_permissions/shell",
        "/browser_policy/profile_mode",
        "/browser_policy/stealth_mode",
        "/inputs/artifacts/0/uri",
    ] {
        assert!(pointers.contains(&expected), "{expected} in {pointers:?}");
    }
    let text = env.expect(7, &["contract", "check", &file]);
    assert!(text.stderr.contains("Did you mean `allowed_paths`?"), "{}", text.shown());
}

#[test]
fn hostile_bytes_are_a_clear_error() {
    let env = TestEnv::new();
    let valid = contract(&["src/"]).to_string();
    let twice = format!("{},\"allowed_paths\":[\"docs/\"]}}", &valid[..valid.len() - 1]);
    let escaped = format!("{},\"allowed\\u005fpaths\":[\"docs/\"]}}", &valid[..valid.len() - 1]);
    let deep = format!("{{\"task_id\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let cases: [(&str, Vec<u8>, &str); 11] = [
        ("empty", Vec::new(), "not valid JSON"),
        ("bom", [b"\xef\xbb\xbf", valid.as_bytes()].concat(), "byte order mark"),
        ("twice", twice.into_bytes(), "\"allowed_paths\" appears twice"),
        ("escaped", escaped.into_bytes(), "\"allowed_paths\" appears twice"),
        ("trailing", [valid.as_bytes(), b" x"].concat(), "trailing characters"),
        ("deep", deep.into_bytes(), "recursion limit"),
        ("long", vec![b' '; 10 << 20], "is 10485760 bytes long"),
        ("latin1", b"{\"task_id\":\"\xe9\"}".to_vec(), "not UTF-8"),
        ("array", b"[]".to_vec(), "is not of type \"object\""),
        ("number", b"1e999".to_vec(), "out of range"),
        ("nul", b"\0".to_vec(), "not valid JSON"),
    ];
    for (name, bytes, reason) in cases {
        let path = env.root().join(name);
        std::fs::write(&path, bytes).unwrap();
        let path = path.to_string_lossy();
        for command in ["check", "activate"] {
            let ran = env.oracle(&["contract", command, &path]);
            assert!(ran.code == 7 || ran.code == 1, "{name}: {}", ran.shown());
            assert!(ran.stderr.contains(reason), "{name} should say {reason}: {}", ran.shown());
        }
    }
    assert_eq!(env.expect(1, &["contract", "show"]).stdout, "", "nothing became active");
}

#[test]
fn a_role_contract_must_say_what_the_contract_says() {
    let env = TestEnv::new();
    let mut whole = contract(&["src/"]);
    whole["role_contract"] = json!({
        "identity": {"role": "WORKER", "agent_id": "agent"},
        "purpose": "implements",
        "system_prompt_ref": null, "skills_bundle_ref": null, "mcp_bundle_ref": null,
        "runtime_binding": {"runner": null, "provider": null, "model": null},
        "tool_permissions": {"filesystem": "workspace-write", "shell": "never", "network": "deny"},
        "resolved_mcp_tool_set": ["git-oracle"],
        "handoff": {"eligible": false, "required_downstream_roles": [], "chain_roles": [], "max_handoffs": null},
        "fail_closed_conditions": ["anything unclear"],
    });
    env.expect(0, &["contract", "check", &env.contract_file("whole.json", &whole)]);
    let edits = [
        ("/role_contract/identity/role", json!("REVIEWER")),
        ("/role_contract/tool_permissions/network", json!("allow")),
        ("/role_contract/resolved_mcp_tool_set", json!(["git-oracle", "search"])),
        ("/role_contract/runtime_binding/runner", json!("codex")),
        ("/role_contract/handoff/max_handoffs", json!(2)),
    ];
    for (pointer, value) in edits {
        let mut drifted = whole.clone();
        *drifted.pointer_mut(pointer).unwrap() = value;
        let checked =
            env.expect(7, &["contract", "check", "--json", &env.contract_file("drifted.json", &drifted)]).json();
        assert!(
            checked["problems"].as_array().unwrap().iter().any(|problem| problem["pointer"] == pointer),
            "{checked}"
        );
    }
}

#[test]
fn an_output_schema_is_bound_by_its_sha256() {
    let env = TestEnv::new();
    let schema = crate::support::project_file("schemas/agent_task_result.v1.json");
    let sha256: String =
        sha2::Digest::finalize(sha2::Digest::chain_update(<sha2::Sha256 as sha2::Digest>::new(), &schema))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
    let mut bound = contract(&["src/"]);
    bound["inputs"]["artifacts"] =
        json!([{"name": "output_schema.worker", "uri": "schemas/agent_task_result.v1.json", "sha256": sha256}]);
    let file = env.contract_file("bound.json", &bound);
    env.expect(0, &["contract", "check", &file]);
    // The repository's own file comes before the embedded one.
    env.write("schemas/agent_task_result.v1.json", "{}");
    let refused = env.expect(7, &["contract", "check", &file]);
    assert!(refused.stderr.contains("another sha256"), "{}", refused.shown());
}

#[test]
fn a_repositorys_registry_decides_who_may_work() {
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &contract(&["src/"]));
    let agent = |id: &str, role: &str, network: &str| json!({"agent_id": id, "role": role, "codex_home": "x", "defaults": {"sandbox": "workspace-write", "approval_policy": "never", "network": network}});
    let register = |agents: Vec<Value>| {
        env.write(".oracle/agent_registry.json", &json!({"version": "v1", "agents": agents}).to_string())
    };
    register(vec![agent("person", "TECH_LEAD", "deny")]);
    let refused = env.expect(7, &["contract", "check", &file]);
    assert!(
        refused.stderr.contains("/assigned_agent: the agent \"agent\" is not registered in this role"),
        "{}",
        refused.shown()
    );
    register(vec![agent("person", "TECH_LEAD", "deny"), agent("agent", "WORKER", "deny")]);
    env.expect(0, &["contract", "check", &file]);
    env.write(".oracle/agent_registry.json", "{");
    env.expect(1, &["contract", "check", &file]);
}

#[test]
fn rights_above_the_role_are_refused() {
    let env = TestEnv::new();
    for (role, field, value, allowed) in [
        ("WORKER", "network", "allow", false),
        ("WORKER", "shell", "on-request", false),
        ("REVIEWER", "filesystem", "workspace-write", false),
        ("SEARCHER", "network", "allow", true),
        ("WORKER", "shell", "deny", true),
    ] {
        let mut wanted = contract(&["src/"]);
        wanted["assigned_agent"]["role"] = json!(role);
        wanted["tool_permissions"][field] = json!(value);
        let ran = env.oracle(&["contract", "check", &env.contract_file("wanted.json", &wanted)]);
        assert_eq!(ran.code == 0, allowed, "{role} {field} {value}: {}", ran.shown());
    }
}

#[test]
fn widening_needs_a_person_and_narrowing_does_not() {
    let env = TestEnv::under_contract(&["src/", "docs/guide.md"]);
    let base = contract(&["src/", "docs/guide.md"]);
    let edited = |pointer: &str, value: Value| {
        let mut contract = base.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        contract.pointer_mut(parent).unwrap()[key] = value;
        env.contract_file("edited.json", &contract)
    };
    let wider = [
        ("/allowed_paths", json!(["src/", "docs/"])),
        ("/allowed_paths", json!(["src/", "src/tests/", "docs/guide.md"])),
        ("/diff_policy", json!({"binary": "allow"})),
        ("/diff_policy", json!({"symlink": ["src/links/"]})),
        ("/forbidden_actions", json!([])),
        ("/acceptance_tests", json!([{"name": "unit", "cmd": "true", "must_pass": true}])),
        ("/mcp_tool_set", json!(["git-oracle", "search"])),
    ];
    for (pointer, value) in wider {
        let refused = env.expect(8, &["contract", "activate", &edited(pointer, value.clone())]);
        assert!(refused.stderr.contains("hint:"), "{pointer} {value}: {}", refused.shown());
    }
    env.expect(8, &["contract", "amend", "--allow", "docs/"]);
    env.expect(8, &["contract", "clear"]);
    assert_eq!(env.expect(0, &["contract", "show", "--json"]).json()["contract"], base, "the old one still holds");

    env.expect(0, &["contract", "activate", &edited("/allowed_paths", json!(["src/parser.rs"]))]);
    env.expect(0, &["contract", "amend", "--test", "cargo clippy"]);
    assert_eq!(env.at_terminal("n\n", &["contract", "amend", "--allow", "docs/"]).code, 8);
    let agreed = env.at_terminal("y\n", &["contract", "amend", "--allow", "docs/"]);
    assert_eq!(agreed.code, 0, "{}", agreed.shown());
    env.expect(0, &["contract", "amend", "--drop", "docs"]);
    env.person("[contract]\nwiden = \"allow\"\n");
    env.expect(0, &["contract", "amend", "--allow", "docs/"]);
    env.expect(0, &["contract", "clear"]);
    env.expect(1, &["contract", "show"]);
}

#[test]
fn the_repositorys_configuration_cannot_widen() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write(".oracle/config.toml", "[contract]\nwiden = \"allow\"\n");
    let refused = env.oracle(&["contract", "amend", "--allow", "docs/"]);
    assert_eq!(refused.code, 1, "{}", refused.shown());
    assert!(refused.stderr.contains("a repository cannot grant it"), "{}", refused.shown());
}

#[test]
fn activating_again_launders_nothing() {
    let env = TestEnv::under_contract(&["src/"]);
    env.person("[contract]\nwiden = \"allow\"\n");
    env.write("docs/guide.md", "out of scope\n");
    env.commit_all("Sneak it in");
    let wide = env.contract_file("wide.json", &contract(&["src/", "docs/"]));
    let refused = env.expect(7, &["contract", "activate", &wide]);
    assert!(refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    env.expect(0, &["contract", "clear"]);
    env.expect(7, &["contract", "activate", &wide]);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.expect(0, &["contract", "activate", &wide]);
}

#[test]
fn what_came_from_a_remote_is_not_held_against_the_task() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("docs/guide.md", "upstream's work\n");
    let upstream = env.commit_all("Upstream");
    let refused = env.expect(7, &["contract", "amend", "--test", "cargo clippy"]);
    assert!(refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    env.git(&["update-ref", "refs/remotes/origin/main", &upstream]);
    env.expect(0, &["contract", "amend", "--test", "cargo clippy"]);
}

#[test]
fn a_person_can_accept_history_that_the_old_contract_does_not() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("docs/guide.md", "my own work\n");
    env.commit_all("Mine");
    let accepted = env.at_terminal("y\n", &["contract", "amend", "--test", "cargo clippy"]);
    assert_eq!(accepted.code, 0, "{}", accepted.shown());
}

#[test]
fn clearing_takes_nothing_that_was_never_active_and_asks_for_a_removed_pin() {
    let env = TestEnv::new();
    env.write(".oracle/contract.json", &contract(&["src/"]).to_string());
    env.expect(0, &["contract", "clear"]);
    assert!(env.repo().join(".oracle/contract.json").exists());
    env.activate(&["src/"]);
    std::fs::remove_file(env.repo().join(".git/oracle/active.json")).unwrap();
    env.expect(8, &["contract", "clear"]);
}

#[test]
fn an_old_contract_that_is_gone_excuses_nothing() {
    let env = TestEnv::under_contract(&["src/"]);
    env.person("[contract]\nwiden = \"allow\"\n");
    env.write("docs/guide.md", "out of scope\n");
    env.commit_all("Sneak it in");
    std::fs::remove_dir_all(env.repo().join(".git/oracle/contracts")).unwrap();
    let wide = env.contract_file("wide.json", &contract(&["src/", "docs/"]));
    env.expect(7, &["contract", "activate", &wide]);
}

#[test]
fn removing_the_pin_does_not_free_the_way() {
    let env = TestEnv::under_contract(&["src/"]);
    std::fs::remove_file(env.repo().join(".git/oracle/active.json")).unwrap();
    std::fs::remove_file(env.repo().join(".oracle/contract.json")).unwrap();
    let wide = env.contract_file("wide.json", &contract(&["src/", "docs/"]));
    env.expect(8, &["contract", "activate", &wide]);
    assert_eq!(env.at_terminal("y\n", &["contract", "activate", &wide]).code, 0);
}

#[test]
fn a_pin_that_is_gone_holds_as_the_log_has_it() {
    let env = TestEnv::under_contract(&["src/"]);
    assert_eq!(env.at_terminal("y\n", &["contract", "clear"]).code, 0);
    env.activate(&["src/"]);
    let remove = || std::fs::remove_file(env.repo().join(".git/oracle/active.json")).unwrap();
    remove();
    // That there was a clearing once frees nothing now.
    let wide = env.contract_file("wide.json", &contract(&["src/", "docs/"]));
    env.expect(8, &["contract", "activate", &wide]);
    env.activate(&["src/"]);
    // What was committed meanwhile is judged.
    remove();
    env.write("docs/guide.md", "out of scope\n");
    env.commit_all("Sneak it in");
    env.expect(7, &["contract", "activate", &env.contract_file("again.json", &contract(&["src/"]))]);
}

#[test]
fn a_failed_activation_neither_accuses_nor_frees() {
    let env = TestEnv::new();
    let file = env.contract_file("first.json", &contract(&["src/"]));
    // Something stands where the contract goes.
    std::fs::create_dir_all(env.repo().join(".oracle/contract.json/x")).unwrap();
    env.expect(1, &["contract", "activate", &file]);
    std::fs::remove_dir_all(env.repo().join(".oracle/contract.json")).unwrap();
    env.expect(0, &["contract", "activate", &file]);

    std::fs::remove_file(env.repo().join(".oracle/contract.json")).unwrap();
    std::fs::create_dir_all(env.repo().join(".oracle/contract.json/x")).unwrap();
    env.expect(1, &["contract", "activate", &file]);
    std::fs::remove_dir_all(env.repo().join(".oracle/contract.json")).unwrap();
    std::fs::remove_file(env.repo().join(".git/oracle/active.json")).unwrap();
    let wide = env.contract_file("wide.json", &contract(&["src/", "docs/"]));
    env.expect(8, &["contract", "activate", &wide]);
}

#[test]
fn the_baseline_is_head_or_one_of_its_ancestors() {
    let env = TestEnv::new();
    let first = env.head();
    env.git(&["checkout", "-q", "-b", "side"]);
    env.write("src/parser.rs", "side\n");
    let side = env.commit_all("Side");
    env.git(&["checkout", "-q", "main"]);
    let at = |name: &str| {
        let mut wanted = contract(&["src/"]);
        wanted["rollback"]["baseline_ref"] = json!(name);
        env.oracle(&["contract", "activate", &env.contract_file("at.json", &wanted)])
    };
    assert_eq!(at(&side).code, 7);
    assert_eq!(at("nowhere").code, 7);
    assert_eq!(at("main").code, 0);
    assert_eq!(env.expect(0, &["contract", "show", "--json"]).json()["pin"]["baseline"], json!(first));
}

#[test]
fn an_edited_or_deleted_contract_blocks_until_it_is_activated_again() {
    let env = TestEnv::under_contract(&["src/"]);
    let path = env.repo().join(".oracle/contract.json");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], b"\n"].concat()).unwrap();
    assert_eq!(env.judge(&["--staged"]), (7, vec![".oracle/contract.json contract_changed".to_owned()]));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(env.judge(&["--worktree"]), (7, vec![".oracle/contract.json contract_changed".to_owned()]));
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(env.judge(&["--staged"]).0, 0);
}

#[test]
fn a_contract_that_nobody_activated_is_not_active() {
    let env = TestEnv::new();
    env.write(".oracle/contract.json", &contract(&["src/"]).to_string());
    assert_eq!(env.judge(&["--staged"]), (7, vec![".oracle/contract.json contract_missing".to_owned()]));
}

#[test]
fn explain_says_why() {
    let env = TestEnv::under_contract(&["src/", "docs/guide.md"]);
    let explained = env
        .expect(0, &["contract", "explain", "src/parser.rs", "README.md", "src/tests/a.rs", "src/.env", ".oracle/x"]);
    insta::assert_snapshot!(explained.shown(), @r"
    exit 0
    --- stdout
    src/parser.rs: allowed: under src/
    README.md: refused: not under any allowed path
    src/tests/a.rs: refused: under src/, but it is a test, which the contract has to name
    src/.env: refused: protected: it is a file that holds secrets
    .oracle/x: refused: protected: it is git-oracle's own directory
    --- stderr
    hint: git oracle contract amend --allow README.md
    hint: git oracle contract amend --allow src/tests/a.rs
    hint: No contract opens it.
    hint: No contract opens it.
    ");
    let below =
        env.oracle_in(&env.repo().join("src"), &["contract", "explain", "parser.rs", "../README.md", "--json"]).json();
    assert_eq!(below["paths"][0]["path"], json!("src/parser.rs"));
    assert_eq!(
        below["paths"][1],
        json!({"path": "README.md", "allowed": false, "reason": "not under any allowed path", "hint": "git oracle contract amend --allow README.md"})
    );
    env.expect(1, &["contract", "explain", "../elsewhere"]);
}

#[test]
fn status_is_one_screen() {
    let env = TestEnv::new();
    let before = env.expect(0, &["status"]);
    assert!(before.stdout.contains("contract  no contract is active"), "{}", before.shown());
    env.activate(&["src/"]);
    env.write("src/parser.rs", "changed\n");
    env.git(&["add", "src"]);
    env.write("docs/guide.md", "changed\n");
    let shown = env.expect(0, &["status"]);
    let stdout = shown.stdout.lines().filter(|line| !line.starts_with("contract ")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(stdout, @r"
    branch    main
    task      Change the parser
    scope     src/
    tests     cargo test
    staged    pass: 1 change, contract task-0001
    on disk   block: 2 changes, 1 violation, contract task-0001
              docs/guide.md: out_of_scope: changed outside the contract's allowed paths
    hooks     not installed
    ");
    let document = env.expect(0, &["status", "--json"]).json();
    assert_eq!(document["hooks"]["state"], "not installed");
    assert_eq!((&document["staged"]["verdict"], &document["worktree"]["verdict"]), (&json!("pass"), &json!("block")));
}
