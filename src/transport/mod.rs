//! A conversation with a model, wherever it is: a chat page in a browser, or an API.
//!
//! - [`Launch`](driver::Launch) says where a browser comes from: one of ours, one that is already there, a remote one.
//! - [`Browser`] drives it: pages, scripts, files, pictures. Every step has a time limit.
//! - [`Fault`] is how anything here ends early, with a name that scripts rely on.
//!
//! Functions block. The libraries below need a runtime; it lives inside of [`Browser`] and starts with it. Nothing here
//! knows about sessions on disk, prints, or reads cookies.

mod browser;
pub mod driver;
mod fault;
mod http;

pub use browser::Browser;
pub use browser::Target;
pub use browser::end_remote_session;
pub use fault::Fault;
pub use fault::FaultKind;
