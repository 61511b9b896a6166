//! Other processes of this machine.

use std::path::Path;

/// Tells whether some process called `name` works in one of these directories; `None` where the system does not say.
pub fn is_at_work(name: &str, directories: &[&Path]) -> Option<bool> {
    let own = std::process::id().to_string();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let process = entry.path();
        if entry.file_name().to_str().is_none_or(|pid| pid == own || pid.parse::<u32>().is_err()) {
            continue;
        }
        let is_called = std::fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
        let works_here = || {
            let directory = std::fs::read_link(process.join("cwd"));
            // A process that hides where it works may well work here.
            directory.map_or(true, |directory| directories.iter().any(|here| directory.starts_with(here)))
        };
        if is_called && works_here() && !is_dead(&process) {
            return Some(true);
        }
    }
    Some(false)
}

fn is_dead(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).map_or(true, |stat| stat.contains(") Z "))
}
