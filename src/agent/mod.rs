//! Coding agents: what a tool call would do, how each agent is answered, and what its settings say.
//!
//! A payload is what an agent hands to a hook on stdin. [`parse_call`] turns it into a [`Call`]: which agent speaks, at
//! which moment, and which paths and commands it names. The agents differ in the names of their fields, events and
//! tools, and in the answers that they understand; those differences are tables ([`Dialect`], the tools, the
//! [`Recipe`]s), so a new agent is a row and not a branch.
//!
//! This room never decides whether a call may run: the gate does, with the paths that are found here. What a shell
//! command does can not be read off its text; [`look_at_command`] finds the usual ways around the hooks and the paths
//! that are plainly named, and the tree is judged afterwards.

mod begin_patch;
mod call;
mod command;
mod dialect;
mod edit;
mod recipe;
mod shell;
mod tools;

pub use call::Call;
pub use call::CallError;
pub use call::MAX_PAYLOAD_BYTES;
pub use call::Moment;
pub use call::Stop;
pub use call::parse_call;
pub use command::look_at_command;
pub use dialect::Answer;
pub use dialect::Dialect;
pub use edit::EditError;
pub use recipe::Presence;
pub use recipe::Recipe;
pub use tools::Claim;
pub use tools::Evasion;
pub use tools::Touch;
pub use tools::Wish;
