//! Our end of a guard.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::time::Instant;

use crate::system;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::guard::Order;
use crate::transport::driver::guard::Word;
use crate::transport::driver::machine::Machine;

/// The guard has its own, shorter limits; this one is for a guard that does not do its work.
const SPARE: Duration = Duration::from_secs(20);
/// How long a guard may take to leave nothing behind.
const ENDING: Duration = Duration::from_secs(8);
const POLL: Duration = Duration::from_millis(2);
/// How soon somebody who asks us to stop is heard.
const LISTEN: Duration = Duration::from_millis(50);

/// A program under guard. It ends when this is dropped.
pub(in crate::transport) struct Guarded {
    child: Child,
    words: Receiver<Word>,
    temporary: PathBuf,
}

impl Guarded {
    /// Starts a guard and returns when its program runs; for a driver also where it listens.
    pub(in crate::transport) fn start(machine: &Machine, order: &Order) -> Result<(Self, Option<u16>), Fault> {
        let mut command = Command::new(&machine.guard);
        command.arg("guard").arg("--temporary").arg(&order.temporary);
        command.arg("--patience").arg(order.patience.as_millis().to_string());
        if let Some(profile) = &order.profile {
            command.arg("--profile").arg(profile);
        }
        if let Some(browser) = &order.visited {
            command.arg("--visited").arg(browser.to_string());
        }
        if order.is_driver {
            command.arg("--driver");
        }
        command.arg("--").args(&order.command);
        // Its own group: Ctrl-C at the terminal is for us, and we tell the guard when we are done.
        command.env_clear().envs(machine.variables.iter().cloned()).process_group(0).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        tracing::debug!(?command, "guard");
        let mut child = command.spawn().map_err(|error| {
            let message = format!("failed to run {}: {error}", machine.guard.display());
            Fault::new(FaultKind::DriverMissing, message, "git oracle doctor")
        })?;
        let (sender, words) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let Ok(word) = serde_json::from_str(&line) else { return };
                    let _ = sender.send(word);
                }
            });
        }
        let guarded = Guarded { child, words, temporary: order.temporary.clone() };
        let port = guarded.await_start(order.patience + SPARE)?;
        Ok((guarded, port))
    }

    fn await_start(&self, limit: Duration) -> Result<Option<u16>, Fault> {
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline && !system::interrupted() {
            match self.words.recv_timeout(LISTEN) {
                Ok(Word::Listens(port)) => return Ok(Some(port)),
                Ok(Word::Runs) => return Ok(None),
                Ok(Word::Fault(fault)) => return Err(fault),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if system::interrupted() {
            return Err(Fault::interrupted());
        }
        let message = "the process that starts the driver ended without a word";
        Err(Fault::new(FaultKind::DriverMissing, message, "git oracle doctor"))
    }

    /// Returns when the program has ended by itself.
    pub(in crate::transport) fn wait(self) -> Result<(), Fault> {
        loop {
            match self.words.recv_timeout(LISTEN) {
                Ok(Word::Fault(fault)) => return Err(fault),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) if system::interrupted() => return Err(Fault::interrupted()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Returns the directory that is removed when the program has ended, whatever ends it.
    pub(in crate::transport) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Tells the guard which tab of a foreign browser is ours.
    pub(in crate::transport) fn owns_tab(&mut self, tab: &str) {
        if let Some(pipe) = &mut self.child.stdin {
            let _ = writeln!(pipe, "tab {tab}");
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + ENDING;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(POLL),
                Ok(Some(status)) if status.success() => return,
                _ => break,
            }
        }
        // It hangs, or somebody ended it: then what is left of its work is ours.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.temporary);
    }
}
