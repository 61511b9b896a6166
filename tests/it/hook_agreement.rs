//! The hooks take short cuts, `git oracle gate` takes none: on random repositories both must say the same.
//!
//! `pre-commit` is held against `gate --staged` and `reference-transaction` against `gate --range`, each called by git
//! itself, with the violations of the refusal read back from the log of events.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::Ran;
use crate::support::Random;
use crate::support::Terms;
use crate::support::TestEnv;
use crate::support::sequences;

/// Quoted for the shell. The last two are not plain, and the first of these is not UTF-8.
const PATHS: [&str; 16] = [
    "src/parser.rs",
    "src/lexer.rs",
    "src/deep/a/b.rs",
    "src/deep/a/c/d/e/f.rs",
    "src",
    "src.rs",
    "src2/near.rs",
    "lib/one.c",
    "docs/guide.md",
    "README.md",
    "tests/parser.rs",
    "src/tests/unit.rs",
    ".gitmodules",
    "src/.env",
    "\"$(printf 'src/\\377\\303(.rs')\"",
    "'docs/a ü b'",
];

#[test]
fn the_hooks_and_the_gate_agree() {
    let mut verdicts = (0, 0);
    let count = sequences(8, |seed| {
        let env = TestEnv::empty();
        let mut case = Case::begin(&env, seed);
        for _ in 0..3 {
            case.staged();
            case.range();
        }
        verdicts.0 += case.passed;
        verdicts.1 += case.blocked;
    });
    assert!(count < 8 || verdicts.0 > 5 && verdicts.1 > 5, "{verdicts:?}");
}

struct Case<'a> {
    env: &'a TestEnv,
    /// Where the work is done: the repository, or a linked worktree.
    place: PathBuf,
    random: Random,
    terms: Terms,
    history: Vec<String>,
    passed: usize,
    blocked: usize,
}

impl<'a> Case<'a> {
    /// Makes a repository of some form, with a contract and the hooks.
    fn begin(env: &'a TestEnv, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let terms = Terms::random(&mut random);
        let mut case = Case { env, place: env.repo(), random, terms, history: Vec::new(), passed: 0, blocked: 0 };
        let format = if case.random.chance(20) { "sha256" } else { "sha1" };
        case.sh(&format!("git init -q -b main --object-format={format}"));
        let unborn = case.random.chance(10);
        if !unborn {
            case.grow();
        }
        if !unborn && case.random.chance(20) {
            case.sh("git worktree add -q -b linked ../linked");
            case.place = env.root().join("linked");
        }
        let file = env.contract_file("contract.json", &case.terms.contract());
        assert_eq!(env.oracle_in(&case.place, &["contract", "activate", &file]).code, 0, "{}", case.told());
        assert_eq!(env.oracle_in(&case.place, &["hooks", "install"]).code, 0, "{}", case.told());
        case
    }

    /// Fills the repository with two commits and gives it one of the forms that an index and objects can have.
    fn grow(&mut self) {
        for _ in 0..2 {
            let edits: Vec<String> = (0..8).map(|_| self.edit()).collect();
            self.sh(&format!("{}; git add -A; git commit -q --allow-empty -m grown", edits.join("; ")));
        }
        if self.random.chance(25) {
            let names = "awk 'BEGIN { for (i = 0; i < 1500; i++) printf \"%s/many/d%d/f%d\\n\", i % 2 ? \"src\" : \"docs\", i % 37, i }'";
            self.sh(&format!(
                "id=$(echo many | git hash-object -w --stdin); {names} | sed \"s/^/100644 $id\\t/\" | git update-index --index-info; \
                 git commit -q -m many; git checkout -q -f HEAD ."
            ));
        }
        match self.random.below(8) {
            0 => self.sh("git gc -q"),
            1 => self.sh("git update-index --index-version 4"),
            2 => self.sh("git update-index --split-index"),
            3 => self.sh("git sparse-checkout set --cone --sparse-index src; git gc -q"),
            4 => self.sh("git repack -q -a -d --depth=1; git config index.threads 2"),
            5 => self.sh("git config index.skipHash true; git update-index --force-write-index"),
            6 => self.sh("git read-tree HEAD"),
            _ => String::new(),
        };
    }

    fn sh(&mut self, script: &str) -> String {
        let ran = self.env.run_in(&self.place, "sh", &["-c", script], &[]);
        self.history.push(format!("{script}\n    # exit {}", ran.code));
        ran.stdout
    }

    fn told(&self) -> String {
        format!("under {:?}, in {}, after:\n{}", self.terms, self.place.display(), self.history.join("\n"))
    }

    /// Returns a script that changes one path, in the working tree, in the index, or differently in both.
    fn edit(&mut self) -> String {
        // Mostly what passes, else nothing ever would.
        let open: Vec<&str> = PATHS.into_iter().filter(|path| self.terms.is_open(path)).collect();
        let path = match open.is_empty() || self.random.chance(15) {
            true => self.random.pick(&PATHS),
            false => self.random.pick(&open),
        };
        let other = self.random.pick(&PATHS);
        let text = self.random.text();
        let made = format!("rm -rf {path}; mkdir -p \"$(dirname {path})\" 2>/dev/null; ");
        match self.random.below(24) {
            0 => format!("{made}printf 'a\\000%s' '{text}' >{path}"),
            1 => {
                format!("{made}ln -s {} {path}", self.random.pick(&["parser.rs", "../docs/guide.md", "/etc/hostname"]))
            }
            2 => format!("{made}cp {other} {path}"),
            3 => format!("{made}cp {other} {path}; echo '{}' >>{path}", self.random.number()),
            4 => format!("{made}mv {other} {path}"),
            5 => format!("{made}git mv -f {other} {path}"),
            6 => format!("rm -rf {path}"),
            7 | 8 => format!("rm -f \"$(git ls-files | sed -n {}p)\"", 1 + self.random.below(8)),
            9 => format!("git rm -q -r --cached {path}"),
            18 => format!("{made}true >{path}"),
            10 => format!("chmod +x {path}"),
            11 => format!("git update-index --chmod=-x {path}"),
            12 => format!("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),{path}"),
            13 => format!("{made}echo new >{path}; git add -N -f {path}"),
            14 => format!("{made}echo staged >{path}; git add -f {path}; echo later >>{path}"),
            15 => format!("{made}printf 'a \\342\\200\\256 b\\n' >{path}"),
            16 => format!("for f in src/many/d3/* docs/many/d4/*; do [ -f $f ] && echo '{text}' >$f; done"),
            17 => format!(
                "git update-index --add --cacheinfo 100644,$(echo '{text}' | git hash-object -w --stdin),{path}"
            ),
            _ => format!("{made}printf '%s' '{text}' >{path}"),
        }
    }

    fn edits(&mut self) -> String {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.edit()).collect::<Vec<_>>().join("; ")
    }

    /// Stages a change, asks the gate about it and lets git commit it.
    fn staged(&mut self) {
        let edits = self.edits();
        let add = self.random.pick(&["git add -A", "git add -A", "git add -u", "git add -A --sparse", "true"]);
        self.sh(&format!("{edits}; {add}"));
        if self.random.chance(10) {
            self.sh("git update-index --really-refresh; git write-tree");
        }
        let gate = self.env.oracle_in(&self.place, &["gate", "--staged", "--json"]);
        self.compare("pre-commit", &gate, "git commit -q --allow-empty -m work");
        self.sh("git -c core.hooksPath=/dev/null reset -q --hard; git clean -qfd");
    }

    /// Makes commits that no branch has, asks the gate about them and moves a branch to them.
    fn range(&mut self) {
        if self.env.run_in(&self.place, "git", &["rev-parse", "-q", "--verify", "HEAD~1"], &[]).code != 0 {
            return;
        }
        let base = self.random.pick(&["HEAD", "HEAD", "HEAD~1"]);
        let commits: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| format!("{}; git add -A; git commit -q --allow-empty -m made", self.edits()))
            .collect();
        let merge = match self.random.chance(30) {
            true => {
                format!(
                    "side=$(git rev-parse HEAD); git checkout -q -f --detach $base; {}; git add -A; git commit -q -m side; \
                     git merge -q -m joined $side || {{ git checkout -q --theirs .; git add -A; git commit -q -m joined; }}",
                    self.edits()
                )
            }
            false => String::from("true"),
        };
        self.sh(&format!(
            "(export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null; \
             was=$(git symbolic-ref HEAD); base=$(git rev-parse {base}); git checkout -q -f --detach $base; \
             {}; {merge}; git tag -f made >/dev/null; git symbolic-ref HEAD $was; git reset -q --hard; git clean -qfd)",
            commits.join("; ")
        ));
        let gate = self.env.oracle_in(&self.place, &["gate", "--range", "HEAD..made", "--json"]);
        self.compare("reference-transaction", &gate, "git update-ref refs/heads/new made^0");
        self.sh("git update-ref -d refs/heads/new");
    }

    /// Runs a command of git and holds the answer of a hook against the gate's.
    fn compare(&mut self, hook: &str, gate: &Ran, command: &str) {
        let before = self.events().len();
        let ran = self.env.run_in(&self.place, "sh", &["-c", command], &[]);
        self.history.push(format!("{command}\n    # exit {}", ran.code));
        let shown = || format!("{}\nthe gate: {}\ngit: {}", self.told(), gate.shown(), ran.shown());
        let refusal = self.events().split_off(before).into_iter().next();
        let Some(refusal) = refusal.map(|event| event["payload"].clone()) else {
            assert_eq!(gate.code, 0, "{hook} let pass what the gate blocks\n{}", shown());
            assert!(!ran.stderr.contains("git-oracle:"), "{}", shown());
            self.passed += 1;
            return;
        };
        assert_eq!((gate.code, &refusal["hook"]), (7, &hook.into()), "{hook} and the gate differ\n{}", shown());
        assert_ne!(ran.code, 0, "{}", shown());
        let (by_gate, by_hook) = (places(&gate.json()["violations"]), places(&refusal["violations"]));
        // The event lists the first fifty.
        let same = match by_gate.len() > 50 {
            true => by_hook.is_subset(&by_gate) && refusal["count"] == by_gate.len(),
            false => by_hook == by_gate,
        };
        assert!(same, "{hook} says {by_hook:?}, the gate {by_gate:?}\n{}", shown());
        self.blocked += 1;
    }

    fn events(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.env.repo().join(".git/oracle/events.jsonl")).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Returns violations as commit, path and rule.
fn places(violations: &Value) -> BTreeSet<String> {
    let list = violations.as_array().cloned().unwrap_or_default();
    list.iter().map(|found| format!("{} {} {}", found["commit"], found["path"], found["rule"])).collect()
}
