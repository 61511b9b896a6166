//! `ask` that is killed: nothing of it is left, nothing is sent twice, and what was answered meanwhile is picked up.

use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Reply;
use git_oracle::transport::rehearsal::Script;
use serde_json::Value;

use crate::browser_ends::GONE;
use crate::browser_ends::processes_of;
use crate::support::Random;
use crate::support::TestEnv;
use crate::support::sequences;

const ANSWER: &str = "{{REQUEST_ID}}\n\nKeep the file:\n\n```rust\nfn kept() {}\n```\n\n{{REQUEST_ID}}";
const SHOWN: &str = "Keep the file:\n\n```rust\nfn kept() {}\n```\n";

/// Every step of the ledger, in order.
const STEPS: [&str; 7] = ["intent", "typed", "sending", "sent", "committed", "address", "captured"];

/// When it is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long after this step was written down.
    Step(&'static str, Duration),
    AfterStart(Duration),
}

impl Moment {
    fn of(seed: u64, random: &mut Random) -> Self {
        match STEPS.get((seed % (STEPS.len() as u64 + 2)) as usize) {
            Some(step) => Moment::Step(step, Duration::from_millis(random.below(40) as u64)),
            None => Moment::AfterStart(Duration::from_millis(random.below(3000) as u64)),
        }
    }
}

/// A world with a page whose answers end after everything that is killed here.
struct World {
    env: TestEnv,
    page: Rehearsal,
}

impl World {
    fn new() -> Self {
        let late = Reply { start_ms: 300, chunk: 20, every_ms: 100, ..Reply::of(ANSWER) };
        let page = Rehearsal::start(Script { replies: vec![late], ..Script::default() }).unwrap();
        World { env: TestEnv::new(), page }
    }

    /// Starts `ask` with an attachment.
    fn start(&self) -> Child {
        let url = self.page.url();
        let place = ["ask", "--page", "rehearsal", "--browser-url", &url, "--slug", "cut off", "-p", "Which file?"];
        let files = ["--browser-bundle-files", "src/", "--browser-bundle-format", "zip"];
        let mut command = self.env.prepared("git-oracle", &[&place[..], &files[..]].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn steps(&self) -> Vec<String> {
        steps(&self.env, "cut-off")
    }

    fn sends(&self) -> usize {
        self.page.record().prompts.len()
    }

    /// Kills it at this moment, or finds that it has ended before.
    fn kill(&self, mut child: Child, moment: Moment) {
        let mut ended = false;
        let delay = match moment {
            Moment::AfterStart(delay) => delay,
            Moment::Step(step, delay) => {
                while !ended && !self.steps().iter().any(|seen| seen == step) {
                    ended = child.try_wait().unwrap().is_some();
                    std::thread::yield_now();
                }
                delay
            }
        };
        let until = Instant::now() + delay;
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
    }

    /// Waits until neither a process nor a temporary file is left, and says what is if that does not happen.
    fn expect_nothing(&self, told: &str) -> Duration {
        let started = Instant::now();
        loop {
            let (left, files) = (processes_of(self.env.root()), temporary(self.env.root()));
            if left.is_empty() && files.is_empty() {
                return started.elapsed();
            }
            assert!(started.elapsed() < GONE, "{told}: {left:#?} {files:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the steps that a session has written down.
pub fn steps(env: &TestEnv, slug: &str) -> Vec<String> {
    let ledger = env.root().join("home/.oracle/sessions").join(slug).join("ledger.jsonl");
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    // The last line may be cut off.
    let step = |line: &str| serde_json::from_str::<Value>(line).ok()?["step"].as_str().map(str::to_owned);
    text.lines().filter_map(step).collect()
}

/// Waits until a run that is at work has written down this step.
pub fn await_step(env: &TestEnv, child: &mut Child, slug: &str, step: &str) {
    while !steps(env, slug).iter().any(|seen| seen == step) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was at {step}");
        std::thread::yield_now();
    }
}

/// Returns what lies where temporary files go, besides the world itself.
fn temporary(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name != "home" && name != "repo").collect()
}

#[test]
fn a_kill_at_every_step_leaves_nothing_and_sends_nothing_twice() {
    let (mut sent, mut picked_up, mut slowest) = (0, 0, Duration::ZERO);
    let count = sequences(9, |seed| {
        let moment = Moment::of(seed, &mut Random::new(seed));
        let told = format!("seed {seed}, {moment:?}");
        let world = World::new();
        world.kill(world.start(), moment);
        slowest = slowest.max(world.expect_nothing(&told));
        let (steps, before) = (world.steps(), world.sends());
        let has = |step: &str| steps.iter().any(|seen| seen == step);
        assert!(before <= 1, "{told}: sent {before} times");
        assert!(has("sending") || before == 0, "{told}: it was sent before that was written down");
        sent += before;
        let list = world.env.expect(0, &["session", "list"]);
        if !world.env.root().join("home/.oracle/sessions/cut-off/session.json").is_file() {
            return;
        }
        assert!(list.stdout.contains("cut-off"), "{told}: {}", list.shown());
        world.env.expect(0, &["session", "show", "cut-off"]);
        let ran = world.env.oracle(&["session", "attach", "cut-off"]);
        assert_eq!(world.sends(), before, "{told}: it was sent again");
        if has("address") {
            assert_eq!((ran.code, ran.stdout.as_str()), (0, SHOWN), "{told}: {}", ran.shown());
            picked_up += 1;
        } else {
            assert!(ran.code != 0 && ran.stderr.contains("hint: "), "{told}: {}", ran.shown());
            assert_eq!(ran.stderr.contains("nothing was sent"), !has("sending"), "{told}: {}", ran.shown());
        }
        slowest = slowest.max(world.expect_nothing(&told));
    });
    let told =
        format!("{count} kills: {sent} had sent, {picked_up} were picked up, {slowest:?} until nothing was left\n");
    std::io::stderr().write_all(told.as_bytes()).unwrap();
}

#[test]
fn what_is_attached_lies_only_where_the_browser_is_guarded() {
    let world = World::new();
    let mut child = world.start();
    await_step(&world.env, &mut child, "cut-off", "typed");
    // One directory, and that is the one whose guard outlives us.
    let found = temporary(world.env.root());
    let guarded = processes_of(world.env.root()).into_iter().any(|(_, arguments)| {
        arguments.contains(" guard --temporary ") && found.iter().all(|name| arguments.contains(name.as_str()))
    });
    assert!(found.len() == 1 && guarded, "{found:?}");
    let package = world.env.sh("find \"$TMPDIR\"/git-oracle-* -name 'oracle-context-package.zip' -printf '%m %h\\n'");
    assert!(package.stdout.starts_with("600 ") && package.stdout.lines().count() == 1, "{}", package.shown());
    child.kill().unwrap();
    child.wait().unwrap();
    world.expect_nothing("after the kill");
}
