//! Commands in a contract: words, never a shell script.

/// Returns why a command cannot be run as plain words.
pub(super) fn command_problem(command: &str) -> Option<String> {
    let mut quote = None;
    let mut word_start = true;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        let at_start = std::mem::replace(&mut word_start, quote.is_none() && character.is_whitespace());
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (_, '\\') => drop(characters.next()),
            (_, '$' | '`') => return Some(format!("`{character}` would need a shell")),
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '\n' | '*' | '?' | '[' | '{') => {
                return Some(format!("`{}` would need a shell", character.escape_debug()));
            }
            (None, '~' | '#') if at_start => return Some(format!("`{character}` would need a shell")),
            _ => {}
        }
    }
    match shlex::split(command) {
        None => Some("its quotes are not closed".to_owned()),
        Some(words) => match words.first().map(String::as_str) {
            None | Some("") => Some("it names no program".to_owned()),
            Some(program) if program.contains('=') => Some("setting a variable would need a shell".to_owned()),
            Some(_) => None,
        },
    }
}

/// Tells whether a command succeeds whatever was done.
pub(super) fn is_trivial(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    matches!(words.first().map(String::as_str), Some("true" | ":" | "echo" | "/bin/true" | "exit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_and_scripts_do_not() {
        for command in [
            "cargo test",
            "pytest -k 'a and b'",
            "npm test -- --grep \"x;y\"",
            "a\\;b",
            "a --x=~/y#z",
            "echo 'it costs $5'",
        ] {
            assert_eq!(command_problem(command), None, "{command}");
        }
        for command in
            ["", "  ", "a; b", "a && b", "a | b", "a > b", "a $(b)", "a `b`", "a \"$B\"", "a\nb", "'open", "''", "(a)"]
        {
            assert!(command_problem(command).is_some(), "{command:?}");
        }
    }

    #[test]
    fn commands_that_prove_nothing_are_known() {
        assert!(["true", ":", "echo ok", "/bin/true"].iter().all(|command| is_trivial(command)));
        assert!(!is_trivial("cargo test"));
    }
}
