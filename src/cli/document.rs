//! JSON on stdout.

use std::io::Write;

use serde_json::Value;
use serde_json::json;

use crate::base::visible;
use crate::cli::Exit;
use crate::flows::Failure;

/// Prints exactly one JSON document on stdout.
pub(super) fn print(document: &Value) {
    // Past the colour machinery, which would take control characters out of names.
    let text = escape_invisible(&format!("{document:#}"));
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Returns a document on one line.
pub(super) fn compact(document: &Value) -> String {
    escape_invisible(&document.to_string())
}

/// Writes characters that a terminal obeys or hides as JSON escapes. They occur only inside of strings.
fn escape_invisible(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii_graphic() || visible(character.encode_utf8(&mut [0; 4])).starts_with(character) {
            text.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

/// Returns the document of a failure, for scripts that asked for JSON.
pub(super) fn failure(failure: &Failure) -> Value {
    json!({"error": {"kind": Exit::from(failure.kind).name(), "message": failure.message, "hints": failure.hints}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_and_terminals_are_safe() {
        let document = json!({"path": "a\u{7f}b\u{9b}c\u{202e}d\u{2028}e é \\ \n"});
        let text = escape_invisible(&document.to_string());
        assert_eq!(visible(&text), text);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
