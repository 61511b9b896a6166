//! Page profiles: where things are on a chat page, and how it behaves, as data.
//!
//! A profile is a TOML file with ordered, dated selectors for every [`Element`], for each layout that a site shows. The
//! built-in ones are in `policies/pages/`; a file of the same name in `~/.oracle/pages/` takes the place of one, so that
//! a page that has changed is mended without a new version of the program. [`PageProfile`] is a valid one.

mod choose;
mod element;
mod error;
mod file;
mod selector;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

pub use choose::ProfileChoice;
pub use choose::choose;
pub use choose::names;
pub use element::Element;
pub use error::ProfileError;

/// A selector, and when it was last seen to be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub css: String,
    pub seen: String,
    pub note: Option<String>,
}

/// The ways to where each element is, best first.
pub type Entries = BTreeMap<Element, Vec<Entry>>;

/// One of the shapes in which a site shows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub name: String,
    /// What only this layout has.
    pub when: String,
    pub elements: Entries,
}

/// How text gets into an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Typing {
    /// Sets the value as the element itself would, past a framework that watches the property.
    ValueSetter,
    /// A paste with HTML, one paragraph for each line.
    HtmlPaste,
    /// A paste of plain text.
    TextPaste,
    /// Paragraphs put in place of what is there.
    ReplaceChildren,
    /// The browser's own editing command. Its cost grows with the square of the lines.
    InsertText,
    /// Text inserted over the DevTools protocol.
    Devtools,
}

/// How each kind of editor is typed into, best first, and up to which size.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Methods {
    textarea: Vec<Typing>,
    prosemirror: Vec<Typing>,
    quill: Vec<Typing>,
    lexical: Vec<Typing>,
    other: Vec<Typing>,
    inline_bytes: usize,
}

impl Methods {
    pub fn of(&self, editor: Editor) -> &[Typing] {
        match editor {
            Editor::Textarea => &self.textarea,
            Editor::Prosemirror => &self.prosemirror,
            Editor::Quill => &self.quill,
            Editor::Lexical => &self.lexical,
            Editor::Other => &self.other,
        }
    }
}

/// What a composer is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Editor {
    Textarea,
    Prosemirror,
    Quill,
    Lexical,
    Other,
}

/// How long an answer must be still to count as over: when every signal agrees, and when one of them does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Quiet {
    pub short_ms: u64,
    pub long_ms: u64,
}

/// How long each step may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Waits {
    pub ready_ms: u64,
    pub challenge_ms: u64,
    pub send_ms: u64,
    pub commit_ms: u64,
    pub upload_ms: u64,
    pub menu_ms: u64,
    pub copy_ms: u64,
    pub throttled_ms: u64,
}

/// Where a site asks its visitors to sign in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Beginnings of paths.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// The addresses of conversations. A `*` stands for one part of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversations {
    #[serde(default)]
    paths: Vec<String>,
    /// Those that are shown for a moment only.
    #[serde(default)]
    passing: Vec<String>,
}

/// A page of the site that tells whether its visitor is signed in: its JSON then has the field.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SessionProbe {
    pub path: String,
    pub field: String,
}

/// Modes that chat, and modes that do something else with a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Modes {
    pub want: Vec<String>,
    pub refuse: Vec<String>,
}

/// What a text on the page means that contains one of these, in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Phrases {
    pub rate_limited: Vec<String>,
    pub challenge: Vec<String>,
    /// Only in the title of a document.
    pub challenge_title: Vec<String>,
    pub signed_out: Vec<String>,
    pub failed: Vec<String>,
    /// Whole texts that stand where an answer will be.
    pub placeholder: Vec<String>,
}

/// A chat page, as the transport needs to know it. Valid by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageProfile {
    pub name: String,
    pub title: String,
    /// The day on which its entries were last compared with the page.
    pub checked: String,
    pub home: String,
    /// Hosts, each with the beginning of a path where a site has more than the chat.
    pub hosts: Vec<String>,
    pub conversations: Conversations,
    pub sign_in: SignIn,
    pub session: Option<SessionProbe>,
    pub mode: Option<Modes>,
    pub methods: Methods,
    pub quiet: Quiet,
    pub waits: Waits,
    pub phrases: Phrases,
    /// What all layouts share.
    pub elements: Entries,
    pub layouts: Vec<Layout>,
}

impl PageProfile {
    /// Returns the entries of an element in a layout, or those that all layouts share.
    pub fn entries(&self, layout: Option<&str>, element: Element) -> &[Entry] {
        let own = self.layouts.iter().find(|one| Some(one.name.as_str()) == layout);
        own.and_then(|layout| layout.elements.get(&element))
            .or_else(|| self.elements.get(&element))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the size from which a prompt is better attached as a file.
    pub const fn inline_bytes(&self) -> usize {
        self.methods.inline_bytes
    }

    pub fn is_conversation(&self, url: &str) -> bool {
        let Some((_, path)) = split(url) else { return false };
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, path));
        fits(&self.conversations.paths) && !fits(&self.conversations.passing)
    }

    /// Tells whether this profile is for the page at this address.
    fn is_for(&self, url: &str) -> bool {
        let Some((host, path)) = split(url) else { return false };
        let host = host.strip_prefix("www.").unwrap_or(host);
        self.hosts.iter().any(|known| match known.split_once('/') {
            Some((known, start)) => host == known && is_below(path, start),
            None => host == known,
        })
    }

    pub(super) const fn challenge_limit(&self) -> Duration {
        Duration::from_millis(self.waits.challenge_ms)
    }

    pub(super) const fn ready_limit(&self) -> Duration {
        Duration::from_millis(self.waits.ready_ms)
    }

    /// Returns what the scripts in the page need to know.
    pub(super) fn for_scripts(&self) -> Value {
        let selectors = |entries: &Entries| -> Value {
            let lists = entries.iter().map(|(element, list)| {
                (element.as_str().to_owned(), list.iter().map(|entry| entry.css.as_str()).collect())
            });
            Value::Object(lists.collect())
        };
        let layouts: Vec<Value> = self
            .layouts
            .iter()
            .map(|layout| json!({"name": layout.name, "when": layout.when, "elements": selectors(&layout.elements)}))
            .collect();
        json!({
            "elements": selectors(&self.elements),
            "layouts": layouts,
            "phrases": self.phrases,
            "quiet": self.quiet,
            "waits": self.waits,
            "mode": self.mode,
            "session": self.session,
            "sign_in": self.sign_in,
        })
    }
}

/// Splits an address into its host, with the port, and its path.
fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    Some(rest.find('/').map_or((rest, "/"), |at| rest.split_at(at)))
}

fn is_below(path: &str, start: &str) -> bool {
    let path = path.trim_start_matches('/');
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Compares part by part; a `*` at the end of a part stands for the rest of it, which must not be empty.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.trim_end_matches('/').split('/');
    let all = pattern.split('/').all(|wanted| {
        parts.next().is_some_and(|part| match wanted.strip_suffix('*') {
            Some(start) => part.strip_prefix(start).is_some_and(|rest| !rest.is_empty()),
            None => part == wanted,
        })
    });
    all && parts.next().is_none()
}

#[cfg(test)]
mod tests;
