//! A process that is killed at any moment, and many at once, leave nothing behind that later commands misread.
//!
//! Half of the kills come after a random part of the time that the whole operation takes. The other half come at a
//! system call, exactly, where `strace` is there to do it.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use crate::support::Random;
use crate::support::TestEnv;
use crate::support::contract;
use crate::support::sequences;

const OPERATIONS: [Operation; 9] = [
    Operation::FirstActivation,
    Operation::Activation,
    Operation::Amendment,
    Operation::Clearing,
    Operation::Install,
    Operation::Uninstall,
    Operation::RefusedCommit,
    Operation::RefusedMove,
    Operation::WholeCommit,
];

/// Where something on disk changes, or is about to.
const SYSCALLS: [&str; 8] = [
    "?write",
    "?rename,?renameat,?renameat2",
    "?fsync",
    "?fdatasync",
    "?link,?linkat",
    "?unlink,?unlinkat",
    "?mkdir,?mkdirat",
    "?flock",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    FirstActivation,
    Activation,
    Amendment,
    Clearing,
    Install,
    Uninstall,
    /// The hook alone is killed, as git runs it.
    RefusedCommit,
    RefusedMove,
    /// git is killed with everything it started.
    WholeCommit,
}

#[test]
fn a_kill_at_any_moment_leaves_nothing_torn() {
    let mut kills = 0;
    let count = sequences(14, |seed| {
        let mut random = Random::new(seed);
        let operation = OPERATIONS[(seed % 9) as usize];
        let world = World::new(operation);
        let how = match operation != Operation::WholeCommit && has_strace() && random.chance(50) {
            true => Kill::At { calls: random.pick(&SYSCALLS), count: 1 + random.below(8) },
            false => Kill::After { percent: random.below(100) as u32 },
        };
        let output = world.kill(how);
        let killed = output.status.signal() == Some(9);
        kills += usize::from(killed);
        let told = format!("{operation:?}, {how:?}, killed: {killed}\n{}", String::from_utf8_lossy(&output.stderr));
        world.check(&output, &told);
    });
    std::io::stderr().write_all(format!("{kills} kills in {count} sequences\n").as_bytes()).unwrap();
    assert!(count < 14 || kills > 0);
}

#[derive(Debug, Clone, Copy)]
enum Kill {
    /// After this part of the time that the operation takes.
    After { percent: u32 },
    /// Before one of these system calls is made for this time.
    At { calls: &'static str, count: usize },
}

pub fn has_strace() -> bool {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// A repository with a user's hooks, before an operation.
struct World {
    env: TestEnv,
    operation: Operation,
    /// The hooks directory as it was before the first install.
    before: BTreeMap<String, (u32, Vec<u8>)>,
    /// The same after a complete install.
    installed: BTreeMap<String, (u32, Vec<u8>)>,
    bad: String,
}

impl World {
    fn new(operation: Operation) -> Self {
        let env = TestEnv::new();
        env.user_hook(".git/hooks/pre-commit", "exit 0\n");
        env.user_hook(".git/hooks/pre-push", "cat >/dev/null\n");
        let before = files(&env, ".git/hooks");
        env.expect(0, &["hooks", "install"]);
        let installed = files(&env, ".git/hooks");
        if operation == Operation::Install {
            env.expect(0, &["hooks", "uninstall"]);
        }
        if operation != Operation::FirstActivation {
            env.activate(&["src/", "docs/guide.md"]);
        }
        if operation == Operation::Clearing {
            env.person("[contract]\nwiden = \"allow\"\n");
        }
        env.contract_file("narrow.json", &contract(&["src/"]));
        let bad = env.loose_commit("README.md", "bad");
        env.write("README.md", "out of scope\n");
        env.git(&["add", "README.md"]);
        World { env, operation, before, installed, bad }
    }

    /// Returns the command and what is written to it.
    fn command(&self) -> (Vec<String>, String) {
        let program = env!("CARGO_BIN_EXE_git-oracle");
        let narrow = self.env.root().join("narrow.json").to_string_lossy().into_owned();
        let zeros = "0".repeat(40);
        let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self.operation {
            Operation::FirstActivation | Operation::Activation => {
                (line(&[program, "contract", "activate", &narrow]), String::new())
            }
            Operation::Amendment => (line(&[program, "contract", "amend", "--drop", "docs/guide.md"]), String::new()),
            Operation::Clearing => (line(&[program, "contract", "clear"]), String::new()),
            Operation::Install => (line(&[program, "hooks", "install"]), String::new()),
            Operation::Uninstall => (line(&[program, "hooks", "uninstall"]), String::new()),
            Operation::RefusedCommit => (line(&[".git/hooks/pre-commit"]), String::new()),
            Operation::RefusedMove => (
                line(&[".git/hooks/reference-transaction", "prepared"]),
                format!("{zeros} {} refs/heads/new\n", self.bad),
            ),
            Operation::WholeCommit => (line(&["git", "commit", "-q", "-m", "bad"]), String::new()),
        }
    }

    fn start(&self, before: &[String]) -> Child {
        let (words, input) = self.command();
        let words: Vec<&str> = before.iter().chain(&words).map(String::as_str).collect();
        let mut command = self.env.command(words[0], &self.env.repo());
        command.args(&words[1..]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{words:?}: {error}"));
        // Whoever is killed already reads nothing.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child
    }

    fn kill(&self, how: Kill) -> Output {
        match how {
            Kill::At { calls, count } => {
                let inject = format!("inject={calls}:signal=KILL:when={count}");
                let strace = ["strace", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}"), "-e", &inject];
                self.start(&strace.map(str::to_owned)).wait_with_output().unwrap()
            }
            Kill::After { percent } => {
                // The second time is shorter: what is read then was read before.
                let measured = [(); 2].map(|()| {
                    let other = World::new(self.operation);
                    let begun = Instant::now();
                    other.start(&[]).wait_with_output().unwrap();
                    begun.elapsed()
                });
                let delay = measured[1] * percent / 100;
                let mut child = self.start(&[]);
                // Nothing is waited for: this is the moment of the kill.
                std::thread::sleep(delay);
                match self.operation {
                    Operation::WholeCommit => {
                        let group = format!("-{}", child.id());
                        self.env.run_in(self.env.root(), "kill", &["-KILL", "--", &group], &[]);
                        // What git leaves behind is git's own.
                        let ended = child.wait_with_output().unwrap();
                        let _ = std::fs::remove_file(self.env.repo().join(".git/index.lock"));
                        ended
                    }
                    _ => {
                        let _ = child.kill();
                        child.wait_with_output().unwrap()
                    }
                }
            }
        }
    }

    fn check(&self, output: &Output, told: &str) {
        let env = &self.env;
        self.check_files(told);
        for args in [["status", "--json"], ["doctor", "--json"], ["events", "--json"]] {
            let ran = env.oracle(&args);
            assert!(ran.json().is_object() && !ran.stderr.contains("panicked"), "{told}\n{args:?} {}", ran.shown());
            assert!(args[0] != "events" || ran.code == 0, "{told}\n{}", ran.shown());
        }
        let refusals = self.refusals();
        if output.status.code() == Some(1)
            && matches!(self.operation, Operation::RefusedCommit | Operation::RefusedMove)
        {
            assert_eq!(refusals, 1, "{told}");
        }
        assert!(refusals <= 1, "{told}");

        env.git(&["reset", "-q", "--hard"]);
        env.write("src/parser.rs", "in scope\n");
        let mut commit = env.sh("git commit -q -a -m work");
        let told = format!("{told}\n{}", commit.shown());
        if commit.code != 0 {
            // Either the contract is not there, or it is there by half; then the first hint helps.
            assert!(commit.stderr.contains("git-oracle: the commit is refused"), "{told}");
            let activates = matches!(
                self.operation,
                Operation::FirstActivation | Operation::Activation | Operation::Amendment | Operation::Clearing
            );
            let hint = commit.stderr.lines().find_map(|line| line.strip_prefix("hint: "));
            assert!(activates && hint.is_some(), "{told}");
            if let Some(hint) = hint.filter(|hint| hint.starts_with("git oracle contract activate ")) {
                let helped = env.sh(hint);
                assert_eq!(helped.code, 0, "{told}\n{}", helped.shown());
            }
        }

        // The operation itself can be done again, and then everything is as if nothing had happened.
        match self.operation {
            Operation::FirstActivation | Operation::Activation | Operation::Amendment => {
                let narrow = env.root().join("narrow.json").to_string_lossy().into_owned();
                let ran = env.oracle(&["contract", "activate", &narrow]);
                assert_eq!(ran.code, 0, "{told}\n{}", ran.shown());
            }
            Operation::Clearing => {
                let ran = env.oracle(&["contract", "clear"]);
                assert_eq!(ran.code, 0, "{told}\n{}", ran.shown());
                env.activate(&["src/"]);
            }
            _ => {}
        }
        env.write("src/parser.rs", "in scope again\n");
        commit = env.sh("git commit -q -a -m work");
        assert_eq!(commit.code, 0, "{told}\n{}", commit.shown());
        let ran = env.oracle(&["hooks", "install"]);
        assert_eq!(ran.code, 0, "{told}\n{}", ran.shown());
        assert_eq!(files(env, ".git/hooks"), self.installed, "{told}");
        let refusals = self.refusals();
        env.write("README.md", "out of scope again\n");
        commit = env.sh("git commit -q -a -m work");
        assert!(commit.code != 0 && commit.stderr.contains("README.md: out_of_scope"), "{told}\n{}", commit.shown());
        assert_eq!(self.refusals(), refusals + 1, "{told}");
        env.expect(0, &["hooks", "uninstall"]);
        assert_eq!(files(env, ".git/hooks"), self.before, "{told}");
        env.expect(0, &["events"]);
    }

    /// Every file is there as a whole or not at all.
    fn check_files(&self, told: &str) {
        for (name, file) in files(&self.env, ".git/hooks").iter().filter(|(name, _)| !name.starts_with('.')) {
            let known = [self.before.get(name), self.installed.get(name)];
            assert!(known.contains(&Some(file)), "{name} is torn\n{told}");
        }
        for (name, (_, bytes)) in files(&self.env, ".git/oracle") {
            assert!(name != "active.json" || serde_json::from_slice::<Value>(&bytes).is_ok(), "{name} is torn\n{told}");
        }
        if let Ok(bytes) = std::fs::read(self.env.repo().join(".oracle/contract.json")) {
            assert!(serde_json::from_slice::<Value>(&bytes).is_ok(), "the contract is torn\n{told}");
        }
    }

    /// Returns how many refusals the log knows.
    fn refusals(&self) -> usize {
        let document = self.env.oracle(&["events", "--json"]).json();
        let events = document["events"].as_array().cloned().unwrap_or_default();
        events.iter().filter(|event| event["event_type"] == "policy_violation").count()
    }
}

/// Returns mode and content of the files of a directory of the repository.
fn files(env: &TestEnv, directory: &str) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let entries = std::fs::read_dir(env.repo().join(directory)).into_iter().flatten().map(Result::unwrap);
    for entry in entries.filter(|entry| entry.file_type().unwrap().is_file()) {
        let mode = entry.metadata().unwrap().permissions().mode();
        found.insert(entry.file_name().into_string().unwrap(), (mode, std::fs::read(entry.path()).unwrap()));
    }
    found
}

#[test]
fn refusals_and_activations_at_once_make_one_chain() {
    let world = World::new(Operation::RefusedCommit);
    let env = &world.env;
    let file = env.root().join("contract.json").to_string_lossy().into_owned();
    let move_to = format!(
        "printf '%s %s refs/heads/new\\n' {} {} | .git/hooks/reference-transaction prepared",
        "0".repeat(40),
        world.bad
    );
    let said: Vec<(i32, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|number| {
                let (file, move_to) = (&file, &move_to);
                scope.spawn(move || {
                    let runs = (0..6).map(|_| match number % 3 {
                        0 => env.sh(".git/hooks/pre-commit"),
                        1 => env.sh(move_to),
                        _ => env.oracle(&["contract", "activate", file]),
                    });
                    runs.map(|ran| (ran.code, ran.stderr)).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let recorded = |text: &&(i32, String)| text.1.contains("git-oracle: ") && !text.1.contains("not in the log");
    let refused = said.iter().filter(|(_, text)| text.contains("git-oracle: ")).count();
    assert_eq!(refused, 48, "{said:#?}");
    assert_eq!(world.refusals(), said.iter().filter(recorded).count(), "{said:#?}");
    env.expect(0, &["events"]);
}
