//! `session`: what earlier runs left, to look at and to throw away.

use serde_json::Value;

use crate::evidence::Shelf;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::system;

pub use crate::evidence::KeptSession;

/// Returns every session, the oldest first.
pub fn list(flows: &Flows) -> Result<Vec<KeptSession>, Failure> {
    Ok(Shelf::of(&flows.home()?).sessions()?)
}

/// Returns the session with this name, or the last one.
pub fn find(flows: &Flows, slug: Option<&str>) -> Result<KeptSession, Failure> {
    let shelf = Shelf::of(&flows.home()?);
    let (found, missing) = match slug {
        Some(slug) => (shelf.session(slug), format!("there is no session with this name: {slug}")),
        None => (shelf.last(|_| true)?, "there is no session yet".to_owned()),
    };
    found.ok_or_else(|| Failure::new(Kind::Other, missing).hinted("git oracle session list"))
}

/// Returns how a session ended, or how it stands.
pub fn state(session: &KeptSession) -> &str {
    match session.document["status"].as_str() {
        Some("running") if !session.is_at_work() => "killed",
        Some(status) => status,
        None => "unknown",
    }
}

/// Which sessions go. A session that somebody works on stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct PruneRequest {
    /// Those that are older than so many seconds
    pub older_than: Option<u64>,
    /// All but so many of the youngest
    pub keep: Option<usize>,
}

/// The sessions that would go.
pub struct PrunePlan {
    pub sessions: Vec<KeptSession>,
    pub kept: usize,
}

pub fn plan_prune(flows: &Flows, request: PruneRequest) -> Result<PrunePlan, Failure> {
    let all = list(flows)?;
    let count = all.len();
    let old = |session: &KeptSession| {
        let limit = request.older_than.unwrap_or(0);
        // A date that cannot be read is no reason to throw something away.
        system::seconds_since(&session.created_at).is_some_and(|age| age >= limit)
    };
    let spare = count.saturating_sub(request.keep.unwrap_or(0));
    let doomed = all.into_iter().take(spare).filter(|session| old(session) && !session.is_at_work());
    let sessions: Vec<KeptSession> = doomed.collect();
    Ok(PrunePlan { kept: count - sessions.len(), sessions })
}

impl PrunePlan {
    pub fn carry_out(self) -> Result<(), Failure> {
        self.sessions.into_iter().try_for_each(|session| Ok(session.remove()?))
    }
}

/// A file of a session as text, cut where it is too long to read.
pub struct Excerpt {
    pub name: String,
    pub text: String,
    pub is_cut: bool,
}

/// Everything that a page about a session shows.
pub struct Story {
    pub session: KeptSession,
    pub result: Option<Value>,
    pub metrics: Option<Value>,
    /// Requests, answers, patches, logs: in the order in which they are read
    pub texts: Vec<Excerpt>,
    pub pictures: Vec<(String, Vec<u8>)>,
}

const MAX_TEXT_BYTES: usize = 1 << 20;
const MAX_FILE_BYTES: u64 = 256 << 20;
const MAX_PICTURE_BYTES: u64 = 8 << 20;

/// Reads what is in a session's folder.
pub fn story(session: KeptSession) -> Story {
    let names = session.files();
    let is_text = |name: &&String| [".md", ".patch", ".log", ".jsonl"].iter().any(|end| name.ends_with(end));
    let mut texts: Vec<Excerpt> = names.iter().filter(is_text).filter_map(|name| excerpt(&session, name)).collect();
    texts.sort_by_key(|text| reading_order(&text.name));
    let picture = |name: &String| {
        let bytes = system::read_limited(&session.directory.join(name), MAX_PICTURE_BYTES).ok()?;
        bytes.starts_with(b"\x89PNG\r\n\x1a\n").then_some((name.clone(), bytes))
    };
    let pictures = names.iter().filter(|name| name.ends_with(".png")).filter_map(picture).collect();
    Story { result: session.read("result.json"), metrics: session.read("metrics.json"), texts, pictures, session }
}

fn excerpt(session: &KeptSession, name: &str) -> Option<Excerpt> {
    let mut bytes = system::read_limited(&session.directory.join(name), MAX_FILE_BYTES).ok()?;
    let is_cut = bytes.len() > MAX_TEXT_BYTES;
    bytes.truncate(MAX_TEXT_BYTES);
    Some(Excerpt { name: name.to_owned(), text: String::from_utf8_lossy(&bytes).into_owned(), is_cut })
}

/// Returns what was decided about each answer, in order: the facts of the ledger's steps `judged`.
pub fn judgements(session: &KeptSession) -> Vec<Value> {
    let bytes = system::read_limited(&session.directory.join("ledger.jsonl"), MAX_FILE_BYTES).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.filter(|line| line["step"] == "judged").map(|mut line| line["facts"].take()).collect()
}

/// A turn is its request, then its answer, its patch and its tests; what belongs to no turn comes last.
fn reading_order(name: &str) -> (u32, u8, String) {
    let stem = name.split('.').next().unwrap_or_default();
    let mut parts = stem.split('-');
    let kind = match parts.next().unwrap_or_default() {
        "request" => 0,
        "response" => 1,
        "diff" => 2,
        "chosen" => 3,
        "test" => 4,
        _ => 5,
    };
    let number = parts.next().and_then(|number| number.parse().ok());
    // The tests of a patch that came alone carry no turn.
    let has_turn = kind < 4 || kind == 4 && parts.next().is_some();
    let turn = if has_turn { number.unwrap_or(u32::MAX - 1) } else { u32::MAX };
    (turn, kind, name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_told_turn_by_turn() {
        let mut names = [
            "test-1.log",
            "output.log",
            "diff.patch",
            "response-2.md",
            "request-2.md",
            "diff-1.patch",
            "response-1.md",
            "request-10.md",
            "request-1.md",
        ];
        names.sort_by_key(|name| reading_order(name));
        assert_eq!(
            names,
            [
                "request-1.md",
                "response-1.md",
                "diff-1.patch",
                "request-2.md",
                "response-2.md",
                "request-10.md",
                "diff.patch",
                "test-1.log",
                "output.log"
            ]
        );
    }
}
