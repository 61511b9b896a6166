//! Attachments: given to the page, and waited for until they are really there.

use std::time::Duration;

use serde_json::json;

use crate::transport::Enclosure;
use crate::transport::Fault;
use crate::transport::Target;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Follow;
use crate::transport::conversation::Step;
use crate::transport::conversation::fault;
use crate::transport::page::AttachState;
use crate::transport::page::Attached;
use crate::transport::page::Input;
use crate::transport::page::Job;
use crate::transport::page::within;
use crate::transport::profile::Element;

impl Conversation {
    pub(super) fn attach(&self, files: &[Enclosure<'_>], follow: &mut Follow<'_>) -> Result<(), Fault> {
        if files.is_empty() {
            return Ok(());
        }
        follow(&Step::Attaching { files: files.len() })?;
        let input: Input = self.page.run(&self.browser, Job::AttachOpen, json!({}))?;
        if input.state != AttachState::Open {
            let element = if input.state == AttachState::NoButton { Element::AttachButton } else { Element::FileInput };
            return Err(fault::drifted(&self.profile, element, "there is no way to attach a file"));
        }
        self.browser.set_files(Target::Found(&input.element), files)?;
        let names: Vec<_> = files.iter().map(|file| file.name).collect();
        let limit = Duration::from_millis(self.profile.waits.upload_ms);
        let attached: Attached =
            self.page.wait(&self.browser, Job::AttachWait, within(limit, json!({ "names": names })), limit)?;
        let notice = attached.notice.as_ref();
        let problem = match attached.state {
            AttachState::Attached => {
                let agreed = input.agreed;
                return follow(&Step::Attached { files: attached.chips, unnamed: attached.unnamed, agreed });
            }
            AttachState::None => return Err(fault::drifted(&self.profile, Element::Chip, "no attachment appeared")),
            AttachState::Refused => "the page did not take an attachment".to_owned(),
            AttachState::Busy => format!("the attachments were not there after {} seconds", limit.as_secs()),
            _ => format!("{} of {} attachments are there", attached.chips, files.len()),
        };
        Err(fault::not_attached(&self.profile, &problem, notice))
    }
}
