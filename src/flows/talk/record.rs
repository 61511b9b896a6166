//! `session.json` of a talk.

use serde_json::Value;
use serde_json::json;

use crate::base::Oid;
use crate::evidence::EvidenceError;
use crate::evidence::Session;
use crate::flows::Flows;
use crate::flows::apply::Turns;
use crate::flows::talk::Draft;
use crate::flows::talk::engine::Engine;
use crate::transport::api::Usage;

/// Nobody wants to read the whole prompt in a list.
const PREVIEW: usize = 80;

/// What a session says about itself, apart from how it ended.
pub(in crate::flows) struct Record {
    cwd: String,
    mode: &'static str,
    platform: String,
    preview: String,
    options: Value,
    pub model: Option<String>,
    usage: Option<Usage>,
    /// Where the conversation can be found again.
    pub address: Option<String>,
}

impl Record {
    /// Begins the record of a talk. `options` are those of the command.
    pub fn begin(flows: &Flows, engine: &Engine, words: &str, mut options: Value) -> Self {
        options["url"] = json!(engine.destination().shown);
        let line = words.lines().map(str::trim).find(|line| !line.is_empty());
        Record {
            cwd: flows.environment.current_dir.display().to_string(),
            mode: engine.kind().as_str(),
            platform: engine.platform().to_owned(),
            preview: line.unwrap_or_default().chars().take(PREVIEW).collect(),
            options,
            model: engine.model().map(str::to_owned),
            usage: None,
            address: None,
        }
    }

    /// Notes the commit that is asked about.
    pub fn about(&mut self, commit_id: Oid) {
        self.options["commit"] = json!(commit_id.to_string());
    }

    /// Notes what the next turn is known by, and what goes with it.
    pub(super) fn begin_turn(&mut self, draft: &Draft) {
        self.options["requestId"] = json!(draft.id.as_str());
        let names = draft.parcel.attachments.iter().map(|attachment| attachment.name).collect::<Vec<_>>();
        self.options["attachments"] = json!(names);
    }

    /// Adds what a turn cost.
    pub(super) fn add_usage(&mut self, more: Option<Usage>) {
        let Some(more) = more else { return };
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let so_far = self.usage.unwrap_or_default();
        self.usage = Some(Usage {
            input_tokens: sum(so_far.input_tokens, more.input_tokens),
            output_tokens: sum(so_far.output_tokens, more.output_tokens),
            reasoning_tokens: sum(so_far.reasoning_tokens, more.reasoning_tokens),
            total_tokens: sum(so_far.total_tokens, more.total_tokens),
        });
    }

    pub(super) fn write(&self, session: &Session, status: &str, turns: Turns) -> Result<(), EvidenceError> {
        let mut options = self.options.clone();
        options["conversation"] = json!(self.address);
        session.write_json(
            "session.json",
            &json!({
                "id": session.slug,
                "createdAt": session.created_at,
                "status": status,
                "promptPreview": self.preview,
                "model": self.model,
                "cwd": self.cwd,
                "mode": self.mode,
                "platform": self.platform,
                "options": options,
                "usage": self.usage.map(|usage| json!({
                    "inputTokens": usage.input_tokens,
                    "outputTokens": usage.output_tokens,
                    "reasoningTokens": usage.reasoning_tokens,
                    "totalTokens": usage.total_tokens,
                })),
                "turns": turns.to_json(),
            }),
        )
    }
}
