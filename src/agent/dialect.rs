//! The agents, and how each of them wants to be answered.

use serde_json::Map;
use serde_json::Value;

/// How one agent speaks.
#[derive(Debug, PartialEq, Eq)]
pub struct Dialect {
    pub name: &'static str,
    /// Where a payload says which directory it is about, best place first.
    pub(super) roots: &'static [&'static str],
    /// Fields that together only this agent sends; any of the sets is enough.
    signs: &'static [&'static [&'static str]],
    /// Events that only this agent has.
    events: &'static [&'static str],
    /// What stdout says when there is nothing against a call.
    pass: Form,
    /// What stdout says beside exit code 2 and the reason on stderr.
    deny: Form,
    /// What stdout says when the tree does not fit after a call.
    after: Form,
    /// What stdout says when the tree does not fit as the agent wants to stop.
    stop: Form,
}

/// The fields of a JSON object; no fields at all is no object.
type Form = Option<&'static [(&'static str, Slot)]>;

#[derive(Debug, PartialEq, Eq)]
enum Slot {
    Word(&'static str),
    Flag(bool),
    Reason,
}

/// What an agent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Nothing is against it. Never an explicit "allow", which would skip the person's own prompt.
    Pass,
    /// The call must not run, or it could not be found out.
    Deny(&'a str),
    /// The call has run, and the tree does not fit.
    After(&'a str),
    /// The agent wants to stop, and the tree does not fit.
    Continue(&'a str),
}

impl Answer<'_> {
    /// Tells whether the hook ends with 2. A refusal needs it; elsewhere it would hide what stdout says.
    pub const fn refuses(self) -> bool {
        matches!(self, Answer::Deny(_))
    }
}

const EMPTY: Form = Some(&[]);
const BLOCK: Form = Some(&[("decision", Slot::Word("block")), ("reason", Slot::Reason)]);

/// The common form, which most agents have taken from Claude Code.
const CLAUDE: Dialect = Dialect {
    name: "claude",
    roots: &["/cwd"],
    signs: &[],
    events: &[],
    pass: None,
    deny: None,
    after: BLOCK,
    stop: BLOCK,
};

/// Every agent. The order matters: the first whose signs are there has sent the payload.
static DIALECTS: [Dialect; 11] = [
    CLAUDE,
    Dialect { name: "codex", signs: &[&["turn_id", "hook_event_name"]], ..CLAUDE },
    Dialect {
        name: "windsurf",
        roots: &["/tool_info/cwd"],
        signs: &[&["agent_action_name"], &["tool_info"]],
        ..CLAUDE
    },
    Dialect {
        name: "cline",
        roots: &["/workspaceRoots/0"],
        signs: &[&["clineVersion"], &["hookName", "taskId"]],
        pass: Some(&[("cancel", Slot::Flag(false))]),
        deny: Some(&[("cancel", Slot::Flag(true)), ("errorMessage", Slot::Reason)]),
        after: Some(&[("cancel", Slot::Flag(false)), ("contextModification", Slot::Reason)]),
        stop: Some(&[("cancel", Slot::Flag(false)), ("contextModification", Slot::Reason)]),
        ..CLAUDE
    },
    Dialect {
        name: "cursor",
        roots: &["/workspace_roots/0", "/cwd"],
        signs: &[&["cursor_version"], &["workspace_roots"], &["conversation_id"]],
        events: &["beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "afterFileEdit"],
        pass: EMPTY,
        deny: Some(&[
            ("permission", Slot::Word("deny")),
            ("user_message", Slot::Reason),
            ("agent_message", Slot::Reason),
        ]),
        after: Some(&[("additional_context", Slot::Reason)]),
        stop: Some(&[("followup_message", Slot::Reason)]),
    },
    Dialect {
        name: "copilot",
        signs: &[&["toolName"], &["sessionId", "timestamp"]],
        events: &["agentStop"],
        pass: EMPTY,
        deny: Some(&[("permissionDecision", Slot::Word("deny")), ("permissionDecisionReason", Slot::Reason)]),
        after: Some(&[("additionalContext", Slot::Reason)]),
        ..CLAUDE
    },
    Dialect {
        name: "opencode",
        roots: &["/directory", "/cwd", "/worktree"],
        signs: &[&["tool", "args"]],
        events: &["tool.execute.before", "tool.execute.after"],
        ..CLAUDE
    },
    Dialect {
        name: "gemini",
        events: &["BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel"],
        pass: EMPTY,
        after: Some(&[("decision", Slot::Word("deny")), ("reason", Slot::Reason)]),
        stop: Some(&[("decision", Slot::Word("deny")), ("reason", Slot::Reason)]),
        ..CLAUDE
    },
    Dialect { name: "qwen", ..CLAUDE },
    Dialect { name: "kiro", ..CLAUDE },
    Dialect { name: "goose", ..CLAUDE },
];

impl Dialect {
    /// Returns the agent with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.name == name)
    }

    /// Returns the agent that answers are given to when a payload tells nothing.
    pub fn fallback(hint: Option<&str>) -> &'static Self {
        hint.and_then(Self::named).unwrap_or(&DIALECTS[0])
    }

    /// Returns the agent that has sent a payload. Its shape decides, because agents run the hooks of others too; the hint
    /// tells apart those that speak the same way.
    pub(super) fn of(fields: &Map<String, Value>, event: Option<&str>, hint: Option<&str>) -> &'static Self {
        let by_event = || DIALECTS.iter().find(|dialect| event.is_some_and(|event| dialect.events.contains(&event)));
        let has = |signs: &&[&str]| signs.iter().all(|sign| fields.contains_key(*sign));
        let by_signs = || DIALECTS.iter().find(|dialect| dialect.signs.iter().any(has));
        by_event().or_else(by_signs).unwrap_or_else(|| Self::fallback(hint))
    }

    /// Returns what stdout says: one line of JSON, or nothing.
    pub fn stdout(&self, answer: Answer<'_>) -> Option<Value> {
        let (form, reason) = match answer {
            Answer::Pass => (self.pass, ""),
            Answer::Deny(reason) => (self.deny, reason),
            Answer::After(reason) => (self.after, reason),
            Answer::Continue(reason) => (self.stop, reason),
        };
        let value = |slot: &Slot| match slot {
            Slot::Word(word) => Value::from(*word),
            Slot::Flag(flag) => Value::from(*flag),
            Slot::Reason => Value::from(reason),
        };
        form.map(|fields| fields.iter().map(|(name, slot)| ((*name).to_owned(), value(slot))).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(payload: &Value, hint: Option<&str>) -> &'static str {
        let fields = payload.as_object().unwrap();
        Dialect::of(fields, fields.get("hook_event_name").and_then(Value::as_str), hint).name
    }

    #[test]
    fn the_shape_decides_and_the_hint_only_between_equals() {
        let claude = json!({"hook_event_name": "PreToolUse", "cwd": "/"});
        assert_eq!(of(&claude, None), "claude");
        assert_eq!(of(&claude, Some("qwen")), "qwen");
        assert_eq!(of(&claude, Some("nobody")), "claude");
        for (payload, expected) in [
            (json!({"hook_event_name": "PreToolUse", "turn_id": "1"}), "codex"),
            (json!({"hook_event_name": "BeforeTool"}), "gemini"),
            (json!({"hook_event_name": "preToolUse", "cursor_version": "3"}), "cursor"),
            (json!({"toolName": "edit", "toolArgs": {}}), "copilot"),
            (json!({"tool": "edit", "args": {}}), "opencode"),
            (json!({"agent_action_name": "pre_write_code", "tool_info": {}}), "windsurf"),
            (json!({"clineVersion": "4", "hookName": "PreToolUse"}), "cline"),
        ] {
            assert_eq!(of(&payload, Some("claude")), expected, "{payload}");
        }
    }

    #[test]
    fn nobody_is_told_allow() {
        for dialect in &DIALECTS {
            let said = dialect.stdout(Answer::Pass).map(|value| value.to_string()).unwrap_or_default();
            assert!(["", "{}", "{\"cancel\":false}"].contains(&said.as_str()), "{}: {said}", dialect.name);
        }
    }
}
