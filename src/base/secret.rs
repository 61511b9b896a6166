//! A value that is used and never shown.

use std::fmt;

/// A password, a token, a key. It has no text form: who needs the value says so with [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub const fn new(value: String) -> Self {
        Secret(value)
    }

    /// Returns the value, to hand it to whom it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns a text with the value struck out wherever it stands.
    pub fn strike(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***REDACTED***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_in_no_text() {
        let secret = Secret::new("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)).matches("hunter2").count(), 0);
        assert_eq!(secret.strike("key hunter2, hunter2"), "key ***REDACTED***, ***REDACTED***");
        assert_eq!(Secret::new(String::new()).strike("as it is"), "as it is");
    }
}
