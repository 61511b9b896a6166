//! JSON that no two parsers can read differently.
//!
//! `serde_json` keeps the last of two equal keys and says nothing. A contract with two `allowed_paths` would then mean
//! one thing to us and another to the next reader, so a repeated key is an error here, at any depth and after unescaping.

use std::collections::HashSet;
use std::fmt;

use serde::de::DeserializeSeed;
use serde::de::Deserializer;
use serde::de::Error;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Map;
use serde_json::Number;
use serde_json::Value;

/// Why some bytes are not the JSON we accept.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    #[error("starts with a byte order mark")]
    ByteOrderMark,
    #[error("is {size} bytes long, more than the {limit} bytes that are read")]
    TooLarge { size: usize, limit: usize },
    #[error("is not UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
    #[error("is not valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
}

/// Returns the one value in `bytes`: UTF-8, no byte order mark, no repeated key, nothing after it, at most `limit` bytes.
pub fn parse_strict(bytes: &[u8], limit: usize) -> Result<Value, JsonError> {
    if bytes.len() > limit {
        return Err(JsonError::TooLarge { size: bytes.len(), limit });
    }
    if bytes.starts_with(b"\xef\xbb\xbf") || bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(JsonError::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 { at: error.valid_up_to() })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("the key \"{}\" appears twice", key.escape_debug())));
            }
            let value = map.next_value_seed(Strict)?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    #[test]
    fn one_value_is_read_as_serde_json_reads_it() {
        let text = r#"{"a":[1,-2,3.5,true,null,"x\u00e9"],"b":{"c":{}}}"#;
        assert_eq!(parse_strict(text.as_bytes(), LIMIT).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn what_two_parsers_could_read_differently_is_refused() {
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        let cases: [(&[u8], &str); 9] = [
            (br#"{"a":1,"a":2}"#, "the key \"a\" appears twice"),
            (br#"{"x":[{"a":1,"\u0061":2}]}"#, "the key \"a\" appears twice"),
            (b"{} x", "trailing characters"),
            (b"{}{}", "trailing characters"),
            (b"\xef\xbb\xbf{}", "byte order mark"),
            (b"{\"a\":\"\xff\"}", "not UTF-8 at byte 6"),
            (b"", "EOF"),
            (b"{\"a\":1e999}", "out of range"),
            (&deep, "recursion limit"),
        ];
        for (bytes, reason) in cases {
            let error = parse_strict(bytes, LIMIT).unwrap_err().to_string();
            assert!(error.contains(reason), "{error} should say {reason}");
        }
        assert!(matches!(parse_strict(&[b' '; 11], 10), Err(JsonError::TooLarge { size: 11, limit: 10 })));
    }
}
