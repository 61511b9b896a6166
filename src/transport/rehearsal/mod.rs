//! The rehearsal page: a chat page on loopback that follows a script, for demo, doctor and tests.
//!
//! It is a real page for a real browser, with the shape of the real ones: a sidebar, turns that arrive in pieces, three
//! kinds of composer, a stop button, copying, models, modes, attachments, a page to sign in on, and the faults that real
//! pages have. [`Script`] says what it answers and what goes wrong; [`Record`] says what it was sent. It talks to nobody
//! but this machine: other hosts and origins are refused.

mod answer;
mod script;
mod server;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::transport::rehearsal::answer::Step;

pub use script::Composer;
pub use script::Faults;
pub use script::Happening;
pub use script::Reply;
pub use script::Script;
pub use script::SignedOut;

/// A file as it reached the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFile {
    pub name: String,
    pub content: Vec<u8>,
}

/// A prompt as it reached the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedPrompt {
    pub text: String,
    pub files: Vec<ReceivedFile>,
    pub model: String,
    pub mode: String,
    pub conversation: String,
    /// The page took it, and answers.
    pub accepted: bool,
}

/// What the page was sent, and what happened on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    pub prompts: Vec<ReceivedPrompt>,
    /// Everything that was uploaded, sent with a prompt or not.
    pub files: Vec<ReceivedFile>,
    pub events: Vec<String>,
}

enum Turn {
    User { text: String, files: Vec<String> },
    Assistant { steps: Vec<Step>, begun: Instant },
}

struct State {
    script: Script,
    begun: Instant,
    /// When the page first asked its visitor to prove to be a person.
    challenged: Option<Instant>,
    record: Record,
    conversations: BTreeMap<String, Vec<Turn>>,
}

/// A running rehearsal page. It ends when this is dropped.
pub struct Rehearsal {
    port: u16,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Rehearsal {
    /// Starts the page on a free port of this machine.
    pub fn start(script: Script) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (begun, record) = (Instant::now(), Record::default());
        let state = State { script, begun, challenged: None, record, conversations: BTreeMap::new() };
        let state = Arc::new(Mutex::new(state));
        let (stop, stopped) = oneshot::channel();
        let thread = server::start(listener, Arc::clone(&state), stopped)?;
        Ok(Rehearsal { port, state, stop: Some(stop), thread: Some(thread) })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    pub fn record(&self) -> Record {
        lock(&self.state).record.clone()
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A page whose thread has panicked still tells what it was sent.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
