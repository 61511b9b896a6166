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
