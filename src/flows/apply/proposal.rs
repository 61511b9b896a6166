//! What somebody proposes: a canonical patch, and what is known about how it came to be.
//!
//! This is the one way in. A patch file comes alone; whoever finds a patch in a reply hands in what was mended in each
//! hunk, and the hunks that found no place and so are not in the patch.

use crate::base::RepoPath;

/// A patch that is to be judged.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// A unified diff that the strict parser reads. Empty when nothing in the reply could be placed.
    pub patch: Vec<u8>,
    /// What was mended in each hunk of the patch, in order; a patch file has no such list.
    pub mends: Vec<Vec<String>>,
    /// Hunks that could not be placed.
    pub unplaced: Vec<Unplaced>,
    pub found: Found,
}

/// A hunk that is not in the patch, because it has no certain place.
#[derive(Debug, Clone)]
pub struct Unplaced {
    pub file: RepoPath,
    /// Its `@@` line.
    pub header: String,
    pub reason: String,
}

/// How a patch was found in a reply. Nothing of it applies to a patch file.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub score: Option<i64>,
    pub blocks: Option<u64>,
    pub response_chars: Option<u64>,
    /// Why there is no patch: one of the words of `diffReason`. With a reason there is nothing to judge.
    pub reason: Option<&'static str>,
}

impl Proposal {
    /// Returns the proposal of a patch file.
    pub fn of_patch(patch: Vec<u8>) -> Self {
        Proposal { patch, ..Proposal::default() }
    }
}
