//! What somebody proposes: a canonical patch, and what is known about how it came to be.
//!
//! This is the one way in. A patch file comes alone; whoever finds a patch in a reply hands in what was mended in each
//! hunk, and the hunks that found no place and so are not in the patch.

use crate::base::Oid;
use crate::base::RepoPath;
use crate::flows::Failure;
use crate::flows::apply::Terms;
use crate::flows::extract;
use crate::flows::extract::Placing;
use crate::flows::extract::check;
use crate::flows::extract::place_reply;
use crate::git::Repository;
use crate::patch::place::HunkState;
use crate::patch::place::Mend;
use crate::patch::place::PlannedFile;
use crate::patch::reply::Refusal;

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
    /// Why there is no patch. Then there is nothing to judge.
    pub refusal: Option<Refusal>,
}

impl Proposal {
    /// Returns the proposal of a patch file.
    pub fn of_patch(patch: Vec<u8>) -> Self {
        Proposal { patch, ..Proposal::default() }
    }

    /// Returns what a reply proposes for the files of the commit `at`. A file with a hunk that has no place is left out
    /// whole. `base` is the commit that the reply was asked about: a file that changed since is merged.
    pub fn of_reply(
        reply: &[u8],
        at: Option<Oid>,
        base: Option<&str>,
        repository: &Repository,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        let files = repository.commit_files(at.as_ref())?;
        let base = match base {
            Some(revision) => Some(repository.commit_files(Some(&repository.resolve(revision)?))?),
            None => None,
        };
        // What lies outside a prefix is judged hunk by hunk.
        let wanted = extract::Terms { strict: terms.strict, restrict: None };
        let (extraction, plan) = place_reply(reply, &Placing { files, base });
        let mut found = Found {
            score: extraction.score().map(i64::from),
            blocks: Some(extraction.candidates.len() as u64),
            response_chars: Some(String::from_utf8_lossy(reply).chars().count() as u64),
            refusal: None,
        };
        let checked = plan.and_then(|plan| check(&plan, &extraction, &wanted).map_or(Ok(plan), Err));
        let plan = match checked {
            Ok(plan) => plan,
            Err(refusal) => {
                found.refusal = Some(refusal);
                return Ok(Proposal { found, ..Proposal::default() });
            }
        };
        let keep = |file: usize, _: usize| plan.files.get(file).is_some_and(PlannedFile::is_placed);
        let words = |mends: Vec<Mend>| mends.iter().map(|mend| mend.as_str().to_owned()).collect();
        Ok(Proposal {
            patch: plan.canonical(&keep),
            mends: plan.canonical_mends(&keep).into_iter().map(words).collect(),
            unplaced: plan.files.iter().filter(|file| !file.is_placed()).flat_map(unplaced).collect(),
            found,
        })
    }
}

/// Returns the hunks of a file of which one has no place.
fn unplaced(file: &PlannedFile) -> impl Iterator<Item = Unplaced> {
    let path = file.path().cloned().unwrap_or_else(|| RepoPath::from(""));
    file.hunks.iter().map(move |hunk| Unplaced {
        file: path.clone(),
        header: hunk.header.clone(),
        reason: match &hunk.state {
            HunkState::Placed { .. } => "another hunk of this file has no place".to_owned(),
            HunkState::Unplaced { why, nearest } if nearest.is_empty() => why.clone(),
            HunkState::Unplaced { why, nearest } => {
                let lines: Vec<String> = nearest.iter().map(|near| near.line.to_string()).collect();
                format!("{why}; it looks like line {}", lines.join(", "))
            }
        },
    })
}
