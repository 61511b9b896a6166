//! The event log through the program.

use serde_json::Value;

use crate::support::TestEnv;

fn event_types(env: &TestEnv) -> Vec<String> {
    let log = std::fs::read_to_string(env.repo().join(".git/oracle/events.jsonl")).unwrap();
    log.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event_type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn activation_amendment_and_clearing_are_events() {
    let env = TestEnv::under_contract(&["src/"]);
    env.person("[contract]\nwiden = \"allow\"\n");
    env.expect(0, &["contract", "amend", "--allow", "docs/"]);
    env.expect(0, &["contract", "clear"]);
    assert_eq!(event_types(&env), ["CONTRACT_ACTIVATED", "CONTRACT_AMENDED", "CONTRACT_CLEARED"]);
}

#[test]
fn a_refused_activation_changes_nothing() {
    let env = TestEnv::under_contract(&["src/"]);
    env.expect(8, &["contract", "amend", "--allow", "docs/"]);
    assert_eq!(event_types(&env), ["CONTRACT_ACTIVATED"]);
}

#[test]
fn our_files_are_private_whatever_the_umask_says() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &crate::support::contract(&["src/"]));
    let ran = env.run_in(&env.repo(), "sh", &["-c", "umask 000; git oracle contract activate \"$0\"", &file], &[]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let mut open = vec![env.repo().join(".git/oracle")];
    while let Some(directory) = open.pop() {
        assert_eq!(
            std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777,
            0o700,
            "{}",
            directory.display()
        );
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => assert_eq!(
                    entry.metadata().unwrap().permissions().mode() & 0o777,
                    0o600,
                    "{}",
                    entry.path().display()
                ),
            }
        }
    }
}

#[test]
fn processes_at_once_make_one_chain() {
    let env = TestEnv::new();
    let file = env.contract_file("contract.json", &crate::support::contract(&["src/"]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..3).for_each(|_| drop(env.expect(0, &["contract", "activate", &file]))));
        }
    });
    assert_eq!(event_types(&env).len(), 12);
    env.expect(0, &["doctor"]);
    assert_eq!(env.judge(&["--staged"]).0, 0);
}

/// Refuses a commit, so that there is an event of it.
fn refuse(env: &TestEnv) {
    env.write("docs/guide.md", "changed\n");
    assert_eq!(env.sh("git commit -q -a -m x").code, 1);
}

#[test]
fn the_log_is_shown_and_checked() {
    let env = TestEnv::new();
    let none = env.expect(0, &["events"]);
    assert_eq!((none.stdout.as_str(), none.stderr.as_str()), ("", "no events yet\n"));
    assert_eq!(
        env.expect(0, &["events", "--json"]).json(),
        serde_json::json!({"state": "empty", "problem": null, "events": []})
    );

    env.activate(&["src/"]);
    env.expect(0, &["hooks", "install"]);
    refuse(&env);
    let shown = env.expect(0, &["events"]);
    let last = shown.stdout.lines().last().unwrap();
    assert!(last.ends_with("  policy_violation  task-0001  pre-commit: docs/guide.md: out_of_scope"), "{last}");
    assert_eq!(shown.stderr, "3 events, the chain is intact\n");
    let document = env.expect(0, &["events", "--json"]).json();
    let event = &document["events"][2];
    assert_eq!((&document["state"], &event["run_id"], &event["seq"]), (&"intact".into(), &"hooks".into(), &2.into()));
    assert_ne!(event["trace_id"], document["events"][1]["trace_id"]);

    let log = env.repo().join(".git/oracle/events.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{whole}{{\"cut")).unwrap();
    let torn = env.expect(0, &["events"]);
    assert!(torn.stderr.contains("the log is torn: its last 5 bytes"), "{}", torn.shown());
    assert_eq!(env.expect(0, &["events", "--json"]).json()["state"], "torn");

    std::fs::write(&log, whole.replace("docs/guide.md", "docs/other.md")).unwrap();
    let broken = env.expect(7, &["events"]);
    assert!(broken.stderr.contains("tampered with: line 3: its hash is wrong"), "{}", broken.shown());
    assert!(broken.stderr.contains("hint: "), "{}", broken.shown());
    assert_eq!(env.expect(7, &["events", "--json"]).json()["state"], "broken");
}

#[test]
fn a_follower_sees_what_comes_and_ends_with_its_reader() {
    use std::io::BufRead;
    let env = TestEnv::hooked(&["src/"]);
    let mut follower = env.start("git-oracle", &["events", "--follow", "--json"]);
    let mut lines = std::io::BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap()["event_type"].clone();
    assert_eq!([next(), next()], ["CONTRACT_ACTIVATED", "HOOKS_INSTALLED"]);
    refuse(&env);
    assert_eq!(next(), "policy_violation");
    drop(lines);
    refuse(&env);
    assert!(follower.wait().unwrap().success());
}
