//! What the prose around a block says about it.
//!
//! Words never make a patch of something; they only keep a block out, or say which of two blocks for the same lines is
//! meant. Where they are silent, two such blocks conflict.

/// The words before a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    Plain,
    /// They speak of an example or of something past; the block counts unless it names files that are not there
    Doubtful,
    /// They say that the block is not to be applied
    Excluded,
}

/// Who speaks from here on, when a reply is the copy of a whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Person,
    Assistant,
}

const EXCLUDES: [&str; 23] = [
    "example only",
    "only an example",
    "just an example",
    "merely an example",
    "format example",
    "example of the format",
    "example format",
    "do not apply",
    "don't apply",
    "not to be applied",
    "should not be applied",
    "made-up example",
    "made up example",
    "not part of the change",
    "not part of this change",
    "not part of the patch",
    "not part of this patch",
    "generally looks like",
    "typically looks like",
    "sample diff",
    "diff format",
    "patch format",
    "for illustration only",
];

const DOUBTS: [&str; 18] = [
    "example",
    "e.g.",
    "for reference",
    "reminder",
    "previous",
    "earlier",
    "template",
    "sample",
    "your patch",
    "your diff",
    "old version",
    "original patch",
    "looks like",
    "look like",
    "illustrat",
    "hypothetical",
    "placeholder",
    "considered",
];

const SUPERSEDES: [&str; 33] = [
    "use this instead",
    "apply this instead",
    "this instead",
    "instead of the above",
    "instead of the previous",
    "instead of the first",
    "instead of the earlier",
    "corrected",
    "correction",
    "updated patch",
    "updated version",
    "updated diff",
    "revised",
    "revision",
    "final version",
    "final patch",
    "supersede",
    "replaces the above",
    "replaces the previous",
    "replaces the first",
    "replaces the earlier",
    "ignore the above",
    "ignore the previous",
    "ignore the first",
    "ignore the earlier",
    "disregard",
    "scratch that",
    "scrap that",
    "fixed version",
    "improved version",
    "better version",
    "use this one",
    "second version",
];

const CHOICES: [&str; 9] = [
    "option a",
    "option b",
    "option 1",
    "option 2",
    "alternatively",
    "alternative approach",
    "alternative patch",
    "if you prefer",
    "pick one",
];

/// Words that only a page's frame has. One may occur in an answer about such a page; three do not.
const FRAME: [&str; 12] = [
    "toggle sidebar",
    "close sidebar",
    "open sidebar",
    "copilot navigation",
    "quick links",
    "agent sessions",
    "open workbench",
    "new chat",
    "search chats",
    "chat history",
    "skip to content",
    "temporary chat",
];

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns the last paragraph of a text, in lower case and on one line.
pub fn last_paragraph(prose: &[u8]) -> String {
    let tail = &prose[prose.len().saturating_sub(2000)..];
    let text = String::from_utf8_lossy(tail).replace('\r', "");
    let mut lines: Vec<&str> = Vec::new();
    for line in text.trim_end().rsplit('\n') {
        if line.trim_matches([' ', '\t', '>']).is_empty() {
            break;
        }
        lines.insert(0, line.trim());
    }
    lines.join(" ").to_lowercase().replace('\u{2019}', "'")
}

pub fn judge_lead(paragraph: &str) -> Lead {
    match () {
        () if has_any(paragraph, &EXCLUDES) => Lead::Excluded,
        () if has_any(paragraph, &DOUBTS) => Lead::Doubtful,
        () => Lead::Plain,
    }
}

/// Tells whether the words between two blocks say that the later one replaces the earlier.
pub fn supersedes(prose: &str) -> bool {
    has_any(&prose.to_lowercase(), &SUPERSEDES)
}

/// Tells whether the words before a block offer it as one of several.
pub fn is_choice(prose: &str) -> bool {
    has_any(&prose.to_lowercase(), &CHOICES)
}

/// Counts the words of a page's frame.
pub fn frame_words(prose: &str) -> usize {
    let text = prose.to_lowercase();
    FRAME.iter().filter(|word| text.contains(**word)).count()
}

/// Tells whether a line only says who speaks.
pub fn role_of(line: &[u8]) -> Option<Role> {
    if line.len() > 60 {
        return None;
    }
    let text = std::str::from_utf8(line).ok()?.trim();
    let decorated = text.starts_with('#') || text.starts_with("**") || text.ends_with(':') || text.ends_with(":**");
    let word = text.trim_matches(['#', '*', '_', ':', ' ', '>']).to_lowercase();
    match word.as_str() {
        "you said" => Some(Role::Person),
        "user" | "human" if decorated => Some(Role::Person),
        "chatgpt said" | "copilot said" | "gemini said" | "claude said" | "assistant said" => Some(Role::Assistant),
        "assistant" | "chatgpt" | "copilot" | "github copilot" | "gemini" | "claude" if decorated => {
            Some(Role::Assistant)
        }
        _ => None,
    }
}

/// Tells whether a reply asks instead of answering.
pub fn asks(reply: &[u8]) -> bool {
    let tail = &reply[..reply.len().min(64 << 10)];
    tail.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end().ends_with(b"?"))
}

/// Returns the words of a text that may be paths, the nearest first.
pub fn path_words(prose: &[u8]) -> Vec<String> {
    let tail = &prose[prose.len().saturating_sub(2000)..];
    let text = String::from_utf8_lossy(tail).into_owned();
    let words = text.split([' ', '\t', '\n', '\r', '`', '*', '"', '\'', '(', ')', '[', ']', ',', '=', '<', '>', ':']);
    let mut found: Vec<String> = Vec::new();
    for word in words.rev() {
        let word = word.trim_end_matches([':', '.', ';', '!', '?']);
        if word.contains(['.', '/']) && word.len() > 2 && !word.contains("://") && !found.iter().any(|old| old == word)
        {
            found.push(word.to_owned());
        }
    }
    found
}
