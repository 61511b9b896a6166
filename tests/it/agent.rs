//! A coding agent's hook: recorded payloads, hostile ones, and what remains of them.
//!
//! `tests/scenarios/agent/` has one file for each payload, with what must come out. Adding a case means adding a file.

use std::path::Path;
use std::path::PathBuf;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;

use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::contract;
use crate::support::matches_line;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Why this case exists.
    why: String,
    /// The agent that the hook was installed for.
    agent: String,
    #[serde(default = "yes")]
    contract: bool,
    filesystem: Option<String>,
    /// What happens before the agent speaks.
    before: Option<String>,
    exit: i32,
    /// `[..]` stands for anything here and in `stderr`.
    stdout: String,
    stderr: String,
    /// What the agent says; `[ROOT]` is where the repository lies.
    payload: String,
}

const fn yes() -> bool {
    true
}

fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/agent");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Case {
    let text = std::fs::read_to_string(file).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Asks as an agent does. The deadline is long: what is tested is the answer, and the machine may be busy.
fn ask(env: &TestEnv, agent: &str, payload: &[u8]) -> Ran {
    env.oracle_fed(&["hook", "agent", "--for", agent, "--deadline", "60"], payload)
}

fn say(env: &TestEnv, agent: &str, payload: &Value) -> Ran {
    ask(env, agent, payload.to_string().as_bytes())
}

/// Returns a world as a case wants it, where it does not do with the one that others use too.
fn world(case: &Case) -> Option<TestEnv> {
    if case.contract && case.filesystem.is_none() && case.before.is_none() {
        return None;
    }
    let env = TestEnv::new();
    if case.contract {
        let mut wanted = contract(&["src/"]);
        if let Some(filesystem) = &case.filesystem {
            wanted["tool_permissions"]["filesystem"] = json!(filesystem);
        }
        let file = env.contract_file("contract.json", &wanted);
        env.expect(0, &["contract", "activate", &file]);
    }
    let ran = env.sh(case.before.as_deref().unwrap_or("true"));
    assert_eq!(ran.code, 0, "{}: {}", case.why, ran.shown());
    Some(env)
}

fn refusals(env: &TestEnv) -> usize {
    let log = std::fs::read_to_string(env.repo().join(".git/oracle/events.jsonl")).unwrap_or_default();
    log.matches("\"policy_violation\"").count()
}

fn play(file: &Path, shared: &TestEnv) -> Option<String> {
    let case = read(file);
    let own = world(&case);
    let env = own.as_ref().unwrap_or(shared);
    let before = refusals(env);
    let payload = case.payload.replace("[ROOT]", &env.root().to_string_lossy());
    let ran = ask(env, &case.agent, payload.as_bytes());
    let expected = Ran { code: case.exit, stdout: case.stdout, stderr: case.stderr };
    // Silence leaves no event, and every refusal leaves one where there is a repository to keep it in.
    let is_silent = ran.code == 0 && ["", "{}\n", "{\"cancel\":false}\n"].contains(&ran.stdout.as_str());
    let is_lost = ran.stderr.contains("not a git repository") || ran.stderr.contains("no such directory");
    let recorded = refusals(env) - before;
    let as_expected = ran.code == expected.code
        && matches_line(&expected.stdout, &ran.stdout)
        && matches_line(&expected.stderr, &ran.stderr);
    let fits = as_expected && recorded == usize::from(!is_silent && !is_lost);
    let shown = || {
        format!("{} ({}), {recorded} events\n{}\nexpected\n{}", file.display(), case.why, ran.shown(), expected.shown())
    };
    (!fits).then(shown)
}

#[test]
fn every_recorded_payload_is_answered_as_its_agent_wants() {
    let files = files();
    assert!(files.len() > 100, "only {} payloads were found", files.len());
    let play_all = |part: &[PathBuf]| {
        let shared = TestEnv::under_contract(&["src/"]);
        part.iter().filter_map(|file| play(file, &shared)).collect::<Vec<_>>()
    };
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = files.chunks(files.len().div_ceil(2));
        let running: Vec<_> = parts.map(|part| scope.spawn(|| play_all(part))).collect();
        running.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn hostile_payloads_are_refused() {
    let env = TestEnv::under_contract(&["src/"]);
    let deep = format!("{}1{}", "{\"tool_input\":".repeat(100_000), "}".repeat(100_000));
    let huge = format!("{{\"hook_event_name\":\"PreToolUse\",\"x\":\"{}\"}}", "x".repeat(65 << 20));
    let long_path =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "a/".repeat(5000)}});
    let many: String = (0..2000).map(|at| format!("*** Add File: docs/{at}\n+x\n")).collect();
    let many = json!({"hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": many}});
    let nested =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "$(".repeat(100_000)}});
    let payloads: [Vec<u8>; 9] = [
        deep.into(),
        huge.into(),
        long_path.to_string().into(),
        many.to_string().into(),
        nested.to_string().into(),
        b"\xff\xfe{\"a\":1}".into(),
        b"\xef\xbb\xbf{}".into(),
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"src/\xff\"}}"
            .into(),
        b"{} {}".into(),
    ];
    for payload in payloads {
        let ran = ask(&env, "claude", &payload);
        let start = String::from_utf8_lossy(&payload[..payload.len().min(60)]).into_owned();
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{start}: {}", ran.shown());
        assert!(
            ran.stderr.starts_with("git-oracle refuses this call") && ran.stderr.len() < 4000,
            "{start}: {}",
            ran.shown()
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{start}: {}", ran.shown());
    }
}

#[test]
fn bad_arguments_refuse_too() {
    let env = TestEnv::under_contract(&["src/"]);
    for args in [
        &["hook", "agent", "--nonsense"] as &[&str],
        &["hook", "agent", "--for"],
        &["hook", "agent", "--deadline", "soon"],
        &["hook", "agent", "more"],
        &["-C", "no/such/place", "hook", "agent"],
        &["--colour", "hook", "agent"],
    ] {
        let ran = env.oracle_fed(args, b"{}");
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.shown());
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(env.oracle_fed(&["hook", "agent", "--for", "nobody"], b"{}").code, 0);
    assert_eq!(env.oracle_fed(&["hook", "agnt"], b"{}").code, 129);
    let gone = env.sh("mkdir gone && cd gone && rmdir ../gone && echo '{}' | git-oracle hook agent");
    assert_eq!(gone.code, 2, "{}", gone.shown());
}

#[test]
fn an_agent_that_never_stops_speaking_is_refused_in_time() {
    let env = TestEnv::under_contract(&["src/"]);
    assert_eq!(env.sh("mkfifo ../pipe").code, 0);
    for (agent, said) in [("claude", ""), ("cursor", "\"permission\":\"deny\"")] {
        // The shell holds the other end open, so that there is never an end to read.
        let ran = env.sh(&format!("exec 3<>../pipe; git oracle hook agent --for {agent} --deadline 0 <../pipe"));
        assert_eq!(ran.code, 2, "{}", ran.shown());
        assert!(ran.stderr.contains("it was not judged within 0 s") && ran.stdout.contains(said), "{}", ran.shown());
    }
}

#[test]
fn an_agent_is_sent_back_twice() {
    let env = TestEnv::under_contract(&["src/"]);
    let stop = |session: &str, active: Option<bool>| {
        let mut payload = json!({"hook_event_name": "Stop", "session_id": session, "cwd": env.repo()});
        if let Some(active) = active {
            payload["stop_hook_active"] = json!(active);
        }
        let ran = say(&env, "claude", &payload);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        !ran.stdout.is_empty()
    };
    assert!(!stop("a", Some(false)));
    env.write("docs/guide.md", "changed\n");
    let turns = [
        ("a", Some(false)),
        ("a", Some(true)),
        ("a", Some(true)),
        ("a", Some(false)),
        ("b", None),
        ("b", None),
        ("b", None),
        ("b", None),
    ];
    let sent_back: Vec<bool> = turns.into_iter().map(|(session, active)| stop(session, active)).collect();
    assert_eq!(sent_back, [true, true, false, true, true, true, false, true]);
    env.git(&["restore", "docs/guide.md"]);
    assert!(!stop("b", None));
    env.write("docs/guide.md", "changed\n");
    assert!(stop("b", Some(true)), "a tree that was in order starts the count anew");
}

#[test]
fn two_hooks_of_one_stop_count_by_themselves() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("docs/guide.md", "changed\n");
    // Copilot runs its own hook and, in Claude's words, Claude's.
    let own = json!({"sessionId": "s", "timestamp": 1, "cwd": env.repo(), "stopReason": "end_turn", "stop_hook_active": true});
    let theirs = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": env.repo(), "stop_hook_active": true});
    let said: Vec<[bool; 2]> = (0..3)
        .map(|_| {
            [("copilot", &own), ("claude", &theirs)].map(|(agent, payload)| say(&env, agent, payload).stdout.len() > 3)
        })
        .collect();
    assert_eq!(said, [[true; 2], [true; 2], [false; 2]]);
}

#[test]
fn a_stop_without_a_contract_does_not_go_round_for_ever() {
    let env = TestEnv::new();
    let payload = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": env.repo(), "stop_hook_active": true});
    let said: Vec<bool> = (0..3).map(|_| !say(&env, "claude", &payload).stdout.is_empty()).collect();
    assert_eq!(said, [true, true, false]);
    let nowhere =
        json!({"hook_event_name": "Stop", "session_id": "s", "cwd": env.root().join("home"), "stop_hook_active": true});
    assert_eq!(say(&env, "claude", &nowhere).code, 0);
}

#[test]
fn linked_worktrees_have_contracts_of_their_own() {
    let env = TestEnv::under_contract(&["src/"]);
    env.git(&["worktree", "add", "-q", "../side"]);
    let side = env.root().join("side");
    let write = |cwd: &Path, path: &Path| {
        let input = json!({"file_path": path});
        say(
            &env,
            "claude",
            &json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": input, "cwd": cwd}),
        )
        .code
    };
    assert_eq!(write(&env.repo(), &env.repo().join("src/a.rs")), 0);
    // Another worktree is another place.
    assert_eq!(write(&env.repo(), &side.join("src/a.rs")), 2);
    assert_eq!(write(&side, &side.join("src/a.rs")), 2);
    // A directory that was reached through a link is the same place.
    std::os::unix::fs::symlink(env.repo(), env.root().join("alias")).unwrap();
    let alias = env.root().join("alias");
    assert_eq!(write(&alias, &alias.join("src/a.rs")), 0);
    assert_eq!(write(&alias.join("src"), Path::new("a.rs")), 0);
    assert_eq!(write(&alias.join("src"), Path::new("../README.md")), 2);
}

#[test]
fn a_missing_program_refuses_in_the_way_it_is_installed() {
    let env = TestEnv::new();
    let ran = env.run_in(
        &env.repo(),
        "sh",
        &["-c", "git oracle hook agent --for claude || exit 2"],
        &[("PATH", "/usr/local/bin:/usr/bin:/bin")],
    );
    assert_eq!(ran.code, 2, "{}", ran.shown());
    assert!(!ran.stderr.is_empty());
}

fn payloads() -> impl Strategy<Value = Vec<u8>> {
    let recorded: Vec<String> = files().iter().map(|file| read(file).payload).collect();
    let broken = (prop::sample::select(recorded), any::<prop::sample::Index>(), any::<u8>(), 0..3).prop_map(
        |(text, at, byte, how)| {
            let mut bytes = text.into_bytes();
            let at = if bytes.is_empty() { return bytes } else { at.index(bytes.len()) };
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
            bytes
        },
    );
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..200), 3 => broken]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in payloads()) {
        let _ = git_oracle::agent::parse_call(&bytes, Some("copilot"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_end_with_0_or_2(bytes in payloads()) {
        let env = TestEnv::empty();
        let ran = ask(&env, "gemini", &bytes);
        prop_assert!(matches!(ran.code, 0 | 2), "{}", ran.shown());
        prop_assert!(ran.code == 0 || !ran.stderr.is_empty() && !ran.stderr.contains("panicked"), "{}", ran.shown());
    }
}
