//! The server's side: a bare repository that judges what it is sent.

use std::path::Path;
use std::path::PathBuf;

use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::contract;

/// A bare repository with the hook, and a clone without hooks that pushes to it.
struct Server {
    env: TestEnv,
    bare: PathBuf,
}

impl Server {
    /// Makes a server at this place below the world's root.
    fn at(name: &str) -> Self {
        let env = TestEnv::new();
        let bare = env.root().join(name);
        env.git(&["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
        env.git(&["remote", "add", "origin", &bare.to_string_lossy()]);
        env.git(&["fetch", "-q", "origin"]);
        let done = env.oracle_in(&bare, &["init"]);
        assert!(done.code == 0 && done.stderr.contains("installed pre-receive"), "{}", done.shown());
        Server { env, bare }
    }

    fn activate(&self, name: &str, allow: &[&str], more: &[&str]) {
        let mut text = contract(allow);
        text["task_id"] = name.into();
        let file = self.env.contract_file(name, &text);
        let done = self.env.oracle_in(&self.bare, &[&["contract", "activate", &file], more].concat());
        assert_eq!(done.code, 0, "{}", done.shown());
    }

    fn commit(&self, path: &str) -> String {
        self.env.write(path, &format!("{path}\n"));
        self.env.commit_all(path)
    }

    fn push(&self, args: &[&str]) -> Ran {
        self.env.run_in(&self.env.repo(), "git", &[&["push", "-q", "origin"], args].concat(), &[])
    }

    fn takes(&self, args: &[&str]) {
        let ran = self.push(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}: {}", ran.shown());
    }

    fn refuses(&self, args: &[&str], reason: &str) {
        let before = self.env.git_in(&self.bare, &["for-each-ref"]);
        let ran = self.push(args);
        assert!(ran.code != 0 && ran.stderr.contains(reason), "{args:?}: {}", ran.shown());
        assert_eq!(self.env.git_in(&self.bare, &["for-each-ref"]), before, "{args:?}");
    }
}

fn has_object(env: &TestEnv, bare: &Path, id: &str) -> bool {
    env.run_in(bare, "git", &["cat-file", "-e", id], &[]).code == 0
}

#[test]
fn what_does_not_fit_is_not_stored() {
    // A colon in the path: git quotes it in the list of object directories.
    for name in ["server.git", "with:colon.git"] {
        let server = Server::at(name);
        server.activate("task-all", &["src/"], &[]);
        server.commit("src/good.rs");
        server.takes(&["main"]);
        let bad = server.commit("docs/bad.md");
        server.refuses(&["main"], "docs/bad.md: out_of_scope");
        server.refuses(&["main:refs/heads/new"], "docs/bad.md: out_of_scope");
        server.refuses(&["HEAD~1:refs/heads/good", "main:refs/heads/bad"], "docs/bad.md: out_of_scope");
        server.refuses(&["main:refs/anything/at/all"], "docs/bad.md: out_of_scope");
        assert!(!has_object(&server.env, &server.bare, &bad));
        server.env.git(&["tag", "-f", "blob", "HEAD~2:README.md"]);
        server.refuses(&["blob"], "it names a blob");
        server.takes(&["HEAD~1:refs/heads/good"]);
        server.takes(&[":refs/heads/good"]);
        let log = server.env.oracle_in(&server.bare, &["events"]);
        assert!(log.stdout.contains("pre-receive: docs/bad.md: out_of_scope"), "{}", log.shown());
    }
}

#[test]
fn without_a_contract_a_server_takes_nothing() {
    let server = Server::at("server.git");
    server.commit("src/good.rs");
    server.refuses(&["main"], "no contract is active");
    // Also what the warning would let pass where people work: nobody is there to be warned.
    std::fs::write(server.bare.join("oracle/config.toml"), "[hooks]\nmissing_contract = \"warn\"\n").unwrap();
    server.refuses(&["main"], "no contract is active");
}

#[test]
fn contracts_hold_for_the_refs_they_are_bound_to() {
    let server = Server::at("server.git");
    server.activate("task-docs", &["docs/"], &["--ref", "refs/heads/docs/*"]);
    server.activate("task-src", &["src/"], &["--ref", "main"]);
    let base = server.env.head();
    server.commit("docs/a.md");
    server.takes(&["main:refs/heads/docs/one"]);
    server.takes(&["main:refs/heads/docs/two/deep"]);
    server.refuses(&["main:refs/heads/main"], "docs/a.md: out_of_scope");
    server.refuses(&["main:refs/heads/other"], "no contract is active");
    server.env.git(&["reset", "-q", "--hard", &base]);
    server.commit("src/b.rs");
    server.takes(&["main"]);
    // What main has was judged by another contract than the one for docs.
    server.refuses(&["main:refs/heads/docs/three"], "src/b.rs: out_of_scope");
}

#[test]
fn where_several_contracts_hold_all_have_to_agree() {
    let server = Server::at("server.git");
    server.activate("task-wide", &["src/", "docs/"], &["--ref", "refs/heads/*"]);
    server.activate("task-narrow", &["src/"], &["--ref", "refs/heads/main"]);
    let base = server.env.head();
    server.commit("docs/a.md");
    server.takes(&["main:refs/heads/feature"]);
    server.refuses(&["main"], "docs/a.md: out_of_scope");
    server.env.git(&["reset", "-q", "--hard", &base]);
    server.commit("src/b.rs");
    server.takes(&["main"]);
}

#[test]
fn what_the_server_has_is_not_judged_again() {
    let server = Server::at("server.git");
    server.activate("task-all", &["src/"], &[]);
    server.env.git(&["switch", "-q", "-c", "admin"]);
    server.commit("docs/admin.md");
    // By the server's owner, not by a push.
    let repo = server.env.repo().to_string_lossy().into_owned();
    server.env.git_in(&server.bare, &["fetch", "-q", &repo, "admin:refs/heads/admin"]);
    server.env.git(&["switch", "-q", "main"]);
    server.commit("src/a.rs");
    server.env.git(&["merge", "-q", "--no-ff", "-m", "Join", "admin"]);
    server.takes(&["main"]);
}

#[test]
fn a_push_into_a_repository_with_a_working_tree_is_held_to_its_contract() {
    let env = TestEnv::hooked(&["src/"]);
    let other = env.root().join("other");
    env.git(&["clone", "-q", ".", &other.to_string_lossy()]);
    for (path, code) in [("src/parser.rs", 0), ("docs/guide.md", 1)] {
        std::fs::write(other.join(path), "theirs\n").unwrap();
        env.git_in(&other, &["commit", "-q", "-a", "-m", "Theirs"]);
        let pushed = env.run_in(&other, "git", &["push", "-q", "origin", "HEAD:refs/heads/theirs"], &[]);
        assert_eq!(pushed.code.min(1), code, "{}", pushed.shown());
        assert_eq!(pushed.stderr.contains("docs/guide.md: out_of_scope"), code != 0, "{}", pushed.shown());
    }
}
