//! What reviews leave: a blob for each tree that came out of one, below `refs/oracle/reviews/`, and commits.

use std::ffi::OsStr;

use crate::base::Oid;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::program::first_line;
use crate::system;

/// Where the records are.
pub const REVIEWS: &str = "refs/oracle/reviews/";

/// A record is never longer.
const MAX_RECORD_BYTES: u64 = 64 << 10;

impl Repository {
    /// Keeps the record of a tree; an earlier one gives way.
    pub fn keep_review(&self, tree_id: Oid, record: &[u8]) -> Result<(), GitError> {
        let args = ["hash-object", "-w", "--stdin"].map(OsStr::new);
        let finished = system::run(self.silent_command(None, &args)?, record)?;
        let blob = String::from_utf8_lossy(&finished.stdout).trim_end().to_owned();
        if !finished.succeeded() || Oid::from_hex(&blob).is_none() {
            return Err(GitError::Failed { command: "hash-object".to_owned(), reason: first_line(&finished.stderr) });
        }
        let name = format!("{REVIEWS}{tree_id}");
        self.write_silently(None, &["update-ref", &name, &blob].map(OsStr::new))?;
        Ok(())
    }

    /// Returns the record of a tree.
    pub fn review_of(&self, tree_id: Oid) -> Result<Option<Vec<u8>>, GitError> {
        let name = format!("{REVIEWS}{tree_id}");
        let finished = self.git().run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name])?;
        Ok(Oid::from_hex(String::from_utf8_lossy(&finished.stdout).trim_end()).and_then(|id| self.review_at(id)))
    }

    /// Returns an object as a record; `None` when it is none, or too long to be one.
    pub fn review_at(&self, id: Oid) -> Option<Vec<u8>> {
        self.objects.size(&id).filter(|size| *size <= MAX_RECORD_BYTES)?;
        self.objects.blob(&id).ok().map(|bytes| bytes.to_vec())
    }

    /// Returns the commit that a session made after `ground`, by its trailer; `None` when it made none.
    pub fn commit_of_session(&self, ground: Oid, session: &str) -> Result<Option<Oid>, GitError> {
        let is_plain = session.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_plain {
            return Ok(None);
        }
        let trailer = format!("--grep=^Oracle-Session: {session}$");
        let ground = format!("^{ground}");
        let args = ["rev-list", "-n", "1", "--basic-regexp", &trailer, "--branches", "HEAD", &ground];
        let finished = self.git().run(&args)?;
        if !finished.succeeded() {
            return Err(GitError::Failed { command: "rev-list".to_owned(), reason: first_line(&finished.stderr) });
        }
        Ok(Oid::from_hex(String::from_utf8_lossy(&finished.stdout).trim_end()))
    }

    /// Returns the tree of a commit.
    pub fn tree_id(&self, commit_id: Oid) -> Result<Oid, GitError> {
        self.tree_of(&commit_id)
    }
}
