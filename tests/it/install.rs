//! What the installer puts in place: man pages and completions.

use crate::support::TestEnv;

fn generated() -> TestEnv {
    let env = TestEnv::new();
    env.expect(0, &["generate", "--man", "../man", "--completions", "../completions"]);
    env
}

#[test]
fn every_command_has_a_man_page() {
    let env = generated();
    for name in ["git-oracle", "git-oracle-gate", "git-oracle-contract", "git-oracle-contract-new", "git-oracle-doctor"]
    {
        let page = std::fs::read_to_string(env.root().join(format!("man/{name}.1")))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH"), "{name}");
    }
    assert!(!env.root().join("man/git-oracle-generate.1").exists(), "hidden commands have none");
}

#[test]
fn bash_completes_both_spellings() {
    let env = generated();
    let complete = |words: &str| {
        let script = format!(
            "source ../completions/git-oracle.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             case ${{COMP_WORDS[0]}} in git) _git_oracle;; *) _gitoracle git-oracle \"${{COMP_WORDS[COMP_CWORD]}}\" x;; esac; \
             echo \"${{COMPREPLY[@]}}\""
        );
        env.run_in(&env.repo(), "bash", &["-c", &script], &[]).stdout.trim().to_owned()
    };
    assert_eq!(complete("git-oracle contract ac"), "activate");
    assert_eq!(complete("git oracle contract ac"), "activate");
    assert_eq!(complete("git oracle gate --wo"), "--worktree");
    assert_eq!(complete("git -C x oracle sta"), "status");
}
