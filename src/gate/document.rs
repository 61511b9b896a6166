//! Reports as JSON, in the form of `schemas/gate_report.v1.json`.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::put_path;
use crate::change::Mode;
use crate::gate::Report;
use crate::gate::Violation;

impl Report {
    /// Returns the document of a report.
    pub fn to_json(&self) -> Value {
        json!({
            "verdict": self.verdict.as_str(),
            "contract": self.contract.as_ref().map(|contract| json!({"task_id": contract.task_id, "sha256": contract.sha256})),
            "checked": {"changes": self.checked.changes, "commits": self.checked.commits},
            "violations": self.violations.iter().map(violation).collect::<Vec<_>>(),
        })
    }
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
