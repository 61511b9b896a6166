//! Everything that needs git or the built program, as one test binary.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

mod agent;
mod agent_setup;
mod apply;
mod apply_commit;
mod apply_kill;
mod apply_push;
mod architecture;
mod contract;
mod demo;
mod docs;
mod doctor;
mod events;
mod exit_codes;
mod formats;
mod gate;
mod hook_agreement;
mod hook_commit;
mod hook_push;
mod hook_receive;
mod hooks_install;
mod init;
mod install;
mod kills;
mod policies;
mod random_operations;
mod replies;
mod repositories;
mod runners;
mod scenarios;
mod schemas;
mod secret_leaks;
mod secrets;
mod start;
mod support;
