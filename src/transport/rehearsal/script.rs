//! What the page does: its looks, its answers, its faults.

use serde::Deserialize;
use serde::Serialize;

/// What the page follows. The last reply is repeated when there are more prompts than replies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    pub editor: Composer,
    pub models: Vec<String>,
    /// Titles in the sidebar.
    pub history: Vec<String>,
    pub replies: Vec<Reply>,
    pub faults: Faults,
}

impl Default for Script {
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Script {
            editor: Composer::default(),
            models: owned(&["GPT-5", "GPT-5 Pro", "GPT-5 mini"]),
            history: owned(&["Fix the parser", "Trip to Lisbon", "Unit tests in Rust"]),
            replies: vec![Reply::default()],
            faults: Faults::default(),
        }
    }
}

impl Script {
    /// A page that gives these answers, one for each prompt.
    pub fn answering<'a>(answers: impl IntoIterator<Item = &'a str>) -> Self {
        Script { replies: answers.into_iter().map(Reply::of).collect(), ..Script::default() }
    }
}

/// Whose manners the composer has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Composer {
    /// A contenteditable as ProseMirror makes one.
    #[default]
    Contenteditable,
    /// A text field that a framework controls.
    Textarea,
    Quill,
}

/// One answer. `{{REQUEST_ID}}` in it becomes the request id that the prompt carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    pub markdown: String,
    /// What is said first, before the pause that follows it.
    pub preamble: Option<String>,
    pub start_ms: u64,
    /// Characters at a time.
    pub chunk: usize,
    pub every_ms: u64,
    /// The page refuses the prompt with this text.
    pub refused: Option<String>,
    pub happenings: Vec<Happening>,
}

impl Default for Reply {
    fn default() -> Self {
        Reply {
            markdown: "{{REQUEST_ID}}\n\nNothing to add.\n\n{{REQUEST_ID}}".to_owned(),
            preamble: None,
            start_ms: 50,
            chunk: 200,
            every_ms: 5,
            refused: None,
            happenings: Vec::new(),
        }
    }
}

impl Reply {
    pub fn of(markdown: &str) -> Self {
        Reply { markdown: markdown.to_owned(), ..Reply::default() }
    }
}

/// What happens while an answer arrives, after so many of its characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case", deny_unknown_fields)]
pub enum Happening {
    /// Before the answer: the page shows that it thinks.
    Think {
        ms: u64,
        summary: String,
    },
    Pause {
        after: usize,
        ms: u64,
        hides_stop: bool,
    },
    /// The page throws the turn's elements away and makes new ones.
    Remount {
        after: usize,
    },
    /// The answer ends with an error.
    Fail {
        after: usize,
        text: String,
    },
    /// A notice that the user asks too much; the answer does not go on.
    Throttle {
        after: usize,
        text: String,
    },
    /// The page goes elsewhere.
    Leave {
        after: usize,
        to: String,
    },
    Reload {
        after: usize,
    },
    /// A dialog of the browser.
    Alert {
        after: usize,
        text: String,
    },
    /// Nothing more comes, and the page says that it is still at work.
    Stall {
        after: usize,
    },
}

/// How somebody who is not signed in is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignedOut {
    /// With the chat page, and a way to sign in.
    Visitor,
    /// With the page to sign in on.
    Redirect,
}

/// What is wrong with the page as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    pub signed_out: Option<SignedOut>,
    /// The page asks its visitor to prove to be a person, for so long.
    pub challenge_ms: Option<u64>,
    pub popup: bool,
    /// The composer comes so much later than the page.
    pub hydrate_ms: Option<u64>,
    /// What is typed is lost after so long, once.
    pub wipes_after_ms: Option<u64>,
    pub stale_draft: Option<String>,
    /// The page opens with an earlier conversation.
    pub stale_conversation: bool,
    /// The mode that does something else with a prompt is chosen.
    pub agent_mode: bool,
    /// A click on the send button does nothing.
    pub ignores_send: bool,
    pub stop_never_clears: bool,
    pub copy_late_ms: Option<u64>,
    pub copy_broken: bool,
    /// Long blocks of code are shown in part.
    pub clipped_block: bool,
    /// The sidebar's text gets into the answer.
    pub sidebar_bleed: bool,
    /// The address of a new conversation is another one for a moment.
    pub passing_address: bool,
    pub renames_attachments: bool,
    pub upload_ms: Option<u64>,
    pub upload_fails: bool,
    pub upload_terms: bool,
}
