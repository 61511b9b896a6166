//! A conversation with a model, wherever it is: a chat page in a browser, or an API.
//!
//! - [`Launch`](driver::Launch) says where a browser comes from: one of ours, one that is already there, a remote one.
//! - [`Browser`] drives it: pages, scripts, files, pictures. Every step has a time limit.
//! - [`Api`](api::Api) asks over the OpenAI Responses API.
//! - [`Fault`] is how anything here ends early, with a name that scripts rely on.
//!
//! Functions block. The libraries below need a runtime; it lives inside of [`Browser`] and [`Api`](api::Api) and
//! starts with them. Nothing here
//! knows about sessions on disk, prints, or reads cookies.

mod address;
pub mod api;
mod browser;
pub mod driver;
mod fault;
mod http;
pub mod sign_in;
mod wait;

pub use address::page_url;
pub use browser::Browser;
pub use browser::Target;
pub use browser::end_remote_session;
pub use fault::Fault;
pub use fault::FaultKind;
