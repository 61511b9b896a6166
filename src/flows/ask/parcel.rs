//! Exactly what is sent: the text that is typed, and the files that go with it.

use crate::bundle::Format;
use crate::bundle::Package;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::transport::RequestId;

/// What is sent in one turn.
pub(super) struct Parcel {
    /// The whole request, as it is kept.
    pub request: String,
    /// What is typed: the request, or a word that it is attached.
    pub typed: String,
    pub attachments: Vec<Attachment>,
}

/// A file that goes with a prompt.
pub(super) struct Attachment {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Its files were looked through before they were packed.
    pub is_archive: bool,
}

/// How much fits where a prompt goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Bytes of text.
    pub text: usize,
    pub takes_files: bool,
}

impl Parcel {
    /// Makes a parcel. What is too long for the place where one types becomes a file.
    pub fn make(id: &RequestId, prompt: &str, package: Option<&Package>, room: Room) -> Result<Self, Failure> {
        let mut attachments = Vec::new();
        let mut context = String::new();
        if let Some(package) = package {
            let mut bytes = Vec::new();
            package.write_to(&mut bytes).map_err(|error| {
                Failure::new(Kind::Other, format!("failed to write the context package: {error}"))
                    .hinted("git oracle bundle --dry-run")
            })?;
            context.push_str(package.format.sentence());
            match package.format {
                Format::Text if bytes.len() + prompt.len() < room.text => {
                    context.push_str("\n\n");
                    context.push_str(&String::from_utf8_lossy(&bytes));
                }
                Format::Zip if !room.takes_files => {
                    return Err(Failure::new(Kind::Usage, "an archive is attached to a chat page; the API takes text")
                        .hinted("--browser-bundle-format text"));
                }
                Format::Text => attachments.push(Attachment::text("oracle-context-package.md", bytes)),
                Format::Zip => {
                    attachments.push(Attachment { name: "oracle-context-package.zip", bytes, is_archive: true })
                }
            }
        }
        let request = framed(id, &[prompt, &context]);
        let mut typed = request.clone();
        if request.len() > room.text {
            if !room.takes_files {
                let message = format!("the request has {} bytes, and {} are taken", request.len(), room.text);
                return Err(Failure::new(Kind::Other, message).hinted("Ask for less: fewer files, a shorter prompt."));
            }
            attachments.insert(0, Attachment::text("request.md", request.clone().into_bytes()));
            typed = framed(id, &["The request is in the attached file request.md. Read all of it and carry it out."]);
        }
        if !attachments.is_empty() && !room.takes_files {
            let message = "the context package is too long for one message";
            return Err(Failure::new(Kind::Other, message).hinted("Select fewer files: git oracle bundle --dry-run"));
        }
        Ok(Parcel { request, typed, attachments })
    }
}

impl Attachment {
    fn text(name: &'static str, bytes: Vec<u8>) -> Self {
        Attachment { name, bytes, is_archive: false }
    }
}

/// Puts the request id on the first and the last line, and asks for it on those of the answer.
fn framed(id: &RequestId, parts: &[&str]) -> String {
    let mut text = format!("Request id: {id}\n\n");
    for part in parts.iter().map(|part| part.trim_matches('\n')).filter(|part| !part.is_empty()) {
        text.push_str(part);
        text.push_str("\n\n");
    }
    text.push_str("Write the request id alone on the first line of your answer, and again alone on its last line.\n\n");
    text.push_str(&format!("Request id: {id}"));
    text
}

/// Returns an answer without the two lines that only carry the id.
pub(super) fn without_id<'a>(answer: &'a str, id: &RequestId) -> &'a str {
    let bare = |line: &str| line.trim().trim_matches(['`', '*', '_']) == id.as_str();
    let mut text = answer;
    if let Some((first, rest)) = text.trim_start().split_once('\n').filter(|(first, _)| bare(first)) {
        debug_assert!(bare(first));
        text = rest.trim_start_matches(['\r', '\n']);
    }
    match text.trim_end().rsplit_once('\n').filter(|(_, last)| bare(last)) {
        Some((rest, _)) => rest.trim_end(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> RequestId {
        RequestId::parse("orc-0123456789ab").unwrap()
    }

    #[test]
    fn a_prompt_carries_its_id_on_both_ends_once() {
        let room = Room { text: 1000, takes_files: true };
        let parcel = Parcel::make(&id(), "Say hello.\n", None, room).unwrap();
        assert!(parcel.typed.starts_with("Request id: orc-0123456789ab\n"));
        assert!(parcel.typed.ends_with("\nRequest id: orc-0123456789ab"));
        assert!(parcel.typed.contains("\n\nSay hello.\n\n") && parcel.attachments.is_empty());
    }

    #[test]
    fn what_is_too_long_to_type_is_a_file() {
        let long = "x".repeat(2000);
        let parcel = Parcel::make(&id(), &long, None, Room { text: 1000, takes_files: true }).unwrap();
        assert!(!parcel.typed.contains("xx") && parcel.typed.contains("request.md"));
        assert_eq!(parcel.attachments[0].bytes, parcel.request.as_bytes());
        assert!(Parcel::make(&id(), &long, None, Room { text: 1000, takes_files: false }).is_err());
    }

    #[test]
    fn an_answer_loses_the_lines_of_its_id_and_no_other() {
        for (answer, expected) in [
            ("orc-0123456789ab\n\nyes\n\norc-0123456789ab", "yes"),
            ("`orc-0123456789ab`\nyes\n**orc-0123456789ab**\n", "yes"),
            ("the id orc-0123456789ab is in it\nyes\n", "the id orc-0123456789ab is in it\nyes\n"),
            ("yes", "yes"),
            ("", ""),
        ] {
            assert_eq!(without_id(answer, &id()), expected, "{answer}");
        }
    }
}
