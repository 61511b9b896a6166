//! Installing and removing the hooks, beside all that may be there.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::TestEnv;

const NAMES: [&str; 4] = ["pre-commit", "pre-merge-commit", "pre-push", "reference-transaction"];

/// Everything below a directory: names, links, bytes, modes and times of files.
fn snapshot(directory: &Path) -> BTreeMap<String, (String, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.map(Result::unwrap) {
            let metadata = entry.path().symlink_metadata().unwrap();
            let content = match (metadata.is_dir(), metadata.is_symlink()) {
                (true, _) => {
                    open.push(entry.path());
                    found.insert(entry.path().to_string_lossy().into_owned(), ("directory".into(), 0, 0, 0));
                    continue;
                }
                (_, true) => format!("-> {}", std::fs::read_link(entry.path()).unwrap().display()),
                _ => String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned(),
            };
            let facts = (content, metadata.permissions().mode(), metadata.mtime(), metadata.mtime_nsec());
            found.insert(entry.path().to_string_lossy().into_owned(), facts);
        }
    }
    found
}

fn config(env: &TestEnv) -> [Vec<u8>; 2] {
    [".git/config", ".git/info/exclude"].map(|name| std::fs::read(env.repo().join(name)).unwrap_or_default())
}

/// How a repository can look before the hooks are installed: a script, and the hooks directory in use.
const LAYOUTS: [(&str, &str); 9] = [
    ("true", ".git/hooks"),
    ("rm -r .git/hooks", ".git/hooks"),
    (
        "for n in pre-commit pre-push reference-transaction post-commit; do hook .git/hooks/$n 'true'; done",
        ".git/hooks",
    ),
    ("hook .git/hooks/pre-commit 'exit 1'; chmod 644 .git/hooks/pre-commit", ".git/hooks"),
    (
        "mkdir scripts; hook scripts/check true; ln -s ../../scripts/check .git/hooks/pre-commit; ln -s nowhere .git/hooks/pre-push",
        ".git/hooks",
    ),
    ("git config core.hooksPath .githooks; mkdir .githooks; hook .githooks/pre-commit true", ".githooks"),
    ("git config core.hooksPath deep/er/hooks", "deep/er/hooks"),
    ("git config core.hooksPath '~/my hooks'", "../home/my hooks"),
    ("git config core.hooksPath \"$PWD/../shared\"; mkdir ../shared; hook ../shared/pre-commit true", "../shared"),
];

const HOOK: &str = "hook() { printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\" && chmod 755 \"$1\" && touch -d '2001-02-03 04:05:06.789' \"$1\"; }; ";

#[test]
fn what_was_there_is_back_after_removal() {
    for (layout, directory) in LAYOUTS {
        let env = TestEnv::under_contract(&["src/"]);
        let made = env.sh(&format!("{HOOK}{layout}"));
        assert_eq!(made.code, 0, "{layout}: {}", made.shown());
        let directory = env.repo().join(directory);
        let top = env.repo();
        let (before, configured) = (snapshot(&directory), config(&env));
        let outside = |path: &Path| !path.exists();
        let was_missing = outside(&directory) && outside(&top.join("deep"));
        env.expect(0, &["hooks", "install"]);
        let installed = snapshot(&directory);
        assert!(NAMES.iter().all(|name| directory.join(name).exists()), "{layout}: {installed:?}");
        env.expect(0, &["hooks", "status"]);
        // Again, and once more by another way: not a byte and not a time changes.
        let again = env.expect(0, &["hooks", "install"]);
        assert!(again.stderr.contains("the hooks are installed"), "{layout}: {}", again.shown());
        env.expect(0, &["init"]);
        assert_eq!(snapshot(&directory), installed, "{layout}");
        // They work: a commit is refused, another one passes.
        let refused = env.sh("echo x >>docs/guide.md; git commit -q -m x docs/guide.md");
        assert!(
            refused.code != 0 && refused.stderr.contains("docs/guide.md: out_of_scope"),
            "{layout}: {}",
            refused.shown()
        );
        let passed = env.sh("git checkout -q docs; echo x >>src/parser.rs; git commit -q -m x src/parser.rs");
        assert_eq!(passed.code, 0, "{layout}: {}", passed.shown());
        env.expect(0, &["hooks", "uninstall"]);
        assert_eq!(snapshot(&directory), before, "{layout}");
        assert_eq!(config(&env), configured, "{layout}");
        assert_eq!(was_missing, outside(&directory) && outside(&top.join("deep")), "{layout}");
        let nothing = env.expect(0, &["hooks", "uninstall"]);
        assert!(nothing.stderr.contains("no hook of ours"), "{layout}: {}", nothing.shown());
        assert_eq!(snapshot(&directory), before, "{layout}");
    }
}

#[test]
fn the_users_hook_runs_first_with_everything_git_gives_it() {
    let env = TestEnv::under_contract(&["src/"]);
    let origin = env.root().join("origin.git");
    env.git(&["init", "-q", "--bare", &origin.to_string_lossy()]);
    env.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    let log = env.root().join("log");
    for name in NAMES {
        let body =
            format!("echo \"{name} $*\" >>{0}\ncase {name} in pre-push|reference-*) cat >>{0};; esac\n", log.display());
        env.user_hook(&format!(".git/hooks/{name}"), &body);
    }
    let run = |script: &str| {
        let _ = std::fs::remove_file(&log);
        let ran = env.sh(script);
        (ran, std::fs::read_to_string(&log).unwrap_or_default())
    };
    env.write("src/parser.rs", "one\n");
    let (_, before_commit) = run("git add src; git commit -q -m one; git push -q origin main");
    env.git(&["reset", "-q", "--soft", "HEAD~1"]);
    env.git(&["push", "-q", "--no-verify", "origin", ":main"]);
    env.expect(0, &["hooks", "install"]);
    let (_, after_commit) = run("git commit -q -m one; git push -q origin main");
    assert_eq!(after_commit, before_commit);
    assert!(after_commit.contains("pre-commit \n") && after_commit.contains("committed"), "{after_commit}");
    assert!(after_commit.contains("\nrefs/heads/main ") && after_commit.contains("pre-push origin "), "{after_commit}");
    // A refusal of the user's own keeps its exit code, and ours is not asked.
    for (name, command) in
        [("pre-commit", "git commit -q --allow-empty -m x"), ("pre-push", "git push -q origin HEAD:x")]
    {
        env.user_hook(&format!(".git/hooks/{name}.before-oracle"), "echo no >&2; exit 42\n");
        let refused = env.sh(command);
        assert_eq!((refused.code, refused.stderr.lines().next()), (1, Some("no")), "{}", refused.shown());
        let direct = env.sh(&format!(".git/hooks/{name} origin url </dev/null"));
        assert_eq!(direct.code, 42, "{}", direct.shown());
    }
    env.user_hook(".git/hooks/reference-transaction.before-oracle", "[ \"$1\" != prepared ]\n");
    assert_ne!(env.sh("git branch x").code, 0);
}

#[test]
fn a_users_hook_that_reads_nothing_or_much_does_no_harm() {
    let env = TestEnv::under_contract(&["src/"]);
    env.user_hook(".git/hooks/reference-transaction", "exit 0\n");
    env.expect(0, &["hooks", "install"]);
    let script = "git rev-parse HEAD >head; i=0; while [ $i -lt 3000 ]; do echo \"create refs/tags/t$i $(cat head)\"; i=$((i+1)); done";
    let ran = env.sh(&format!("{{ {script}; }} | git update-ref --stdin"));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.shown());
    let bad = env.loose_commit("docs/guide.md", "bad");
    let ran = env.sh(&format!(
        "{{ {}; echo create refs/heads/bad {bad}; }} | git update-ref --stdin",
        script.replace("/t$i", "/u$i")
    ));
    assert!(ran.code != 0 && ran.stderr.contains("docs/guide.md: out_of_scope"), "{}", ran.shown());
}

#[test]
fn an_older_shim_and_a_program_that_moved_are_renewed() {
    let env = TestEnv::hooked(&["src/"]);
    let hook = env.repo().join(".git/hooks/pre-commit");
    let current = std::fs::read(&hook).unwrap();
    let old = env.user_hook(".git/hooks/pre-commit", "# git-oracle hook, version 0\nexec git oracle hook pre-commit\n");
    let text = std::fs::read_to_string(&old).unwrap();
    assert!(text.starts_with("#!/bin/sh\n# git-oracle hook, version 0\n"));
    let status = env.expect(1, &["hooks", "status"]);
    assert!(status.stdout.contains("pre-commit            "), "{}", status.shown());
    env.expect(1, &["doctor"]);
    let renewed = env.expect(0, &["hooks", "install"]);
    assert!(renewed.stderr.contains("installed"), "{}", renewed.shown());
    assert_eq!(std::fs::read(&hook).unwrap(), current);
    assert!(!env.repo().join(".git/hooks/pre-commit.before-oracle").exists());
}

#[test]
fn a_program_that_is_gone_is_looked_for_and_then_blocks() {
    let env = TestEnv::hooked(&["src/"]);
    for name in NAMES {
        let hook = env.repo().join(".git/hooks").join(name);
        let text = std::fs::read_to_string(&hook).unwrap();
        let line = text.lines().find(|line| line.starts_with("program=")).unwrap();
        std::fs::write(&hook, text.replace(line, "program='/nowhere/git-oracle'")).unwrap();
    }
    let status = env.expect(1, &["hooks", "status", "--json"]).json();
    assert_eq!((&status["state"], &status["hooks"][0]["program_found"]), (&"incomplete".into(), &false.into()));
    // It is on PATH.
    env.write("src/parser.rs", "changed\n");
    env.git(&["commit", "-q", "-a", "-m", "x"]);
    env.write("src/parser.rs", "again\n");
    let git = env.sh("command -v git sh cat");
    let mut path: Vec<&str> = git.stdout.lines().filter_map(|line| Some(line.rsplit_once('/')?.0)).collect();
    path.dedup();
    for command in ["commit -q -a -m x", "commit -q -n -a -m x", "push -q . HEAD:refs/heads/x"] {
        let args: Vec<&str> = command.split(' ').collect();
        let refused = env.run_in(&env.repo(), "git", &args, &[("PATH", &path.join(":"))]);
        assert!(
            refused.code != 0 && refused.stderr.contains("the program git-oracle is not there"),
            "{}",
            refused.shown()
        );
        assert!(refused.stderr.contains("hint: "), "{}", refused.shown());
    }
    // What moves no branch needs no program.
    assert_eq!(env.run_in(&env.repo(), "git", &["tag", "x"], &[("PATH", &path.join(":"))]).code, 0);
}

#[test]
fn a_directory_that_others_share_is_left_alone() {
    let env = TestEnv::new();
    let global = env.root().join("global");
    let shared = env.root().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(&global, format!("[core]\n\thooksPath = {}\n", shared.display())).unwrap();
    let vars = [("GIT_CONFIG_GLOBAL", global.to_str().unwrap())];
    for command in [&["hooks", "install"], &["init"] as &[&str]] {
        let refused = env.oracle_with(&env.repo(), command, &vars);
        assert_eq!(refused.code, 1, "{}", refused.shown());
        assert!(refused.stderr.contains("git config --local core.hooksPath"), "{}", refused.shown());
        assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    }
    env.git(&["config", "--local", "core.hooksPath", ".git/hooks"]);
    assert_eq!(env.oracle_with(&env.repo(), &["init"], &vars).code, 0);
    let once = env.sh("git -c core.hooksPath=/dev/null oracle hooks install");
    assert!(once.code == 1 && once.stderr.contains("for this command only"), "{}", once.shown());
}

#[test]
fn a_tracked_directory_is_named() {
    let env = TestEnv::new();
    env.user_hook(".githooks/pre-commit", "true\n");
    env.commit_all("Hooks");
    env.git(&["config", "core.hooksPath", ".githooks"]);
    let done = env.expect(0, &["hooks", "install"]);
    assert!(done.stderr.contains("warning: the hooks directory is part of the repository"), "{}", done.shown());
}

#[test]
fn nowhere_to_install_is_said() {
    let env = TestEnv::new();
    env.git(&["config", "core.hooksPath", "/dev/null"]);
    let refused = env.expect(1, &["hooks", "install"]);
    assert!(refused.stderr.contains("is not a directory") && refused.stderr.contains("hint:"), "{}", refused.shown());
}

#[test]
fn an_interrupted_install_is_finished_or_undone() {
    // Between two steps: the user's hook has its second name already, and a temporary file lies about.
    let begun = "cd .git/hooks; ln pre-commit pre-commit.before-oracle; echo torn >.pre-commit.1.2.3.tmp";
    for finish in [true, false] {
        let env = TestEnv::under_contract(&["src/"]);
        env.sh(&format!("{HOOK}hook .git/hooks/pre-commit 'echo mine'"));
        let hooks = env.repo().join(".git/hooks");
        let before = snapshot(&hooks);
        assert_eq!(env.sh(begun).code, 0);
        if finish {
            env.expect(0, &["hooks", "install"]);
            assert_eq!(env.sh("git commit -q --allow-empty -m x").stderr, "mine\n");
        }
        env.expect(0, &["hooks", "uninstall"]);
        assert_eq!(snapshot(&hooks), before, "{finish}");
    }
}

#[test]
fn a_hook_that_somebody_put_in_our_place_is_not_lost() {
    let env = TestEnv::under_contract(&["src/"]);
    env.sh(&format!("{HOOK}hook .git/hooks/pre-commit 'echo first'"));
    env.expect(0, &["hooks", "install"]);
    env.sh(&format!("{HOOK}hook .git/hooks/pre-commit 'echo second'"));
    let status = env.expect(1, &["hooks", "status"]);
    assert!(status.stdout.contains("another hook"), "{}", status.shown());
    env.expect(0, &["hooks", "install"]);
    let ran = env.sh("git commit -q --allow-empty -m x");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "second\n"), "{}", ran.shown());
    env.expect(0, &["hooks", "uninstall"]);
    let kept = env.sh("cat .git/hooks/pre-commit .git/hooks/pre-commit.before-oracle-1");
    assert!(kept.stdout.contains("echo second") && kept.stdout.contains("echo first"), "{}", kept.shown());
}

/// The file that husky's hooks read, in its essence: it runs the script of the same name one directory up.
const HUSKY_H: &str = "n=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\nc=$?\n[ $c != 0 ] && echo \"husky - $n failed (code $c)\"\nexit $c\n";

#[test]
fn husky_keeps_running_and_may_write_its_hooks_again() {
    let env = TestEnv::under_contract(&["src/"]);
    let husky = |env: &TestEnv| {
        env.git(&["config", "core.hooksPath", ".husky/_"]);
        env.write(".husky/_/.gitignore", "*");
        env.write(".husky/_/h", HUSKY_H);
        for name in ["pre-commit", "pre-merge-commit", "pre-push", "post-commit"] {
            env.user_hook(&format!(".husky/_/{name}"), ". \"$(dirname \"$0\")/h\"");
        }
    };
    husky(&env);
    env.write(".husky/pre-commit", "echo husky ran\n");
    let before = snapshot(&env.repo().join(".husky"));
    let done = env.expect(0, &["hooks", "install"]);
    assert!(done.stderr.contains("husky keeps running"), "{}", done.shown());
    let passed = env.sh("git commit -q --allow-empty -m x");
    assert_eq!((passed.code, passed.stderr.as_str()), (0, "husky ran\n"), "{}", passed.shown());
    let refused = env.sh("echo x >>docs/guide.md; git commit -q -a -m x");
    assert!(refused.code == 1 && refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    env.write(".husky/pre-commit", "exit 3\n");
    let refused = env.sh("git commit -q --allow-empty -m x");
    assert!(refused.code == 1 && refused.stdout.is_empty() && refused.stderr.contains("code 3"), "{}", refused.shown());
    env.write(".husky/pre-commit", "echo husky ran\n");
    // `husky` runs again: its hooks are back, and the commit is judged all the same.
    husky(&env);
    let refused = env.sh("git commit -q -a -m x");
    assert!(refused.code != 0 && refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    let status = env.expect(1, &["hooks", "status"]);
    assert!(status.stdout.contains("was taken back by husky"), "{}", status.shown());
    env.expect(0, &["hooks", "install"]);
    env.expect(0, &["hooks", "status"]);
    env.expect(0, &["hooks", "uninstall"]);
    let names = |found: BTreeMap<String, (String, u32, i64, i64)>| {
        found.into_iter().map(|(name, facts)| (name, facts.0)).collect::<Vec<_>>()
    };
    assert_eq!(names(snapshot(&env.repo().join(".husky"))), names(before));
}

#[test]
fn lefthook_keeps_running_and_may_write_its_hooks_again() {
    let env = TestEnv::under_contract(&["src/"]);
    let body = "call_lefthook() { echo \"lefthook $*\" >&2; }\ncall_lefthook run \"pre-commit\" \"$@\"\n";
    env.user_hook(".git/hooks/pre-commit", body);
    let before = snapshot(&env.repo().join(".git/hooks"));
    env.expect(0, &["hooks", "install"]);
    let passed = env.sh("git commit -q --allow-empty -m x");
    assert_eq!((passed.code, passed.stderr.as_str()), (0, "lefthook run pre-commit\n"), "{}", passed.shown());
    // `lefthook install`: whatever is not its own is renamed.
    env.sh("cd .git/hooks && mv pre-commit pre-commit.old");
    env.user_hook(".git/hooks/pre-commit", body);
    let refused = env.sh("echo x >>docs/guide.md; git commit -q -a -m x");
    assert!(refused.code != 0 && refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    let status = env.expect(1, &["hooks", "status"]);
    assert!(status.stdout.contains("was taken back by lefthook"), "{}", status.shown());
    env.expect(0, &["hooks", "install"]);
    env.expect(0, &["hooks", "status"]);
    env.expect(0, &["hooks", "uninstall"]);
    let names: Vec<String> = snapshot(&env.repo().join(".git/hooks")).into_keys().collect();
    assert_eq!(names, before.into_keys().collect::<Vec<_>>());
}

#[test]
fn pre_commit_keeps_running_and_may_write_its_hooks_again() {
    let env = TestEnv::under_contract(&["src/"]);
    // The tool's own hook, in its essence: it runs the hook that it found first, and refuses to run inside itself.
    let body = "# File generated by pre-commit: https://pre-commit.com\n[ \"$PRE_COMMIT_LEGACY\" ] && exit 9\nexport PRE_COMMIT_LEGACY=1\n[ ! -x \"$0.legacy\" ] || \"$0.legacy\" \"$@\" || exit\necho tool ran >&2\n";
    let hook = ".git/hooks/pre-commit";
    let again = |env: &TestEnv| {
        env.sh("cd .git/hooks && mv pre-commit pre-commit.legacy");
        env.user_hook(hook, body);
    };
    let is_judged = |env: &TestEnv, said: &str| {
        let passed = env.sh("git commit -q --allow-empty -m x");
        assert_eq!((passed.code, passed.stderr.as_str()), (0, said), "{}", passed.shown());
        let refused =
            env.sh("echo x >>docs/guide.md; git commit -q -a -m x; code=$?; git checkout -q HEAD docs; exit $code");
        assert!(refused.code == 1 && refused.stderr.contains("the commit is refused"), "{}", refused.shown());
        env.expect(0, &["hooks", "status"]);
    };
    // The tool first, then ours, then the tool again.
    env.user_hook(hook, body);
    let before: Vec<String> = snapshot(&env.repo().join(".git/hooks")).into_keys().collect();
    env.expect(0, &["hooks", "install"]);
    is_judged(&env, "tool ran\n");
    again(&env);
    is_judged(&env, "tool ran\n");
    env.expect(0, &["hooks", "install"]);
    is_judged(&env, "tool ran\n");
    env.expect(0, &["hooks", "uninstall"]);
    assert_eq!(snapshot(&env.repo().join(".git/hooks")).into_keys().collect::<Vec<_>>(), before);

    // The user's own hook, then ours, then the tool: all three run.
    env.user_hook(hook, "echo mine >&2\n");
    env.expect(0, &["hooks", "install"]);
    again(&env);
    is_judged(&env, "mine\ntool ran\n");
    env.expect(0, &["hooks", "install"]);
    is_judged(&env, "mine\ntool ran\n");
    env.expect(0, &["hooks", "uninstall"]);
    let ran = env.sh("git commit -q --allow-empty -m x");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "mine\ntool ran\n"), "{}", ran.shown());
}

#[test]
fn a_path_with_a_quote_in_it_is_run() {
    let env = TestEnv::under_contract(&["src/"]);
    let program = env.root().join("it's a \"place\"");
    std::fs::create_dir(&program).unwrap();
    let copied = program.join("git-oracle");
    std::fs::copy(env!("CARGO_BIN_EXE_git-oracle"), &copied).unwrap();
    let installed = env.run_in(&env.repo(), &copied.to_string_lossy(), &["hooks", "install"], &[]);
    assert_eq!(installed.code, 0, "{}", installed.shown());
    let refused = env.sh("echo x >>docs/guide.md; PATH=/usr/bin:/bin git commit -q -a -m x");
    assert!(refused.code == 1 && refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
}
