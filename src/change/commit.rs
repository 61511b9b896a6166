//! The header of a commit object.
//!
//! Parents come from here and nowhere else: grafts, replacement refs, the shallow file and the commit graph can all be
//! written by whoever owns the repository.

use crate::base::HashKind;
use crate::base::Oid;

/// What the gate needs of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub tree_id: Oid,
    pub parent_ids: Vec<Oid>,
    /// Seconds since 1970. Only orders a walk; a wrong one makes us look further, never less far.
    pub committed_at: i64,
}

/// Why some bytes are not a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    #[error("it does not begin with a tree")]
    NoTree,
    #[error("a parent line is malformed")]
    BadParent,
}

/// Returns the header of the commit object in `bytes`.
pub fn parse_commit(bytes: &[u8], hash: HashKind) -> Result<Commit, CommitError> {
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    let tree_id = lines.next().and_then(|line| id_after(line, b"tree ", hash)).ok_or(CommitError::NoTree)?;
    let mut parent_ids = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with(b"parent ")) {
        parent_ids.push(id_after(line, b"parent ", hash).ok_or(CommitError::BadParent)?);
    }
    let committed_at = lines
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix(b"committer "))
        .and_then(timestamp)
        .unwrap_or(0);
    Ok(Commit { tree_id, parent_ids, committed_at })
}

fn id_after(line: &[u8], keyword: &[u8], hash: HashKind) -> Option<Oid> {
    let hex = std::str::from_utf8(line.strip_prefix(keyword)?).ok()?;
    Oid::from_hex(hex).filter(|id| id.kind() == hash)
}

/// Returns the number before the time zone in `Name <mail> 1700000000 +0000`.
fn timestamp(signature: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(signature.rsplit(|byte| *byte == b'>').next()?).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    const PARENT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn tree_parents_and_time_are_read() {
        let text = format!(
            "tree {TREE}\nparent {PARENT}\nparent {TREE}\nauthor A <a@b> 1 +0000\ncommitter C > D <c@d> 1700000000 +0100\n\nparent {TREE}\n"
        );
        let commit = parse_commit(text.as_bytes(), HashKind::Sha1).unwrap();
        assert_eq!(commit.tree_id, Oid::from_hex(TREE).unwrap());
        assert_eq!(commit.parent_ids, [Oid::from_hex(PARENT).unwrap(), Oid::from_hex(TREE).unwrap()]);
        assert_eq!(commit.committed_at, 1_700_000_000);
    }

    #[test]
    fn a_broken_header_is_an_error_and_a_broken_date_is_not() {
        assert_eq!(parse_commit(b"", HashKind::Sha1), Err(CommitError::NoTree));
        assert_eq!(parse_commit(b"tree 123\n", HashKind::Sha1), Err(CommitError::NoTree));
        let wrong_kind = format!("tree {TREE}\n");
        assert_eq!(parse_commit(wrong_kind.as_bytes(), HashKind::Sha256), Err(CommitError::NoTree));
        let parent = format!("tree {TREE}\nparent xyz\n");
        assert_eq!(parse_commit(parent.as_bytes(), HashKind::Sha1), Err(CommitError::BadParent));
        let date = format!("tree {TREE}\ncommitter C <c@d> soon\n\n");
        assert_eq!(parse_commit(date.as_bytes(), HashKind::Sha1).unwrap().committed_at, 0);
    }
}
