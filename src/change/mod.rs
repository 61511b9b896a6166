//! What changed, as plain data.
//!
//! A [`ChangeSet`] holds paths as bytes, modes, object ids and what was found out about contents. It has no handle to a
//! repository, so a test writes one in a few lines and the gate can be a pure function of it. The parsers of git's raw
//! objects live here too: they take bytes and need no git.
//!
//! This room never decides whether a change is allowed.

mod bidi;
mod commit;
mod set;
mod similarity;
mod source;
mod tree;
mod treediff;

pub use bidi::BIDI_LEAD;
pub use bidi::added_bidi_lines;
pub use bidi::has_bidi;
pub use commit::Commit;
pub use commit::CommitError;
pub use commit::parse_commit;
pub use set::Change;
pub use set::ChangeSet;
pub use set::Entry;
pub use set::Facts;
pub use set::Fault;
pub use set::FaultKind;
pub use set::Kind;
pub use set::Link;
pub use set::Mode;
pub use set::Secret;
pub use set::Source;
pub use set::SourceKind;
pub use set::Step;
pub use set::StepKind;
pub use similarity::Fingerprint;
pub use source::Candidate;
pub use source::find_source;
pub use tree::TreeEntry;
pub use tree::TreeError;
pub use tree::parse_tree;
pub use tree::write_tree;
pub use treediff::DiffError;
pub use treediff::MAX_CHANGES;
pub use treediff::MAX_DEPTH;
pub use treediff::Trees;
pub use treediff::diff_trees;
