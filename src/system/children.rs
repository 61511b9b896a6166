//! The processes that came out of this one: nothing of them is left when this process is done with them.
//!
//! A process that has [adopted orphans](adopt_orphans) stays the ancestor of everything that was started below it,
//! whatever forks, sessions and process groups lie between. So it can end them all without ever mistaking a foreign
//! process for its own, and it knows when the last one is gone.

use std::io;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::process::Signal;
use rustix::process::WaitOptions;

const POLL: Duration = Duration::from_millis(2);

/// From now on a process whose parent ends becomes a child of this one, if it came out of it.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// From now on this process ends with its parent, which is said to be `parent`. Belongs between fork and exec.
#[cfg(target_os = "linux")]
pub fn end_with_parent(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before.
    if rustix::process::getppid() == to_pid(parent) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
}

#[cfg(not(target_os = "linux"))]
pub fn end_with_parent(_parent: u32) -> io::Result<()> {
    Ok(())
}

/// Tells whether a process is there and not merely waiting to be noticed as ended.
pub fn is_alive(pid: u32) -> bool {
    let Some(process) = to_pid(pid) else { return false };
    let is_there = !matches!(rustix::process::test_kill_process(process), Err(Errno::SRCH));
    is_there && stat(pid).is_none_or(|stat| stat.state != 'Z')
}

/// Asks a process to end.
pub fn ask_to_end(pid: u32) {
    if let Some(process) = to_pid(pid) {
        let _ = rustix::process::kill_process(process, Signal::TERM);
    }
}

/// Returns the children of a process, where the system tells.
pub fn children_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|child| stat(*child).is_some_and(|stat| stat.parent == pid && stat.state != 'Z')).collect()
}

/// Returns the children of a process, and theirs.
fn descendants_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut rest: Vec<(u32, u32)> =
        pids.filter_map(|child| Some((child, stat(child).filter(|stat| stat.state != 'Z')?.parent))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(rest.extract_if(.., |(_, of)| *of == parent).map(|(child, _)| child));
        next += 1;
    }
    found.split_off(1)
}

/// Ends a process if its parent is one of those. What is held meanwhile makes sure that its number is not another's.
#[cfg(target_os = "linux")]
fn end(pid: u32, is_ours: impl Fn(u32) -> bool) {
    use rustix::process::PidfdFlags;
    let Some(Ok(held)) = to_pid(pid).map(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty())) else { return };
    if stat(pid).is_some_and(|stat| is_ours(stat.parent)) {
        let _ = rustix::process::pidfd_send_signal(held, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn end(_pid: u32, _is_ours: impl Fn(u32) -> bool) {}

/// Notices children that have ended. `false` when no child is left.
pub fn reap() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Ends every child and what came out of it, for at most `limit`. Returns whether all are gone.
///
/// A process that is slow to end, because it waits for a disk, keeps its children until then. So they are ended at once,
/// and again when they are adopted.
pub fn end_all_children(limit: Duration) -> bool {
    let own = std::process::id();
    let deadline = Instant::now() + limit;
    while reap() {
        let ours = descendants_of(own);
        ours.iter().for_each(|child| end(*child, |parent| parent == own || ours.contains(&parent)));
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

/// Becomes another program.
pub fn become_program(command: &mut std::process::Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

struct Stat {
    state: char,
    parent: u32,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // The name stands in parentheses and may itself contain some.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    Some(Stat { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

fn to_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_knows_its_children_and_whether_they_live() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert!(is_alive(child.id()));
        assert!(children_of(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(child.id()));
        assert!(!is_alive(0) && !is_alive(u32::MAX));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_child_started_is_ended_before_the_child_is_gone() {
        // Stopped, it cannot be the one who ends its own child.
        let script = "sleep 600 & echo $!; kill -STOP $$";
        let mut child = Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        let found = descendants_of(std::process::id());
        assert!(found.contains(&child.id()) && found.contains(&grandchild), "{found:?}");
        assert!(!found.contains(&std::process::id()));
        end(grandchild, |parent| parent == 1);
        assert!(is_alive(grandchild), "one of another parent is left alone");
        end(grandchild, |parent| parent == child.id());
        while is_alive(grandchild) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn whoever_lost_its_parent_says_so() {
        // In a test nothing may end with this process, so only the refusal is looked at, in a process of its own.
        if std::env::var_os("END_WITH_PARENT").is_some() {
            assert!(end_with_parent(1).is_err());
            return;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "system::children::tests::whoever_lost_its_parent_says_so"]);
        assert!(command.env("END_WITH_PARENT", "1").output().unwrap().status.success());
    }
}
