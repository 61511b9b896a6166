//! What ties an answer to its prompt.

use std::fmt;
use std::io;

use crate::system::random_hex;

const START: &str = "orc-";
const DIGITS: usize = 12;

/// `orc-` and twelve hexadecimal digits. A prompt carries it, and its answer is asked to repeat it on its first and last line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct RequestId(String);

impl RequestId {
    /// Returns one that nobody can foresee.
    pub fn random() -> io::Result<Self> {
        Ok(RequestId(format!("{START}{}", random_hex(DIGITS / 2)?)))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(START)?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (digits.len() == DIGITS && digits.bytes().all(is_hex)).then(|| RequestId(text.to_owned()))
    }

    /// Returns the first one in a text.
    pub fn find(text: &str) -> Option<Self> {
        text.match_indices(START).find_map(|(at, _)| RequestId::parse(text.get(at..at + START.len() + DIGITS)?))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_in_a_prompt_and_nothing_else_is_one() {
        let id = RequestId::random().unwrap();
        assert_eq!(RequestId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(RequestId::find(&format!("orc-no ä orc-{} {id} orc-000000000000", "x")), Some(id));
        for text in ["", "orc-", "orc-0123456789AB", "orc-0123456789abc", "orc-0123456789a", "0123456789ab"] {
            assert_eq!(RequestId::parse(text), None, "{text}");
        }
        assert_eq!(RequestId::find("orc-01234567ü89ab"), None);
    }
}
