//! Examples of rules: texts that a rule has to find and texts that it has to let pass.
//!
//! No example holds a token: hosting services refuse pushes with anything that has the form of one, however made up it
//! is. A placeholder such as `<hex:32>` says which characters belong there, and loading fills it in.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::secret::Scanner;
use crate::secret::check::checksum62;
use crate::secret::check::encode_base64;

/// What a rule promises.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    #[serde(default, rename = "pass")]
    pub passes: Vec<String>,
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";

impl Examples {
    /// Returns what does not hold of what they promise.
    pub(super) fn check(&self, rule: &str, scanner: &Scanner) -> Result<(), String> {
        if self.matches.is_empty() {
            return Err("needs an example of what it matches".to_owned());
        }
        let finds = |text: &String| {
            let text = fill(text, 1);
            scanner.scan(text.as_bytes()).iter().any(|finding| finding.rule == rule)
        };
        for (kind, examples, expected) in [("match", &self.matches, true), ("pass", &self.passes, false)] {
            if let Some(number) = examples.iter().position(|text| finds(text) != expected) {
                let verb = if expected { "does not match" } else { "matches" };
                return Err(format!("{verb} number {} of its examples under \"{kind}\"", number + 1));
            }
        }
        Ok(())
    }
}

/// Returns the text with its placeholders filled in: the same for the same seed.
pub fn fill(text: &str, seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ text.len() as u64);
    let mut filled = String::new();
    let mut last = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let made = after.split_once('>').and_then(|(name, tail)| Some((make(name, &last, &mut random)?, tail)));
        match made {
            Some((made, tail)) => {
                filled.push_str(&made);
                last = made;
                rest = tail;
            }
            None => {
                filled.push('<');
                rest = after;
            }
        }
    }
    filled + rest
}

/// Returns what a placeholder stands for; `None` where it is none.
fn make(name: &str, last: &str, random: &mut Random) -> Option<String> {
    match name {
        "crc62" => return Some(checksum62(last.as_bytes())),
        "uuid" => {
            let parts = [8, 4, 4, 4, 12].map(|count| random.text("0123456789abcdef", count));
            return Some(parts.join("-"));
        }
        "jwt" => {
            let parts = [r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"sub":"7","iss":"https://login.internal"}"#];
            let parts = parts.map(|part| encode_base64(part.as_bytes()).trim_end_matches('=').to_owned());
            let signature = random.text(&[LOWER, UPPER, DIGITS].concat(), 43);
            return Some(format!("{}.{}.{signature}", parts[0], parts[1]));
        }
        "basic" => return Some(encode_base64(format!("svc-deploy:{}", random.password(16)).as_bytes())),
        "b64:ghp" => {
            let body = random.text(&[LOWER, UPPER, DIGITS].concat(), 30);
            let mut token = String::from("ghp");
            let _ = write!(token, "_{body}{}", checksum62(body.as_bytes()));
            return Some(encode_base64(token.as_bytes()));
        }
        _ => {}
    }
    let (class, count) = name.rsplit_once(':')?;
    let count: usize = count.parse().ok().filter(|count| *count <= 4096)?;
    let letters = match class {
        "password" => return Some(random.password(count)),
        "b64:password" => return Some(encode_base64(random.password(count).as_bytes())),
        "hex" => "0123456789abcdef".to_owned(),
        "upperhex" => "0123456789ABCDEF".to_owned(),
        "digits" => DIGITS.to_owned(),
        "lower" => [LOWER, DIGITS].concat(),
        "upper" => [UPPER, DIGITS].concat(),
        "alnum" => [LOWER, UPPER, DIGITS].concat(),
        "base32" => [UPPER, "234567"].concat(),
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "base64" => [LOWER, UPPER, DIGITS, "+/"].concat(),
        "base64url" => [LOWER, UPPER, DIGITS, "-_"].concat(),
        _ => return None,
    };
    Some(random.text(&letters, count))
}

/// Numbers that look random and are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn text(&mut self, letters: &str, count: usize) -> String {
        (0..count).map(|_| char::from(letters.as_bytes()[self.below(letters.len())])).collect()
    }

    /// Returns a password with each sort of character in it.
    fn password(&mut self, count: usize) -> String {
        let sorts = [LOWER, UPPER, DIGITS, LOWER, "!-_.~"];
        (0..count).map(|at| self.text(sorts[if at + 1 == count { 0 } else { at % sorts.len() }], 1)).collect()
    }
}
