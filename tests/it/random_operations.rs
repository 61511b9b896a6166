//! Random sequences of git commands under the hooks. After every step the model says whether each branch and HEAD may
//! hold what they hold, and whether each answer of a hook was right: no escape, no false refusal.
//!
//! Left out, because the documents exempt them or the model cannot say it simply: `git symbolic-ref`, linked worktrees
//! (each needs a contract of its own), files that are similar and not the same, names that are unsafe or not UTF-8.

use crate::support::Asked;
use crate::support::Model;
use crate::support::Random;
use crate::support::Terms;
use crate::support::TestEnv;
use crate::support::Witness;
use crate::support::sequences;

/// Inside and outside of the scopes that the model draws, protected and not.
const PATHS: [&str; 18] = [
    "src/parser.rs",
    "src/lexer.rs",
    "src/new.rs",
    "src/deep/a/b.rs",
    "src/deep/c.rs",
    "src2/near.rs",
    "lib/one.c",
    "lib/two.c",
    "docs/guide.md",
    "docs/more.md",
    "README.md",
    "tests/parser.rs",
    "src/tests/unit.rs",
    "src/parser_test.rs",
    ".gitmodules",
    "src/.env",
    "src/.env.example",
    "src/.claude/settings.json",
];

const STEPS: usize = 12;

/// Kinds of steps, and how many of them there are of each sort.
const KINDS: usize = COMMITS + PORCELAIN + PLUMBING + 1;
const COMMITS: usize = 10;
const PORCELAIN: usize = 22;
const PLUMBING: usize = 15;

/// The seeds of the suite. They take every kind of step once; the others draw.
const SUITE: u64 = 4;

#[test]
fn no_sequence_of_commands_escapes_and_none_is_refused_wrongly() {
    let mut answers = (0, 0);
    let count = sequences(SUITE, |seed| {
        let env = TestEnv::new();
        let mut sequence = Sequence::begin(&env, seed);
        for step in 0..STEPS {
            let number = (seed as usize * STEPS + step) * 29;
            let kind = if seed <= SUITE { number % KINDS } else { sequence.random.below(KINDS) };
            sequence.step(kind);
        }
        answers.0 += sequence.allowed;
        answers.1 += sequence.refused;
    });
    // A generator that only makes one sort of change shows nothing.
    assert!(count < SUITE || answers.0 > 5 && answers.1 > 5, "{answers:?}");
}

/// A repository that things happen to.
struct Sequence<'a> {
    env: &'a TestEnv,
    random: Random,
    model: Model<'a>,
    witness: Witness,
    /// Every command so far, for whoever has to repeat it.
    history: Vec<String>,
    parked: usize,
    allowed: usize,
    refused: usize,
}

impl<'a> Sequence<'a> {
    fn begin(env: &'a TestEnv, seed: u64) -> Self {
        let mut random = Random::new(seed);
        env.person("[contract]\nwiden = \"allow\"\n");
        for path in PATHS {
            if random.chance(50) {
                env.write(path, &commented(&mut random));
            }
        }
        env.git(&["add", "-A"]);
        env.git(&["commit", "-q", "--allow-empty", "-m", "Grown"]);
        env.git(&["branch", "other", "HEAD~1"]);
        env.git(&["tag", "start"]);
        let terms = Terms::random(&mut random);
        env.expect(0, &["contract", "activate", &env.contract_file("contract.json", &terms.contract())]);
        env.expect(0, &["hooks", "install"]);
        let (model, witness) = (Model::new(env, terms), Witness::call(env));
        let mut sequence =
            Sequence { env, random, model, witness, history: Vec::new(), parked: 0, allowed: 0, refused: 0 };
        for _ in 0..4 {
            let parked = sequence.park();
            sequence.run(&parked);
        }
        sequence
    }

    fn step(&mut self, kind: usize) {
        if self.random.chance(10) {
            self.agree_anew();
        }
        if self.random.chance(20) {
            let harmless = self.harmless();
            self.run(&harmless);
        }
        if self.random.chance(15) {
            let parked = self.park();
            self.run(&parked);
        }
        let script = match kind {
            kind if kind < COMMITS => format!("{}; {}", self.edits(), self.commit(kind)),
            kind if kind < COMMITS + PORCELAIN => self.porcelain(kind - COMMITS),
            kind if kind < COMMITS + PORCELAIN + PLUMBING => self.plumbing(kind - COMMITS - PORCELAIN),
            _ => self.park(),
        };
        self.run(&script);
        if self.random.chance(60) {
            self.run(
                "for what in merge cherry-pick revert rebase am; do git $what --abort; done; git reset -q --hard; git clean -qfd",
            );
        }
        if self.random.chance(30) {
            let branch = self.branch();
            self.run(&format!("git checkout -q -f {branch}"));
        }
    }

    /// Replaces the contract.
    fn agree_anew(&mut self) {
        let terms = Terms::random(&mut self.random);
        let file = self.env.contract_file("contract.json", &terms.contract());
        if self.env.sh("git rev-parse -q --verify HEAD").code != 0 {
            return;
        }
        let ran = self.env.oracle(&["contract", "activate", &file]);
        self.history.push(format!("git oracle contract activate ({:?}): exit {}", terms, ran.code));
        assert!([0, 7].contains(&ran.code), "{}\n{}", self.history.join("\n"), ran.shown());
        if ran.code == 0 {
            (self.model.terms, self.model.baseline) = (terms, self.env.head());
        }
    }

    /// Runs a script and holds everything that came of it against the model.
    fn run(&mut self, script: &str) {
        let known = self.tips();
        let ran = self.env.sh(script);
        self.history.push(format!("{script}\n    # exit {}", ran.code));
        for asked in self.witness.hear() {
            self.check_answer(&asked);
        }
        let remotes = self.env.git(&["for-each-ref", "--format=%(objectname)", "refs/remotes"]);
        let known: Vec<String> = known.into_iter().chain(remotes.lines().map(str::to_owned)).collect();
        for tip in self.tips() {
            for commit in self.model.new_commits(&tip, &known) {
                let found = self.model.commit_violations(&commit);
                assert!(found.is_empty(), "an escape: {found:?}\n{}\n{}", self.told(), ran.shown());
            }
        }
    }

    fn check_answer(&mut self, asked: &Asked) {
        let found = self.model.violations(asked);
        *if asked.refused { &mut self.refused } else { &mut self.allowed } += 1;
        let what = match (asked.refused, found.is_empty()) {
            (true, true) => "a false refusal",
            (false, false) => "a hook let pass what it must not",
            _ if asked.refused && !asked.said.contains(" is refused by the contract ") => "a refusal without a reason",
            _ => return,
        };
        panic!("{what}: {asked:#?}\nthe model found {found:?}\n{}", self.told());
    }

    fn told(&self) -> String {
        format!("under {:?}, after:\n{}", self.model.terms, self.history.join("\n"))
    }

    /// Returns what branches and HEAD hold.
    fn tips(&self) -> Vec<String> {
        let mut tips: Vec<String> = Vec::new();
        tips.extend(self.env.git(&["for-each-ref", "--format=%(objectname)", "refs/heads"]).lines().map(str::to_owned));
        let head = self.env.sh("git rev-parse -q --verify HEAD");
        tips.extend(head.stdout.lines().map(str::to_owned));
        tips
    }

    fn refs(&self, pattern: &str) -> Vec<String> {
        let names = self.env.git(&["for-each-ref", "--format=%(refname:short)", pattern]);
        names.lines().map(str::to_owned).collect()
    }

    fn branch(&mut self) -> String {
        let branches = self.refs("refs/heads");
        self.random.pick_text(&branches)
    }

    /// Returns the name of a commit, judged or not.
    fn commit_name(&mut self) -> String {
        let mut names = self.refs("refs/heads");
        names.extend(self.refs("refs/tags"));
        names.extend(["HEAD".to_owned(), "HEAD~1".to_owned(), "start~1".to_owned()]);
        self.random.pick_text(&names)
    }

    /// Returns a script that changes files.
    fn edits(&mut self) -> String {
        // Mostly inside, so that commits get through and there is something to build upon.
        let inside: Vec<&str> = PATHS.into_iter().filter(|path| self.model.terms.is_open(path)).collect();
        let outside_too = self.random.chance(35) || inside.is_empty();
        let count = 1 + self.random.below(3);
        let edits: Vec<String> = (0..count)
            .map(|_| {
                let path = if outside_too { self.random.pick(&PATHS) } else { self.random.pick(&inside) };
                self.edit(path)
            })
            .collect();
        edits.join("; ")
    }

    fn edit(&mut self, path: &str) -> String {
        let text = commented(&mut self.random);
        let other = self.random.pick(&PATHS);
        let place = format!("rm -rf {path}; mkdir -p $(dirname {path}); ");
        match self.random.below(20) {
            0 => format!("{place}printf 'a\\000%s' '{text}' >{path}"),
            1 => {
                let target = self.random.pick(&["parser.rs", "new.rs", "../docs/guide.md", "/etc/hostname", "../../x"]);
                format!("{place}ln -s {target} {path}")
            }
            2 => format!("{place}cp {other} {path}"),
            3 => format!("mkdir -p $(dirname {path}); mv {other} {path}"),
            4 => format!("rm -f {path}"),
            5 => format!("rm -f \"$(git ls-files | sed -n {}p)\"", 1 + self.random.below(8)),
            6 => format!("{place}true >{path}"),
            7 => format!("chmod +x {path}"),
            8 => format!("chmod -x {path}"),
            9 => format!("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),{path}"),
            10 => {
                let hidden = ".oracle/shared.txt";
                format!(
                    "git update-index --add --cacheinfo 100644,$(echo '{text}' | git hash-object -w --stdin),{hidden}"
                )
            }
            _ => format!("{place}printf '%s' '{text}' >{path}"),
        }
    }

    fn commit(&mut self, kind: usize) -> String {
        let path = self.random.pick(&PATHS);
        match kind {
            0..3 => "git add -A; git commit -q -m work".to_owned(),
            3 => "git add -A; git commit -q --no-verify -m work".to_owned(),
            4 => "git commit -q -a -m work".to_owned(),
            5 => "git commit -q -a -n -m work".to_owned(),
            6 => "git add -A; git commit -q --amend -m amended".to_owned(),
            7 => "git commit -q -a -n --amend -m amended".to_owned(),
            8 => format!("git add -A; git commit -q -m part -- {path} src"),
            _ => "git add -A; git stash -q; git stash pop -q --index; git commit -q -m work".to_owned(),
        }
    }

    /// Returns a script that makes commits which no branch has, good ones and bad ones.
    fn park(&mut self) -> String {
        self.parked += 1;
        let name = format!("parked-{}", self.parked);
        let edits = self.edits();
        let parent = self.commit_name();
        let second = match self.random.chance(30) {
            true => format!("; {}; git add -A; git commit -q --allow-empty -m second", self.edits()),
            false => String::new(),
        };
        // Past every hook, and with HEAD where it was in the end: a tag may hold what it likes.
        format!(
            "(export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null; \
             was=$(git symbolic-ref -q HEAD || git rev-parse HEAD); id=$(git rev-parse -q --verify {parent}^0 || git rev-parse start); \
             git checkout -q -f --detach $id || exit; {edits}; git add -A; git commit -q --allow-empty -m parked{second}; git tag {name}; \
             case $was in refs/*) git symbolic-ref HEAD $was ;; *) git update-ref --no-deref HEAD $was ;; esac; \
             git reset -q --hard; git clean -qfd)"
        )
    }

    fn porcelain(&mut self, kind: usize) -> String {
        let (a, b, branch) = (self.commit_name(), self.commit_name(), self.branch());
        match kind {
            0 => format!("git merge -q -m joined {a}"),
            1 => format!("git merge -q --no-ff --no-verify -m joined {a}"),
            2 => format!("git merge -q --squash {a}; git commit -q -m squashed"),
            3 => format!("git merge -q --no-commit --no-ff {a}; {}; git add -A; git commit -q -m evil", self.edits()),
            4 => format!("git merge -q -s ours -m ours {a}"),
            5 => format!("git merge -q -X theirs -m theirs {a}"),
            6 => format!("git merge -q -m octopus {a} {b}"),
            7 => format!("git cherry-pick {a}"),
            8 => format!("git cherry-pick -n {a}; git commit -q -m picked"),
            9 => format!("git revert --no-edit {a}"),
            10 => format!("git rebase -q {a}"),
            11 => format!("git rebase -q --onto {a} {b} {branch}"),
            12 => format!("git rebase -q --apply --onto {a} {b} {branch}"),
            13 => format!("git rebase -q -i --exec true {a}"),
            14 => format!("git format-patch -q -1 --binary --stdout {a} >../p; git am -q -3 ../p"),
            15 => format!("git reset -q --hard {a}"),
            16 => format!("git reset -q --soft {a}; git commit -q -m soft"),
            17 => format!("git checkout -q -f {a}; git commit -q --allow-empty -m detached"),
            18 => format!("git checkout -q -f -B branch-{} {a}", self.random.below(3)),
            19 => format!("git branch -f branch-{} {a}", self.random.below(3)),
            20 => "git checkout -q --orphan fresh; git commit -q -m fresh; git checkout -q -f main".to_owned(),
            _ => format!("{}; git add -A; git stash -q; git stash branch from-stash; git commit -q -m x", self.edits()),
        }
    }

    fn plumbing(&mut self, kind: usize) -> String {
        let (a, b, c, branch) = (self.commit_name(), self.commit_name(), self.commit_name(), self.branch());
        let (path, text) = (self.random.pick(&PATHS), commented(&mut self.random));
        match kind {
            0 => format!("git update-ref refs/heads/{branch} {a}"),
            1 => format!("git update-ref --no-deref HEAD {a}"),
            2 => format!("git update-ref HEAD $(git commit-tree -p {a} -m made {b}^{{tree}})"),
            3 => format!("git update-ref refs/heads/{branch} $(git commit-tree -p {a} -p {b} -m made {c}^{{tree}})"),
            4 => format!("git update-ref refs/heads/root $(git commit-tree -m root {a}^{{tree}})"),
            5 => format!("git read-tree {a}; git commit -q -m read"),
            6 => format!("git read-tree -m -u HEAD {a}; git commit -q -n -m read"),
            7 => format!(
                "git fetch -q . +{a}^0:refs/heads/fetched; git tag -f at {a}; git fetch -q . +refs/tags/at:refs/heads/fetched"
            ),
            8 => format!("git push -q . +{a}^0:refs/heads/pushed"),
            9 => format!(
                "printf 'start\\nupdate refs/tags/x-{} %s\\nupdate refs/heads/one %s\\nupdate refs/heads/two %s\\nprepare\\ncommit\\n' $(git rev-parse {a}^0 {b}^0 {c}^0) | git update-ref --stdin",
                self.parked
            ),
            10 => {
                let length = text.len();
                format!(
                    "printf 'commit refs/heads/imported\\ncommitter C <c@example.com> 1700000000 +0000\\ndata 2\\nx\\nfrom %s\\nM 100644 inline {path}\\ndata {length}\\n%s\\n\\ncommit refs/heads/imported\\ncommitter C <c@example.com> 1700000000 +0000\\ndata 2\\ny\\nD {path}\\n\\n' $(git rev-parse {a}^0) '{text}' | git fast-import --quiet --force"
                )
            }
            11 => format!("git replay --onto {a} {b}..{branch} | git update-ref --stdin"),
            12 => format!(
                "git bundle create -q ../b refs/tags && git fetch -q ../b '+refs/tags/parked-1:refs/heads/bundled'; git fetch -q ../b +{a}:refs/heads/bundled"
            ),
            // A merge of what is known, with something of its own that must not be.
            13 => {
                let closed: Vec<&str> = PATHS.into_iter().filter(|path| !self.model.terms.is_open(path)).collect();
                let path = self.random.pick(&closed);
                format!(
                    "id=$(echo '{text}' | git hash-object -w --stdin); (export GIT_INDEX_FILE=../i; git read-tree start; \
                     git update-index --add --cacheinfo 100644,$id,{path}; git update-ref refs/heads/evil \
                     $(git commit-tree -p start -p start~1 -m evil $(git write-tree)))"
                )
            }
            // What a remote-tracking branch has is known, whatever it is.
            _ => {
                let parked = 1 + self.random.below(self.parked);
                format!(
                    "git update-ref refs/remotes/origin/theirs parked-{parked}; git merge -q -m theirs origin/theirs; \
                     git branch -f theirs origin/theirs"
                )
            }
        }
    }

    /// Returns a script that must never be refused; what it moves is nothing new.
    fn harmless(&mut self) -> String {
        let (a, branch) = (self.commit_name(), self.branch());
        match self.random.below(9) {
            0 => format!("{}; git stash -q -u; git stash pop -q", self.edits()),
            1 => format!("git tag -f -a -m t t1 {a}"),
            2 => format!("git notes add -f -m note {a}"),
            3 => format!("git branch -f -m {branch} renamed"),
            4 => format!("git branch -f -c {branch} copied"),
            5 => format!("git checkout -q -f {branch}"),
            6 => "git branch -D branch-0 fetched pushed imported".to_owned(),
            7 => "git gc -q --prune=now".to_owned(),
            _ => "git pack-refs --all; git repack -q -a -d".to_owned(),
        }
    }
}

/// Returns a text that resembles no other and that git can read as configuration, because it may be in `.gitmodules`.
fn commented(random: &mut Random) -> String {
    random.text().lines().map(|line| format!("# {line}\n")).collect()
}
