//! The hash chain of an event log, as pure functions over its bytes.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::Sha256Hex;
use crate::base::canonical;

/// Where the chain of a log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub next_seq: u64,
    pub hash: String,
}

/// Returns where a log that has no events yet begins.
pub(super) fn start(run_id: &str) -> Head {
    let origin = canonical(&json!({"contract_sha256": null, "run_id": run_id}));
    let hash = Sha256Hex::of_parts(&[b"git-oracle/run/v1\n", origin.as_bytes()]);
    Head { next_seq: 0, hash: format!("sha256:{hash}") }
}

/// Returns the line for an event: its fields, its place in the chain and its hash.
pub(super) fn seal(mut fields: Map<String, Value>, head: &Head) -> (String, Head) {
    fields.insert("seq".into(), json!(head.next_seq));
    fields.insert("prev_hash".into(), json!(head.hash));
    let hash = hash_of(&fields);
    fields.insert("hash".into(), json!(hash));
    (canonical(&Value::Object(fields)), Head { next_seq: head.next_seq + 1, hash })
}

fn hash_of(fields: &Map<String, Value>) -> String {
    let mut hashed = fields.clone();
    hashed.remove("hash");
    let text = canonical(&Value::Object(hashed));
    format!("sha256:{}", Sha256Hex::of_parts(&[b"git-oracle/event/v1\n", text.as_bytes()]))
}

/// Returns the end of the chain after one stored line.
pub(super) fn head_after(line: &[u8]) -> Option<Head> {
    let value: Value = serde_json::from_slice(line).ok()?;
    Some(Head { next_seq: value.get("seq")?.as_u64()? + 1, hash: value.get("hash")?.as_str()?.to_owned() })
}

/// The state of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainState {
    Intact {
        events: u64,
    },
    /// The last line was cut off; the next event sets it aside.
    Torn {
        events: u64,
        bytes: usize,
    },
    Broken(Broken),
}

/// The first place at which a log is not what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Counted from 1.
    pub line: usize,
    pub reason: &'static str,
}

/// Checks every line of a log: canonical bytes, sequence, link, hash, run.
pub fn check_chain(bytes: &[u8], run_id: &str) -> ChainState {
    let mut head = start(run_id);
    let (whole, tail) = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (&bytes[..0], bytes),
    };
    let lines = whole.split(|byte| *byte == b'\n').filter(|_| !whole.is_empty());
    for (index, line) in lines.enumerate() {
        match check_line(line, &head, run_id) {
            Ok(next) => head = next,
            Err(reason) => return ChainState::Broken(Broken { line: index + 1, reason }),
        }
    }
    match tail.len() {
        0 => ChainState::Intact { events: head.next_seq },
        bytes => ChainState::Torn { events: head.next_seq, bytes },
    }
}

fn check_line(line: &[u8], head: &Head, run_id: &str) -> Result<Head, &'static str> {
    let value: Value = serde_json::from_slice(line).map_err(|_| "it is not JSON")?;
    let fields = value.as_object().ok_or("it is not an object")?;
    if canonical(&value).as_bytes() != line {
        return Err("it is not in canonical form");
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if text("run_id") != Some(run_id) {
        return Err("it belongs to another run");
    }
    if fields.get("seq").and_then(Value::as_u64) != Some(head.next_seq) {
        return Err("its number is not the next one");
    }
    if text("prev_hash") != Some(&head.hash) {
        return Err("it does not follow the line before it");
    }
    let hash = hash_of(fields);
    if text("hash") != Some(&hash) {
        return Err("its hash is wrong");
    }
    Ok(Head { next_seq: head.next_seq + 1, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: u64) -> Vec<String> {
        let mut head = start("hooks");
        let mut lines = Vec::new();
        for number in 0..events {
            let fields = json!({"run_id": "hooks", "payload": {"number": number}});
            let (line, next) = seal(fields.as_object().unwrap().clone(), &head);
            lines.push(line);
            head = next;
        }
        lines
    }

    fn state(lines: &[String]) -> ChainState {
        check_chain(lines.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes(), "hooks")
    }

    #[test]
    fn an_honest_log_is_intact() {
        for events in [0, 1, 5] {
            assert_eq!(state(&log(events)), ChainState::Intact { events });
        }
        assert_eq!(head_after(log(3)[2].as_bytes()).unwrap().next_seq, 3);
    }

    #[test]
    fn every_kind_of_tampering_is_named() {
        let lines = log(4);
        let broken = |line, reason| ChainState::Broken(Broken { line, reason });
        let mut edited = lines.clone();
        edited[1] = edited[1].replace("\"number\":1", "\"number\":7");
        assert_eq!(state(&edited), broken(2, "its hash is wrong"));
        let mut dropped = lines.clone();
        dropped.remove(1);
        assert_eq!(state(&dropped), broken(2, "its number is not the next one"));
        let mut swapped = lines.clone();
        swapped.swap(1, 2);
        assert_eq!(state(&swapped), broken(2, "its number is not the next one"));
        let mut spaced = lines.clone();
        spaced[3].push(' ');
        assert_eq!(state(&spaced), broken(4, "it is not in canonical form"));
        assert_eq!(check_chain(b"x\n", "hooks"), broken(1, "it is not JSON"));
        assert!(matches!(check_chain(format!("{}\n", lines[0]).as_bytes(), "other"), ChainState::Broken(_)));
    }

    #[test]
    fn a_cut_last_line_is_torn_and_not_broken() {
        let lines = log(2);
        let text = format!("{}\n{}", lines[0], &lines[1][..10]);
        assert_eq!(check_chain(text.as_bytes(), "hooks"), ChainState::Torn { events: 1, bytes: 10 });
        assert_eq!(check_chain(b"{", "hooks"), ChainState::Torn { events: 0, bytes: 1 });
    }
}
