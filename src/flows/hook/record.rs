//! Refusals as events.

use serde_json::Value;
use serde_json::json;

use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::flows::activate::worktree_name;
use crate::flows::hook::Reason;
use crate::gate::Violation;
use crate::git::Repository;

/// An event lists this many violations; it says how many there were.
const LISTED: usize = 50;

/// Records a refusal. Returns why that was not possible.
pub(super) fn refusal(repository: &Repository, hook: &str, reason: &Reason) -> Result<(), String> {
    let (contract, details) = match reason {
        Reason::Judged(report) => {
            let violations: Vec<Value> = report.violations.iter().take(LISTED).map(violation).collect();
            let details = json!({
                "hook": hook,
                "verdict": report.verdict.as_str(),
                "contract_sha256": report.contract.as_ref().map(|contract| contract.sha256.to_string()),
                "count": report.violations.len(),
                "violations": violations,
                "worktree": worktree_name(repository),
            });
            (report.contract.as_ref(), details)
        }
        Reason::Undecided(failure) => {
            let details = json!({"hook": hook, "error": failure.message, "worktree": worktree_name(repository)});
            (None, details)
        }
    };
    let event = Event {
        level: Level::Warn,
        event_type: "policy_violation",
        task_id: contract.map(|contract| contract.task_id.as_str()),
        payload: details,
    };
    EventLog::of(&repository.common_dir).append(&event).map_err(|error| error.to_string())
}

fn violation(violation: &Violation) -> Value {
    json!({
        "rule": violation.rule.id(),
        "path": violation.path.to_string(),
        "commit": violation.commit.map(|id| id.to_string()),
    })
}
