//! `git oracle apply`: judging, modes, the candidate, the session.

use serde_json::Value;
use serde_json::json;

use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::contract_with_tests;
use crate::support::project_file;

/// Runs `apply --json` and checks that the result fits its schema, in the session too.
fn apply(env: &TestEnv, code: i32, args: &[&str]) -> Value {
    let ran = env.oracle(&[&["apply"], args, &["--json", "--slug", "under test"]].concat());
    assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
    let result = ran.json();
    fits(&result);
    let sessions = env.root().join("home/.oracle/sessions");
    let count = std::fs::read_dir(&sessions).unwrap().count();
    let slug = if count == 1 { "under-test".to_owned() } else { format!("under-test-{count}") };
    let kept = env.session(&slug, "result.json");
    fits(&kept);
    assert_eq!((&kept["status"], &kept["hunks"]), (&result["status"], &result["hunks"]));
    assert_eq!(env.session(&slug, "session.json")["status"], result["status"]);
    result
}

fn fits(result: &Value) {
    let schema: Value = serde_json::from_str(&project_file("schemas/result.v1.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(result).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0], "{result:#}");
}

/// Returns the hunks as `verdict file`.
fn verdicts(result: &Value) -> Vec<String> {
    let hunks = result["hunks"].as_array().unwrap();
    hunks
        .iter()
        .map(|hunk| format!("{} {}", hunk["verdict"].as_str().unwrap(), hunk["file"].as_str().unwrap()))
        .collect()
}

fn no_candidate_is_left(env: &TestEnv) {
    let home = env.root().join("home/.oracle/worktrees");
    assert_eq!(std::fs::read_dir(&home).map_or(0, |entries| entries.count()), 0, "{}", home.display());
    assert_eq!(env.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn each_mode_goes_so_far_and_no_further() {
    let env = TestEnv::new();
    let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs; git rm -q -f src/lexer.rs");
    let before = env.everything();
    for mode in ["none", "check"] {
        let result = apply(&env, 0, &["--patch", &patch, "--apply-mode", mode]);
        assert_eq!(env.everything(), before, "{mode}");
        assert_eq!((&result["status"], &result["diffApplied"]), (&json!("success"), &json!(false)), "{mode}");
        assert_eq!((&result["diffFound"], &result["diffValidated"]), (&json!(true), &json!(true)), "{mode}");
    }
    let result = apply(&env, 0, &["--patch", &patch]);
    assert_eq!(env.git(&["status", "--short"]), " D src/lexer.rs\n M src/parser.rs\n?? src/new.rs");
    assert_eq!((&result["applyMode"], &result["diffApplied"]), (&json!("apply"), &json!(true)));
    assert_eq!(verdicts(&result), ["agreed src/lexer.rs", "agreed src/new.rs", "agreed src/parser.rs"]);
    no_candidate_is_left(&env);
}

#[test]
fn the_session_has_the_patch_and_what_happened_to_it() {
    let env = TestEnv::new();
    let patch = env.patch("echo more >> README.md");
    apply(&env, 0, &["--patch", &patch, "--apply-mode", "check"]);
    let folder = env.root().join("home/.oracle/sessions/under-test");
    assert_eq!(std::fs::read(folder.join("diff.patch")).unwrap(), std::fs::read(&patch).unwrap());
    let ledger = std::fs::read_to_string(folder.join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("\"step\":\"extracted\""), "{ledger}");
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.path());
    }
    let session = env.session("under-test", "session.json");
    for field in
        ["id", "createdAt", "status", "promptPreview", "model", "cwd", "mode", "platform", "options", "usage", "turns"]
    {
        assert!(session.get(field).is_some(), "{field}");
    }
    apply(&env, 0, &["--from-session", "under-test", "--apply-mode", "none"]);
    apply(&env, 0, &["--last", "--apply-mode", "none"]);
    let out = env.root().join("out");
    let out = out.to_str().unwrap();
    let (json, metrics, diff) = (format!("{out}.json"), format!("{out}.metrics"), format!("{out}.patch"));
    let args = [
        "--patch",
        &patch,
        "--apply-mode",
        "none",
        "--json-output",
        &json,
        "--metrics-output",
        &metrics,
        "--diff-output",
        &diff,
    ];
    let result = apply(&env, 0, &args);
    fits(&serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap());
    assert!(std::fs::read_to_string(&metrics).unwrap().contains("extractMs"));
    assert_eq!(std::fs::read(&diff).unwrap(), std::fs::read(&patch).unwrap());
    assert_eq!(result["diffPath"].as_str().unwrap(), diff.replace(env.root().to_str().unwrap(), "[ROOT]"));
    env.expect(1, &["apply", "--from-session", "../under-test"]);
    // Places are seen from where the command runs, and a file of ours in the working tree is not in the patch's way.
    let top = env.repo();
    let args =
        ["apply", "--patch", &patch, "--git-root", "..", "--apply-mode", "commit", "--diff-output", "kept.patch"];
    let ran = env.oracle_in(&top.join("docs"), &args);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(env.git(&["status", "--short"]), "?? docs/kept.patch");
    env.expect(129, &["apply", "--patch", &patch, "--json-output", "nowhere/result.json"]);
}

#[test]
fn a_contract_decides_about_each_hunk() {
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &contract_with_tests(&["src/"], &["true"]));
    env.expect(0, &["contract", "activate", &file]);
    let patch = env.patch("echo '// more' >> src/parser.rs; echo more >> docs/guide.md; echo more >> tests/parser.rs");
    let before = env.everything();
    let result = apply(&env, 7, &["--patch", &patch]);
    assert_eq!(env.everything(), before);
    assert_eq!(verdicts(&result), ["rejected docs/guide.md", "agreed src/parser.rs", "rejected tests/parser.rs"]);
    assert_eq!(result["hunks"][0]["reasons"][0].as_str().unwrap().split(':').next().unwrap(), "out_of_scope");
    assert_eq!((&result["gate"]["verdict"], &result["status"]), (&json!("block"), &json!("gate_failed")));

    let result = apply(&env, 2, &["--patch", &patch, "--accept", "agreed"]);
    assert_eq!((&result["status"], &result["diffApplied"]), (&json!("partial"), &json!(true)));
    assert_eq!(env.git(&["diff", "--name-only"]), "src/parser.rs");
    assert_eq!(result["tests"][0]["status"], "passed");
    no_candidate_is_left(&env);
}

#[test]
fn without_a_contract_the_rules_that_always_hold_judge() {
    let cases: [(&str, i32, &str); 8] = [
        ("echo x >> tests/parser.rs", 0, "success"),
        ("printf 'a\\0b' > src/bin.dat", 7, "gate_failed"),
        ("ln -s /etc/passwd src/link", 7, "gate_failed"),
        ("echo x > .env", 7, "gate_failed"),
        ("mkdir -p .claude && echo x > .claude/settings.json", 7, "gate_failed"),
        ("printf 'a \\342\\200\\256 b\\n' >> README.md", 7, "gate_failed"),
        ("chmod +x src/parser.rs", 0, "success"),
        ("git mv src/parser.rs src/moved.rs", 0, "success"),
    ];
    for (script, code, status) in cases {
        let env = TestEnv::new();
        let patch = env.patch(script);
        let before = env.everything();
        let result = apply(&env, code, &["--patch", &patch, "--apply-mode", "check"]);
        assert_eq!(result["status"], status, "{script}");
        assert_eq!(env.everything(), before, "{script}");
    }
}

#[test]
fn a_patch_that_reaches_for_something_unsafe_is_rejected_whole() {
    let good =
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # Sample\n+more\n";
    let new = |path: &str, mode: &str| {
        format!("diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n")
    };
    let cases = [
        (new("../up", "100644"), 2, json!("unsafe_path")),
        (new(".git/hooks/pre-commit", "100755"), 2, json!("unsafe_path")),
        (new("src/.GIT/config", "100644"), 2, json!("unsafe_path")),
        (new("src/git~1/x", "100644"), 2, json!("unsafe_path")),
        (new("C:/x", "100644"), 2, json!("unsafe_path")),
        (new("src/link", "120000"), 7, Value::Null),
        (
            new("sub", "160000").replace("+x", "+Subproject commit 1111111111111111111111111111111111111111"),
            7,
            Value::Null,
        ),
    ];
    for (bad, code, reason) in cases {
        for accept in ["all", "agreed"] {
            let env = TestEnv::new();
            let patch = env.root().join("p.patch");
            std::fs::write(&patch, format!("{good}{bad}")).unwrap();
            let before = env.everything();
            let result = apply(&env, code, &["--patch", patch.to_str().unwrap(), "--accept", accept]);
            assert_eq!(result["diffReason"], reason, "{bad}");
            assert!(verdicts(&result).iter().all(|verdict| verdict.starts_with("rejected")), "{result:#}");
            assert_eq!(env.everything(), before, "{bad}");
        }
    }
}

#[test]
fn one_hunk_can_be_left_out_of_a_file() {
    let env = TestEnv::new();
    env.sh("seq 1 40 > src/long.txt");
    env.commit_all("Long");
    let patch = env
        .patch("sed -i -e 's/^5$/five\\nand more/' -e 's/^20$/\u{202e}twenty/' -e 's/^35$/thirtyfive/' src/long.txt");
    let result = apply(&env, 2, &["--patch", &patch, "--accept", "agreed"]);
    assert_eq!(verdicts(&result), ["agreed src/long.txt", "rejected src/long.txt", "agreed src/long.txt"]);
    let text = std::fs::read_to_string(env.repo().join("src/long.txt")).unwrap();
    let expected: String = (1..=40)
        .map(|number| match number {
            5 => "five\nand more\n".to_owned(),
            35 => "thirtyfive\n".to_owned(),
            number => format!("{number}\n"),
        })
        .collect();
    assert_eq!(text, expected);
}

#[test]
fn what_has_no_certain_place_is_rejected() {
    let env = TestEnv::new();
    env.sh("for i in 1 2 3; do printf 'begin\\nsame\\nend\\n'; done > src/same.txt; seq 1 9 > src/n.txt");
    env.commit_all("Same");
    let edit = |at: u32, context: &str| {
        format!("--- a/src/same.txt\n+++ b/src/same.txt\n@@ -{at},3 +{at},3 @@\n {context}\n-same\n+other\n end\n")
    };
    let moved = "--- a/src/n.txt\n+++ b/src/n.txt\n@@ -1,3 +1,3 @@\n 6\n-7\n+seven\n 8\n";
    let cases: [(String, i32, Value); 6] = [
        (edit(4, "begin"), 0, Value::Null),
        (edit(3, "begin"), 2, json!("not_placeable")),
        (edit(4, "start"), 2, json!("not_placeable")),
        (moved.to_owned(), 0, Value::Null),
        ("--- a/src/none\n+++ b/src/none\n@@ -1 +1 @@\n-a\n+b\n".to_owned(), 2, json!("not_placeable")),
        ("--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+b\n".to_owned(), 2, json!("not_placeable")),
    ];
    for (text, code, reason) in cases {
        let patch = env.root().join("p.patch");
        std::fs::write(&patch, &text).unwrap();
        let result = apply(&env, code, &["--patch", patch.to_str().unwrap(), "--apply-mode", "check"]);
        assert_eq!(result["diffReason"], reason, "{text}");
        if text == moved {
            assert_eq!(result["hunks"][0]["mends"], json!(["moved from line 1 to line 6"]));
        }
    }
}

#[test]
fn what_is_no_patch_says_so() {
    let env = TestEnv::new();
    let cases: [(&str, &[&str], &str, &str); 5] = [
        ("just words\n", &[], "diff_missing", "no_diff_block"),
        ("", &[], "diff_missing", "no_diff_block"),
        ("--- a/README.md\n+++ b/README.md\n@@ -1,9 +1,9 @@\n # Sample\n", &[], "invalid_diff", "malformed"),
        (
            "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Sample\n+x\n",
            &["--strict-diff"],
            "invalid_diff",
            "malformed",
        ),
        (
            "diff --git a/README.md b/x\nsimilarity index 100%\nrename from README.md\nrename to x\n",
            &["--strict-diff"],
            "invalid_diff",
            "malformed",
        ),
    ];
    for (text, flags, status, reason) in cases {
        let patch = env.root().join("p.patch");
        std::fs::write(&patch, text).unwrap();
        let args = [&["--patch", patch.to_str().unwrap(), "--apply-mode", "check"], flags].concat();
        let result = apply(&env, 2, &args);
        assert_eq!((&result["status"], &result["diffReason"]), (&json!(status), &json!(reason)), "{text}");
    }
}

#[test]
fn a_patch_that_cannot_be_read_leaves_a_result_too() {
    let env = TestEnv::new();
    let result = apply(&env, 1, &["--patch", "none.patch"]);
    assert_eq!((&result["status"], &result["diffFound"]), (&json!("error"), &json!(false)));
    assert!(result["error"]["message"].as_str().unwrap().contains("none.patch"));
}

#[test]
fn a_prefix_ends_at_a_component() {
    let env = TestEnv::new();
    env.write("src2/a.txt", "a\n");
    env.commit_all("Two");
    let patch = env.patch("echo x >> src/parser.rs; echo x >> src2/a.txt");
    for prefix in ["src", "src/", "src\\", "./src"] {
        let result = apply(&env, 2, &["--patch", &patch, "--apply-mode", "check", "--restrict-path-prefix", prefix]);
        assert_eq!(verdicts(&result), ["agreed src/parser.rs", "rejected src2/a.txt"], "{prefix}");
        assert_eq!(result["status"], "invalid_diff");
    }
    let args = ["--patch", &patch, "--accept", "agreed", "--restrict-path-prefix", "src"];
    assert_eq!(apply(&env, 2, &args)["status"], "partial");
    assert_eq!(env.git(&["diff", "--name-only"]), "src/parser.rs");
}

#[test]
fn acceptance_tests_run_on_the_candidate_and_decide() {
    let cases: [(&[&str], &str, i32, &str); 4] = [
        (&["grep -q more src/parser.rs", "grep -q more src/parser.rs"], "passed passed", 0, "success"),
        (&["grep -q less src/parser.rs", "true"], "failed skipped", 7, "gate_failed"),
        (&["./unknown"], "", 8, "approval_required"),
        (&["sudo true"], "", 7, "gate_failed"),
    ];
    for (commands, expected, code, status) in cases {
        let env = TestEnv::new();
        let file = env.contract_file("contract.json", &contract_with_tests(&["src/"], commands));
        env.expect(0, &["contract", "activate", &file]);
        let patch = env.patch("echo '// more' >> src/parser.rs");
        let before = env.everything();
        let result = apply(&env, code, &["--patch", &patch]);
        let tests = result["tests"].as_array().cloned().unwrap_or_default();
        let states: Vec<&str> = tests.iter().map(|test| test["status"].as_str().unwrap()).collect();
        assert_eq!((states.join(" "), &result["status"]), (expected.to_owned(), &json!(status)), "{result:#}");
        assert_eq!(env.everything() == before, code != 0, "{commands:?}");
        no_candidate_is_left(&env);
    }
}

#[test]
fn a_test_has_a_limit_a_clean_environment_and_a_log() {
    let env = TestEnv::new();
    env.user_hook(
        "src/probe",
        "env; pwd; git rev-parse --git-dir; cat .oracle/contract.json | head -c 1; ls build; exec sleep 600 & wait",
    );
    env.write(".gitignore", "build\n");
    env.commit_all("Probe");
    env.write("build/artifact", "x");
    env.write(".oracle/config.toml", "[candidate]\nreuse = [\"build\", \"src\", \"none\"]\n");
    let mut contract = contract_with_tests(&["src/"], &["./src/probe"]);
    contract["timeout_retry"]["timeout_sec"] = json!(1);
    let file = env.contract_file("contract.json", &contract);
    env.expect(0, &["contract", "activate", &file]);
    let patch = env.patch("echo '// more' >> src/parser.rs");
    // Only a person can let an unknown program run.
    let ran = env.at_terminal("y\n", &["apply", "--patch", &patch, "--slug", "a probe"]);
    assert_eq!(ran.code, 7, "{}", ran.shown());
    let result = env.session("a-probe", "result.json");
    fits(&result);
    assert_eq!((&result["tests"][0]["status"], &result["error"]["kind"]), (&json!("timeout"), &json!("timed_out")));
    let log = std::fs::read_to_string(result["tests"][0]["log"].as_str().unwrap()).unwrap();
    for present in [
        "# command: ./src/probe",
        "# decision: approved at the terminal",
        "# network: denied",
        "PATH=",
        "artifact",
        "{",
        "/worktrees/repo-",
        "TimedOut",
    ] {
        assert!(log.contains(present), "{present} in {log}");
    }
    for absent in ["GIT_", "ORACLE_", "TERMINAL_PROMPT"] {
        assert!(!log.contains(&format!("\n{absent}")), "{absent} in {log}");
    }
    no_candidate_is_left(&env);
    assert!(env.repo().join("build/artifact").exists(), "what was lent is still there");
}

#[test]
fn nothing_that_the_repository_configures_runs_on_the_candidate() {
    let env = TestEnv::new();
    env.write(".gitattributes", "*.md filter=evil\n*.rs filter=long\n");
    env.commit_all("Attributes");
    let mark = env.root().join("mark");
    let touch = format!("touch '{}'; cat", mark.display());
    for hook in ["post-checkout", "post-index-change", "reference-transaction", "post-commit"] {
        env.user_hook(&format!(".git/hooks/{hook}"), &format!("touch '{}'\n", mark.display()));
    }
    env.sh(&format!(
        "git config filter.evil.smudge \"{touch}\"; git config filter.evil.clean \"{touch}\"; git config filter.evil.required true;
        git config filter.long.process \"{touch}\"; git config core.fsmonitor \"{touch}\""
    ));
    let _ = std::fs::remove_file(&mark);
    let patch = env.root().join("p.patch");
    std::fs::write(&patch, "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # Sample\n+more\n").unwrap();
    apply(&env, 0, &["--patch", patch.to_str().unwrap(), "--apply-mode", "check"]);
    assert!(!mark.exists());
    no_candidate_is_left(&env);
}

#[test]
fn a_contract_that_was_tampered_with_stops_everything() {
    let cases: [(&str, i32); 3] = [
        ("echo ' ' >> .oracle/contract.json", 7),
        ("rm .oracle/contract.json", 7),
        ("rm .git/oracle/active.json .oracle/contract.json", 7),
    ];
    for (script, code) in cases {
        let env = TestEnv::under_contract(&["src/"]);
        let patch = env.patch("echo '// more' >> src/parser.rs");
        env.sh(script);
        apply(&env, code, &["--patch", &patch]);
        assert_eq!(env.git(&["diff", "--name-only"]), "", "{script}");
    }
}

#[test]
fn outside_of_a_repository_a_patch_can_only_be_judged() {
    let env = TestEnv::empty();
    let patch = env.root().join("p.patch");
    std::fs::write(&patch, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    let patch = patch.to_str().unwrap();
    apply(&env, 0, &["--patch", patch, "--apply-mode", "none"]);
    let result = apply(&env, 1, &["--patch", patch, "--apply-mode", "check"]);
    assert_eq!(result["error"]["kind"], "not_a_repository");
    let env = TestEnv::new();
    let patch = env.patch("echo x >> README.md");
    let repo = env.repo();
    let ran = env.oracle_in(env.root(), &["apply", "--patch", &patch, "--git-root", repo.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(env.git(&["diff", "--name-only"]), "README.md");
}

#[test]
fn the_person_may_configure_the_mode_and_nobody_else() {
    let env = TestEnv::new();
    let patch = env.patch("echo x >> README.md");
    env.person("[review]\napply_mode = \"check\"\n");
    assert_eq!(apply(&env, 0, &["--patch", &patch])["applyMode"], "check");
    env.write(".oracle/config.toml", "[review]\napply_mode = \"commit\"\n");
    env.person("");
    apply(&env, 1, &["--patch", &patch, "--apply-mode", "check"]);
}

fn at_terminal(env: &TestEnv, typed: &str, patch: &str) -> Ran {
    env.at_terminal(typed, &["apply", "--patch", patch, "--pick"])
}

#[test]
fn a_person_picks_hunk_by_hunk() {
    let cases: [(&str, i32, &str); 6] = [
        ("y\ny\ny\n", 0, "five thirty # more"),
        ("n\ny\nn\n", 2, "thirty"),
        ("a\nn\n", 2, "five thirty"),
        ("d\ny\n", 2, "# more"),
        ("y\nq\n", 2, "five"),
        ("?\nq\n", 2, ""),
    ];
    for (typed, code, expected) in cases {
        let env = TestEnv::new();
        env.sh("seq 1 40 > a.txt; seq 1 3 > b.txt");
        env.commit_all("Numbers");
        let patch = env.patch("sed -i -e 's/^5$/five/' -e 's/^30$/thirty/' a.txt; echo '# more' >> b.txt");
        let ran = at_terminal(&env, typed, &patch);
        assert_eq!(ran.code, code, "{typed:?}: {}", ran.shown());
        let added = env.git(&["diff", "-U0"]);
        let added: Vec<&str> = added
            .lines()
            .filter(|line| line.starts_with('+') && !line.starts_with("+++"))
            .map(|line| &line[1..])
            .collect();
        assert_eq!(added.join(" "), expected, "{typed:?}");
    }
    let env = TestEnv::new();
    let patch = env.patch("echo x >> README.md");
    env.expect(8, &["apply", "--patch", &patch, "--pick"]);
}

#[test]
fn text_from_a_patch_obeys_no_terminal() {
    let env = TestEnv::new();
    let patch = env.root().join("p.patch");
    std::fs::write(&patch, "--- /dev/null\n+++ b/src/a\u{1b}[31mb\u{202e}c\n@@ -0,0 +1 @@\n+x\n").unwrap();
    let ran = env.oracle(&["apply", "--patch", patch.to_str().unwrap(), "--apply-mode", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(!ran.stdout.contains(['\u{1b}', '\u{202e}']) && !ran.stderr.contains(['\u{1b}', '\u{202e}']));
}

/// Returns a reply with a patch in its usual dress: prose around it, wrong line numbers, lost counts.
fn reply(env: &TestEnv, hunks: &str) -> String {
    env.write("../reply.md", &format!("Here is the change.\n\n```diff\n{hunks}```\n\nTell me how it goes.\n"));
    "../reply.md".to_owned()
}

const NEW_FILE: &str = "--- /dev/null\n+++ b/src/new.rs\n@@ -0,0 +1 @@\n+// new\n";

#[test]
fn a_reply_is_found_placed_judged_and_applied() {
    let env = TestEnv::new();
    let first = std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap();
    let line = first.lines().next().unwrap().to_owned();
    let text = format!("{NEW_FILE}--- a/src/parser.rs\n+++ b/src/parser.rs\n@@ -90,7 +90,9 @@\n {line}\n+// more\n");
    let reply = reply(&env, &text);
    let result = apply(&env, 0, &["--from-reply", &reply]);
    assert_eq!(std::fs::read_to_string(env.repo().join("src/new.rs")).unwrap(), "// new\n");
    let second = std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap();
    assert!(second.starts_with(&format!("{line}\n// more\n")), "{second}");
    assert_eq!(verdicts(&result), ["agreed src/new.rs", "agreed src/parser.rs"]);
    assert_ne!(result["hunks"][1]["mends"], json!([]), "what was mended is told");
    assert_eq!((&result["diffBlocks"], &result["diffReason"]), (&json!(1), &Value::Null));
    assert!(result["diffScore"].as_i64().unwrap() > 0);
    assert!(result["responseChars"].as_u64().unwrap() > 0);
    no_candidate_is_left(&env);
}

#[test]
fn a_reply_of_which_one_file_has_no_place_is_taken_in_part_or_not_at_all() {
    let env = TestEnv::new();
    let lost = "--- a/src/parser.rs\n+++ b/src/parser.rs\n@@ -1,2 +1,3 @@\n no such line\n+// more\n nor this one\n";
    let reply = reply(&env, &format!("{NEW_FILE}{lost}"));
    let before = env.everything();
    let result = apply(&env, 2, &["--from-reply", &reply]);
    assert_eq!((&result["status"], &result["diffReason"]), (&json!("invalid_diff"), &json!("not_placeable")));
    assert_eq!(env.everything(), before);
    let result = apply(&env, 2, &["--from-reply", &reply, "--accept", "agreed"]);
    assert_eq!(result["status"], json!("partial"));
    assert_eq!(verdicts(&result), ["agreed src/new.rs", "rejected src/parser.rs"]);
    assert_eq!(env.git(&["status", "--short"]), "?? src/new.rs");
}

#[test]
fn a_reply_without_a_usable_patch_says_why() {
    let env = TestEnv::new();
    let cases = [
        ("Which file do you mean?\n", "diff_missing"),
        ("```diff\n--- a/src/parser.rs\n+++ b/src/parser.rs\n@@ -1 +1,2 @@\n x\n+y\n", "invalid_diff"),
        ("```diff\n--- a/../x\n+++ b/../x\n@@ -1 +1,2 @@\n x\n+y\n```\n", "invalid_diff"),
    ];
    let before = env.everything();
    for (text, status) in cases {
        env.write("../reply.md", text);
        let result = apply(&env, 2, &["--from-reply", "../reply.md", "--apply-mode", "commit"]);
        assert_eq!(result["status"], json!(status), "{text}");
        assert!(result["diffReason"].is_string(), "{text}");
        assert_eq!(env.everything(), before, "{text}");
    }
}

#[test]
fn a_file_that_changed_since_the_reply_was_asked_for_is_merged() {
    let env = TestEnv::new();
    env.sh("seq 1 30 > src/list.txt");
    env.commit_all("A list");
    let reply = reply(&env, "--- a/src/list.txt\n+++ b/src/list.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n");
    env.sh("sed -i s/^1$/one/ src/list.txt");
    env.commit_all("Right beside it");
    apply(&env, 2, &["--from-reply", &reply, "--base", "HEAD~"]);
    env.sh("git reset -q --hard HEAD~; sed -i 's/^1$/zero\\n1/; s/^5$/five/' src/list.txt");
    env.commit_all("A little away");
    let result = apply(&env, 0, &["--from-reply", &reply, "--base", "HEAD~"]);
    assert_eq!(verdicts(&result), ["agreed src/list.txt"]);
    let list = std::fs::read_to_string(env.repo().join("src/list.txt")).unwrap();
    assert!(list.starts_with("zero\n1\ntwo\n3\n4\nfive\n6\n"), "{list}");
}

#[test]
fn the_agreed_patch_is_all_that_is_printed() {
    let env = TestEnv::new();
    let reply = reply(&env, NEW_FILE);
    let before = env.everything();
    let ran = env.oracle(&["apply", "--from-reply", &reply, "--emit-diff-only"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(env.everything(), before);
    std::fs::write(env.root().join("printed.patch"), &ran.stdout).unwrap();
    assert!(env.git(&["apply", "--numstat", "../printed.patch"]).ends_with("src/new.rs"), "{}", ran.stdout);
    env.write("../reply.md", "Which file do you mean?\n");
    let ran = env.oracle(&["apply", "--from-reply", "../reply.md", "--emit-diff-only"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.shown());
}

#[test]
fn a_patch_from_which_a_secret_was_taken_out_is_not_the_patch() {
    let env = TestEnv::new();
    let token = git_oracle::secret::fill("ghp_<alnum:30><crc62>", 7);
    let patch = env.patch(&format!("echo 'let key = \"{token}\";' >> src/parser.rs; echo '// x' >> src/lexer.rs"));
    let before = env.everything();
    let partial = apply(&env, 2, &["--patch", &patch, "--accept", "agreed", "--apply-mode", "check"]);
    assert_eq!(verdicts(&partial), ["agreed src/lexer.rs", "rejected src/parser.rs"]);
    let result = apply(&env, 3, &["--last", "--accept", "agreed", "--apply-mode", "commit"]);
    assert_eq!(result["status"], json!("secret_detected"));
    assert_eq!(env.everything(), before);
    // Who writes the marker means it.
    let patch = env.patch("echo '// ***REDACTED***' >> src/parser.rs");
    apply(&env, 0, &["--patch", &patch, "--apply-mode", "check"]);
    apply(&env, 0, &["--last", "--apply-mode", "check"]);
}

#[test]
fn the_last_patch_is_the_last_one_of_this_working_tree() {
    let env = TestEnv::new();
    let patch = env.patch("echo '// more' >> src/parser.rs");
    let other = env.root().join("other");
    env.git(&["worktree", "add", "-q", "-b", "other", other.to_str().unwrap()]);
    let check = ["apply", "--patch", &patch, "--apply-mode", "check", "--slug", "elsewhere"];
    assert_eq!(env.oracle_in(&other, &check).code, 0);
    let ran = env.expect(1, &["apply", "--last"]);
    assert!(ran.stderr.contains("no session with a patch for this working tree"), "{}", ran.shown());
    assert_eq!(env.oracle_in(&other.join("src"), &["apply", "--last"]).code, 0, "from any directory of it");
    env.expect(0, &["apply", "--git-root", "../other", "--last", "--apply-mode", "none"]);
    env.expect(0, &["apply", "--from-session", "elsewhere"]);
    assert!(std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap().contains("// more"));
}
