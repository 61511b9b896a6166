//! git-oracle decides which AI-made changes get into a repository, and proves it afterwards.
//!
//! The rooms, in the order they build on each other; `docs/architecture.md` has the map and who may import whom.

pub mod agent;
pub mod base;
pub mod bundle;
pub mod change;
pub mod cli;
pub mod contract;
pub mod evidence;
pub mod flows;
pub mod gate;
pub mod git;
pub mod patch;
pub mod policy;
pub mod secret;
pub mod system;
pub mod transport;
