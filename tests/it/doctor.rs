//! `doctor` names what is broken and how to mend it.

use crate::support::TestEnv;

fn check(env: &TestEnv, name: &str) -> (i32, String, String) {
    let ran = env.oracle(&["doctor", "--json"]);
    let document = ran.json();
    let found = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == name)
        .unwrap_or_else(|| panic!("{name}"));
    (ran.code, found["state"].as_str().unwrap().to_owned(), found["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_sound_repository_is_fine() {
    let env = TestEnv::under_contract(&["src/parser.rs"]);
    env.expect(0, &["hooks", "install"]);
    let ran = env.expect(0, &["doctor"]);
    assert!(ran.stdout.lines().all(|line| line.starts_with("ok")), "{}", ran.shown());
}

#[test]
fn each_thing_that_can_break_is_seen() {
    let env = TestEnv::under_contract(&["src/parser.rs"]);
    env.write(".oracle/config.toml", "[gat]\nprotected = []\n");
    assert_eq!(check(&env, "config").1, "broken");
    std::fs::remove_file(env.repo().join(".oracle/config.toml")).unwrap();

    env.write(".oracle/contract.json", "{}");
    assert_eq!(check(&env, "contract"), (1, "broken".into(), "the contract was edited after it was activated".into()));

    env.person("[contract]\nwiden = true\n");
    assert_eq!(check(&env, "person").1, "broken");

    let log = env.repo().join(".git/oracle/events.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, text.replace("task-0001", "task-0002")).unwrap();
    let (_, state, message) = check(&env, "events");
    assert_eq!((state.as_str(), message.contains("line 1")), ("broken", true), "{message}");

    std::fs::remove_dir_all(env.repo().join(".oracle")).unwrap();
    assert_eq!(check(&env, "directory").1, "note");
}

#[test]
fn the_hooks_are_looked_at() {
    let env = TestEnv::under_contract(&["src/"]);
    assert_eq!(
        check(&env, "hooks"),
        (0, "note".into(), "not installed: nothing keeps a commit from getting in".into())
    );
    env.user_hook(".git/hooks/pre-push", "true\n");
    env.expect(0, &["hooks", "install"]);
    let (code, state, message) = check(&env, "hooks");
    assert_eq!((code, state.as_str()), (0, "ok"));
    assert!(message.starts_with("version 1, after 1 hook of others, in "), "{message}");
    for (harm, expected) in [
        ("chmod -x .git/hooks/pre-commit", "pre-commit is not executable, so git ignores it"),
        ("rm .git/hooks/pre-push", "pre-push is not installed"),
        ("echo >.git/hooks/pre-merge-commit", "pre-merge-commit is another hook, and ours does not run"),
    ] {
        env.sh(harm);
        let (code, state, message) = check(&env, "hooks");
        assert_eq!((code, state.as_str(), message.as_str()), (1, "broken", expected));
        env.expect(0, &["hooks", "install"]);
        assert_eq!(check(&env, "hooks").1, "ok", "{harm}");
    }
}

#[test]
fn outside_a_repository_it_still_answers() {
    let env = TestEnv::empty();
    assert_eq!(check(&env, "repository").1, "broken");
    assert_eq!(check(&env, "git").1, "ok");
}
