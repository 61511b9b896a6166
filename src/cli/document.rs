//! Reports as JSON, in the form of `schemas/gate_report.v1.json`.

use std::io::Write;

use data_encoding::BASE64;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::RepoPath;
use crate::base::visible;
use crate::change::Mode;
use crate::cli::Exit;
use crate::flows::Failure;
use crate::gate::Report;
use crate::gate::Violation;

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

/// Returns the document of a report.
pub(super) fn report(report: &Report) -> Value {
    json!({
        "verdict": report.verdict.as_str(),
        "contract": report.contract.as_ref().map(|contract| json!({"task_id": contract.task_id, "sha256": contract.sha256})),
        "checked": {"changes": report.checked.changes, "commits": report.checked.commits},
        "violations": report.violations.iter().map(violation).collect::<Vec<_>>(),
    })
}

fn violation(violation: &Violation) -> Value {
    let mut fields = Map::new();
    fields.insert("rule".into(), json!(violation.rule.id()));
    put_path(&mut fields, "path", &violation.path);
    if let Some(old_path) = &violation.old_path {
        put_path(&mut fields, "old_path", old_path);
    }
    if let Some(commit) = &violation.commit {
        fields.insert("commit".into(), json!(commit.to_string()));
    }
    fields.insert("old_mode".into(), json!(violation.old_mode.map(Mode::as_str)));
    fields.insert("new_mode".into(), json!(violation.new_mode.map(Mode::as_str)));
    fields.insert("message".into(), json!(violation.message));
    fields.insert("hint".into(), json!(violation.hint));
    Value::Object(fields)
}

/// Adds a path: as it is when it is UTF-8, else quoted as git does and with its bytes beside it.
pub(super) fn put_path(fields: &mut Map<String, Value>, name: &str, path: &RepoPath) {
    match path.to_str() {
        Some(text) => drop(fields.insert(name.into(), json!(text))),
        None => {
            fields.insert(name.into(), json!(path.to_string()));
            fields.insert(format!("{name}_b64"), json!(BASE64.encode(path.as_bytes())));
        }
    }
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
