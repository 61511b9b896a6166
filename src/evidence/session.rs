//! The folder of one session: `$ORACLE_HOME_DIR/sessions/<slug>/`.
//!
//! Documents appear whole or not at all; the ledger and the log only grow. Everything is readable by its owner only.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::base::parse_strict;
use crate::evidence::EvidenceError;
use crate::system;

/// Nobody keeps so many sessions of one name.
const MAX_SAME_NAME: u32 = 100_000;

/// How many words a slug has at most.
const WORDS: usize = 5;

const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// One session's folder.
pub struct Session {
    pub slug: String,
    pub directory: PathBuf,
    pub created_at: String,
    log: File,
}

/// Returns a text as the name of a session: its first words, in lower case. `None` when no word is left.
pub fn slug(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.take(WORDS).collect::<Vec<_>>().join("-");
    slug.truncate(60);
    let slug = slug.trim_end_matches('-').to_owned();
    (!slug.is_empty()).then_some(slug)
}

impl Session {
    /// Makes the folder of a new session. A name that is taken gets a number.
    pub fn create(home: &Path, slug: &str) -> Result<Self, EvidenceError> {
        let sessions = home.join("sessions");
        system::create_private_dir(&sessions)?;
        for number in 1..MAX_SAME_NAME {
            let slug = if number == 1 { slug.to_owned() } else { format!("{slug}-{number}") };
            let directory = sessions.join(&slug);
            match system::create_new_private_dir(&directory) {
                Ok(()) => {
                    let log = system::open_log(&directory.join("output.log"))?;
                    return Ok(Session { slug, directory, created_at: system::now(), log });
                }
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EvidenceError::Locked { path: sessions.join(slug) })
    }

    /// Returns the folder of the session with this name, or of the last one that has a patch.
    pub fn find(home: &Path, slug: Option<&str>) -> Option<PathBuf> {
        let sessions = home.join("sessions");
        if let Some(slug) = slug {
            let plain = !slug.is_empty() && !slug.starts_with('.') && !slug.contains('/');
            return Some(sessions.join(slug)).filter(|directory| plain && directory.join("session.json").is_file());
        }
        // Other programs keep folders here, too: what has no document of ours does not count.
        let created = |directory: &Path| {
            let bytes = system::read_limited(&directory.join("session.json"), MAX_DOCUMENT_BYTES).ok()?;
            let document = parse_strict(&bytes, MAX_DOCUMENT_BYTES as usize).ok()?;
            let has_patch = directory.join("diff.patch").is_file();
            document["createdAt"].as_str().filter(|_| has_patch).map(str::to_owned)
        };
        let folders = std::fs::read_dir(sessions).ok()?.flatten().map(|entry| entry.path());
        let dated = folders.filter_map(|directory| Some((created(&directory)?, directory)));
        dated.max().map(|(_, directory)| directory)
    }

    /// Writes a document into the folder.
    pub fn write_json(&self, name: &str, document: &Value) -> Result<(), EvidenceError> {
        write_json(&self.directory.join(name), document)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, EvidenceError> {
        let path = self.directory.join(name);
        system::write_private(&path, bytes)?;
        Ok(path)
    }

    /// Adds a step to the ledger and returns when it is durable.
    pub fn record(&self, step: &str, facts: Value) -> Result<(), EvidenceError> {
        let path = self.directory.join("ledger.jsonl");
        let mut file = system::open_log(&path)?;
        let line = format!("{}\n", json!({"at": system::now(), "step": step, "facts": facts}));
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(|source| EvidenceError::Io { action: "write", path, source })
    }

    /// Adds a line to the log. What cannot be logged is no reason to stop.
    pub fn log(&self, text: &str) {
        let _ = (&self.log).write_all(format!("{} {}\n", system::now(), text.trim_end()).as_bytes());
    }
}

/// Writes a document to any place, whole or not at all.
pub fn write_json(path: &Path, document: &Value) -> Result<(), EvidenceError> {
    let mut bytes = format!("{document:#}").into_bytes();
    bytes.push(b'\n');
    Ok(system::write_private(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        let cases = [
            ("Fix the parser", Some("fix-the-parser")),
            ("../../etc/passwd", Some("etc-passwd")),
            ("one two three four five six", Some("one-two-three-four-five")),
            ("日本語", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(slug(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_session_has_a_folder_of_its_own() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let first = Session::create(home.path(), "a-b-c").unwrap();
        let second = Session::create(home.path(), "a-b-c").unwrap();
        assert_eq!((first.slug.as_str(), second.slug.as_str()), ("a-b-c", "a-b-c-2"));
        first.record("applied", json!({})).unwrap();
        for name in ["", "ledger.jsonl", "output.log"] {
            let mode = std::fs::metadata(first.directory.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name}");
        }
    }

    #[test]
    fn the_last_session_is_the_youngest_with_a_patch() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Session::find(home.path(), None), None);
        for (name, at, patch) in
            [("one", "2026-01-01", true), ("two", "2026-01-02", true), ("three", "2026-01-03", false)]
        {
            let session = Session::create(home.path(), name).unwrap();
            session.write_json("session.json", &json!({"createdAt": at})).unwrap();
            if patch {
                session.write("diff.patch", b"x").unwrap();
            }
        }
        std::fs::create_dir(home.path().join("sessions/foreign")).unwrap();
        assert_eq!(Session::find(home.path(), None), Some(home.path().join("sessions/two")));
        assert_eq!(Session::find(home.path(), Some("one")), Some(home.path().join("sessions/one")));
        for name in ["foreign", "..", "../sessions/one", ""] {
            assert_eq!(Session::find(home.path(), Some(name)), None, "{name}");
        }
    }
}
