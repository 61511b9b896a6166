//! Other programs that run hooks, installed from their registries: each with the file that docs/runners.md shows.
//!
//! A test runs where the program is on PATH or in the directory that GIT_ORACLE_RUNNERS names; `./install.sh --test`
//! fills one. Otherwise it says on stderr that it was not run.

use std::io::Write;
use std::path::Path;

use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::project_file;

/// Names a directory with the runners.
const DIRECTORY: &str = "GIT_ORACLE_RUNNERS";

struct Runner {
    name: &'static str,
    /// Succeeds where the runner can be run.
    probe: &'static str,
    /// Puts the runner and our example into the repository.
    install: fn(&Runners),
    /// What it says to the hook before a push.
    told: Told,
}

#[derive(PartialEq, Eq)]
enum Told {
    EveryRef,
    /// The others are not judged; docs/runners.md says so.
    OneRef,
}

const PRE_COMMIT: Runner = Runner {
    name: "pre-commit",
    probe: "pre-commit --version",
    install: |runners| {
        runners.configure_pre_commit();
        runners.succeeds("pre-commit install");
    },
    told: Told::OneRef,
};

const PREK: Runner = Runner {
    name: "prek",
    probe: "prek --version",
    install: |runners| {
        runners.configure_pre_commit();
        runners.succeeds("prek install");
    },
    told: Told::OneRef,
};

const LEFTHOOK: Runner = Runner {
    name: "lefthook",
    probe: "lefthook version",
    install: |runners| {
        runners.env.write("lefthook.yml", &project_file("docs/examples/lefthook.yml"));
        runners.succeeds(&project_file("docs/examples/lefthook.sh"));
        runners.succeeds("lefthook install");
    },
    told: Told::EveryRef,
};

const HUSKY: Runner = Runner {
    name: "husky",
    probe: "command -v node && command -v husky",
    install: |runners| {
        runners.succeeds("husky");
        runners.succeeds(&project_file("docs/examples/husky.sh"));
    },
    told: Told::EveryRef,
};

/// A repository under a contract for `src/`, whose only hooks are those of a runner, with a remote that has its main
/// branch.
struct Runners {
    env: TestEnv,
    path: String,
}

impl Runners {
    /// Returns `None`, and says so, where the runner cannot be run.
    fn with(runner: &Runner) -> Option<Self> {
        let env = TestEnv::new();
        let directory = std::env::var(DIRECTORY).unwrap_or_default();
        let program = Path::new(env!("CARGO_BIN_EXE_git-oracle")).parent().unwrap().display();
        let path = format!("{directory}:{program}:{}", std::env::var("PATH").unwrap_or_default());
        let runners = Runners { env, path: path.trim_start_matches(':').to_owned() };
        if runners.sh(runner.probe).code != 0 {
            // Not through eprintln!, which is kept from the screen when a test passes.
            let why = format!("NOT RUN: {} is neither on PATH nor in ${DIRECTORY}\n", runner.name);
            std::io::stderr().write_all(why.as_bytes()).unwrap();
            return None;
        }
        (runner.install)(&runners);
        // Files that lefthook or husky keep for themselves are not part of the story.
        runners.succeeds("git add -A && git -c core.hooksPath=/dev/null commit -q -m Runner");
        runners.env.activate(&["src/"]);
        // A place that has to be quoted.
        runners.succeeds("git clone -q --bare . '../the origin.git' && git remote add origin '../the origin.git'");
        runners.succeeds("git fetch -q origin");
        Some(runners)
    }

    /// Makes a repository of the files that pre-commit and prek fetch, and a configuration that names it.
    fn configure_pre_commit(&self) {
        let hooks = self.env.root().join("git-oracle");
        std::fs::create_dir_all(hooks.join("hooks")).unwrap();
        for name in [".pre-commit-hooks.yaml", "hooks/pre-commit-push.sh"] {
            let project = Path::new(env!("CARGO_MANIFEST_DIR"));
            // With its mode: the script is run as it is.
            std::fs::copy(project.join(name), hooks.join(name)).unwrap();
        }
        self.env.git_in(&hooks, &["init", "-q"]);
        self.env.git_in(&hooks, &["add", "-A"]);
        self.env.git_in(&hooks, &["commit", "-q", "-m", "Hooks"]);
        self.env.git_in(&hooks, &["tag", "v0.1.0"]);
        let text = project_file("docs/examples/pre-commit-config.yaml");
        let here = text.replace("https://git.example.com/git-oracle.git", &hooks.to_string_lossy());
        assert_ne!(here, text);
        self.env.write(".pre-commit-config.yaml", &here);
    }

    fn sh(&self, script: &str) -> Ran {
        self.env.run_in(&self.env.repo(), "sh", &["-c", script], &[("PATH", &self.path)])
    }

    fn succeeds(&self, script: &str) {
        let ran = self.sh(script);
        assert_eq!(ran.code, 0, "{script}: {}", ran.shown());
    }

    /// Runs a command that has to be refused in these words, and leaves every branch here and there as it was.
    fn refused(&self, script: &str, words: &[&str]) {
        let refs = || self.sh("git for-each-ref && git -C '../the origin.git' for-each-ref").stdout;
        let before = refs();
        let ran = self.sh(script);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code != 0, "{script}: {}", ran.shown());
        for word in words {
            assert!(said.contains(word), "{script}: no {word:?} in {}", ran.shown());
        }
        assert_eq!(refs(), before, "{script}");
    }

    /// Commits past every hook.
    fn commit_unhooked(&self, path: &str) {
        self.env.write(path, &format!("{path}\n"));
        self.env.git(&["add", "-A"]);
        self.env.unhooked(&["commit", "-q", "-m", path]);
    }
}

fn commits_are_judged(runners: &Runners) {
    runners.succeeds("echo '// more' >>src/parser.rs && git commit -q -a -m Allowed");
    for change in [
        "echo more >>docs/guide.md",
        "git rm -q docs/guide.md",
        "git mv docs/guide.md src/guide.md",
        "rm docs/guide.md && ln -s ../README.md docs/guide.md && git add docs",
    ] {
        let script = format!("{change} && git commit -q -a -m Refused");
        runners.refused(&script, &["git-oracle: the commit is refused", "docs/guide.md"]);
        runners.succeeds("git reset -q --hard");
    }
    let without = "PATH=$(dirname \"$(command -v git)\"):/usr/bin:/bin; echo '// more' >>src/parser.rs";
    runners.refused(&format!("{without}; ! command -v git-oracle && git commit -q -a -m Refused"), &[]);
    runners.succeeds("git reset -q --hard");
}

fn merges_are_judged(runners: &Runners) {
    // Work of others, which their remote has.
    runners.env.git(&["checkout", "-q", "-b", "theirs", "origin/main"]);
    runners.commit_unhooked("docs/theirs.md");
    runners.env.unhooked(&["push", "-q", "origin", "theirs"]);
    runners.env.git(&["checkout", "-q", "main"]);
    let tampered = "cp .oracle/contract.json ../kept && echo >>.oracle/contract.json && git merge -q -m Merge theirs";
    runners.refused(tampered, &["git-oracle: the merge is refused", "contract_changed"]);
    runners.succeeds("git merge --abort && mv ../kept .oracle/contract.json && git merge -q -m Merge theirs");
}

fn pushes_are_judged(runners: &Runners, told: &Told) {
    // Two commits of ours and a merge of what the remote has on another branch.
    runners.succeeds("git push -q origin main");
    runners.succeeds("git push -q origin main:refs/heads/new");
    runners.commit_unhooked("docs/bad.md");
    runners.commit_unhooked("src/good.rs");
    let refusal = ["git-oracle: the push is refused", "docs/bad.md: out_of_scope"];
    for push in [
        "origin main",
        "--force origin main",
        "origin HEAD~1:refs/heads/other",
        "origin main:refs/heads/new",
        "origin HEAD:refs/for/main",
        "\"$(git remote get-url origin)\" main:refs/heads/by-address",
    ] {
        runners.refused(&format!("git push -q {push}"), &refusal);
    }
    // Nothing of what is checked out is pushed.
    runners.env.unhooked(&["branch", "bad"]);
    runners.succeeds("git checkout -q -b clean origin/main");
    runners.refused("git push -q origin bad", &refusal);
    runners.succeeds("git checkout -q main");
    // A remote that has nothing yet.
    runners.succeeds("git init -q --bare ../empty.git && git remote add empty ../empty.git");
    runners.refused("git push -q empty main", &refusal);
    runners.succeeds("git push -q empty main~3:refs/heads/main && git push -q origin :refs/heads/new");
    if *told == Told::EveryRef {
        runners.refused("git push -q origin main~2:refs/heads/good main", &refusal);
    }
}

/// What the runner leaves open is closed by our own hooks, and the runner keeps running.
fn our_hooks_join(runners: &Runners) {
    runners.env.expect(0, &["hooks", "install"]);
    runners.succeeds("echo '// joined' >>src/parser.rs && git commit -q -a -m Allowed");
    let refusal = ["git-oracle: the push is refused", "docs/bad.md: out_of_scope"];
    runners.refused("git push -q origin main~4:refs/heads/good main", &refusal);
    let past = "echo more >>docs/guide.md && git commit -q --no-verify -a -m Refused";
    runners.refused(past, &["the new position of the branch is refused", "docs/guide.md"]);
}

fn judges_as_the_hooks_do(runner: &Runner) {
    let Some(runners) = Runners::with(runner) else { return };
    commits_are_judged(&runners);
    merges_are_judged(&runners);
    pushes_are_judged(&runners, &runner.told);
    our_hooks_join(&runners);
}

#[test]
fn pre_commit_judges_as_the_hooks_do() {
    judges_as_the_hooks_do(&PRE_COMMIT);
}

#[test]
fn prek_judges_as_the_hooks_do() {
    judges_as_the_hooks_do(&PREK);
}

#[test]
fn lefthook_judges_as_the_hooks_do() {
    judges_as_the_hooks_do(&LEFTHOOK);
}

#[test]
fn husky_judges_as_the_hooks_do() {
    judges_as_the_hooks_do(&HUSKY);
}
