//! The judgement: may this change get in?
//!
//! [`judge`] is a pure function of a change set, a contract and what is protected. It asks every rule in `rules/` about
//! every change and returns a [`Report`]; the strictest finding decides. A block is an answer, not an error.
//!
//! One implementation serves the command line, the hooks, CI, the server side and every later caller.

mod document;
mod judge;
mod report;
mod rule;
mod rules;

pub use judge::judge;
pub use judge::judge_without_contract;
pub use report::Checked;
pub use report::ContractRef;
pub use report::Report;
pub use report::Verdict;
pub use report::Violation;
pub use rule::Rule;
