//! What the scripts answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use crate::transport::profile::Editor;
use crate::transport::profile::Element;

/// What the page told its user.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::transport) struct Notice {
    pub(in crate::transport) text: String,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Located {
    pub(in crate::transport) layout: Option<String>,
    pub(in crate::transport) url: String,
    pub(in crate::transport) title: String,
    pub(in crate::transport) marks: Vec<Mark>,
    pub(in crate::transport) found: BTreeMap<Element, Place>,
}

/// What tells that a page has a layout, and how often it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub name: String,
    pub when: String,
    pub count: usize,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(in crate::transport) struct Place {
    pub(in crate::transport) entry: Option<usize>,
    pub(in crate::transport) count: usize,
    pub(in crate::transport) visible: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum ReadyState {
    Ready,
    Challenge,
    SignedOut,
    RateLimited,
    /// The composer is there, but nothing proves that somebody is signed in.
    Unproved,
    /// No layout of the profile.
    Unknown,
    NoComposer,
    /// The composer is replaced again and again.
    Unsettled,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Ready {
    pub(in crate::transport) state: ReadyState,
    pub(in crate::transport) layout: Option<String>,
    pub(in crate::transport) url: String,
    pub(in crate::transport) title: String,
    pub(in crate::transport) closed: Vec<String>,
    pub(in crate::transport) notice: Option<Notice>,
    pub(in crate::transport) text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum ClearState {
    Clear,
    NoComposer,
    /// Somebody else's attachments cannot be removed.
    Attachments,
    /// Somebody else's text cannot be removed.
    Draft,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Cleared {
    pub(in crate::transport) state: ClearState,
    pub(in crate::transport) editor: Option<Editor>,
    #[serde(default)]
    pub(in crate::transport) draft: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum TypeState {
    Exact,
    Different,
    Selected,
    NoComposer,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Typed {
    pub(in crate::transport) state: TypeState,
    /// Where the first difference is, in UTF-16 units.
    pub(in crate::transport) at: Option<usize>,
    pub(in crate::transport) length: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum ModeState {
    Right,
    Wrong,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct ModeChosen {
    pub(in crate::transport) state: ModeState,
    pub(in crate::transport) mode: Option<String>,
    pub(in crate::transport) was: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum ModelState {
    Chosen,
    NotOffered,
    /// Chosen, but the menu says another one.
    NotTaken,
    NoPicker,
    NoMenu,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct ModelChosen {
    pub(in crate::transport) state: ModelState,
    pub(in crate::transport) model: Option<String>,
    #[serde(default)]
    pub(in crate::transport) offered: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum AttachState {
    Open,
    NoButton,
    NoInput,
    Attached,
    /// The page says that it does not take them.
    Refused,
    /// None appeared.
    None,
    /// Some appeared and are gone.
    Lost,
    /// They are still on their way.
    Busy,
}

/// Where files can be put.
#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Input {
    pub(in crate::transport) state: AttachState,
    #[serde(default)]
    pub(in crate::transport) element: Value,
    #[serde(default)]
    pub(in crate::transport) agreed: bool,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Attached {
    pub(in crate::transport) state: AttachState,
    #[serde(default)]
    pub(in crate::transport) chips: usize,
    #[serde(default)]
    pub(in crate::transport) unnamed: Vec<String>,
    pub(in crate::transport) notice: Option<Notice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum SendState {
    Clicked,
    /// It was sent before, from this very page.
    Already,
    NoComposer,
    /// The composer does not hold what was typed any more.
    Different,
    Mode,
    RateLimited,
    /// Another answer is being written.
    Busy,
    Attachments,
    NoSend,
    Disabled,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Sent {
    pub(in crate::transport) state: SendState,
    pub(in crate::transport) mode: Option<String>,
    pub(in crate::transport) notice: Option<Notice>,
    pub(in crate::transport) chips: Option<usize>,
}

/// What shows that a question on the page is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// It carries the request id.
    RequestId,
    /// It came after our send, in a conversation where nobody else writes.
    Order,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum CommitState {
    Committed,
    Pending,
    /// No layout of the profile: the page is on its way somewhere.
    Gone,
    RateLimited,
    Challenge,
    SignedOut,
    Failed,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Commit {
    pub(in crate::transport) state: CommitState,
    pub(in crate::transport) proof: Option<Proof>,
    pub(in crate::transport) notice: Option<Notice>,
    /// The composer is empty.
    pub(in crate::transport) empty: Option<bool>,
    pub(in crate::transport) url: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::transport) enum WatchState {
    /// Our question is not on the page.
    Lost,
    Waiting,
    Thinking,
    Streaming,
    Done,
    Failed,
    RateLimited,
    Challenge,
    SignedOut,
}

/// What agreed when an answer was taken for whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompletionPath {
    AllSignals,
    InactivityFallback,
    ForcedTimeout,
    TimeoutPartial,
}

/// The signs of an answer's state, as they were last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signals {
    pub question: Option<Proof>,
    pub turns: usize,
    /// There is text, and it is no placeholder.
    pub text: bool,
    pub stop: bool,
    pub thinking: bool,
    pub copy: bool,
    /// Copy, or whatever else comes when an answer is whole.
    pub bar: bool,
    /// The request id stands at the end, and stood before.
    pub ended: bool,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Watch {
    pub(in crate::transport) state: WatchState,
    pub(in crate::transport) path: Option<CompletionPath>,
    pub(in crate::transport) signals: Signals,
    pub(in crate::transport) chars: usize,
    /// Milliseconds without a change of the text, and without any progress.
    pub(in crate::transport) quiet: u64,
    pub(in crate::transport) idle: u64,
    pub(in crate::transport) mutations: u64,
    /// Milliseconds since the first text.
    pub(in crate::transport) first: Option<u64>,
    pub(in crate::transport) notice: Option<Notice>,
    /// What there is so far, as markdown, now and then.
    pub(in crate::transport) partial: Option<String>,
    /// The page is one to sign in on.
    pub(in crate::transport) left: bool,
    pub(in crate::transport) url: String,
}

/// How an answer was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// From the page's own Copy.
    Clipboard,
    /// From what the page shows.
    Dom,
}

#[derive(Debug, Deserialize)]
pub(in crate::transport) struct Captured {
    /// None where there is nothing to take.
    pub(in crate::transport) text: Option<String>,
    pub(in crate::transport) capture: Option<Capture>,
    pub(in crate::transport) proof: Option<Proof>,
    #[serde(default)]
    pub(in crate::transport) sealed: bool,
    #[serde(default)]
    pub(in crate::transport) seen: bool,
    #[serde(default)]
    pub(in crate::transport) clipped: bool,
    #[serde(default)]
    pub(in crate::transport) sidebar: bool,
}
