//! What is wrong with a contract, and where.

use serde::Serialize;

/// One problem of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    /// JSON pointer (RFC 6901) to the place; empty for the whole document.
    pub pointer: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Whether a contract with this problem can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
}

impl Problem {
    pub fn error(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Error, pointer: pointer.into(), message: message.into(), hint: None }
    }

    pub fn warning(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { severity: Severity::Warning, ..Problem::error(pointer, message) }
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
