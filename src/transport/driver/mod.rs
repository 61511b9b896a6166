//! The driver and its browser as processes: found, started, watched over and ended.
//!
//! [`Launch`] says where a browser comes from. One of ours runs under a [guard](guard::guard), a process that ends it and
//! everything around it when we end, however that happens.

mod devtools;
mod guard;
mod guarded;
mod launch;
mod machine;
mod plain;
mod profile;

pub use devtools::parse_address;
pub use guard::Order;
pub use guard::become_guarded;
pub use guard::guard;
pub(super) use guarded::Guarded;
pub use launch::Endpoint;
pub use launch::Launch;
pub(super) use launch::Source;
pub use machine::Configured;
pub use machine::Machine;
pub use plain::show_to_person;
pub use profile::Profile;
