//! `init` in every kind of place.

use crate::support::TestEnv;

#[test]
fn twice_in_a_new_repository_and_git_add_takes_nothing_of_ours() {
    let env = TestEnv::empty();
    env.git(&["init", "-q"]);
    let first = env.expect(0, &["init"]);
    assert!(first.stderr.contains("next: git oracle contract new"), "{}", first.shown());
    let second = env.expect(0, &["init"]);
    assert!(second.stderr.contains("everything is there already"), "{}", second.shown());
    env.git(&["add", "-A"]);
    assert_eq!(env.git(&["ls-files"]), "");
}

#[test]
fn in_a_linked_worktree_and_in_a_bare_repository() {
    let env = TestEnv::new();
    let worktree = env.root().join("linked");
    env.git(&["worktree", "add", "-q", "-b", "linked", &worktree.to_string_lossy()]);
    assert_eq!(env.oracle_in(&worktree, &["init"]).code, 0);
    assert!(worktree.join(".oracle/.gitignore").exists() && !env.repo().join(".oracle").exists());

    let bare = env.root().join("bare.git");
    env.git(&["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
    let done = env.oracle_in(&bare, &["init"]);
    assert_eq!(done.code, 0, "{}", done.shown());
    assert!(bare.join("oracle").is_dir() && !bare.join(".oracle").exists());
}

#[test]
fn outside_a_repository_it_says_what_to_do() {
    let env = TestEnv::empty();
    let refused = env.expect(1, &["init"]);
    assert!(refused.stderr.contains("git init"), "{}", refused.shown());
}

#[test]
fn a_linked_directory_of_ours_is_not_followed() {
    let env = TestEnv::new();
    let elsewhere = env.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, env.repo().join(".oracle")).unwrap();
    let refused = env.expect(1, &["init"]);
    assert!(refused.stderr.contains("is not a directory"), "{}", refused.shown());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    let file = env.contract_file("contract.json", &crate::support::contract(&["src/"]));
    env.expect(1, &["contract", "activate", &file]);
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_team_may_share_its_own_files_while_no_contract_is_active() {
    let env = TestEnv::new();
    env.expect(0, &["init"]);
    env.write(".oracle/config.toml", "[gate]\nprotected = [\"*.sql\"]\n");
    env.git(&["add", "-f", ".oracle/config.toml"]);
    assert_eq!(env.expect(0, &["gate", "--staged", "--json"]).json()["verdict"], "warn");
    env.write("src/parser.rs", "changed\n");
    env.git(&["add", "src"]);
    env.expect(7, &["gate", "--staged"]);
    env.git(&["restore", "--staged", "src"]);
    env.git(&["commit", "-q", "-m", "Share"]);
    env.activate(&["src/"]);
    env.write(".oracle/config.toml", "[gate]\nprotected = []\n");
    assert_eq!(
        env.judge(&["--worktree"]).1,
        [".oracle/config.toml protected_path", "src/parser.rs protected_path"][..1]
    );
}
