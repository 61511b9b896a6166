//! A sealed world for one test: its own home, no foreign git configuration, fixed dates, real git, the real program.

mod model;
mod random;
mod unzip;
mod witness;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;

use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

pub use model::Model;
pub use model::Terms;
pub use random::Random;
pub use random::sequences;
pub use unzip::read_back as unzip;
pub use witness::Asked;
pub use witness::Witness;

/// One test's world. `repo` is its repository; other places are made below `root`.
pub struct TestEnv {
    root: TempDir,
}

/// What a program that ended said.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Returns exit code, stdout and stderr as one text, with what differs from run to run replaced.
    pub fn shown(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.shown()))
    }
}

impl TestEnv {
    /// Returns a world without a repository.
    pub fn empty() -> Self {
        let root = tempfile::Builder::new().prefix("git-oracle-test-").tempdir().expect("a temporary directory");
        std::fs::create_dir(root.path().join("home")).expect("a home");
        std::fs::create_dir(root.path().join("repo")).expect("a place for the repository");
        TestEnv { root }
    }

    /// Returns a world with a repository that has one commit.
    pub fn new() -> Self {
        let env = Self::empty();
        env.git(&["init", "-q", "-b", "main"]);
        env.write("README.md", "# Sample\n");
        env.write("src/parser.rs", "fn parse() {}\n");
        env.write("src/lexer.rs", "fn lex() {}\n");
        env.write("docs/guide.md", &"A line of the guide.\n".repeat(5));
        env.write("tests/parser.rs", "fn parses() {}\n");
        env.commit_all("Begin");
        env
    }

    /// Returns a world with a repository under a contract that allows these paths.
    pub fn under_contract(allow: &[&str]) -> Self {
        let env = Self::new();
        env.activate(allow);
        env
    }

    /// Returns a world with a repository under a contract that allows these paths, and with the hooks installed.
    pub fn hooked(allow: &[&str]) -> Self {
        let env = Self::under_contract(allow);
        env.expect(0, &["hooks", "install"]);
        env
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// Returns a command of this world, to be run in `dir`.
    pub fn command(&self, program: &str, dir: &Path) -> Command {
        let program_dir =
            Path::new(env!("CARGO_BIN_EXE_git-oracle")).parent().expect("the program lies in a directory");
        let mut search = std::ffi::OsString::from(program_dir);
        search.push(":");
        search.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear().env("PATH", search).env("HOME", self.root().join("home"));
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A U Thor"),
            ("GIT_AUTHOR_EMAIL", "author@example.com"),
            ("GIT_AUTHOR_DATE", "1700000000 +0000"),
            ("GIT_COMMITTER_NAME", "C O Mitter"),
            ("GIT_COMMITTER_EMAIL", "committer@example.com"),
            ("GIT_COMMITTER_DATE", "1700000000 +0000"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", ":"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
        ] {
            command.env(name, value);
        }
        command.env("TMPDIR", self.root());
        command
    }

    fn ran(&self, output: Output) -> Ran {
        let root = self.root().to_string_lossy().into_owned();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&root, "[ROOT]");
        Ran { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Runs any program of this world.
    pub fn run_in(&self, dir: &Path, program: &str, args: &[&str], vars: &[(&str, &str)]) -> Ran {
        let mut command = self.command(program, dir);
        command.args(args).envs(vars.iter().copied());
        let output = command.stdin(std::process::Stdio::null()).output();
        self.ran(output.unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    /// Runs `git oracle` in the repository with this input.
    pub fn oracle_fed(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command("git", &self.repo());
        command.arg("oracle").args(args).stdin(std::process::Stdio::piped());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("git");
        let mut pipe = child.stdin.take().expect("a pipe");
        let fed = std::thread::scope(|scope| {
            // It may refuse before it has read everything.
            scope.spawn(move || std::io::Write::write_all(&mut pipe, input).is_ok());
            child.wait_with_output()
        });
        self.ran(fed.expect("it ends"))
    }

    /// Returns a command of this world in the repository, with nothing on its stdin.
    pub fn prepared(&self, program: &str, args: &[&str]) -> Command {
        let mut command = self.command(program, &self.repo());
        command.args(args).stdin(std::process::Stdio::null());
        command
    }

    /// Starts a program of this world whose stdout is read while it runs.
    pub fn start(&self, program: &str, args: &[&str]) -> std::process::Child {
        let mut command = self.command(program, &self.repo());
        command.args(args).stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"))
    }

    /// Runs a line of shell in the repository.
    pub fn sh(&self, script: &str) -> Ran {
        self.run_in(&self.repo(), "sh", &["-c", script], &[])
    }

    /// Runs git past every hook, as somebody who goes around them; it has to succeed.
    pub fn unhooked(&self, args: &[&str]) -> String {
        self.git(&[&["-c", "core.hooksPath=/dev/null"], args].concat())
    }

    /// Returns a commit that no ref has, with this change on top of HEAD; the index and the files stay as they are.
    pub fn loose_commit(&self, path: &str, text: &str) -> String {
        let script = format!(
            "export GIT_INDEX_FILE=\"$TMPDIR/loose-index\" && git read-tree HEAD &&
            id=$(printf '{text}' | git hash-object -w --stdin) &&
            git update-index --add --cacheinfo 100644,$id,{path} &&
            git commit-tree -p HEAD -m loose $(git write-tree)"
        );
        let ran = self.sh(&script);
        assert_eq!(ran.code, 0, "{}", ran.shown());
        ran.stdout.trim_end().to_owned()
    }

    /// Writes an executable hook of the user's.
    pub fn user_hook(&self, path: &str, body: &str) -> PathBuf {
        let path = self.repo().join(path);
        self.write_executable(&path, &format!("#!/bin/sh\n{body}"));
        path
    }

    /// Writes a program, anywhere.
    pub fn write_executable(&self, path: &Path, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Runs git in the repository; it has to succeed.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let ran = self.run_in(dir, "git", args, &[]);
        assert_eq!(ran.code, 0, "git {args:?}: {}", ran.shown());
        ran.stdout.trim_end().to_owned()
    }

    /// Runs `git oracle` in the repository.
    pub fn oracle(&self, args: &[&str]) -> Ran {
        self.oracle_in(&self.repo(), args)
    }

    pub fn oracle_in(&self, dir: &Path, args: &[&str]) -> Ran {
        self.oracle_with(dir, args, &[])
    }

    pub fn oracle_with(&self, dir: &Path, args: &[&str], vars: &[(&str, &str)]) -> Ran {
        let all: Vec<&str> = std::iter::once("oracle").chain(args.iter().copied()).collect();
        self.run_in(dir, "git", &all, vars)
    }

    /// Runs `git oracle` and expects this exit code.
    pub fn expect(&self, code: i32, args: &[&str]) -> Ran {
        let ran = self.oracle(args);
        assert_eq!(ran.code, code, "git oracle {args:?}: {}", ran.shown());
        ran
    }

    /// Runs `git oracle` at a terminal, with `typed` as what the person types.
    pub fn at_terminal(&self, typed: &str, args: &[&str]) -> Ran {
        let words: Vec<String> = args.iter().map(|word| format!("'{word}'")).collect();
        let command = format!("git oracle {}", words.join(" "));
        let mut script = self.command("script", &self.repo());
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        script
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = script.spawn().expect("script, from util-linux");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), typed.as_bytes())
            .expect("the person can type");
        self.ran(child.wait_with_output().expect("script ends"))
    }

    pub fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes());
    }

    pub fn write_bytes(&self, path: &str, bytes: &[u8]) {
        let path = self.repo().join(path);
        std::fs::create_dir_all(path.parent().expect("a file lies in a directory")).expect("a directory");
        std::fs::write(path, bytes).expect("a file");
    }

    /// Writes what a script changes as a patch beside the repository, and leaves the repository as it was. Returns its path.
    pub fn patch(&self, script: &str) -> String {
        let path = self.root().join("change.patch").to_string_lossy().into_owned();
        let ran = self.sh(&format!(
            "export GIT_INDEX_FILE=\"$TMPDIR/patch-index\" && rm -rf \"$TMPDIR/elsewhere\" && git read-tree HEAD &&
            mkdir \"$TMPDIR/elsewhere\" && git checkout-index -a --prefix=\"$TMPDIR/elsewhere/\" &&
            export GIT_DIR=\"$PWD/.git\" && cd \"$TMPDIR/elsewhere\" && export GIT_WORK_TREE=. &&
            {{ {script}
            }} && git add -A && git diff --cached --binary HEAD > '{path}'"
        ));
        assert_eq!(ran.code, 0, "{}", ran.shown());
        path
    }

    /// Returns a document of the last session.
    pub fn session(&self, slug: &str, name: &str) -> Value {
        let path = self.root().join("home/.oracle/sessions").join(slug).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns everything that a user could lose: the files with their modes, the index, HEAD, refs and what is stashed.
    pub fn everything(&self) -> String {
        let ran = self.sh(
            "find . -path ./.git -prune -o \\( -type f -o -type l -o -type d \\) -printf '%m %p %l\\n' | sort;
            find . -path ./.git -prune -o -type f -print | sort | xargs -d '\\n' sha256sum;
            git ls-files --stage; git for-each-ref; git rev-parse HEAD; cat .git/HEAD; ls .git/*.lock 2>/dev/null; true",
        );
        assert_eq!(ran.code, 0, "{}", ran.shown());
        ran.stdout
    }

    pub fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.head()
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Sets what the person allows when no terminal is there.
    pub fn person(&self, config: &str) {
        let directory = self.root().join("home/.oracle");
        std::fs::create_dir_all(&directory).expect("a directory");
        std::fs::write(directory.join("config.toml"), config).expect("a file");
    }

    /// Writes a contract beside the repository and returns its path.
    pub fn contract_file(&self, name: &str, contract: &Value) -> String {
        let path = self.root().join(name);
        std::fs::write(&path, contract.to_string()).expect("a file");
        path.to_string_lossy().into_owned()
    }

    /// Activates a contract that allows these paths.
    pub fn activate(&self, allow: &[&str]) {
        let file = self.contract_file("contract.json", &contract(allow));
        self.expect(0, &["contract", "activate", &file]);
    }

    /// Returns the verdict on a change and its violations as `path rule`.
    pub fn judge(&self, args: &[&str]) -> (i32, Vec<String>) {
        let all: Vec<&str> = ["gate"].iter().chain(args).copied().chain(["--json"]).collect();
        let ran = self.oracle(&all);
        (ran.code, violations(&ran))
    }
}

/// Returns the violations of a JSON report as `path rule`.
pub fn violations(ran: &Ran) -> Vec<String> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let report = ran.json();
    let list = report["violations"].as_array().cloned().unwrap_or_default();
    list.iter().map(|violation| format!("{} {}", text(violation, "path"), text(violation, "rule"))).collect()
}

/// Returns a complete valid contract.
pub fn contract(allow: &[&str]) -> Value {
    json!({
        "task_id": "task-0001",
        "owner_agent": {"role": "TECH_LEAD", "agent_id": "person"},
        "assigned_agent": {"role": "WORKER", "agent_id": "agent"},
        "inputs": {"spec": "Change the parser", "artifacts": []},
        "required_outputs": [{"name": "patch", "type": "patch", "acceptance": "tests pass"}],
        "allowed_paths": allow,
        "forbidden_actions": ["sudo"],
        "acceptance_tests": [{"name": "unit", "cmd": "cargo test", "must_pass": true}],
        "tool_permissions": {"filesystem": "workspace-write", "shell": "never", "network": "deny", "mcp_tools": []},
        "timeout_retry": {"timeout_sec": 600, "max_retries": 1, "retry_backoff_sec": 0},
        "rollback": {"strategy": "worktree_drop", "baseline_ref": "HEAD"},
        "evidence_links": [],
        "log_refs": {"run_id": "run-0001", "paths": {}},
        "mcp_tool_set": ["git-oracle"],
    })
}

/// Returns a contract with these acceptance tests, which may use the network namespace of the test.
pub fn contract_with_tests(allow: &[&str], commands: &[&str]) -> Value {
    let mut contract = contract(allow);
    let tests = commands
        .iter()
        .enumerate()
        .map(|(number, command)| json!({"name": format!("test {number}"), "cmd": command, "must_pass": true}));
    contract["acceptance_tests"] = tests.collect();
    contract
}

/// Returns a file of the project.
pub fn project_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the bytes of an object id.
pub fn raw_id(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits")).collect()
}

/// Tells whether a text fits a pattern, in which `[..]` stands for anything.
pub fn matches_line(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        if index + 1 == parts.len() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}
