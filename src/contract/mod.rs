//! What was agreed: the task contract.
//!
//! [`ContractFile`] is what somebody wrote, [`Contract`] is valid by construction; [`validate`] turns one into the other
//! and reports every problem at once. [`Scope`] says which paths are inside, [`widenings`] in which respects one
//! contract allows more than another.
//!
//! This room reads no files. Whoever calls it brings the bytes.

mod check;
mod commands;
mod file;
mod problem;
mod registry;
mod scaffold;
mod schema;
mod scope;
#[cfg(test)]
mod tests;
mod widen;

pub use check::Surroundings;
pub use check::Validated;
pub use check::validate;
pub use file::AcceptanceTest;
pub use file::Agent;
pub use file::Contract;
pub use file::ContractFile;
pub use file::DiffPolicy;
pub use file::Filesystem;
pub use file::Network;
pub use file::Permit;
pub use file::Role;
pub use file::Shell;
pub use problem::Problem;
pub use problem::Severity;
pub use registry::Registry;
pub use registry::RegistryError;
pub use scaffold::Scaffold;
pub use schema::embedded_schema;
pub use schema::schema_problems;
pub use scope::Scope;
pub use scope::path_problem;
pub use widen::widenings;

/// No contract is longer than this; a longer file is something else.
pub const MAX_CONTRACT_BYTES: usize = 1 << 20;
