//! Why a profile cannot be used.

use crate::base::nearest;
use crate::base::visible;

/// A problem in a profile, with its line where it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("line {line}: {message}")]
    Line { line: usize, message: String },
    #[error("{0}")]
    Whole(String),
    #[error("there is no page profile {name}; {known} are known")]
    Unknown { name: String, known: String },
    #[error("no page profile is for {host}")]
    NoneFor { host: String },
    #[error("the page profile {path}: {problem}")]
    In { path: String, problem: Box<ProfileError> },
    #[error("{0}")]
    Unreadable(String),
}

impl ProfileError {
    pub(super) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
        ProfileError::Line { line: 1 + before.iter().filter(|byte| **byte == b'\n').count(), message: message.into() }
    }

    /// Takes over what the parser says, and names the word that a misspelt one may have meant.
    pub(super) fn of_parser(text: &str, error: &toml::de::Error) -> Self {
        let said = error.message().lines().next().unwrap_or_default();
        let message = match unknown(said) {
            Some((word, known)) => {
                let meant = nearest(word, known.iter().copied()).map(|name| format!(", did you mean {name}?"));
                format!("{} is not known{}", visible(word), meant.unwrap_or_default())
            }
            None => visible(said).into_owned(),
        };
        match error.span() {
            Some(span) => ProfileError::at(text, span.start, message),
            None => ProfileError::Whole(message),
        }
    }
}

/// Splits "unknown field `x`, expected one of `a`, `b`" into the word and what is known.
fn unknown(said: &str) -> Option<(&str, Vec<&str>)> {
    let rest = said.strip_prefix("unknown field ").or_else(|| said.strip_prefix("unknown variant "))?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    Some((word, quoted.collect()))
}
