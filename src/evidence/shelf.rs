//! All sessions that are kept, as they lie on disk. Folders of other programs are left alone.

use std::fs::File;
use std::fs::TryLockError;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::base::parse_strict;
use crate::evidence::EvidenceError;
use crate::evidence::Session;
use crate::evidence::session::MARK;
use crate::system;

const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
/// As far back as the last words of a log are looked for.
const LAST_WORDS: u64 = 1 << 16;

/// Where sessions are kept.
pub struct Shelf {
    directory: PathBuf,
}

/// A session as somebody finds it later.
#[derive(Debug, Clone)]
pub struct KeptSession {
    pub slug: String,
    pub directory: PathBuf,
    pub created_at: String,
    /// `session.json`
    pub document: Value,
}

impl Shelf {
    /// Returns the shelf in the home of a person.
    pub fn of(home: &Path) -> Self {
        Shelf { directory: home.join("sessions") }
    }

    /// Returns the shelf on which a session lies.
    pub fn around(session: &Session) -> Self {
        Shelf { directory: session.directory.parent().unwrap_or(Path::new("/")).to_owned() }
    }

    /// Returns every session, the oldest first.
    pub fn sessions(&self) -> Result<Vec<KeptSession>, EvidenceError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(EvidenceError::Io { action: "read", path: self.directory.clone(), source }),
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<KeptSession> = names.filter_map(|name| self.session(&name)).collect();
        found.sort_by(|a, b| (&a.created_at, &a.slug).cmp(&(&b.created_at, &b.slug)));
        Ok(found)
    }

    /// Returns the session with this name.
    pub fn session(&self, slug: &str) -> Option<KeptSession> {
        if slug.is_empty() || slug.starts_with('.') || slug.contains('/') {
            return None;
        }
        let directory = self.directory.join(slug);
        let is_ours = directory.join(MARK).is_file() && !directory.is_symlink();
        let document = read_document(&directory.join("session.json")).filter(|_| is_ours)?;
        let created_at = document["createdAt"].as_str()?.to_owned();
        Some(KeptSession { slug: slug.to_owned(), directory, created_at, document })
    }

    /// Returns the youngest session that this is true of.
    pub fn last(&self, wanted: impl Fn(&KeptSession) -> bool) -> Result<Option<KeptSession>, EvidenceError> {
        Ok(self.sessions()?.into_iter().rev().find(wanted))
    }
}

impl KeptSession {
    pub fn has(&self, name: &str) -> bool {
        self.directory.join(name).is_file()
    }

    /// Returns a document of the folder. `None` when it is missing or is no document.
    pub fn read(&self, name: &str) -> Option<Value> {
        read_document(&self.directory.join(name))
    }

    /// Returns the names of the files, in order.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// Tells whether a process works on it.
    pub fn is_at_work(&self) -> bool {
        let log = File::open(self.directory.join("output.log"));
        log.is_ok_and(|log| matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Returns what its log last said to people, without the time.
    pub fn last_words(&self) -> Option<String> {
        let mut log = File::open(self.directory.join("output.log")).ok()?;
        let length = log.metadata().ok()?.len();
        log.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS))).ok()?;
        let mut bytes = Vec::new();
        log.take(LAST_WORDS).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // What is still being written has no end yet.
        let mut lines = text[..text.rfind('\n')?].rsplit('\n').filter_map(|line| line.split_once(' '));
        lines.find(|(_, words)| !words.starts_with('{')).map(|(_, words)| words.to_owned())
    }

    /// Removes the folder. The name is gone at once, so that no half of a session is ever found.
    pub fn remove(self) -> Result<(), EvidenceError> {
        let parent = self.directory.parent().unwrap_or(Path::new("."));
        let doomed = parent.join(format!(".removed-{}-{}", std::process::id(), self.slug));
        system::move_file(&self.directory, &doomed)?;
        let removed = std::fs::remove_dir_all(&doomed);
        removed.map_err(|source| EvidenceError::Io { action: "remove", path: doomed, source })
    }
}

fn read_document(path: &Path) -> Option<Value> {
    let bytes = system::read_limited(path, MAX_DOCUMENT_BYTES).ok()?;
    parse_strict(&bytes, MAX_DOCUMENT_BYTES as usize).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sessions_are_ours_dated_and_in_order() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::of(home.path());
        assert!(shelf.sessions().unwrap().is_empty());
        for (name, at) in [("two", "2026-01-02"), ("one", "2026-01-01"), ("three", "2026-01-03")] {
            let session = Session::create(home.path(), name).unwrap();
            session.write_json("session.json", &json!({"createdAt": at})).unwrap();
            if name != "three" {
                session.write("diff.patch", b"x").unwrap();
            }
        }
        let foreign = home.path().join("sessions/foreign");
        std::fs::create_dir(&foreign).unwrap();
        std::fs::write(foreign.join("session.json"), "{\"createdAt\": \"2026-01-04\"}").unwrap();
        let slugs: Vec<String> = shelf.sessions().unwrap().into_iter().map(|session| session.slug).collect();
        assert_eq!(slugs, ["one", "two", "three"]);
        assert_eq!(shelf.last(|session| session.has("diff.patch")).unwrap().unwrap().slug, "two");
        for name in ["foreign", "..", "../sessions/one", ""] {
            assert!(shelf.session(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_session_is_at_work_as_long_as_its_value_lives() {
        let home = tempfile::tempdir().unwrap();
        let session = Session::create(home.path(), "a").unwrap();
        session.write_json("session.json", &json!({"createdAt": "2026"})).unwrap();
        let kept = Shelf::of(home.path()).session("a").unwrap();
        assert!(kept.is_at_work());
        drop(session);
        assert!(!kept.is_at_work());
        kept.remove().unwrap();
        assert_eq!(std::fs::read_dir(home.path().join("sessions")).unwrap().count(), 0);
    }
}
