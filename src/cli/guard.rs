//! `git oracle guard`: the process that keeps a browser and ends it with us.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::Exit;
use crate::flows::guard;
use crate::flows::guard::Order;

/// Keep a browser for as long as standard input is open
///
/// The program starts itself like this; there is no use in typing it.
#[derive(clap::Args, Debug)]
pub(super) struct GuardArgs {
    /// The user-data directory to hold
    #[arg(long, value_name = "DIR")]
    profile: Option<PathBuf>,

    /// How many milliseconds to wait for it
    #[arg(long, value_name = "MS", default_value_t = 0)]
    patience: u64,

    /// The program's temporary directory, which must not be there yet
    #[arg(long, value_name = "DIR", required_unless_present = "bound_to")]
    temporary: Option<PathBuf>,

    /// The debugging port of a browser that we only visit
    #[arg(long, value_name = "ADDRESS")]
    visited: Option<SocketAddr>,

    /// Wait until the program says where it listens
    #[arg(long)]
    driver: bool,

    /// Become the program at once, bound to the guard with this process id
    #[arg(long, value_name = "PID")]
    bound_to: Option<u32>,

    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

pub(super) fn guard(args: GuardArgs) -> Exit {
    if let Some(pid) = args.bound_to {
        // The guard sees that it ended.
        guard::become_guarded(pid, &args.command);
        return Exit::Other;
    }
    guard::guard(&Order {
        profile: args.profile,
        patience: Duration::from_millis(args.patience),
        temporary: args.temporary.unwrap_or_default(),
        visited: args.visited,
        is_driver: args.driver,
        command: args.command,
    });
    Exit::Success
}
