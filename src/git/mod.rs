//! The repository.
//!
//! Reading is in-process and raw: object ids and modes out of trees, index and disk, never through diff drivers,
//! filters, replacement refs, grafts or attributes, and never by fetching what is missing. Where the repository is, what
//! a revision is called and what an attribute says is asked of the `git` program, which is also the only writer.
//!
//! This room also owns our own files in the git directory and in `.oracle/` (see [`Desk`]). It never decides whether a
//! change may get in.

mod agents;
mod between;
mod cachetree;
mod candidate;
mod collect;
mod desk;
mod disk;
mod error;
mod files;
mod glance;
mod history;
mod hooks;
mod ignore;
mod index;
mod inspect;
mod landing;
mod layout;
mod listed;
mod listing;
mod named;
mod objects;
mod origin;
mod outgoing;
mod patched;
mod program;
mod range;
mod refs;
mod repository;
mod reviews;
mod shim;
mod state;
mod store;
mod tips;
mod worktree;
mod writer;

pub use agents::Agents;
pub use agents::Setup;
#[cfg(fuzzing)]
pub use cachetree::read_extensions;
pub use candidate::Became;
pub use candidate::Candidate;
pub use collect::Look;
pub use collect::Watch;
pub use desk::Binding;
pub use desk::Desk;
pub use desk::Pin;
pub use error::GitError;
pub use files::AtPath;
pub use files::Snapshot;
#[cfg(fuzzing)]
pub use glance::Outline;
pub use hooks::Done;
pub use hooks::Earlier;
pub use hooks::HookState;
pub use hooks::HookStatus;
pub use hooks::Hooks;
pub use hooks::Origin;
pub use landing::ApplyLock;
pub use landing::Landing;
pub use landing::LandingMode;
pub use landing::Left;
pub use listed::listed_files;
pub use listing::Found;
pub use listing::FoundKind;
pub use named::Named;
pub use outgoing::Destination;
pub use program::Git;
pub use range::Comparison;
pub use repository::Repository;
pub use reviews::REVIEWS;
pub use shim::Runner;
pub use shim::SHIM_VERSION;
pub use shim::Shim;
pub use tips::News;
pub use tips::Target;
pub use tips::Tip;
pub use writer::Wrote;
