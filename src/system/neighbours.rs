//! Other processes of this machine.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// How long somebody is waited for.
const WAIT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// What other processes do in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    Quiet,
    /// This process works there.
    Busy(u32),
    /// The system does not say.
    Unknown,
}

/// Tells whether a process called `name` works in one of these directories, and gives it a moment to end.
pub fn neighbours(name: &str, directories: &[&Path]) -> Neighbours {
    let deadline = Instant::now() + WAIT;
    loop {
        match look_around(name, directories) {
            Neighbours::Busy(_) if Instant::now() < deadline => std::thread::sleep(POLL),
            seen => return seen,
        }
    }
}

fn look_around(name: &str, directories: &[&Path]) -> Neighbours {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Neighbours::Unknown };
    for entry in processes.flatten() {
        let process = entry.path();
        let Some(pid) = entry.file_name().to_str().and_then(|pid| pid.parse().ok()) else { continue };
        let is_called = std::fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
        let works_here = || {
            match std::fs::read_link(process.join("cwd")) {
                Ok(directory) => directories.iter().any(|here| directory.starts_with(here)),
                // It is about to be gone, and has closed its files.
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                // A process that hides where it works may well work here.
                Err(_) => true,
            }
        };
        if pid != std::process::id() && is_called && works_here() && !is_dead(&process) {
            return Neighbours::Busy(pid);
        }
    }
    Neighbours::Quiet
}

fn is_dead(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).map_or(true, |stat| stat.contains(") Z "))
}
