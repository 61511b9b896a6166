//! How an attempt ended: `result.json`, field by field, as `schemas/result.v1.json` has it.

use serde::Serialize;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::RepoPath;
use crate::base::put_path;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::policy::ApplyMode;
use crate::secret::Scanner;

/// How it ended. Each status has one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Success,
    DiffMissing,
    InvalidDiff,
    Partial,
    ApplyFailed,
    CommitFailed,
    GateFailed,
    SecretDetected,
    ApprovalRequired,
    PushFailed,
    Timeout,
    Unavailable,
    Interrupted,
    Error,
}

impl Status {
    /// Returns the word in documents. Who was interrupted ended with an error whose kind says so.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::DiffMissing => "diff_missing",
            Status::InvalidDiff => "invalid_diff",
            Status::Partial => "partial",
            Status::ApplyFailed => "apply_failed",
            Status::CommitFailed => "commit_failed",
            Status::GateFailed => "gate_failed",
            Status::SecretDetected => "secret_detected",
            Status::ApprovalRequired => "approval_required",
            Status::PushFailed => "push_failed",
            Status::Timeout => "timeout",
            Status::Unavailable => "unavailable",
            Status::Interrupted | Status::Error => "error",
        }
    }
}

/// Why it did not go further.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub status: Status,
    pub kind: &'static str,
    pub message: String,
    pub hints: Vec<String>,
}

impl Trouble {
    pub fn new(status: Status, kind: &'static str, message: impl Into<String>) -> Self {
        Trouble { status, kind, message: message.into(), hints: Vec::new() }
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds what to do, for what is found out later.
    pub fn hint(&mut self, hint: String) {
        self.hints.push(hint);
    }

    pub fn interrupted() -> Self {
        Trouble::new(Status::Interrupted, "interrupted", "interrupted; everything is as it was before")
    }
}

impl<E: Into<Failure>> From<E> for Trouble {
    fn from(error: E) -> Self {
        let failure: Failure = error.into();
        let (status, kind) = match failure.kind {
            Kind::Other | Kind::Usage | Kind::Unavailable | Kind::TimedOut => (Status::Error, "unknown_failure"),
            Kind::Interrupted => (Status::Interrupted, "interrupted"),
            Kind::DiffMissing => (Status::DiffMissing, "ambiguous_goal"),
            Kind::InvalidDiff => (Status::InvalidDiff, "ambiguous_goal"),
            Kind::GateFailed => (Status::GateFailed, "permission_denied"),
            Kind::SecretDetected => (Status::SecretDetected, "secret_detected"),
            Kind::ApprovalRequired => (Status::ApprovalRequired, "approval_required"),
        };
        Trouble { status, kind, message: failure.message, hints: failure.hints }
    }
}

/// What was decided about one hunk, or about a file that has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkVerdict {
    pub file: RepoPath,
    /// Its `@@` line, or what happens to a file without hunks.
    pub header: String,
    pub agreed: bool,
    pub reasons: Vec<String>,
    pub mends: Vec<String>,
}

impl HunkVerdict {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        put_path(&mut fields, "file", &self.file);
        fields.insert("header".into(), json!(self.header));
        fields.insert("verdict".into(), json!(if self.agreed { "agreed" } else { "rejected" }));
        fields.insert("reasons".into(), json!(self.reasons));
        fields.insert("mends".into(), json!(self.mends));
        Value::Object(fields)
    }
}

/// How one acceptance test ended.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestResult {
    pub name: String,
    /// `passed`, `failed`, `timeout` or `skipped`.
    pub status: &'static str,
    pub exit_code: Option<i32>,
    /// Full path of what it printed.
    pub log: Option<String>,
}

/// Everything that `result.json` says.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub status: Status,
    pub mode: ApplyMode,
    pub session: String,
    pub diff_found: bool,
    pub diff_validated: bool,
    pub diff_applied: bool,
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub pushed: Option<bool>,
    pub elapsed_ms: u64,
    pub patch_bytes: Option<u64>,
    pub diff_path: Option<String>,
    pub found: super::proposal::Found,
    pub diff_reason: Option<&'static str>,
    pub hunks: Vec<HunkVerdict>,
    pub apply_error: Option<String>,
    pub commit_error: Option<String>,
    pub push_error: Option<String>,
    /// The labels of the secrets that the patch adds, when it was looked at.
    pub secrets: Option<Vec<String>>,
    pub heard: Heard,
    pub gate: Option<Value>,
    pub tests: Option<Vec<TestResult>>,
    pub error: Option<Trouble>,
    /// What was agreed, as a patch of its own; empty when nothing got that far. Not part of the document.
    pub agreed_patch: Vec<u8>,
    /// What a person should know; not part of the document.
    pub notes: Vec<String>,
    pub phases: Phases,
}

/// How often something was asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Turns {
    pub used: u32,
    /// How often it might have been.
    pub limit: u32,
    /// There was more to ask when the limit was reached.
    pub limit_hit: bool,
}

impl Turns {
    pub fn to_json(self) -> Value {
        json!({"used": self.used, "limit": self.limit, "limitHit": self.limit_hit})
    }
}

/// How an answer was come by. Nothing of it applies where nobody was asked. Times are milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    pub platform: Option<String>,
    pub turns: Option<Turns>,
    pub retries: u64,
    pub prompt_chars: Option<u64>,
    pub completion_path: Option<String>,
    pub signals: Option<Value>,
    pub sidebar: Option<bool>,
    pub capture: Option<String>,
    pub request_id: Option<String>,
    pub request_id_seen: Option<bool>,
    /// Pictures and copies of the page.
    pub snapshots: Vec<String>,
    pub start_ms: Option<u64>,
    pub ready_ms: Option<u64>,
    pub type_ms: Option<u64>,
    pub first_token_ms: Option<u64>,
    pub stream_ms: Option<u64>,
    pub quiet_ms: Option<u64>,
    pub capture_ms: Option<u64>,
    pub mutations: Option<u64>,
    pub prompt_bytes: Option<u64>,
    pub response_bytes: Option<u64>,
    pub attachments: Option<u64>,
}

/// Where the time went, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Phases {
    pub extract: Option<u64>,
    pub test: Option<u64>,
    pub apply: Option<u64>,
}

impl Outcome {
    pub fn new(mode: ApplyMode, session: &str) -> Self {
        Outcome {
            status: Status::Error,
            mode,
            session: session.to_owned(),
            diff_found: false,
            diff_validated: false,
            diff_applied: false,
            branch: None,
            commit: None,
            pushed: None,
            elapsed_ms: 0,
            patch_bytes: None,
            diff_path: None,
            found: super::proposal::Found::default(),
            diff_reason: None,
            hunks: Vec::new(),
            apply_error: None,
            commit_error: None,
            push_error: None,
            secrets: None,
            heard: Heard::default(),
            gate: None,
            tests: None,
            error: None,
            agreed_patch: Vec::new(),
            notes: Vec::new(),
            phases: Phases::default(),
        }
    }

    /// Notes what a person should know, once.
    pub fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|known| known == text) {
            self.notes.push(text.to_owned());
        }
    }

    /// Takes secrets out of everything that other programs said.
    pub fn redact(&mut self, scanner: &Scanner) {
        let clean = |text: &mut String| {
            let (redacted, found) = scanner.redact(text.as_bytes());
            if !found.is_empty() {
                *text = String::from_utf8_lossy(&redacted).into_owned();
            }
        };
        [&mut self.apply_error, &mut self.commit_error, &mut self.push_error].into_iter().flatten().for_each(clean);
        self.notes.iter_mut().for_each(clean);
        if let Some(trouble) = &mut self.error {
            clean(&mut trouble.message);
            trouble.hints.iter_mut().for_each(clean);
        }
    }

    /// Returns the document. A field that does not apply is null, never missing.
    pub fn to_json(&self) -> Value {
        json!({
            "status": self.status.as_str(),
            "platform": self.heard.platform,
            "diffFound": self.diff_found,
            "diffValidated": self.diff_validated,
            "diffApplied": self.diff_applied,
            "applyMode": self.mode.as_str(),
            "branch": self.branch,
            "commitSha": self.commit,
            "pushed": self.pushed,
            "retryCount": self.heard.retries,
            "turns": self.heard.turns.map(Turns::to_json),
            "elapsedMs": self.elapsed_ms,
            "promptChars": self.heard.prompt_chars,
            "responseChars": self.found.response_chars,
            "patchBytes": self.patch_bytes,
            "diffPath": self.diff_path,
            "diffScore": self.found.score,
            "diffBlocks": self.found.blocks,
            "diffReason": self.diff_reason,
            "hunks": self.hunks.iter().map(HunkVerdict::to_json).collect::<Vec<_>>(),
            "gitApplyError": self.apply_error,
            "gitCommitError": self.commit_error,
            "gitPushError": self.push_error,
            "secretScan": self.secrets.as_ref().map(|labels| json!({
                "status": if labels.is_empty() { "ok" } else { "matches_detected" },
                "matches": labels,
            })),
            "gate": self.gate,
            "tests": self.tests,
            "completionPath": self.heard.completion_path,
            "copilotSignals": self.heard.signals,
            "sidebarDetected": self.heard.sidebar,
            "capture": self.heard.capture,
            "requestId": self.heard.request_id,
            "requestIdSeen": self.heard.request_id_seen,
            "snapshots": self.heard.platform.is_some().then_some(&self.heard.snapshots),
            "error": self.error.as_ref().map(|trouble| json!({
                "kind": trouble.kind,
                "message": trouble.message,
                "hint": trouble.hints.first(),
            })),
        })
    }

    /// Returns the document of the metrics.
    pub fn metrics(&self) -> Value {
        json!({
            "startMs": self.heard.start_ms,
            "readyMs": self.heard.ready_ms,
            "typeMs": self.heard.type_ms,
            "firstTokenMs": self.heard.first_token_ms,
            "streamMs": self.heard.stream_ms,
            "quietMs": self.heard.quiet_ms,
            "captureMs": self.heard.capture_ms,
            "extractMs": self.phases.extract,
            "applyMs": self.phases.apply,
            "testMs": self.phases.test,
            "mutations": self.heard.mutations,
            "promptBytes": self.heard.prompt_bytes,
            "responseBytes": self.heard.response_bytes,
            "attachments": self.heard.attachments,
        })
    }
}
