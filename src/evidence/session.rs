//! The folder of one session: `$ORACLE_HOME_DIR/sessions/<slug>/`.
//!
//! Documents appear whole or not at all; the ledger and the log only grow. Everything is readable by its owner only.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::evidence::EvidenceError;
use crate::system;

/// Nobody keeps so many sessions of one name.
const MAX_SAME_NAME: u32 = 100_000;

/// How many words a slug has at most.
const WORDS: usize = 5;

/// A folder without this file belongs to another program.
pub(super) const MARK: &str = ".git-oracle";

/// One session's folder. While this value lives, its log is locked: so others can tell that somebody is at work.
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
                    let path = directory.join("output.log");
                    let log = system::open_log(&path)?;
                    match system::lock(&log) {
                        Ok(true) => {}
                        Ok(false) => return Err(EvidenceError::Locked { path }),
                        Err(source) => return Err(EvidenceError::Io { action: "lock", path, source }),
                    }
                    system::write_private(&directory.join(MARK), b"1\n")?;
                    return Ok(Session { slug, directory, created_at: system::now(), log });
                }
                Err(error) if error.is_already_there() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EvidenceError::Locked { path: sessions.join(slug) })
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
}
