//! What happens in a conversation, for those who follow it.

use serde::Serialize;

use crate::transport::page::Capture;
use crate::transport::page::CompletionPath;
use crate::transport::page::Proof;
use crate::transport::profile::Editor;
use crate::transport::profile::Typing;

/// What an answer is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Waiting,
    Thinking,
    Streaming,
    /// The question is not on the page; it is looked for.
    Lost,
    /// The page says that too much is asked of it.
    Throttled,
}

/// One step, before or after it is done as its name says. Names and texts of the page are as the page has them: whoever
/// prints them makes control characters visible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    Opening {
        url: String,
    },
    /// The page asks its visitor to prove to be a person; it is given time to let go.
    Challenged,
    /// The page can be used.
    Ready {
        url: String,
        layout: String,
        closed: Vec<String>,
    },
    /// A mode was left that does something else with a prompt.
    ModeLeft {
        was: String,
        now: String,
    },
    ModelChosen {
        label: String,
    },
    /// The composer was emptied of so many characters.
    DraftCleared {
        characters: usize,
    },
    Attaching {
        files: usize,
    },
    /// All attachments are there. Some may have other names on the page; its terms may have been agreed to.
    Attached {
        files: usize,
        unnamed: Vec<String>,
        agreed: bool,
    },
    Typing {
        bytes: usize,
    },
    /// The composer holds exactly the text, read back.
    Typed {
        bytes: usize,
        editor: Editor,
        method: Typing,
    },
    /// The next act is the send. It is done only if this is answered well.
    Sending,
    /// The page was told to send.
    Sent,
    /// The page has taken the prompt.
    Committed {
        proof: Proof,
    },
    /// The conversation has an address.
    Address {
        url: String,
    },
    Watching {
        phase: Phase,
        characters: usize,
        elapsed_ms: u64,
        idle_ms: u64,
    },
    /// What there is of the answer, from time to time; the last one is what a crash leaves.
    Partial {
        bytes: usize,
        /// Too much for a log.
        #[serde(skip_serializing)]
        text: String,
    },
    /// The page as it stands, as HTML, where snapshots were asked for.
    Snapshot {
        bytes: usize,
        #[serde(skip_serializing)]
        html: String,
    },
    /// The page was left, and is opened again to look for the answer.
    Returning {
        url: String,
    },
    /// The answer is whole.
    Finished {
        path: CompletionPath,
        characters: usize,
    },
    Captured {
        capture: Capture,
        bytes: usize,
    },
}
