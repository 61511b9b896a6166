//! A payload as plain data.

use serde_json::Map;
use serde_json::Value;

use crate::agent::Dialect;
use crate::agent::Wish;
use crate::agent::tools::Tool;
use crate::base::JsonError;
use crate::base::parse_strict;

/// A tool may write a large file; nobody writes a larger one through a hook.
pub const MAX_PAYLOAD_BYTES: usize = 64 << 20;

/// What an agent says on stdin.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    pub dialect: &'static Dialect,
    /// The event as the agent names it.
    pub event: String,
    pub moment: Moment,
    /// The directory that it is about.
    pub root: Option<String>,
}

/// When the agent asks.
#[derive(Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before a tool runs.
    Before(Wish),
    /// After a tool that may have changed something.
    After,
    Stop(Stop),
    /// Something that there is nothing to say about.
    Other,
}

/// What is known about an agent that wants to stop.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    pub session: String,
    /// Whether it goes on already because it was sent back.
    pub active: Option<bool>,
    /// How often it was sent back, where the agent counts.
    pub count: Option<u64>,
}

/// Why a payload cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("what the agent says {0}")]
    Json(#[from] JsonError),
    #[error("what the agent says is not a JSON object")]
    NotAnObject,
    #[error("what the agent says names no tool")]
    NoTool,
    #[error("the call lacks {0}")]
    Lacks(&'static str),
}

/// The part of a moment that an event's name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    After,
    Stop,
}

/// The events by their names, with the tool where the event itself tells.
const EVENTS: [(Phase, Option<Tool>, &[&str]); 9] = [
    (Phase::Before, None, &["PreToolUse", "preToolUse", "BeforeTool", "beforeMCPExecution", "tool.execute.before"]),
    (Phase::Before, Some(Tool::Shell), &["beforeShellExecution", "pre_run_command"]),
    (Phase::Before, Some(Tool::Edit), &["pre_write_code"]),
    (Phase::Before, Some(Tool::Read), &["beforeReadFile", "pre_read_code", "beforeTabFileRead"]),
    (Phase::Before, Some(Tool::Unknown), &["pre_mcp_tool_use"]),
    (Phase::After, None, &["PostToolUse", "PostToolUseFailure", "postToolUse", "AfterTool", "tool.execute.after"]),
    (Phase::After, Some(Tool::Shell), &["afterShellExecution", "post_run_command"]),
    (
        Phase::After,
        Some(Tool::Unknown),
        &["afterFileEdit", "afterMCPExecution", "afterTabFileEdit", "post_write_code", "post_mcp_tool_use"],
    ),
    (
        Phase::Stop,
        None,
        &["Stop", "SubagentStop", "stop", "subagentStop", "agentStop", "AfterAgent", "TaskComplete", "session.idle"],
    ),
];

const EVENT_FIELDS: [&str; 3] = ["hook_event_name", "agent_action_name", "hookName"];
const TOOL_FIELDS: [&str; 3] = ["tool_name", "toolName", "tool"];
const INPUT_FIELDS: [&str; 6] = ["tool_input", "toolArgs", "args", "tool_info", "parameters", "arguments"];
const RESULT_FIELDS: [&str; 4] = ["toolResult", "tool_result", "tool_response", "tool_output"];
const SESSION_FIELDS: [&str; 5] = ["session_id", "sessionId", "conversation_id", "taskId", "sessionID"];

/// Agents that put the tool into an object of its own name it so.
const WRAPPERS: [&str; 4] = ["preToolUse", "postToolUse", "tool_call", "postToolUseFailure"];

/// Reads a payload. `hint` is the agent that the hook was installed for.
pub fn parse_call(bytes: &[u8], hint: Option<&str>) -> Result<Call, CallError> {
    let document = parse_strict(bytes, MAX_PAYLOAD_BYTES)?;
    let fields = document.as_object().ok_or(CallError::NotAnObject)?;
    let text = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str());
    let event = text(&EVENT_FIELDS);
    let dialect = Dialect::of(fields, event, hint);
    let root = dialect.roots.iter().find_map(|place| document.pointer(place)?.as_str()).filter(|root| !root.is_empty());
    let inner = WRAPPERS.iter().find_map(|name| fields.get(*name)?.as_object()).unwrap_or(fields);
    let (phase, implied) = phase(event, fields, inner);
    let moment = match phase {
        Some(Phase::Before) => Moment::Before(wish(implied, inner)?),
        Some(Phase::After) => match tool(implied, inner) {
            Some(Tool::Read) => Moment::Other,
            _ => Moment::After,
        },
        Some(Phase::Stop) => Moment::Stop(Stop {
            session: text(&SESSION_FIELDS).unwrap_or_default().to_owned(),
            active: fields.get("stop_hook_active").and_then(Value::as_bool),
            count: fields.get("loop_count").and_then(Value::as_u64),
        }),
        None => Moment::Other,
    };
    Ok(Call { dialect, event: event.unwrap_or("hook").to_owned(), moment, root: root.map(str::to_owned) })
}

/// Returns when the agent asks. Where it does not say, what it sends tells; a tool that comes with an event that is not
/// known is taken for one that is about to run.
fn phase(
    event: Option<&str>,
    fields: &Map<String, Value>,
    inner: &Map<String, Value>,
) -> (Option<Phase>, Option<Tool>) {
    let known = EVENTS.iter().find(|(_, _, names)| event.is_some_and(|event| names.contains(&event)));
    let has = |names: &[&str]| names.iter().any(|name| inner.contains_key(*name));
    match known {
        Some((phase, tool, _)) => (Some(*phase), *tool),
        None if has(&TOOL_FIELDS) && has(&RESULT_FIELDS) => (Some(Phase::After), None),
        None if has(&TOOL_FIELDS) || has(&INPUT_FIELDS) => (Some(Phase::Before), None),
        None if event.is_none() && fields.contains_key("stopReason") => (Some(Phase::Stop), None),
        None => (None, None),
    }
}

fn tool(implied: Option<Tool>, fields: &Map<String, Value>) -> Option<Tool> {
    implied.or_else(|| TOOL_FIELDS.iter().find_map(|name| fields.get(*name)).and_then(Value::as_str).map(Tool::named))
}

fn wish(implied: Option<Tool>, fields: &Map<String, Value>) -> Result<Wish, CallError> {
    let tool = tool(implied, fields).ok_or(CallError::NoTool)?;
    match INPUT_FIELDS.iter().find_map(|name| fields.get(*name)) {
        // Some agents send the arguments as JSON in a string; what is no JSON is the argument itself.
        Some(Value::String(text)) => {
            let inside = parse_strict(text.as_bytes(), MAX_PAYLOAD_BYTES);
            tool.wish(&inside.unwrap_or_else(|_| Value::String(text.clone())))
        }
        Some(input) => tool.wish(input),
        None => tool.wish(&Value::Object(fields.clone())),
    }
}
