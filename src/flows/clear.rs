//! `contract clear`: the task is over.

use serde_json::json;

use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::activate::approve;
use crate::flows::activate::removed_task;
use crate::flows::activate::worktree_name;
use crate::git::Desk;

/// Clears the active contract and every binding. Returns the tasks that were active.
pub fn run(flows: &Flows, ask: Ask<'_>) -> Result<Vec<String>, Failure> {
    let repository = flows.repository()?;
    let desk = Desk::of(&repository);
    let _lock = desk.lock()?;
    let pin = desk.pin()?;
    let bindings = desk.bindings()?;
    let mut tasks: Vec<String> = pin.iter().map(|pin| pin.task_id.clone()).collect();
    tasks.extend(bindings.iter().map(|binding| binding.pin.task_id.clone()));
    let log = EventLog::of(&repository.common_dir);
    if pin.is_none() {
        tasks.extend(removed_task(&repository, &log)?);
    }
    if tasks.is_empty() {
        return Ok(tasks);
    }
    let details = tasks.iter().map(|task| format!("the contract {task} holds no longer")).collect();
    approve(flows, ask, "clearing ends the hold of the contract", details, "Clear the active contract?")?;
    log.append(&Event {
        level: Level::Info,
        event_type: "CONTRACT_CLEARED",
        task_id: pin.as_ref().map(|pin| pin.task_id.as_str()),
        payload: json!({
            "sha256": pin.as_ref().map(|pin| &pin.sha256),
            "tasks": tasks,
            "worktree": worktree_name(&repository),
        }),
    })?;
    desk.clear(pin.as_ref())?;
    desk.unbind_all()?;
    Ok(tasks)
}
