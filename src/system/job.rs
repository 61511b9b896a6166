//! A program that runs in a process group of its own, with a time limit.
//!
//! At the limit, and when somebody asks us to stop, the whole group is ended, so that nothing the program started goes
//! on. What it prints goes into a file: a forgotten grandchild that keeps a pipe open cannot make us wait.

use std::fs::File;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use rustix::process::Pid;
use rustix::process::Signal;

use crate::system::ProcessError;
use crate::system::interrupted;

/// Nobody reads more, and a program that never stops printing must not fill the disk.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// How long a group may take to end by itself once it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code; `None` when a signal ended it.
    Exited(Option<i32>),
    TimedOut,
    /// It printed more than is kept.
    TooLoud,
    Interrupted,
}

/// Which processes the program belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// A group of its own; what is left of it when the program ends is ended too.
    Contained,
    /// A group of its own; what it leaves in the background goes on.
    Own,
    /// Ours: the program can talk to the terminal, and Ctrl-C reaches it too.
    Foreground,
}

/// What to run, and how.
pub struct Job {
    pub command: Command,
    pub timeout: Option<Duration>,
    /// Takes in stdout and stderr.
    pub output: File,
    /// Stays open in the program as its standard input. A lock on it is held until the last of us is gone.
    pub input: Option<File>,
    pub group: Group,
    /// Whether it may be ended when somebody asks us to stop.
    pub stoppable: bool,
}

impl Job {
    /// Runs the job to its end, one way or the other.
    pub fn run(mut self) -> Result<Ended, ProcessError> {
        let program = self.command.get_program().to_string_lossy().into_owned();
        let failed = |source| ProcessError { program: program.clone(), source };
        let output = self.output.try_clone().map_err(failed)?;
        let watched = self.output.try_clone().map_err(failed)?;
        self.command.stdout(output).stderr(self.output);
        self.command.stdin(self.input.map_or_else(Stdio::null, Stdio::from));
        if self.group != Group::Foreground {
            self.command.process_group(0);
        }
        tracing::debug!(command = ?self.command, "run");
        let mut child = self.command.spawn().map_err(failed)?;
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let mut pause = Duration::from_micros(500);
        let cause = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                if self.group == Group::Contained {
                    end_group(&child, Signal::KILL);
                }
                return Ok(Ended::Exited(status.code()));
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break Ended::TimedOut;
            }
            if self.stoppable && interrupted() {
                break Ended::Interrupted;
            }
            if watched.metadata().is_ok_and(|metadata| metadata.len() > MAX_OUTPUT_BYTES) {
                break Ended::TooLoud;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        stop(&mut child, self.group).map_err(failed)?;
        Ok(cause)
    }
}

/// Asks the program to end, then makes it.
fn stop(child: &mut Child, group: Group) -> std::io::Result<()> {
    if group != Group::Foreground {
        end_group(child, Signal::TERM);
        let patience = Instant::now() + GRACE;
        while Instant::now() < patience && child.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        end_group(child, Signal::KILL);
    }
    // After it has been waited for, this does nothing.
    let _ = child.kill();
    child.wait().map(drop)
}

/// Sends a signal to everything in the program's group. A group that is gone is fine.
fn end_group(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Returns what is in a file of output: its beginning, at most `limit` bytes.
pub fn read_output(mut file: &File, limit: u64) -> String {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(0)).is_ok() {
        let _ = file.take(limit).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(script: &str, timeout: Duration) -> (Job, File) {
        let output = tempfile::tempfile().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let kept = output.try_clone().unwrap();
        let group = Group::Contained;
        (Job { command, timeout: Some(timeout), output, input: None, group, stoppable: false }, kept)
    }

    /// Tells whether a process is gone; the system may take a moment after the signal.
    fn is_gone(pid: &str) -> bool {
        (0..100_000).any(|_| {
            std::thread::yield_now();
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        })
    }

    #[test]
    fn what_a_program_prints_is_kept_and_its_code_is_told() {
        let (job, output) = job("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!(job.run().unwrap(), Ended::Exited(Some(3)));
        assert_eq!(read_output(&output, 1 << 20), "out\nerr\n");
    }

    #[test]
    fn at_the_limit_the_whole_group_ends() {
        // The grandchild would write long after; the group's end takes it along, although it ignores a polite request.
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("pid");
        let script = format!("(trap '' TERM; sh -c 'echo $$ > {}; exec sleep 600') & wait", mark.display());
        let (job, _) = job(&script, Duration::from_millis(300));
        assert_eq!(job.run().unwrap(), Ended::TimedOut);
        assert!(is_gone(&std::fs::read_to_string(&mark).unwrap()));
    }

    #[test]
    fn a_grandchild_that_stays_is_ended_with_its_parent() {
        let (job, output) = job("sleep 600 & echo $!", Duration::from_secs(60));
        assert_eq!(job.run().unwrap(), Ended::Exited(Some(0)));
        assert!(is_gone(&read_output(&output, 100)));
    }
}
