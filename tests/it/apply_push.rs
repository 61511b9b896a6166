//! `apply --push` against a real bare remote.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;

/// Returns a world with a bare remote that has `main` as its default branch, and a branch `feature` here.
fn with_remote() -> (TestEnv, PathBuf) {
    let env = TestEnv::new();
    let remote = env.root().join("remote.git");
    env.git(&["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
    env.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    env.git(&["push", "-q", "origin", "main"]);
    env.git(&["switch", "-q", "-c", "feature"]);
    (env, remote)
}

fn push(env: &TestEnv, code: i32) -> Value {
    let patch = env.patch("echo '// more' >> src/parser.rs");
    let ran = env.oracle(&["apply", "--patch", &patch, "--apply-mode", "commit", "--push", "--json"]);
    assert_eq!(ran.code, code, "{}", ran.shown());
    let result = ran.json();
    // The commit is there in every case.
    assert_eq!((&result["commitSha"], &result["diffApplied"]), (&json!(env.head()), &json!(true)));
    assert_eq!(result["pushed"], json!(code == 0));
    assert_eq!(env.git(&["status", "--short"]), "");
    result
}

fn tip(env: &TestEnv, remote: &std::path::Path, branch: &str) -> String {
    env.run_in(remote, "git", &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")], &[])
        .stdout
        .trim()
        .to_owned()
}

#[test]
fn the_upstream_is_set_where_there_is_none() {
    let (env, remote) = with_remote();
    push(&env, 0);
    assert_eq!(tip(&env, &remote, "feature"), env.head());
    assert_eq!(env.git(&["rev-parse", "--abbrev-ref", "@{upstream}"]), "origin/feature");
}

#[test]
fn the_upstream_is_used_where_there_is_one() {
    let (env, remote) = with_remote();
    env.git(&["push", "-q", "-u", "origin", "feature:topic"]);
    push(&env, 0);
    assert_eq!((tip(&env, &remote, "topic"), tip(&env, &remote, "feature")), (env.head(), String::new()));
}

#[test]
fn without_the_flag_nothing_is_pushed() {
    let (env, remote) = with_remote();
    let patch = env.patch("echo '// more' >> src/parser.rs");
    for flags in [&[] as &[&str], &["--push", "--no-push"]] {
        let ran = env.oracle(&[&["apply", "--patch", &patch, "--apply-mode", "commit", "--json"], flags].concat());
        assert_eq!((ran.code, &ran.json()["pushed"]), (0, &Value::Null), "{}", ran.shown());
        env.git(&["reset", "-q", "--hard", "HEAD~"]);
    }
    assert_eq!(tip(&env, &remote, "feature"), "");
}

#[test]
fn a_branch_that_went_on_elsewhere_is_not_overwritten() {
    let (env, remote) = with_remote();
    env.git(&["push", "-q", "-u", "origin", "feature"]);
    let clone = env.root().join("clone");
    env.git(&["clone", "-q", "-b", "feature", remote.to_str().unwrap(), clone.to_str().unwrap()]);
    env.git_in(&clone, &["commit", "-q", "--allow-empty", "-m", "Elsewhere"]);
    env.git_in(&clone, &["push", "-q"]);
    let theirs = tip(&env, &remote, "feature");
    env.git(&["config", "remote.origin.push", "+refs/heads/*:refs/heads/*"]);
    let result = push(&env, 9);
    assert_eq!(tip(&env, &remote, "feature"), theirs);
    assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("push_failed"), &json!("push_failed")));
    assert!(result["error"]["hint"].as_str().unwrap().contains("git pull --rebase"), "{result:#}");
}

#[test]
fn shared_branches_are_never_pushed_to() {
    // Makes the branch, the name of the branch on the remote, and the configuration.
    let cases = [
        ("git switch -q main && git branch -q -u origin/main", "main", ""),
        ("git branch -q -u origin/main", "main", ""),
        ("git switch -q -c master", "master", ""),
        (
            "git push -q origin HEAD:trunk && git -C ../remote.git symbolic-ref HEAD refs/heads/trunk && git switch -q -c trunk",
            "trunk",
            "",
        ),
        ("git switch -q -c release/1", "release/1", "[review]\nprotected_branches = [\"release/*\"]\n"),
    ];
    for (script, branch, config) in cases {
        let (env, remote) = with_remote();
        let ran = env.sh(&format!("git fetch -q && {script}"));
        assert_eq!(ran.code, 0, "{}", ran.shown());
        if !config.is_empty() {
            env.write(".oracle/config.toml", config);
        }
        let before = tip(&env, &remote, branch);
        let patch = env.patch("echo '// more' >> src/parser.rs");
        let ran = env.oracle(&["apply", "--patch", &patch, "--apply-mode", "commit", "--push", "--json"]);
        assert_eq!(
            (ran.code, &ran.json()["error"]["kind"]),
            (9, &json!("branch_refused")),
            "{script}: {}",
            ran.shown()
        );
        assert_eq!(tip(&env, &remote, branch), before, "{script}");
        assert_eq!(env.git(&["log", "-1", "--format=%s"]).split(' ').next(), Some("Apply"), "the commit is made");
    }
}

#[test]
fn a_server_that_says_no_is_heard_and_cannot_steer_the_terminal() {
    use std::os::unix::fs::PermissionsExt;
    let (env, remote) = with_remote();
    let hook = remote.join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\nprintf 'not \\033[31mtoday\\n' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let result = push(&env, 9);
    assert_eq!(tip(&env, &remote, "feature"), "");
    let said = result["gitPushError"].as_str().unwrap();
    assert!(said.contains("not \\x1b[31mtoday") && said.contains("pre-receive hook declined"), "{said}");
}

#[test]
fn a_remote_that_is_not_there_is_a_failed_push() {
    let (env, _) = with_remote();
    env.git(&["remote", "set-url", "origin", "/nowhere/at/all.git"]);
    let result = push(&env, 9);
    assert!(result["gitPushError"].as_str().unwrap().contains("/nowhere/at/all.git"), "{result:#}");
    let env = TestEnv::new();
    env.git(&["switch", "-q", "-c", "feature"]);
    assert_eq!(push(&env, 9)["error"]["kind"], "branch_refused");
}

#[test]
fn nobody_is_asked_for_a_password() {
    let (env, _) = with_remote();
    // A credential helper and an askpass program that would wait for somebody.
    env.user_hook("askpass", "touch \"$TMPDIR/asked\"; sleep 600");
    env.sh("echo askpass > .git/info/exclude; git config core.askPass \"$PWD/askpass\"");
    env.git(&["remote", "set-url", "origin", "https://127.0.0.1:9/nothing.git"]);
    push(&env, 9);
    assert!(!env.root().join("asked").exists());
}
