//! The small nouns that every room uses: object ids, repository paths, digests, strict and canonical JSON.
//!
//! Nothing here knows about git-oracle's own words. Something enters this room when a second room needs it.

mod canonical;
mod digest;
mod dotgit;
mod fence;
mod glob;
mod json;
mod nearest;
mod oid;
mod path;
mod plural;
mod quote;
mod secret;
mod size;

pub use canonical::canonical;
pub use digest::Sha256Hex;
pub use dotgit::is_dotgit;
pub use dotgit::is_dotgitmodules;
pub use fence::fence;
pub use glob::glob_problem;
pub use json::JsonError;
pub use json::parse_strict;
pub use nearest::nearest;
pub use oid::HashKind;
pub use oid::Oid;
pub use path::RepoPath;
pub use path::is_within;
pub use path::put_path;
pub use plural::plural;
pub use quote::quote;
pub use quote::unquote;
pub use quote::visible;
pub use secret::Secret;
pub use size::parse_size;
