//! Pushes through real git, with the hooks installed.

use std::path::PathBuf;

use crate::support::TestEnv;

/// A hooked repository under a contract for `src/`, with a remote that has its main branch.
struct Pushing {
    env: TestEnv,
    origin: PathBuf,
}

impl Pushing {
    fn new() -> Self {
        let env = TestEnv::hooked(&["src/"]);
        let origin = env.root().join("origin.git");
        env.git(&["clone", "-q", "--bare", ".", &origin.to_string_lossy()]);
        env.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
        env.git(&["fetch", "-q", "origin"]);
        Pushing { env, origin }
    }

    /// Commits past the hooks.
    fn commit(&self, path: &str) -> String {
        self.env.write(path, &format!("{path}\n"));
        self.env.git(&["add", "-A"]);
        self.env.unhooked(&["commit", "-q", "-m", path]);
        self.env.head()
    }

    fn passes(&self, args: &str) {
        let ran = self.env.sh(&format!("git push -q {args}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "git push {args}: {}", ran.shown());
    }

    fn is_refused(&self, args: &str, reason: &str) {
        let before = self.env.git_in(&self.origin, &["for-each-ref"]);
        let ran = self.env.sh(&format!("git push -q {args}"));
        assert!(ran.code != 0 && ran.stderr.contains("git-oracle: the push is refused"), "{args}: {}", ran.shown());
        assert!(ran.stderr.contains(reason), "{args}: {}", ran.shown());
        assert_eq!(self.env.git_in(&self.origin, &["for-each-ref"]), before, "{args}");
    }
}

#[test]
fn a_bad_commit_is_refused_under_any_name() {
    let pushing = Pushing::new();
    pushing.commit("src/good.rs");
    pushing.passes("origin main");
    let bad = pushing.commit("docs/bad.md");
    pushing.env.unhooked(&["branch", "also"]);
    pushing.env.unhooked(&["tag", "plain"]);
    pushing.env.unhooked(&["tag", "-a", "-m", "t", "annotated"]);
    pushing.commit("src/better.rs");
    for args in [
        "origin main",
        "origin also:refs/heads/x",
        "origin HEAD:refs/for/main",
        "origin HEAD~1:refs/changes/1",
        "origin plain",
        "origin annotated",
        "--all origin",
        "--mirror origin",
        "--force origin main",
        "--dry-run origin main",
        &format!("origin {bad}:refs/x/y"),
        "\"$(git remote get-url origin)\" main:refs/heads/by-address",
    ] {
        pushing.is_refused(args, "docs/bad.md: out_of_scope");
    }
    // Good and bad at once: nothing is sent.
    pushing.is_refused("origin HEAD~2:refs/heads/good main", "docs/bad.md: out_of_scope");
}

#[test]
fn what_the_remote_has_and_what_nobody_changes_passes() {
    let pushing = Pushing::new();
    let other = pushing.env.root().join("other");
    pushing.env.git(&["clone", "-q", &pushing.origin.to_string_lossy(), &other.to_string_lossy()]);
    std::fs::write(other.join("docs/guide.md"), "theirs\n").unwrap();
    pushing.env.git_in(&other, &["commit", "-q", "-a", "-m", "Theirs"]);
    pushing.env.git_in(&other, &["push", "-q", "origin", "main"]);
    pushing.env.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    pushing.commit("src/a.rs");
    pushing.passes("origin HEAD:refs/heads/feature");
    pushing.passes("origin main");
    pushing.passes("origin main");
    pushing.passes("\"$(git remote get-url origin)\" main:refs/heads/by-address");
    pushing.passes("origin :refs/heads/feature");
    pushing.env.git(&["tag", "-a", "-m", "t", "v1"]);
    pushing.passes("origin v1 HEAD~1:refs/heads/older");
    // Our own commit, rewritten.
    pushing.env.write("src/a.rs", "again\n");
    pushing.env.git(&["commit", "-q", "-a", "--amend", "-m", "Again"]);
    pushing.passes("--force origin main");
}

#[test]
fn merged_upstream_work_is_not_ours() {
    let pushing = Pushing::new();
    let other = pushing.env.root().join("other");
    pushing.env.git(&["clone", "-q", &pushing.origin.to_string_lossy(), &other.to_string_lossy()]);
    pushing.commit("src/a.rs");
    pushing.passes("origin HEAD:refs/heads/feature");
    std::fs::write(other.join("docs/guide.md"), "theirs\n").unwrap();
    pushing.env.git_in(&other, &["commit", "-q", "-a", "-m", "Theirs"]);
    pushing.env.git_in(&other, &["push", "-q", "origin", "main"]);
    pushing.env.git(&["fetch", "-q", "origin"]);
    pushing.env.git(&["merge", "-q", "-m", "Join", "origin/main"]);
    pushing.passes("origin HEAD:refs/heads/feature");
}

#[test]
fn content_without_a_commit_cannot_be_judged() {
    let pushing = Pushing::new();
    for (name, object) in [("blob", "HEAD:README.md"), ("tree", "HEAD^{tree}")] {
        pushing.env.git(&["tag", name, object]);
        pushing.env.git(&["tag", "-a", "-m", "t", &format!("tag-of-{name}"), object]);
        pushing.is_refused(&format!("origin {name}"), &format!("it names a {name}"));
        pushing.is_refused(&format!("origin tag-of-{name}"), &format!("it names a {name}"));
    }
}

#[test]
fn another_remote_is_not_this_one() {
    let pushing = Pushing::new();
    let fork = pushing.env.root().join("fork.git");
    pushing.env.git(&["clone", "-q", "--bare", ".", &fork.to_string_lossy()]);
    pushing.env.git(&["remote", "add", "fork", &fork.to_string_lossy()]);
    pushing.commit("docs/fork.md");
    pushing.env.git(&["push", "-q", "--no-verify", "fork", "main"]);
    pushing.env.git(&["fetch", "-q", "fork"]);
    pushing.passes("fork HEAD:refs/heads/x");
    pushing.is_refused("origin main", "docs/fork.md: out_of_scope");
}

#[test]
fn without_a_contract_commits_are_not_pushed() {
    let pushing = Pushing::new();
    pushing.env.person("[contract]\nwiden = \"allow\"\n");
    pushing.commit("src/a.rs");
    pushing.env.expect(0, &["contract", "clear"]);
    pushing.is_refused("origin main", "no contract is active");
    pushing.passes("origin HEAD~1:refs/heads/known");
    pushing.passes("origin :refs/heads/known");
}

#[test]
fn what_was_committed_before_the_contract_is_not_its_business() {
    let env = TestEnv::new();
    let origin = env.root().join("origin.git");
    env.git(&["clone", "-q", "--bare", ".", &origin.to_string_lossy()]);
    env.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    env.write("docs/guide.md", "before\n");
    env.commit_all("Before");
    env.expect(0, &["init"]);
    env.activate(&["src/"]);
    env.write("src/parser.rs", "after\n");
    env.commit_all("After");
    env.git(&["push", "-q", "origin", "HEAD:refs/heads/feature"]);
}

#[test]
fn a_push_from_a_linked_worktree_is_held_to_its_contract() {
    let pushing = Pushing::new();
    let linked = pushing.env.root().join("linked");
    pushing.env.git(&["worktree", "add", "-q", "-b", "linked", &linked.to_string_lossy()]);
    let docs = pushing.env.contract_file("docs.json", &crate::support::contract(&["docs/"]));
    assert_eq!(pushing.env.oracle_in(&linked, &["contract", "activate", &docs]).code, 0);
    std::fs::write(linked.join("docs/guide.md"), "changed\n").unwrap();
    pushing.env.git_in(&linked, &["commit", "-q", "-a", "-m", "Docs"]);
    pushing.env.git_in(&linked, &["push", "-q", "origin", "linked"]);
    std::fs::write(linked.join("src/parser.rs"), "changed\n").unwrap();
    pushing.env.git_in(&linked, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-a", "-m", "Src"]);
    let refused = pushing.env.run_in(&linked.join("docs"), "git", &["push", "-q", "origin", "linked"], &[]);
    assert!(refused.code != 0 && refused.stderr.contains("src/parser.rs: out_of_scope"), "{}", refused.shown());
}
