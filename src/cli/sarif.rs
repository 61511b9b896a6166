//! Reports as SARIF 2.1.0, for code scanning services.

use percent_encoding::AsciiSet;
use percent_encoding::NON_ALPHANUMERIC;
use percent_encoding::percent_encode;
use serde_json::Value;
use serde_json::json;

use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::flows::scan::Match;
use crate::flows::scan::Outcome;
use crate::gate::Report;
use crate::gate::Rule;
use crate::gate::Violation;

/// Returns the SARIF document of a report. It carries no content of the repository.
pub(super) fn document(report: &Report) -> Value {
    let rules: Vec<Value> = Rule::ALL
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id(),
                "shortDescription": {"text": rule.summary()},
                "defaultConfiguration": {"level": "error"},
            })
        })
        .collect();
    run(&rules, &report.violations.iter().map(result).collect::<Vec<_>>())
}

fn run(rules: &[Value], results: &[Value]) -> Value {
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "git-oracle",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// Returns the SARIF document of a scan. It carries no secret and no line that has one.
pub(super) fn scan_document(outcome: &Outcome) -> Value {
    let mut rules: Vec<(&str, &str)> =
        outcome.matches.iter().map(|found| (found.secret.rule.as_str(), found.secret.label.as_str())).collect();
    rules.sort_unstable();
    rules.dedup();
    let described = rules.iter().map(|(rule, label)| {
        json!({"id": rule, "shortDescription": {"text": label}, "defaultConfiguration": {"level": "error"}})
    });
    let results = outcome.matches.iter().map(|found| {
        let Match { path, commit, secret, .. } = found;
        let place = format!("{}:{}", secret.line, secret.column);
        let parts = [secret.rule.as_bytes(), b"\0", path.as_bytes(), b"\0", place.as_bytes()];
        json!({
            "ruleId": secret.rule,
            "ruleIndex": rules.iter().position(|(rule, _)| *rule == secret.rule),
            "level": "error",
            "message": {"text": format!("{path}: a secret ({})", secret.label)},
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": uri(path)},
                "region": {"startLine": secret.line, "endLine": secret.end_line},
            }}],
            "partialFingerprints": {"ruleAndPlace/v1": Sha256Hex::of_parts(&parts)},
            "properties": {"commit": commit.map(|id| id.to_string())},
        })
    });
    run(&described.collect::<Vec<_>>(), &results.collect::<Vec<_>>())
}

fn result(violation: &Violation) -> Value {
    let index = Rule::ALL.iter().position(|rule| *rule == violation.rule);
    let mut location = json!({"artifactLocation": {"uri": uri(&violation.path)}});
    // Services show a result only where it has a line; a path as such stands at its first.
    location["region"] = json!({"startLine": violation.line.unwrap_or(1)});
    let mut properties = json!({"hint": violation.hint});
    if let Some(commit) = &violation.commit {
        properties["commit"] = json!(commit.to_string());
    }
    let commit = violation.commit.map(|id| id.to_string()).unwrap_or_default();
    let parts = [violation.rule.id().as_bytes(), b"\0", violation.path.as_bytes(), b"\0", commit.as_bytes()];
    let fingerprint = Sha256Hex::of_parts(&parts);
    json!({
        "ruleId": violation.rule.id(),
        "ruleIndex": index,
        "level": "error",
        "message": {"text": format!("{}: {}", violation.path, violation.message)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"ruleAndPlace/v1": fingerprint},
        "properties": properties,
    })
}

/// What stays as it is in a path of a URI.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Returns a path as a relative URI: what is not plain is percent-encoded, byte by byte.
fn uri(path: &RepoPath) -> String {
    percent_encode(path.as_bytes(), PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_uris() {
        assert_eq!(uri(&"src/a b#c.rs".into()), "src/a%20b%23c.rs");
        assert_eq!(uri(&RepoPath::new(*b"a\xff:b")), "a%FF%3Ab");
    }
}
