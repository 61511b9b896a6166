//! The user's work survives: dirty trees, failing hooks, scripts that commit.

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;
use crate::support::contract_with_tests;

/// Runs `apply` on a patch and returns the result.
fn apply(env: &TestEnv, code: i32, patch: &str, flags: &[&str]) -> Value {
    let ran = env.oracle(&[&["apply", "--patch", patch, "--json"], flags].concat());
    assert_eq!(ran.code, code, "{flags:?}: {}", ran.shown());
    ran.json()
}

const COMMIT: [&str; 2] = ["--apply-mode", "commit"];

#[test]
fn dirty_trees_are_refused_and_stay_as_they_are() {
    // What is dirty, then the exit codes of apply and of commit; the patch touches src/parser.rs and adds src/new.rs.
    let cases: [(&str, i32, i32, &str); 12] = [
        ("true", 0, 0, ""),
        ("echo x >> src/parser.rs", 4, 4, "src/parser.rs"),
        ("echo x >> src/parser.rs; git add -A", 4, 4, "src/parser.rs"),
        ("echo x >> src/parser.rs; git add -A; git show HEAD:src/parser.rs > src/parser.rs", 4, 4, "src/parser.rs"),
        ("rm src/parser.rs", 4, 4, "src/parser.rs"),
        ("echo mine > src/new.rs", 4, 4, "src/new.rs"),
        ("mkdir src/new.rs && echo mine > src/new.rs/inner", 4, 4, "src/new.rs/inner"),
        ("echo x >> README.md", 0, 4, "README.md"),
        ("echo x >> README.md; git add -A", 0, 4, "README.md"),
        ("echo x > untracked", 0, 4, "untracked"),
        ("echo '*.tmp' > .git/info/exclude; echo x > ignored.tmp", 0, 0, ""),
        ("git update-index --assume-unchanged src/parser.rs; echo x >> src/parser.rs", 4, 4, "src/parser.rs"),
    ];
    for (script, apply_code, commit_code, named) in cases {
        for (mode, code) in [("apply", apply_code), ("commit", commit_code)] {
            let env = TestEnv::new();
            let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
            assert_eq!(env.sh(script).code, 0);
            let before = env.everything();
            let result = apply(&env, code, &patch, &["--apply-mode", mode]);
            if code == 0 {
                assert_eq!(std::fs::read_to_string(env.repo().join("src/new.rs")).unwrap(), "new\n", "{script}");
                continue;
            }
            assert_eq!(env.everything(), before, "{mode}: {script}");
            let message = result["error"]["message"].as_str().unwrap();
            assert!(message.contains(named), "{mode}: {script}: {message}");
            assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("apply_failed"), &json!("dirty_tree")));
        }
    }
}

#[test]
fn an_ignored_file_in_the_way_is_not_overwritten() {
    for mode in ["apply", "commit"] {
        let env = TestEnv::new();
        let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
        env.sh("echo 'new.rs' > .git/info/exclude; echo mine > src/new.rs");
        let before = env.everything();
        let result = apply(&env, 4, &patch, &["--apply-mode", mode]);
        assert_eq!(env.everything(), before, "{mode}");
        assert!(result["gitApplyError"].as_str().unwrap().contains("already exists"), "{result:#}");
        assert!(!env.repo().join(".git/oracle/apply").exists());
    }
}

#[test]
fn a_conflict_is_dirty() {
    let env = TestEnv::new();
    let patch = env.patch("echo '// more' >> src/lexer.rs");
    env.sh("git switch -q -c other && echo a > README.md && git commit -qam a && git switch -q main && echo b > README.md && git commit -qam b; git merge -q other; true");
    let before = env.everything();
    apply(&env, 4, &patch, &COMMIT);
    assert_eq!(env.everything(), before);
}

#[test]
fn a_commit_does_not_become_a_part_of_something_else() {
    let env = TestEnv::new();
    let patch = env.patch("echo '// more' >> src/lexer.rs");
    env.sh("git switch -q -c other && git commit -q --allow-empty -m a && git switch -q main && git commit -q --allow-empty -m b && git merge -q --no-commit -s ours other");
    assert!(env.repo().join(".git/MERGE_HEAD").exists());
    let before = env.everything();
    apply(&env, 4, &patch, &COMMIT);
    assert_eq!(env.everything(), before);
    apply(&env, 0, &patch, &["--apply-mode", "apply"]);
}

#[test]
fn a_commit_carries_the_message_and_the_way_to_the_evidence() {
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &contract_with_tests(&["src/"], &["true"]));
    env.expect(0, &["contract", "activate", &file]);
    env.expect(0, &["hooks", "install"]);
    let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
    let result = apply(&env, 0, &patch, &COMMIT);
    assert_eq!(result["commitSha"], env.head());
    assert_eq!(
        (&result["branch"], &result["pushed"], &result["diffApplied"]),
        (&json!("main"), &Value::Null, &json!(true))
    );
    assert_eq!(
        env.git(&["log", "-1", "--format=%B"]),
        "Apply review of task-0001\n\nsrc/new.rs\nsrc/parser.rs\n\nOracle-Task: task-0001\nOracle-Session: apply-main"
    );
    assert_eq!(env.git(&["log", "-1", "--format=%(trailers:key=Oracle-Task,valueonly)"]), "task-0001");
    assert_eq!(env.git(&["status", "--short", "--untracked-files=no"]), "");
    let patch = env.patch("echo '// again' >> src/parser.rs");
    apply(&env, 0, &patch, &[&COMMIT[..], &["--commit-message", "Say it again"]].concat());
    assert_eq!(env.git(&["log", "-1", "--format=%s"]), "Say it again");
}

#[test]
fn hooks_without_a_contract_refuse_before_anything_happens() {
    let env = TestEnv::new();
    env.expect(0, &["init"]);
    let patch = env.patch("echo '// more' >> src/parser.rs");
    let before = env.everything();
    let result = apply(&env, 7, &patch, &COMMIT);
    assert_eq!((&result["status"], env.everything() == before), (&json!("gate_failed"), true));
    apply(&env, 0, &patch, &["--apply-mode", "check"]);
    env.write(".oracle/config.toml", "[hooks]\nmissing_contract = \"warn\"\n");
    apply(&env, 0, &patch, &COMMIT);
}

#[test]
fn a_failed_commit_puts_everything_back() {
    let hooks = [
        ("pre-commit", "echo no >&2; exit 1"),
        ("commit-msg", "echo no >&2; exit 1"),
        ("pre-commit", "echo formatted >> src/parser.rs; git add src/parser.rs; echo no >&2; exit 1"),
        ("reference-transaction", "test \"$1\" != prepared || { echo no >&2; exit 1; }"),
    ];
    for (hook, body) in hooks {
        let env = TestEnv::new();
        env.sh("echo '*.tmp' > .git/info/exclude; echo x > ignored.tmp; chmod 600 src/parser.rs");
        let patch = env.patch("echo '// more' >> src/parser.rs; mkdir -p deep/er; echo new > deep/er/new.rs; git rm -q -f docs/guide.md; git mv README.md READ.md");
        let before = env.everything();
        env.user_hook(&format!(".git/hooks/{hook}"), body);
        let result = apply(&env, 5, &patch, &COMMIT);
        assert_eq!(env.everything(), before, "{hook} {body}");
        assert_eq!((&result["status"], &result["diffApplied"]), (&json!("commit_failed"), &json!(false)));
        assert!(result["gitCommitError"].as_str().unwrap().contains("no"), "{result:#}");
        assert_eq!(env.git(&["status", "--short"]), "");
        assert!(!env.repo().join(".git/oracle/apply").exists());
    }
}

#[test]
fn the_repositorys_own_script_commits() {
    let script = "message=$1; shift; git add -A -- \"$@\" && git commit -q -m \"$message\" -m 'By the script'";
    let env = TestEnv::new();
    env.user_hook("scripts/committer", script);
    env.commit_all("Committer");
    let patch = env.patch("echo '// more' >> src/parser.rs; git rm -q -f src/lexer.rs; echo a > 'src/a b'");
    apply(&env, 0, &patch, &COMMIT);
    assert!(env.git(&["log", "-1", "--format=%B"]).contains("By the script"));
    assert_eq!(env.git(&["show", "--name-only", "--format="]), "src/a b\nsrc/lexer.rs\nsrc/parser.rs");

    // A patch that changes the script does not run it.
    let patch = env.patch("echo 'echo changed' >> scripts/committer");
    apply(&env, 0, &patch, &COMMIT);
    assert!(!env.git(&["log", "-1", "--format=%B"]).contains("By the script"));

    // A script that makes no commit, or fails, changes nothing.
    for body in ["exit 0", "exit 3", "git add -A; exit 1"] {
        env.user_hook("scripts/committer", body);
        env.commit_all("Other committer");
        let patch = env.patch("echo '// again' >> src/parser.rs");
        let before = env.everything();
        apply(&env, 5, &patch, &COMMIT);
        assert_eq!(env.everything(), before, "{body}");
    }
    // One that is not tracked is nobody's.
    let env = TestEnv::new();
    env.sh("echo scripts > .git/info/exclude");
    env.user_hook("scripts/committer", "touch ran");
    let patch = env.patch("echo '// more' >> src/parser.rs");
    apply(&env, 0, &patch, &COMMIT);
    assert!(!env.repo().join("ran").exists());
}

#[test]
fn a_failing_test_leaves_the_tree_alone() {
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &contract_with_tests(&["src/"], &["false"]));
    env.expect(0, &["contract", "activate", &file]);
    let patch = env.patch("echo '// more' >> src/parser.rs");
    let before = env.everything();
    let result = apply(&env, 7, &patch, &COMMIT);
    assert_eq!(env.everything(), before);
    assert_eq!((&result["error"]["kind"], &result["tests"][0]["exitCode"]), (&json!("test_failure"), &json!(1)));
}

#[test]
fn it_works_in_every_sort_of_worktree() {
    let env = TestEnv::new();
    let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
    // From a sub-directory.
    let ran = env.oracle_in(&env.repo().join("docs"), &["apply", "--patch", &patch]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    env.sh("git restore . && rm src/new.rs");
    // In a linked worktree.
    let linked = env.root().join("linked");
    env.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let ran = env.oracle_in(&linked, &["apply", "--patch", &patch, "--apply-mode", "commit"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(env.git_in(&linked, &["status", "--short"]), "");
    assert_eq!(env.git(&["rev-list", "--count", "main..side"]), "1");
    assert_eq!(env.git(&["status", "--short"]), "");
    // Named by the environment, from elsewhere, with another index.
    let (git_dir, top) = (env.repo().join(".git"), env.repo());
    let vars = [("GIT_DIR", git_dir.to_str().unwrap()), ("GIT_WORK_TREE", top.to_str().unwrap())];
    let ran = env.oracle_with(env.root(), &["apply", "--patch", &patch, "--apply-mode", "commit"], &vars);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(
        (env.git(&["status", "--short"]), env.git(&["rev-list", "--count", "HEAD"])),
        (String::new(), "2".to_owned())
    );
}

#[test]
fn line_endings_and_keywords_that_git_converts_are_no_obstacle() {
    let env = TestEnv::new();
    env.write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n");
    env.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    env.write("a.id", "$Id$\none\n");
    env.commit_all("Converted");
    env.sh("rm a.txt a.id && git checkout -q -- a.txt a.id");
    let patch = env.root().join("p.patch");
    let text = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n--- a/a.id\n+++ b/a.id\n@@ -1,2 +1,2 @@\n $Id$\n-one\n+ONE\n";
    std::fs::write(&patch, text).unwrap();
    apply(&env, 0, patch.to_str().unwrap(), &COMMIT);
    assert_eq!(std::fs::read_to_string(env.repo().join("a.txt")).unwrap(), "one\r\nTWO\r\nthree\r\n");
    assert_eq!(env.git(&["show", "HEAD:a.id"]), "$Id$\nONE");
    assert_eq!(env.git(&["status", "--short"]), "");
}
