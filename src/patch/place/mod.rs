//! A patch of a reply, placed in the files it is for.
//!
//! [`plan`] takes what [`crate::patch::extract`] found and the files as they are, and returns an [`ApplyPlan`]: for every file
//! the old content, and for every hunk the lines it takes out and puts in, or why it has no place. The file is the
//! truth: context and deleted lines must be found in it, and all context of the canonical patch is copied from it.
//! What has no single place is never placed by guessing.

mod canonical;
mod compare;
mod edit;
mod locate;
mod mend;
mod merge;
mod names;
mod plan;
mod section;
#[cfg(test)]
mod tests;
mod undo;

pub use edit::Edit;
pub use mend::Mend;
pub use names::restrict;
pub use names::unsafe_reason;
pub use plan::ApplyPlan;
pub use plan::Files;
pub use plan::Found;
pub use plan::HunkState;
pub use plan::Near;
pub use plan::PlannedFile;
pub use plan::PlannedHunk;
pub use plan::Special;
pub use plan::plan;
