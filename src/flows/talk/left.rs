//! What earlier runs left on a remote WebDriver. It does not notice that a run was killed, or that it had no time to wait
//! for the end: the session would keep its slot until the grid's own time limit. So the ledger names it until it is known
//! to have ended, and the next run that goes there ends it.

use serde_json::Value;
use serde_json::json;

use crate::evidence::KeptSession;
use crate::evidence::Session;
use crate::evidence::Shelf;
use crate::system;
use crate::transport::conversation::Conversation;
use crate::transport::driver::Endpoint;
use crate::transport::end_remote_session;

const MAX_LEDGER_BYTES: u64 = 256 << 20;

/// A session on a remote WebDriver, as a ledger names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::flows) struct Left {
    /// Without a password.
    pub endpoint: String,
    pub id: String,
}

impl Left {
    /// Returns the one that this ledger speaks of, unless somebody has ended it.
    pub fn of<'a>(ledger: impl IntoIterator<Item = &'a Value>) -> Option<Self> {
        let mut left = None;
        for line in ledger {
            let fact = |name: &str| line["facts"][name].as_str().map(str::to_owned);
            match line["step"].as_str() {
                Some("remote") => {
                    left = fact("endpoint").zip(fact("sessionId")).map(|(endpoint, id)| Left { endpoint, id });
                }
                Some("released") => left = None,
                _ => {}
            }
        }
        left
    }
}

/// Returns the lines of a ledger. A last line that was cut off by a kill says nothing.
pub(in crate::flows) fn ledger(kept: &KeptSession) -> Vec<Value> {
    let bytes = system::read_limited(&kept.directory.join("ledger.jsonl"), MAX_LEDGER_BYTES).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// Ends the browser of a talk, and writes down that nothing of it is left on a remote WebDriver.
pub(in crate::flows) fn close(conversation: Conversation, session: &Session) {
    if conversation.close() {
        // Without the line, the next run only asks for it once more.
        let _ = session.record("released", json!({}));
    }
}

/// Ends what earlier runs have at this address. Where that fails, the session that is asked for next will say why.
pub(super) fn end_all(ours: &Session, endpoint: &Endpoint) {
    let kept = Shelf::around(ours).sessions().unwrap_or_default();
    for kept in kept.iter().filter(|kept| kept.document["mode"] == "browser" && !kept.is_at_work()) {
        let Some(left) = Left::of(&ledger(kept)).filter(|left| left.endpoint == endpoint.to_string()) else { continue };
        // Locked, so that nobody picks it up meanwhile.
        let Ok(session) = Session::reopen(&kept.directory, &kept.slug, &kept.created_at) else { continue };
        if end_remote_session(endpoint, &left.id).is_err() {
            return;
        }
        ours.log(&format!("ended the browser that the session {} had left at {endpoint}", kept.slug));
        let _ = session.record("released", json!({}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_counts_until_it_is_ended() {
        let remote =
            |id: &str| json!({"step": "remote", "facts": {"endpoint": "http://127.0.0.1:4444/", "sessionId": id}});
        let left = |id: &str| Some(Left { endpoint: "http://127.0.0.1:4444/".to_owned(), id: id.to_owned() });
        let (typed, released) = (json!({"step": "typed", "facts": {}}), json!({"step": "released", "facts": {}}));
        for (lines, expected) in [
            (vec![], None),
            (vec![typed.clone(), remote("a"), typed.clone()], left("a")),
            (vec![remote("a"), released.clone()], None),
            (vec![remote("a"), released, remote("b")], left("b")),
            (vec![json!({"step": "remote", "facts": {"endpoint": 1}})], None),
            (vec![json!(null), json!([1])], None),
        ] {
            assert_eq!(Left::of(&lines), expected, "{lines:?}");
        }
    }
}
