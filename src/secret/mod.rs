//! Secrets: what they look like, where they are, and a text without them.
//!
//! [`Rules`] are data: `policies/secret_rules.json` and what a repository adds. A [`Scanner`] finds what they describe in
//! any bytes, in one pass and in linear time. A [`Finding`] says where a secret is and what it is, and never what it
//! says. [`Allows`] lets a person's own findings pass; what leaves the machine has [`Strictness::Strict`] and knows none.
//!
//! This room never reads a file and never prints.

mod allow;
mod assignment;
mod check;
mod example;
mod finding;
mod index;
mod kubernetes;
mod pem;
mod redact;
mod rule;
mod scanner;
mod shape;
mod stream;
mod wide;

pub use allow::Allow;
pub use allow::AllowError;
pub use allow::Allows;
pub use allow::Strictness;
pub use allow::salted;
pub use example::Examples;
pub use example::fill;
pub use finding::Finding;
pub use redact::REDACTED;
pub use rule::Context;
pub use rule::RuleError;
pub use rule::RuleFile;
pub use rule::Rules;
pub use scanner::Scanner;
pub use stream::Piece;
pub use stream::Stream;

#[cfg(test)]
mod tests;
