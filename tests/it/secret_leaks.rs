//! No output, log, event or error has a secret in it: every kind goes through every command that reads text, and
//! everything that was written is searched.

use std::path::Path;

use git_oracle::secret::Rules;
use git_oracle::secret::Scanner;
use git_oracle::secret::fill;

use crate::support::TestEnv;

/// Returns a text of each kind, and what of it is secret.
fn kinds() -> Vec<(String, String, Vec<Vec<u8>>)> {
    let scanner = Scanner::built_in();
    let files = Rules::built_in_files();
    files
        .iter()
        .flat_map(|file| file.examples.matches.iter().enumerate().map(move |(number, example)| (file, number, example)))
        .map(|(file, number, example)| {
            let text = fill(example, 3);
            let findings = scanner.scan(text.as_bytes());
            assert!(!findings.is_empty(), "{}", file.id);
            let values = findings.iter().map(|finding| text.as_bytes()[finding.range.clone()].to_vec()).collect();
            (format!("{}_{number}", file.id), text, values)
        })
        .collect()
}

/// Returns the pieces of a value of which none may be seen.
fn pieces(value: &[u8]) -> Vec<Vec<u8>> {
    let lines = value.split(|byte| *byte == b'\n').filter(|line| line.len() >= 8 && !line.starts_with(b"-----"));
    lines.map(|line| line[..line.len().min(64).div_ceil(2).max(8)].to_vec()).chain(lines_tail(value)).collect()
}

fn lines_tail(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let tail = value.iter().rev().take(8).rev().copied().collect::<Vec<u8>>();
    std::iter::once(tail).filter(|tail| tail.len() == 8 && !tail.contains(&b'-'))
}

/// Adds everything below a directory, git's own objects aside.
fn read_all(directory: &Path, all: &mut Vec<u8>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().map(Result::unwrap) {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => read_all(&entry.path(), all),
            kind if kind.is_file() => all.extend(std::fs::read(entry.path()).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn no_command_ever_shows_a_secret() {
    let env = TestEnv::hooked(&["src/"]);
    let kinds = kinds();
    let mut said = Vec::new();
    let mut say = |ran: crate::support::Ran| {
        said.extend(ran.stdout.into_bytes());
        said.extend(ran.stderr.into_bytes());
    };
    let clean = env.head();
    for (name, text, _) in &kinds {
        env.write(&format!("src/{name}.txt"), &format!("{text}\n"));
    }
    let files: Vec<String> = kinds.iter().map(|(name, ..)| format!("src/{name}.txt")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    for format in [&[][..], &["--json"], &["--format", "sarif"], &["--show-hashes"]] {
        say(env.oracle(&[&["scan"], format, &files[..]].concat()));
    }
    for (_, text, _) in &kinds {
        say(env.oracle_fed(&["scan", "-"], text.as_bytes()));
        say(env.oracle_fed(&["scan", "--redact"], text.as_bytes()));
        say(env.oracle_fed(&["hook", "agent", "--for", "claude"], text.as_bytes()));
    }
    env.git(&["add", "-A"]);
    for args in [&["gate", "--staged"][..], &["gate", "--worktree"], &["status"], &["scan", "--staged"]] {
        say(env.oracle(args));
        say(env.oracle(&[args, &["--json"]].concat()));
    }
    for format in ["sarif", "github"] {
        say(env.oracle(&["gate", "--staged", "--format", format]));
    }
    say(env.sh("git commit -q -m x"));
    say(env.sh("git commit -q --no-verify -m x"));
    let patch = env.root().join("secrets.patch");
    let diff = env.git(&["diff", "--cached", "--no-ext-diff"]);
    std::fs::write(&patch, &diff).unwrap();
    env.unhooked(&["commit", "-q", "-m", "past the hooks"]);
    say(env.oracle(&["gate", "--range", &format!("{clean}..HEAD"), "--json"]));
    say(env.oracle(&["scan", "--range", &format!("{clean}..HEAD"), "--json"]));
    let origin = env.root().join("origin.git");
    env.git(&["init", "-q", "--bare", &origin.to_string_lossy()]);
    say(env.sh(&format!("git push -q {} HEAD:refs/heads/x", origin.display())));
    env.unhooked(&["reset", "-q", "--hard", &clean]);
    let patch = patch.to_string_lossy().into_owned();
    say(env.oracle(&["gate", "--patch", &patch]));
    for accept in ["all", "agreed"] {
        say(env.oracle(&["apply", "--patch", &patch, "--accept", accept]));
        say(env.oracle(&["apply", "--patch", &patch, "--accept", accept, "--json"]));
    }
    say(env.oracle(&["apply", "--last"]));
    // Replies: with the patch, with one that has no place, with no patch at all.
    let moved = diff.replace("new file mode 100644\n", "").replace("--- /dev/null", "--- a/src/parser.rs");
    let prose: String = kinds.iter().map(|(_, text, _)| format!("{text}\n\n")).collect();
    for reply in [format!("```diff\n{diff}```\n"), format!("```diff\n{moved}```\n"), prose] {
        say(env.oracle_fed(&["extract"], reply.as_bytes()));
        say(env.oracle_fed(&["extract", "--json"], reply.as_bytes()));
        say(env.oracle_fed(&["apply", "--from-reply", "-"], reply.as_bytes()));
    }
    say(env.oracle(&["events"]));
    say(env.oracle(&["events", "--json"]));
    read_all(&env.repo().join(".git/oracle"), &mut said);
    read_all(&env.root().join("home"), &mut said);
    assert!(said.len() > 50_000, "only {} bytes were written", said.len());
    let mut leaks = Vec::new();
    for (name, _, values) in &kinds {
        for piece in values.iter().flat_map(|value| pieces(value)) {
            if let Some(at) = memchr::memmem::find(&said, &piece) {
                let around = &said[at.saturating_sub(120)..(at + 40).min(said.len())];
                leaks.push(format!("{name}: {}", String::from_utf8_lossy(around)));
            }
        }
    }
    assert!(leaks.is_empty(), "{} leaks\n{}", leaks.len(), leaks[..leaks.len().min(20)].join("\n----\n"));
}
