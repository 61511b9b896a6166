//! The rules in force around a contract: what is protected whatever it allows, and what the configuration says.
//!
//! The repository's own configuration can only tighten. What the person decided is in the person's file.

mod commands;
mod config;
mod protected;

pub use commands::CommandClass;
pub use commands::CommandDecision;
pub use commands::CommandPolicy;
pub use config::ApplyMode;
pub use config::BrowserConfig;
pub use config::BundleConfig;
pub use config::ConfigError;
pub use config::EngineConfig;
pub use config::EngineKind;
pub use config::MissingContract;
pub use config::PersonConfig;
pub use config::RepoConfig;
pub use config::TransferConfig;
pub use config::Widen;
pub use protected::Protected;
pub use protected::Protection;
