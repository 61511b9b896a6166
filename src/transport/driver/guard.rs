//! The guard: a process of its own between us and the driver, which lives exactly as long as we do.
//!
//! It holds the profile, starts the program, and tells us when it is ready. When its standard input ends (because we are
//! done, or because we are no more, in whatever way) it ends everything that came out of the program, crash handlers
//! included, removes their temporary directory and lets go of the profile. It is a process because a signal that cannot
//! be caught leaves no other way, and because the program's own children do not stay in its process group.
//!
//! Should the guard itself be killed, the program ends with it: it asked the system for that before it became the
//! program. The browser then ends, too, because its pipe to the driver closes; the temporary directory waits for the
//! next run on the profile.

use std::ffi::OsString;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::time::Instant;

use serde::Deserialize;
use serde::Serialize;
use signal_hook::consts::SIGCHLD;
use signal_hook::consts::SIGHUP;
use signal_hook::consts::SIGINT;
use signal_hook::consts::SIGTERM;

use crate::system;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::devtools;
use crate::transport::driver::profile::Held;

/// A driver that is not ready by then will not be.
const READY: Duration = Duration::from_secs(15);
/// How long a browser may take to put its profile in order.
const POLITE: Duration = Duration::from_millis(2500);
/// How long the rest may take to end once it was killed. What waits for a slow disk ends when that has answered.
const KILLED: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// What the driver says when it listens.
const LISTENS: &str = "was started successfully on port ";

/// What to start and what to look after.
#[derive(Debug)]
pub struct Order {
    /// The user-data directory to hold, if any.
    pub profile: Option<PathBuf>,
    /// How long to wait for the profile.
    pub patience: Duration,
    /// The program's temporary directory. It is made, and removed at the end.
    pub temporary: PathBuf,
    /// A browser that is not ours, in which we have a tab.
    pub visited: Option<SocketAddr>,
    /// Whether the program is a driver, which says where it listens.
    pub is_driver: bool,
    pub command: Vec<OsString>,
}

/// What the guard tells, one line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// The driver listens on this port of the loopback interface.
    Listens(u16),
    /// The program runs.
    Runs,
    Fault(Fault),
}

enum Event {
    /// A line from whoever we guard for.
    Told(String),
    /// Whoever we guard for is done, or gone.
    Done,
    /// The driver listens.
    Listens(u16),
    ChildEnded,
}

/// Becomes the program, after asking the system to end it with the guard, whose process id is `guard`.
pub fn become_guarded(guard: u32, command: &[OsString]) -> io::Error {
    let Some((program, args)) = command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    match system::end_with_parent(guard) {
        Ok(()) => system::become_program(Command::new(program).args(args)),
        Err(error) => error,
    }
}

/// Guards until standard input ends. What went wrong is told on standard output.
pub fn guard(order: &Order) {
    if let Err(fault) = Guard::start(order).and_then(|guard| guard.watch()) {
        tell(&Word::Fault(fault));
    }
}

fn tell(word: &Word) {
    // Nobody may be there any more to hear it.
    let _ = serde_json::to_string(word).map(|line| writeln!(io::stdout(), "{line}"));
}

struct Guard<'a> {
    order: &'a Order,
    child: Child,
    events: Receiver<Event>,
    /// The tab that is ours in a browser that is not.
    tab: Option<String>,
    _held: Option<Held>,
}

impl<'a> Guard<'a> {
    fn start(order: &'a Order) -> Result<Self, Fault> {
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            let message = format!("failed to {what}: {error}");
            Fault::new(FaultKind::DriverMissing, message, "git oracle doctor")
        };
        let (sender, events) = mpsc::channel();
        listen(&sender).map_err(|error| failed("watch over the driver", &error))?;
        let is_over = || matches!(events.try_recv(), Ok(Event::Done));
        let take = |profile: &Path| Held::take(profile, order.patience, &is_over);
        let mut held = order.profile.as_deref().map(take).transpose()?;
        if let Some(held) = &mut held {
            held.note(Some(&order.temporary));
        }
        system::create_new_private_dir(&order.temporary)
            .map_err(|error| failed("make a temporary directory", &error))?;
        let child = spawn(order).map_err(|error| {
            let _ = std::fs::remove_dir_all(&order.temporary);
            failed("start the driver", &error)
        })?;
        Ok(Guard { order, child, events, tab: None, _held: held }.attend(sender))
    }

    fn attend(mut self, sender: Sender<Event>) -> Self {
        if let Some(output) = self.child.stdout.take() {
            std::thread::spawn(move || find_port(output, &sender));
        }
        self
    }

    fn watch(mut self) -> Result<(), Fault> {
        let deadline = Instant::now() + READY;
        let mut is_ready = !self.order.is_driver;
        if is_ready {
            tell(&Word::Runs);
        }
        loop {
            let event = match is_ready {
                true => self.events.recv().unwrap_or(Event::Done),
                false => match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(event) => event,
                    Err(_) => return Err(self.never_ready("it said nothing for a long time")),
                },
            };
            match event {
                Event::Listens(port) => {
                    is_ready = true;
                    tell(&Word::Listens(port));
                }
                Event::Told(line) => self.tab = line.strip_prefix("tab ").map(str::to_owned),
                Event::Done => return Ok(()),
                Event::ChildEnded => match self.child.try_wait() {
                    Ok(None) => {}
                    Ok(Some(status)) if !is_ready => return Err(self.never_ready(&format!("it ended with {status}"))),
                    _ => return Ok(()),
                },
            }
        }
    }

    fn never_ready(&self, why: &str) -> Fault {
        let program = self.order.command.first().map(|program| Path::new(program).display().to_string());
        let message = format!("the driver did not start, {why}: {}", program.unwrap_or_default());
        Fault::new(FaultKind::DriverMissing, message, "Run it by hand with --version: it must run and fit the browser.")
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let (Some(browser), Some(tab)) = (self.order.visited, &self.tab) {
            devtools::close_tab(browser, tab);
        }
        // A browser that loses its driver writes down what is not yet in its profile, such as cookies that a page has
        // just renewed, and ends. Asked by a signal it would end without.
        let pid = self.child.id();
        let browsers = if self.order.is_driver { system::children_of(pid) } else { vec![pid] };
        match self.order.is_driver {
            true => drop(self.child.kill()),
            false => system::ask_to_end(pid),
        }
        let deadline = Instant::now() + POLITE;
        while browsers.iter().copied().any(system::is_alive) && Instant::now() < deadline {
            std::thread::sleep(POLL);
        }
        system::end_all_children(KILLED);
        let _ = std::fs::remove_dir_all(&self.order.temporary);
    }
}

/// Starts the program by way of ourselves: between the two it is bound to us.
fn spawn(order: &Order) -> io::Result<Child> {
    system::adopt_orphans()?;
    let mut command = Command::new(system::own_program()?);
    command.args(["guard", "--bound-to", &std::process::id().to_string(), "--"]).args(&order.command);
    command.env("TMPDIR", &order.temporary).current_dir("/").process_group(0);
    let output = if order.is_driver { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null()).spawn()
}

/// Turns everything that may happen into events.
fn listen(sender: &Sender<Event>) -> io::Result<()> {
    for (signal, is_end) in [(SIGCHLD, false), (SIGTERM, true), (SIGINT, true), (SIGHUP, true)] {
        let (mut receives, sends) = UnixStream::pair()?;
        signal_hook::low_level::pipe::register(signal, sends)?;
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut byte = [0];
            while receives.read_exact(&mut byte).is_ok() {
                let _ = sender.send(if is_end { Event::Done } else { Event::ChildEnded });
            }
        });
    }
    let sender = sender.clone();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let _ = sender.send(Event::Told(line));
        }
        let _ = sender.send(Event::Done);
    });
    Ok(())
}

/// Reads what the driver prints for as long as it prints, so that it never waits for a reader.
fn find_port(output: impl Read, sender: &Sender<Event>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while let Ok(length) = output.by_ref().take(1 << 16).read_until(b'\n', &mut line) {
        if length == 0 {
            return;
        }
        if let Some(port) = port_in(&String::from_utf8_lossy(&line)) {
            let _ = sender.send(Event::Listens(port));
        }
        line.clear();
    }
}

fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once(LISTENS)?;
    rest.trim_end().trim_end_matches('.').parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_line_that_says_so() {
        let cases = [
            ("ChromeDriver was started successfully on port 36233.\n", Some(36233)),
            ("ChromeDriver was started successfully on port 36233.", Some(36233)),
            ("Starting ChromeDriver 156.0.8078.79 (a21) on port 0\n", None),
            ("ChromeDriver was started successfully on port 0.\n", None),
            ("ChromeDriver was started successfully on port 99999.\n", None),
            ("", None),
        ];
        for (line, port) in cases {
            assert_eq!(port_in(line), port, "{line}");
        }
    }
}
