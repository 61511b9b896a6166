//! Commands in the documentation are run, so that they stay true.
//!
//! In a block fenced as `console`, a line that begins with `$ ` is run by `sh`; the lines after it are its output,
//! stdout before stderr. `[..]` stands for anything in a line, a line `...` for any lines, `[exit N]` for the exit code.

use std::path::Path;

use crate::support::TestEnv;
use crate::support::matches_line;

struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = !inside && line.trim_end() == "```console";
        } else if inside {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    steps.push(Step { line: number + 1, command: command.to_owned(), expected: Vec::new() })
                }
                (None, Some(step)) => step.expected.push(line.to_owned()),
                (None, None) => panic!("line {}: output without a command", number + 1),
            }
        }
    }
    steps
}

fn matches(patterns: &[String], lines: &[String]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, others)| matches_line(first, line) && matches(rest, others))
        }
    }
}

#[test]
fn what_the_documentation_shows_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("README.md")];
    documents.extend(std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let mut run = 0;
    for document in documents.iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let env = TestEnv::new();
        for step in steps(&std::fs::read_to_string(document).unwrap()) {
            run += 1;
            let ran = env.run_in(&env.repo(), "sh", &["-c", &step.command], &[]);
            let mut lines: Vec<String> = format!("{}{}", ran.stdout, ran.stderr).lines().map(str::to_owned).collect();
            if ran.code != 0 {
                lines.push(format!("[exit {}]", ran.code));
            }
            let mut expected = step.expected;
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            assert!(
                matches(&expected, &lines),
                "{}:{}: $ {}\nthe document says\n{}\nit was\n{}",
                document.display(),
                step.line,
                step.command,
                expected.join("\n"),
                lines.join("\n")
            );
        }
    }
    assert!(run > 10, "only {run} commands were found");
}

#[test]
fn every_rule_and_every_command_is_documented() {
    let gate = crate::support::project_file("docs/gate.md");
    for rule in git_oracle::gate::Rule::ALL {
        assert!(gate.contains(&format!("`{}`", rule.id())), "docs/gate.md does not explain {rule}");
    }
    let env = TestEnv::new();
    let help = env.expect(0, &["-h"]).stdout;
    let all: String = [
        "README.md",
        "docs/getting-started.md",
        "docs/contract.md",
        "docs/gate.md",
        "docs/apply.md",
        "docs/ask.md",
        "docs/review.md",
        "docs/browser.md",
        "docs/hooks.md",
        "docs/ci.md",
        "docs/configuration.md",
        "docs/patches.md",
        "docs/bundle.md",
        "docs/secrets.md",
    ]
    .map(crate::support::project_file)
    .concat();
    for command in help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty()) {
        // A long description goes on in a line of its own.
        let Some(name) = command.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) else { continue };
        let name = name.split_whitespace().next().unwrap();
        assert!(all.contains(&format!("git oracle {name}")), "no document shows git oracle {name}");
    }
}

#[test]
fn the_files_to_copy_are_the_ones_that_are_shown() {
    for (page, name) in [
        ("ci.md", "github-workflow.yml"),
        ("ci.md", "gitlab-ci.yml"),
        ("runners.md", "pre-commit-config.yaml"),
        ("runners.md", "lefthook.yml"),
        ("runners.md", "lefthook.sh"),
        ("runners.md", "husky.sh"),
    ] {
        let shown = crate::support::project_file(&format!("docs/{page}"));
        let text = crate::support::project_file(&format!("docs/examples/{name}"));
        let language = if name.ends_with(".sh") { "sh" } else { "yaml" };
        let block = format!("```{language}\n{}\n```", text.trim_end());
        assert!(shown.contains(&block), "docs/{page} shows another {name}");
    }
}

#[test]
fn the_commands_of_the_skill_are_there() {
    let text = crate::support::project_file("docs/skills/git-oracle/SKILL.md");
    let env = TestEnv::new();
    let commands: Vec<&str> =
        text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("git oracle ")).collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let name = words.iter().take_while(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
        let help = env.expect(0, &name.chain([&"-h"]).copied().collect::<Vec<_>>()).stdout;
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(
                help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")),
                "{command}: {flag}\n{help}"
            );
        }
    }
}
