//! `doctor` names what is broken and how to mend it.

use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Script;

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

#[test]
fn what_asking_depends_on_is_looked_at() {
    let env = TestEnv::under_contract(&["src/"]);
    for name in ["browser", "driver", "profile", "pages", "store"] {
        let (code, state, message) = check(&env, name);
        assert_eq!((code, state.as_str()), (0, "ok"), "{name}: {message}");
    }
    let run = |vars: &[(&str, &str)], args: &[&str]| env.oracle_with(&env.repo(), &[&["doctor"], args].concat(), vars);
    // Whoever only keeps commits in bounds can do without a browser; whoever asks for one cannot.
    let nowhere = [("CHROME_PATH", "/nowhere/chrome")];
    let ran = run(&nowhere, &[]);
    assert!(ran.code == 0 && ran.stdout.contains("note    browser     there is no program at"), "{}", ran.shown());
    let ran = run(&nowhere, &["--browser"]);
    assert!(ran.code == 1 && ran.stdout.contains("broken  browser "), "{}", ran.shown());
    let old = env.root().join("old-driver");
    env.write_executable(&old, "#!/bin/sh\necho 'ChromeDriver 7.0.1'\n");
    let ran = run(&[("CHROMEDRIVER_PATH", old.to_str().unwrap())], &[]);
    assert!(ran.code == 1 && ran.stdout.contains("version 7.0.1 does not fit the browser's"), "{}", ran.shown());

    let pages = env.root().join("home/.oracle/pages");
    std::fs::create_dir_all(&pages).unwrap();
    std::fs::write(pages.join("mine.toml"), "format = 1\nname = \"mine\"\n").unwrap();
    let (code, state, message) = check(&env, "pages");
    assert_eq!((code, state.as_str()), (1, "broken"), "{message}");
    assert!(message.contains("mine.toml"), "{message}");
}

#[test]
fn a_browser_is_tried_on_the_page_in_the_program() {
    let env = TestEnv::under_contract(&["src/"]);
    let ran = env.oracle(&["doctor", "--browser", "--page", "rehearsal", "--json"]);
    let document = ran.json();
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let checks = document["checks"].as_array().unwrap();
    for name in ["self-test", "page"] {
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!(check["state"], "ok", "{check}");
    }
    let found = document["page"]["found"].as_array().unwrap();
    let composer = found.iter().find(|found| found["element"] == "composer").unwrap();
    assert_eq!((&composer["entry"], &composer["visible"]), (&0.into(), &1.into()), "{composer}");
}

#[test]
fn a_page_that_is_another_than_its_profile_says_is_broken() {
    let env = TestEnv::under_contract(&["src/"]);
    let page = Rehearsal::start(Script::default()).unwrap();
    let ran = env.oracle(&["doctor", "--page", "gemini", "--browser-url", &page.url()]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stdout.contains("gemini has none of the layouts of its profile"), "{}", ran.shown());
    assert!(ran.stdout.contains(" has its mark 0 times, "), "{}", ran.shown());
    let ran = env.expect(1, &["doctor", "--page", "nowhere"]);
    assert!(ran.stdout.contains("chatgpt, copilot, gemini, rehearsal"), "{}", ran.shown());
}
