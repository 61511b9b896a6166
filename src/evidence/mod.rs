//! What happened, kept so that it can be proved: the event log, and the folders of sessions.
//!
//! One line is one event in canonical JSON with its own hash and the hash of the line before it. A line is appended,
//! made durable and only then acknowledged. A last line that was cut off by a crash is set aside, never guessed at; a
//! broken line before it is tampering and is reported as such.
//!
//! The chain proves that nothing inside it was changed. That its end was not cut off needs an anchor outside.

mod chain;
mod log;
mod session;
mod shelf;

pub use chain::Broken;
pub use chain::ChainState;
pub use chain::check_chain;
pub use log::Event;
pub use log::EventLog;
pub use log::EvidenceError;
pub use log::Level;
pub use session::Session;
pub use session::slug;
pub use session::write_json;
pub use shelf::KeptSession;
pub use shelf::Shelf;
