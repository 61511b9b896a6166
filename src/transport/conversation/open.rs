//! Getting to a page that can be used: there, signed in, with the right mode and model.

use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Follow;
use crate::transport::conversation::Step;
use crate::transport::conversation::fault;
use crate::transport::page::Job;
use crate::transport::page::ModeChosen;
use crate::transport::page::ModeState;
use crate::transport::page::ModelChosen;
use crate::transport::page::ModelState;
use crate::transport::page::Ready;
use crate::transport::page::ReadyState;
use crate::transport::page::within;
use crate::transport::profile::Element;

/// One look at a page that is not ready yet.
const LOOK: Duration = Duration::from_secs(5);
/// Between two looks at a page that is on its way somewhere.
const PAUSE: Duration = Duration::from_millis(150);

/// Returns the name that a page shows for a model.
pub fn model_label(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "gpt-5.1" => "GPT-5".to_owned(),
        "gpt-5-pro" => "GPT-5 Pro".to_owned(),
        _ => name.to_owned(),
    }
}

impl Conversation {
    /// Opens the page at `url` for a new conversation and, if one is named, chooses a model.
    pub fn open(&mut self, url: &str, model: Option<&str>, follow: &mut Follow<'_>) -> Result<(), Fault> {
        // A page in the background would sleep; one that believes to be looked at does not. Not every driver can.
        let _ = self.browser.cdp("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        let mut ready = self.go(url, follow)?;
        // Some pages open with the conversation of the last time.
        if self.profile.is_conversation(&ready.url) && !self.profile.is_conversation(url) {
            ready = self.go(url, follow)?;
        }
        let layout = self.layout.clone().unwrap_or_default();
        follow(&Step::Ready { url: ready.url, layout, closed: ready.closed })?;
        self.choose_mode(follow)?;
        match model {
            Some(name) => self.choose_model(&model_label(name), follow),
            None => Ok(()),
        }
    }

    /// Goes to an address and waits until the page there can be used.
    pub(super) fn go(&mut self, url: &str, follow: &mut Follow<'_>) -> Result<Ready, Fault> {
        follow(&Step::Opening { url: url.to_owned() })?;
        self.browser.goto(url, self.profile.ready_limit().max(LOOK))?;
        let ready = self.wait_until_ready(follow)?;
        self.layout.clone_from(&ready.layout);
        self.ready_after = self.started.elapsed();
        Ok(ready)
    }

    fn wait_until_ready(&self, follow: &mut Follow<'_>) -> Result<Ready, Fault> {
        let begun = Instant::now();
        let mut is_challenged = false;
        loop {
            let left = self.profile.ready_limit().saturating_sub(begun.elapsed());
            let look = LOOK.min(left).max(Duration::from_millis(200));
            let ready = match self.page.wait::<Ready>(&self.browser, Job::Ready, within(look, json!({})), look * 3) {
                Ok(ready) => ready,
                // The page goes elsewhere while it is looked at.
                Err(fault) if fault.kind == FaultKind::NavigationLost && !left.is_zero() => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            match ready.state {
                ReadyState::Ready => return Ok(ready),
                ReadyState::SignedOut => return Err(fault::signed_out(&self.profile)),
                ReadyState::RateLimited => return Err(fault::rate_limited(&self.profile, ready.notice.as_ref())),
                ReadyState::Challenge if begun.elapsed() < self.profile.challenge_limit() => {
                    if !std::mem::replace(&mut is_challenged, true) {
                        follow(&Step::Challenged)?;
                    }
                    std::thread::sleep(PAUSE);
                }
                ReadyState::Challenge => return Err(fault::challenged(&self.profile)),
                ReadyState::Unproved => {
                    return Err(fault::drifted(
                        &self.profile,
                        Element::SignedIn,
                        "nothing on the page shows that somebody is signed in",
                    ));
                }
                _ if !left.is_zero() => {}
                ReadyState::Unknown => {
                    let seen = ready.text.as_deref().unwrap_or_default();
                    let message = format!(
                        "the page at {} has none of the known layouts; it is titled \"{}\" and starts \"{}\"",
                        ready.url,
                        ready.title,
                        seen.chars().take(80).collect::<String>()
                    );
                    return Err(fault::drifted(&self.profile, Element::Composer, &crate::base::visible(&message)));
                }
                ReadyState::NoComposer => {
                    return Err(fault::drifted(&self.profile, Element::Composer, "there is nothing to write into"));
                }
                ReadyState::Unsettled => {
                    return Err(fault::drifted(
                        &self.profile,
                        Element::Composer,
                        "what is to be written into is replaced again and again",
                    ));
                }
            }
        }
    }

    fn choose_mode(&self, follow: &mut Follow<'_>) -> Result<(), Fault> {
        let chosen: ModeChosen = self.page.run(&self.browser, Job::ChooseMode, json!({}))?;
        let now = chosen.mode.unwrap_or_default();
        match (chosen.state, chosen.was) {
            (ModeState::Right, None) => Ok(()),
            (ModeState::Right, Some(was)) => follow(&Step::ModeLeft { was, now }),
            (ModeState::Wrong, _) => {
                let message =
                    format!("the mode {} would not answer, and no other can be chosen", crate::base::visible(&now));
                Err(fault::drifted(&self.profile, Element::ModeButton, &message))
            }
        }
    }

    fn choose_model(&self, label: &str, follow: &mut Follow<'_>) -> Result<(), Fault> {
        let chosen: ModelChosen = self.page.run(&self.browser, Job::ChooseModel, json!({ "model": label }))?;
        match chosen.state {
            ModelState::Chosen => {
                follow(&Step::ModelChosen { label: chosen.model.unwrap_or_else(|| label.to_owned()) })
            }
            ModelState::NotOffered => Err(fault::not_offered(&self.profile, label, &chosen.offered)),
            ModelState::NoPicker => Err(fault::not_offered(&self.profile, label, &[])),
            ModelState::NotTaken => {
                let message =
                    format!("{} was chosen, but the page does not show it as chosen", crate::base::visible(label));
                Err(fault::drifted(&self.profile, Element::MenuChosen, &message))
            }
            ModelState::NoMenu => {
                Err(fault::drifted(&self.profile, Element::MenuItem, "the menu of models does not open"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_are_those_of_the_page() {
        for (name, label) in [
            ("gpt-5.1", "GPT-5"),
            ("gpt-5-pro", "GPT-5 Pro"),
            ("GPT-5-Pro", "GPT-5 Pro"),
            ("GPT-5 Instant", "GPT-5 Instant"),
        ] {
            assert_eq!(model_label(name), label);
        }
    }
}
