//! A process that is killed leaves what was there before, or the patch wholly in.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::time::Duration;
use std::time::Instant;

use crate::support::TestEnv;

/// So many kills for each way of killing; `ORACLE_TEST_KILLS` asks for more.
const KILLS: u32 = 4;

fn kills() -> u32 {
    std::env::var("ORACLE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// The process alone; what it started goes on.
    Process,
    /// Everything that belongs to it, all at once.
    Family,
}

/// Returns a world and a patch with many files in it, so that there is something between the first and the last.
fn world() -> (TestEnv, String) {
    let env = TestEnv::new();
    env.sh("echo '*.tmp' > .git/info/exclude; echo mine > ignored.tmp; mkdir many; for i in $(seq 1 40); do seq $i 60 > many/$i.txt; done");
    env.commit_all("Many");
    let script = "for i in $(seq 1 40); do sed -i 's/^50$/fifty/' many/$i.txt; done; mkdir -p new/dir; echo new > new/dir/file; git rm -q -f src/lexer.rs; git mv docs/guide.md docs/moved.md";
    let patch = env.patch(script);
    (env, patch)
}

/// When to kill.
#[derive(Clone, Copy, Debug)]
enum Moment {
    AfterStart(Duration),
    /// After the working tree begins to change.
    AfterJournal(Duration),
}

/// Starts `apply` and kills it.
fn kill(env: &TestEnv, args: &[&str], moment: Moment, way: Way) {
    let mut command = env.prepared("git-oracle", args);
    command.process_group(0).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let journal = env.repo().join(".git/oracle/apply/journal.json");
    let mut ended = false;
    let delay = match moment {
        Moment::AfterStart(delay) => delay,
        Moment::AfterJournal(delay) => {
            while !ended && !journal.exists() {
                ended = child.try_wait().unwrap().is_some();
            }
            delay
        }
    };
    let until = Instant::now() + delay;
    while Instant::now() < until && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let own = child.id();
    let family = match way {
        Way::Process => vec![own],
        Way::Family => descendants(own),
    };
    let pids: Vec<String> = family.iter().map(u32::to_string).collect();
    let _ = std::process::Command::new("kill").arg("-9").args(&pids).stderr(std::process::Stdio::null()).status();
    child.wait().unwrap();
}

/// Returns a process and everything that it started.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", found[at])).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    found
}

fn kill_many(mode: &str, way: Way) {
    let (env, patch) = world();
    let before = env.everything();
    let args = ["apply", "--patch", &patch, "--apply-mode", mode];
    // How long it takes undisturbed, and what it looks like then.
    let began = Instant::now();
    env.expect(0, &args);
    let took = began.elapsed();
    let files = |env: &TestEnv| env.sh("git add -A; git write-tree").stdout;
    let after = files(&env);
    env.git(&["reset", "-q", "--hard", "main"]);
    if mode == "commit" {
        env.git(&["reset", "-q", "--hard", "HEAD~"]);
    }
    env.sh("rm -rf new docs/moved.md; git reflog expire --expire=now --all");
    assert_eq!(env.everything(), before);
    let (mut back, mut wholly_in, mut torn) = (0, 0, 0);
    for number in 0..kills() {
        let part = f64::from(number) / f64::from(kills());
        // The journal is there for a fraction of the time, and that is when it matters.
        let moment = match number % 4 {
            0 => Moment::AfterStart(took.mul_f64(part)),
            _ => Moment::AfterJournal(took.mul_f64(part * if mode == "commit" { 0.3 } else { 0.04 })),
        };
        kill(&env, &args, moment, way);
        torn += u32::from(env.repo().join(".git/oracle/apply/journal.json").exists());
        // The next command puts it right: the named one, or any other apply.
        let ran = match number % 2 {
            0 => env.oracle(&["apply", "--recover"]),
            _ => env.oracle(&["apply", "--patch", "../change.patch", "--restrict-path-prefix", "nowhere"]),
        };
        assert!([0, 2].contains(&ran.code), "{mode} {way:?} {number}: {}", ran.shown());
        let now = env.everything();
        if now == before {
            back += 1;
        } else {
            wholly_in += 1;
            assert_eq!(files(&env), after, "{mode} {way:?} {number}: {}", ran.shown());
            if mode == "commit" {
                assert_eq!(env.git(&["rev-list", "--count", "HEAD"]), "3", "{mode} {way:?} {number}");
                env.git(&["reset", "-q", "--hard", "HEAD~"]);
            } else {
                env.git(&["reset", "-q", "--hard"]);
            }
            assert_eq!(env.everything(), before, "{mode} {way:?} {number}");
        }
        assert!(!env.repo().join(".git/oracle/apply").exists(), "{mode} {way:?} {number}");
    }
    // The last one is not killed, and nothing that the killed ones left is in its way.
    env.expect(0, &args);
    assert_eq!(files(&env), after);
    let worktrees = env.root().join("home/.oracle/worktrees");
    assert_eq!(std::fs::read_dir(&worktrees).map_or(0, |entries| entries.count()), 0);
    let told = format!("{mode} {way:?}: {back} as before, {wholly_in} wholly in; {torn} were cut off on the way\n");
    std::io::stderr().write_all(told.as_bytes()).unwrap();
}

#[test]
fn a_killed_apply_is_put_right() {
    kill_many("apply", Way::Process);
    kill_many("apply", Way::Family);
}

#[test]
fn a_killed_commit_is_put_right() {
    kill_many("commit", Way::Process);
    kill_many("commit", Way::Family);
}

#[test]
fn an_interrupted_apply_puts_everything_back_and_says_so() {
    let env = TestEnv::new();
    env.user_hook(".git/hooks/pre-commit", "touch \"$TMPDIR/there\"; exec sleep 600");
    let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
    let before = env.everything();
    let mut command =
        env.prepared("git-oracle", &["apply", "--patch", &patch, "--apply-mode", "commit", "--slug", "stop it"]);
    let mut child = command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !env.root().join("there").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(env.everything(), before);
    let result = env.session("stop-it", "result.json");
    assert_eq!((result["status"].as_str(), result["error"]["kind"].as_str()), (Some("error"), Some("interrupted")));
}

#[test]
fn what_was_edited_after_a_kill_is_not_overwritten() {
    let env = TestEnv::new();
    env.user_hook(".git/hooks/pre-commit", "touch \"$TMPDIR/there\"; exec sleep 600");
    let patch = env.patch("echo '// more' >> src/parser.rs; echo new > src/new.rs");
    let before = env.everything();
    let mut command = env.prepared("git-oracle", &["apply", "--patch", &patch, "--apply-mode", "commit"]);
    let mut child = command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !env.root().join("there").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let family: Vec<String> = descendants(child.id()).iter().map(u32::to_string).collect();
    std::process::Command::new("kill").arg("-9").args(&family).status().unwrap();
    child.wait().unwrap();
    env.write("src/parser.rs", "my own words\n");
    let ran = env.expect(1, &["apply", "--recover"]);
    assert!(ran.stderr.contains("src/parser.rs"), "{}", ran.shown());
    env.expect(4, &["apply", "--patch", &patch]);
    assert_eq!(std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap(), "my own words\n");
    // A person may keep it as it is, or take it away so that the old state can come back.
    let ran = env.at_terminal("n\n", &["apply", "--recover"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    std::fs::remove_file(env.repo().join("src/parser.rs")).unwrap();
    env.expect(0, &["apply", "--recover"]);
    std::fs::remove_file(env.repo().join(".git/hooks/pre-commit")).unwrap();
    assert_eq!(env.everything(), before);
}
