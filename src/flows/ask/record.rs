//! `session.json` of a question.

use serde_json::Value;
use serde_json::json;

use crate::evidence::EvidenceError;
use crate::evidence::Session;
use crate::flows::Flows;
use crate::flows::apply::Outcome;
use crate::flows::ask::Request;
use crate::flows::ask::engine::Engine;
use crate::flows::ask::parcel::Parcel;
use crate::transport::RequestId;
use crate::transport::api::Usage;

/// Nobody wants to read the whole prompt in a list.
const PREVIEW: usize = 80;

/// What a session says about itself, apart from how it ended.
pub(super) struct Record {
    cwd: String,
    mode: &'static str,
    platform: String,
    preview: String,
    options: Value,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    /// Where the conversation can be found again.
    pub address: Option<String>,
}

impl Record {
    pub fn begin(
        flows: &Flows,
        session: &Session,
        request: &Request,
        engine: &Engine,
        id: &RequestId,
        parcel: &Parcel,
    ) -> Self {
        session.log(&format!("{} to {}", id, engine.destination().shown));
        // The prompt as it is sent: a secret that was taken out of it must not come back here.
        let words = parcel.request.lines().skip(1).map(str::trim).find(|line| !line.is_empty());
        Record {
            cwd: flows.environment.current_dir.display().to_string(),
            mode: engine.kind().as_str(),
            platform: engine.platform().to_owned(),
            preview: words.unwrap_or_default().chars().take(PREVIEW).collect(),
            options: json!({
                "url": engine.destination().shown,
                "requestId": id.as_str(),
                "files": request.context.as_ref().map(|context| &context.patterns),
                "bundleFormat": request.context.as_ref().map(|context| context.format.as_str()),
                "attachments": parcel.attachments.iter().map(|attachment| attachment.name).collect::<Vec<_>>(),
                "timeoutSec": request.timeout.map(|limit| limit.as_secs()),
                "stallTimeoutSec": request.stall.map(|limit| limit.as_secs()),
                "sanitizePrompt": request.sanitize,
                "attach": request.engine.attach,
            }),
            model: engine.model().map(str::to_owned),
            usage: None,
            address: None,
        }
    }

    /// Writes the document. It is there from the beginning, and true at every moment.
    pub fn write(&self, session: &Session, status: &str, outcome: &Outcome) -> Result<(), EvidenceError> {
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
                "turns": {"used": outcome.heard.turns.unwrap_or(0), "limit": 1, "limitHit": false},
            }),
        )
    }
}
