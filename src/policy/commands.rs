//! Which commands may run: an argv is compared by its first words, never as text for a shell.

use std::collections::BTreeMap;

use serde::Deserialize;

const EMBEDDED: &str = include_str!("../../policies/command_allowlist.json");

/// Programs that run another program, which is the one to look at.
const WRAPPERS: [&str; 7] = ["env", "exec", "nice", "nohup", "setsid", "time", "timeout"];

/// What a command does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandClass {
    ReadOnly,
    LocalWrite,
    Network,
    DependencyInstall,
    Destructive,
    CredentialSensitive,
}

impl CommandClass {
    pub const fn as_str(self) -> &'static str {
        match self {
            CommandClass::ReadOnly => "read_only",
            CommandClass::LocalWrite => "local_write",
            CommandClass::Network => "network",
            CommandClass::DependencyInstall => "dependency_install",
            CommandClass::Destructive => "destructive",
            CommandClass::CredentialSensitive => "credential_sensitive",
        }
    }
}

/// The answer about a command. Ordered: the strictest decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandDecision {
    Allow {
        reason: String,
    },
    /// A person has to decide.
    Ask {
        reason: String,
    },
    Deny {
        reason: String,
    },
}

/// What is known about commands.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandPolicy {
    version: String,
    allow: Vec<Vec<String>>,
    deny: Vec<Vec<String>>,
    classes: BTreeMap<CommandClass, Vec<Vec<String>>>,
}

impl CommandPolicy {
    /// Returns the built-in policy.
    pub fn embedded() -> Self {
        let policy: CommandPolicy =
            serde_json::from_str(EMBEDDED).expect("the embedded policy is valid, a test reads it");
        debug_assert_eq!(policy.version, "v1");
        policy
    }

    /// Decides about a command. `forbidden` are the actions that a contract forbids, as words.
    pub fn decide(&self, argv: &[String], forbidden: &[String]) -> CommandDecision {
        let Some(program) = argv.first() else {
            return CommandDecision::Deny { reason: "it names no program".to_owned() };
        };
        let forbidden: Vec<Vec<String>> =
            forbidden.iter().filter_map(|action| shlex::split(action)).filter(|words| !words.is_empty()).collect();
        // A denied program is denied wherever it stands: behind `env`, behind `sh -c`, by its full path.
        for (at, word) in argv.iter().enumerate() {
            let inner = shlex::split(word).filter(|words| words.len() > 1).unwrap_or_default();
            for words in [&argv[at..], &inner] {
                let denied = self.deny.iter().chain(&forbidden).find(|prefix| is_program(words, prefix));
                if let Some(prefix) = denied {
                    let reason = format!("`{}` is never run", prefix.join(" "));
                    return CommandDecision::Deny { reason };
                }
            }
            // What a test runner is told about is not what it runs.
            if at == 0 && self.allow.iter().any(|prefix| is_prefix(argv, prefix)) {
                break;
            }
        }
        if let Some(prefix) = self.allow.iter().find(|prefix| is_prefix(argv, prefix)) {
            return CommandDecision::Allow { reason: format!("`{}` is on the allowlist", prefix.join(" ")) };
        }
        // A wrapper hides what it runs, and a path may lead to anything.
        if WRAPPERS.contains(&program.as_str()) || program.contains('/') {
            return CommandDecision::Ask { reason: format!("`{program}` is not known") };
        }
        let class = self.classes.iter().filter(|(_, prefixes)| prefixes.iter().any(|prefix| is_prefix(argv, prefix)));
        match class.map(|(class, _)| *class).max() {
            Some(class @ (CommandClass::ReadOnly | CommandClass::LocalWrite)) => {
                CommandDecision::Allow { reason: format!("it is {}", class.as_str()) }
            }
            Some(class) => CommandDecision::Ask { reason: format!("it is {}", class.as_str()) },
            None => CommandDecision::Ask { reason: format!("`{program}` is not known") },
        }
    }
}

fn is_prefix(argv: &[String], prefix: &[String]) -> bool {
    argv.len() >= prefix.len() && argv.iter().zip(prefix).all(|(word, expected)| word == expected)
}

/// Tells whether these words run what a prefix names, by any path and with its flags in any order: `rm -f -r` is `rm -rf`.
fn is_program(words: &[String], prefix: &[String]) -> bool {
    let (Some(word), Some((program, flags))) = (words.first(), prefix.split_first()) else { return false };
    if word.rsplit('/').next() != Some(program.as_str()) {
        return false;
    }
    let given = |letter: char| {
        words[1..].iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letter))
    };
    flags.iter().zip(1..).all(|(flag, at)| match flag.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        Some(letters) => letters.chars().all(given),
        None => words.get(at) == Some(flag),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(command: &str) -> CommandDecision {
        CommandPolicy::embedded().decide(&shlex::split(command).unwrap(), &["git push".to_owned()])
    }

    #[test]
    fn the_usual_test_commands_run() {
        for command in [
            "cargo test",
            "cargo test --locked -- --nocapture",
            "cargo nextest run",
            "pytest -k 'not slow'",
            "pytest tests/test_curl.py",
            "python3 -m pytest -c x.ini",
            "npm test",
            "go test ./...",
            "make test",
            "true",
            "grep -q x README.md",
        ] {
            assert!(matches!(decide(command), CommandDecision::Allow { .. }), "{command}: {:?}", decide(command));
        }
    }

    #[test]
    fn what_is_not_known_needs_a_person() {
        for command in [
            "./run-tests",
            "/tmp/cargo test",
            "cargo",
            "cargo testify",
            "make",
            "npm install",
            "git fetch",
            "rm x",
            "python -c pass",
            "env cargo test",
            "sh -c 'cargo test'",
            "gh auth token",
        ] {
            assert!(matches!(decide(command), CommandDecision::Ask { .. }), "{command}: {:?}", decide(command));
        }
    }

    #[test]
    fn what_is_denied_is_denied_in_every_dress() {
        for command in [
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "/bin/rm -rf x",
            "env rm -rf x",
            "sudo true",
            "nice sudo true",
            "sh -c 'curl http://x'",
            "wget x",
            "ssh host",
            "git push",
            "git push --force",
        ] {
            assert!(matches!(decide(command), CommandDecision::Deny { .. }), "{command}: {:?}", decide(command));
        }
        assert!(matches!(CommandPolicy::embedded().decide(&[], &[]), CommandDecision::Deny { .. }));
    }
}
