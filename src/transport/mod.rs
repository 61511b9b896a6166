//! A conversation with a model, wherever it is: a chat page in a browser, or an API.
//!
//! - [`Launch`](driver::Launch) says where a browser comes from: one of ours, one that is already there, a remote one.
//! - [`Browser`] drives it: pages, scripts, files, pictures. Every step has a time limit.
//! - [`PageProfile`](profile::PageProfile) says where things are on a chat page; [`Conversation`](conversation::Conversation)
//!   sends prompts there and brings the answers home; [`Rehearsal`](rehearsal::Rehearsal) is such a page of our own.
//! - [`Api`](api::Api) asks over the OpenAI Responses API.
//! - [`Fault`] is how anything here ends early, with a name that scripts rely on.
//!
//! Functions block. The libraries below need a runtime; it lives inside of [`Browser`] and [`Api`](api::Api) and
//! starts with them. Nothing here knows about
//! sessions on disk, prints, or reads cookies.

mod address;
pub mod api;
mod browser;
pub mod conversation;
pub mod driver;
mod fault;
mod http;
mod page;
pub mod profile;
pub mod rehearsal;
mod request;
pub mod sign_in;
mod wait;

pub use address::page_url;
pub use browser::Browser;
pub use browser::Enclosure;
pub use browser::Target;
pub use browser::end_remote_session;
pub use fault::Fault;
pub use fault::FaultKind;
pub use page::Capture;
pub use page::CompletionPath;
pub use page::Proof;
pub use page::Signals;
pub use request::RequestId;
