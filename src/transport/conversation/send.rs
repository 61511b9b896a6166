//! Sending once, and the proof that the page took it.

use std::time::Duration;
use std::time::Instant;

use serde_json::json;

use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::conversation::Answer;
use crate::transport::conversation::Broken;
use crate::transport::conversation::Clocks;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Follow;
use crate::transport::conversation::Message;
use crate::transport::conversation::Step;
use crate::transport::conversation::Whereabouts;
use crate::transport::conversation::fault;
use crate::transport::page::Commit;
use crate::transport::page::CommitState;
use crate::transport::page::Job;
use crate::transport::page::SendState;
use crate::transport::page::Sent;
use crate::transport::page::within;
use crate::transport::profile::Element;

/// How often a text is put back that the page has thrown away before it was sent.
const REWRITES: usize = 3;
const LOOK: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(150);

impl Conversation {
    /// Sends one prompt and brings its answer home. Several may follow each other in one conversation.
    pub fn ask(&mut self, message: &Message<'_>, clocks: &Clocks, follow: &mut Follow<'_>) -> Result<Answer, Broken> {
        let begun = Instant::now();
        self.send(message, follow)?;
        let typed = begun.elapsed();
        let sent = Instant::now();
        // From here on the page may have it.
        follow(&Step::Sent).map_err(Broken::at(Whereabouts::Unclear))?;
        self.wait_for_commit(message, follow)?;
        self.answer(message.request_id, clocks, sent, typed, follow)
    }

    /// Does everything up to the click, and the click.
    fn send(&mut self, message: &Message<'_>, follow: &mut Follow<'_>) -> Result<(), Broken> {
        let unsent = || Broken::at(Whereabouts::Unsent);
        let editor = self.clear(follow).map_err(unsent())?;
        self.attach(message.files, follow).map_err(unsent())?;
        for _ in 0..REWRITES {
            self.write(message.text, editor, follow).map_err(unsent())?;
            if let Err(fault) = follow(&Step::Sending) {
                // Nobody wants to find it there, and send it by accident.
                let _ = self.clear(&mut |_| Ok(()));
                return Err(unsent()(fault));
            }
            let limit = Duration::from_millis(self.profile.waits.send_ms);
            let input = json!({"requestId": message.request_id.as_str(), "attachments": message.files.len()});
            let sent = match self.page.wait::<Sent>(&self.browser, Job::Send, within(limit, input), limit) {
                Ok(sent) => sent,
                // The click may have taken the page away, or the browser with it: only the page itself can tell.
                Err(fault) if fault.kind == FaultKind::NavigationLost => return Ok(()),
                Err(fault) if fault.kind == FaultKind::Interrupted => {
                    return Err(Broken::at(Whereabouts::Unclear)(fault));
                }
                Err(fault) => {
                    let fault = fault::unclear(&self.profile, &fault.message);
                    return Err(Broken::at(Whereabouts::Unclear)(fault));
                }
            };
            match sent.state {
                SendState::Clicked => return Ok(()),
                SendState::Different => {}
                _ => return Err(unsent()(self.obstacle(&sent, message))),
            }
        }
        let message = "the page throws away what is written, again and again";
        Err(unsent()(fault::drifted(&self.profile, Element::Composer, message)))
    }

    /// Returns why nothing was clicked.
    fn obstacle(&self, sent: &Sent, message: &Message<'_>) -> Fault {
        let profile = &self.profile;
        match sent.state {
            SendState::RateLimited => fault::rate_limited(profile, sent.notice.as_ref()),
            SendState::Mode => {
                let mode = sent.mode.as_deref().unwrap_or_default();
                let text = format!("the page has changed to the mode {}, which would not answer", visible(mode));
                fault::drifted(profile, Element::ModeButton, &text)
            }
            SendState::Busy => fault::drifted(profile, Element::Stop, "another answer is still being written"),
            SendState::Attachments => {
                let text = format!(
                    "{} attachments are there instead of {}",
                    sent.chips.unwrap_or_default(),
                    message.files.len()
                );
                fault::not_attached(profile, &text, None)
            }
            SendState::Disabled => fault::drifted(profile, Element::Send, "the page does not let us send"),
            SendState::Already => fault::unclear(profile, "it was sent from this page before"),
            SendState::NoComposer => fault::drifted(profile, Element::Composer, "the composer is gone"),
            _ => fault::drifted(profile, Element::Send, "there is nothing to send with"),
        }
    }

    fn wait_for_commit(&mut self, message: &Message<'_>, follow: &mut Follow<'_>) -> Result<(), Broken> {
        let limit = Duration::from_millis(self.profile.waits.commit_ms);
        let begun = Instant::now();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            let look = LOOK.min(left);
            let input = within(look, json!({"requestId": message.request_id.as_str()}));
            let commit = match self.page.wait::<Commit>(&self.browser, Job::Commit, input, look) {
                Ok(commit) => commit,
                Err(fault) if fault.kind == FaultKind::NavigationLost && !left.is_zero() => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Err(fault) if fault.kind == FaultKind::Interrupted => {
                    return Err(Broken::at(Whereabouts::Unclear)(fault));
                }
                Err(fault) => {
                    let fault = fault::unclear(&self.profile, &fault.message);
                    return Err(Broken::at(Whereabouts::Unclear)(fault));
                }
            };
            let notice = commit.notice.as_ref();
            // With the text still in the composer the page has said no; without it, nobody knows.
            let kept = commit.empty == Some(false);
            let refused = match commit.state {
                CommitState::Committed => {
                    let proof = commit.proof.unwrap_or(crate::transport::page::Proof::Order);
                    follow(&Step::Committed { proof }).map_err(Broken::at(Whereabouts::Sent))?;
                    return self.note_address(&commit.url, follow).map_err(Broken::at(Whereabouts::Sent));
                }
                CommitState::RateLimited => fault::rate_limited(&self.profile, notice),
                CommitState::Challenge => fault::challenged(&self.profile),
                CommitState::SignedOut => fault::signed_out(&self.profile),
                CommitState::Failed => fault::refused(&self.profile, notice),
                CommitState::Pending | CommitState::Gone if !left.is_zero() => continue,
                CommitState::Pending | CommitState::Gone => {
                    let why = match kept {
                        true => "it was told to send, but the text is still in the composer",
                        false => "no question of ours appeared on the page",
                    };
                    let fault = fault::unclear(&self.profile, why);
                    return Err(Broken::at(Whereabouts::Unclear)(fault));
                }
            };
            return Err(match kept {
                true => Broken::at(Whereabouts::Refused)(refused),
                false => Broken::at(Whereabouts::Unclear)(fault::unclear(&self.profile, &refused.message)),
            });
        }
    }
}
