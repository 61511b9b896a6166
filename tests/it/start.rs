//! The program by itself, without git around it.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use predicates::str::is_empty;
use predicates::str::starts_with;

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_git-oracle"));
    command.env_clear();
    command
}

#[test]
fn version_and_help_need_nothing() {
    program().arg("--version").assert().code(0).stdout(starts_with("git-oracle ")).stderr(is_empty());
    program().arg("-h").assert().code(0).stdout(contains("Usage: git oracle").and(contains("generate").not()));
    program().args(["gate", "-h"]).assert().code(0).stdout(contains("--contract-from <REV:PATH>"));
}

#[test]
fn a_misspelt_word_gets_the_nearest_one() {
    program().arg("statsu").assert().code(129).stdout(is_empty()).stderr(contains("status"));
    program().args(["gate", "--worktre"]).assert().code(129).stderr(contains("--worktree"));
}

#[test]
fn without_git_it_says_what_is_missing() {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("PATH", nowhere.path()).current_dir(nowhere.path()).args(["gate", "--staged"]);
    command.assert().code(1).stderr(contains("git-oracle needs the git program on PATH"));
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    program()
        .args(["-C", "no/such/place", "status"])
        .assert()
        .code(1)
        .stderr(contains("no/such/place").and(contains("hint:")));
}
