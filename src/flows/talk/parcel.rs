//! Exactly what is sent: the text that is typed, and the files that go with it.

use crate::base::fence;
use crate::bundle::Format;
use crate::bundle::Package;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::transport::RequestId;

/// What somebody wants to say in one turn.
#[derive(Default)]
pub(in crate::flows) struct Prompt<'a> {
    pub text: &'a str,
    /// A change that the text is about.
    pub change: Option<Change<'a>>,
    /// Files that go with it.
    pub package: Option<&'a Package>,
}

/// A change as a diff. It stands in the request where it fits, else it is attached.
pub(in crate::flows) struct Change<'a> {
    pub diff: &'a str,
    /// What follows it.
    pub after: &'a str,
}

/// What is sent in one turn.
#[derive(Default)]
pub(in crate::flows) struct Parcel {
    /// The whole request, as it is kept.
    pub request: String,
    /// What is typed: the request, or a word that it is attached.
    pub typed: String,
    pub attachments: Vec<Attachment>,
}

/// A file that goes with a prompt.
pub(in crate::flows) struct Attachment {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    /// Its files were looked through before they were packed.
    pub is_archive: bool,
}

/// How much fits where a prompt goes.
#[derive(Debug, Clone, Copy)]
pub(in crate::flows) struct Room {
    /// Bytes of text.
    pub text: usize,
    pub takes_files: bool,
}

/// What the lines around a request take.
const FRAME_BYTES: usize = 300;

impl Parcel {
    /// Makes a parcel. What is too long for the place where one types becomes a file.
    pub fn make(id: &RequestId, prompt: &Prompt<'_>, room: Room) -> Result<Self, Failure> {
        let mut attachments = Vec::new();
        let mut text = prompt.text.trim_end().to_owned();
        if let Some(change) = &prompt.change {
            let fence = fence(change.diff.as_bytes());
            let inline = format!("{fence}diff\n{}\n{fence}", change.diff.trim_end_matches('\n'));
            let fits = text.len() + inline.len() + change.after.len() + FRAME_BYTES <= room.text;
            text.push_str("\n\n");
            if fits || !room.takes_files {
                text.push_str(&inline);
            } else {
                text.push_str("The change is in the attached file changes.diff. Read all of it.");
                attachments.push(Attachment::text("changes.diff", change.diff.as_bytes().to_vec()));
            }
            text.push_str("\n\n");
            text.push_str(change.after);
        }
        let mut context = String::new();
        if let Some(package) = prompt.package {
            let mut bytes = Vec::new();
            package.write_to(&mut bytes).map_err(|error| {
                Failure::new(Kind::Other, format!("failed to write the context package: {error}"))
                    .hinted("git oracle bundle --dry-run")
            })?;
            context.push_str(package.format.sentence());
            match package.format {
                Format::Text if bytes.len() + text.len() < room.text => {
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
        let request = framed(id, &[&text, &context]);
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
pub(in crate::flows) fn without_id<'a>(answer: &'a str, id: &RequestId) -> &'a str {
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

    fn said(text: &str) -> Prompt<'_> {
        Prompt { text, ..Prompt::default() }
    }

    #[test]
    fn a_change_stands_in_the_request_or_is_attached() {
        let diff = "-a\n+```\n";
        let prompt = || Prompt { change: Some(Change { diff, after: "Thanks." }), ..said("Look at it.") };
        let parcel = Parcel::make(&id(), &prompt(), Room { text: 1000, takes_files: true }).unwrap();
        assert!(parcel.typed.contains("Look at it.\n\n````diff\n-a\n+```\n````\n\nThanks.\n"), "{}", parcel.typed);
        assert!(parcel.attachments.is_empty());
        let parcel = Parcel::make(&id(), &prompt(), Room { text: 310, takes_files: true }).unwrap();
        assert!(parcel.typed.contains("changes.diff") && parcel.typed.contains("Thanks."), "{}", parcel.typed);
        assert_eq!(parcel.attachments[0].bytes, diff.as_bytes());
        assert!(Parcel::make(&id(), &prompt(), Room { text: 100, takes_files: false }).is_err());
    }

    #[test]
    fn a_prompt_carries_its_id_on_both_ends_once() {
        let room = Room { text: 1000, takes_files: true };
        let parcel = Parcel::make(&id(), &said("Say hello.\n"), room).unwrap();
        assert!(parcel.typed.starts_with("Request id: orc-0123456789ab\n"));
        assert!(parcel.typed.ends_with("\nRequest id: orc-0123456789ab"));
        assert!(parcel.typed.contains("\n\nSay hello.\n\n") && parcel.attachments.is_empty());
    }

    #[test]
    fn what_is_too_long_to_type_is_a_file() {
        let long = "x".repeat(2000);
        let parcel = Parcel::make(&id(), &said(&long), Room { text: 1000, takes_files: true }).unwrap();
        assert!(!parcel.typed.contains("xx") && parcel.typed.contains("request.md"));
        assert_eq!(parcel.attachments[0].bytes, parcel.request.as_bytes());
        assert!(Parcel::make(&id(), &said(&long), Room { text: 1000, takes_files: false }).is_err());
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
