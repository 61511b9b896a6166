//! Canonical JSON (RFC 8785) for what gets hashed: the bytes that are stored are the bytes that are hashed.

use serde_json::Value;

/// Returns `value` in canonical form: no white space, keys sorted by their UTF-16 code units.
///
/// Only strings, booleans, null, arrays, objects and integers are meant to be stored by us; a float is written as
/// `serde_json` writes it, which is the shortest form and agrees with the RFC except for exponents.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, field)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(&Value::String(key.clone()), out);
                out.push(':');
                write(field, out);
            }
            out.push('}');
        }
        // serde_json escapes exactly what the RFC asks for, in the same spelling.
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_by_utf16_and_nothing_is_padded() {
        // U+FB33 sorts after U+1F600 in UTF-16, although its code point is smaller.
        let value =
            json!({"\u{fb33}": 1, "\u{1f600}": 2, "b": [true, null, {"z": 0, "a": -1}], "\u{80}": "\u{1}\n\"/"});
        assert_eq!(
            canonical(&value),
            "{\"b\":[true,null,{\"a\":-1,\"z\":0}],\"\u{80}\":\"\\u0001\\n\\\"/\",\"\u{1f600}\":2,\"\u{fb33}\":1}"
        );
    }
}
