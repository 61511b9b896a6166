//! Getting a text into the composer, exactly.

use serde_json::json;

use crate::transport::Fault;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Follow;
use crate::transport::conversation::Step;
use crate::transport::conversation::fault;
use crate::transport::page::ClearState;
use crate::transport::page::Cleared;
use crate::transport::page::Job;
use crate::transport::page::TypeState;
use crate::transport::page::Typed;
use crate::transport::profile::Editor;
use crate::transport::profile::Element;
use crate::transport::profile::Typing;

/// Above this the editing command of the browser would take minutes.
const INSERT_LIMIT: usize = 20 * 1024;

impl Conversation {
    /// Empties the composer and returns what it is made with.
    pub(super) fn clear(&self, follow: &mut Follow<'_>) -> Result<Editor, Fault> {
        let cleared: Cleared = self.page.run(&self.browser, Job::Clear, json!({}))?;
        let element = match cleared.state {
            ClearState::Clear => {
                if cleared.draft > 0 {
                    follow(&Step::DraftCleared { characters: cleared.draft })?;
                }
                return Ok(cleared.editor.unwrap_or(Editor::Other));
            }
            ClearState::NoComposer => Element::Composer,
            ClearState::Attachments => Element::ChipRemove,
            ClearState::Draft => Element::Composer,
        };
        let message = "what was left in the composer cannot be removed, and must not be sent along";
        Err(fault::drifted(&self.profile, element, message))
    }

    /// Types by one method after the other, until the composer holds the text.
    pub(super) fn write(&self, text: &str, editor: Editor, follow: &mut Follow<'_>) -> Result<(), Fault> {
        follow(&Step::Typing { bytes: text.len() })?;
        let mut last = None;
        for method in self.profile.methods.of(editor) {
            if *method == Typing::InsertText && text.len() > INSERT_LIMIT {
                continue;
            }
            let mut typed = self.type_by(text, json!(method))?;
            if typed.state == TypeState::Selected {
                self.browser.cdp("Input.insertText", json!({ "text": text }))?;
                typed = self.type_by(text, json!("check"))?;
            }
            match typed.state {
                TypeState::Exact => return follow(&Step::Typed { bytes: text.len(), editor, method: *method }),
                TypeState::NoComposer => {
                    return Err(fault::drifted(
                        &self.profile,
                        Element::Composer,
                        "the composer went away while it was written into",
                    ));
                }
                _ => last = Some((method, typed)),
            }
        }
        let detail = last.map(|(method, typed)| {
            let (at, held) = (typed.at.unwrap_or_default(), typed.length.unwrap_or_default());
            format!("; after {method:?} it held {held} characters and differed from character {at} on")
        });
        let message = format!("the composer does not hold the text exactly{}", detail.unwrap_or_default());
        let mut drifted = fault::drifted(&self.profile, Element::Composer, &message);
        drifted.hint = format!("Attach the text as a file instead. {}", drifted.hint);
        Err(drifted)
    }

    fn type_by(&self, text: &str, method: serde_json::Value) -> Result<Typed, Fault> {
        self.page.run(&self.browser, Job::Type, json!({ "text": text, "method": method }))
    }
}
