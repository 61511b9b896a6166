//! A conversation on a chat page: open it, send prompts, bring the answers home.
//!
//! [`Conversation`] hides the browser. It tells its caller what it is about to do and what it has done, one [`Step`] at
//! a time, and goes on only when the caller says so: whoever keeps a ledger writes it before the act. A prompt is sent
//! once; where it cannot be known whether it was, [`FaultKind::SendUnclear`](crate::transport::FaultKind::SendUnclear)
//! says so, and [`Conversation::resume`] looks for it without sending anything.

mod answer;
mod attach;
mod examine;
mod fault;
mod open;
mod send;
mod step;
mod write;

use std::time::Duration;
use std::time::Instant;

use crate::transport::Browser;
use crate::transport::Enclosure;
use crate::transport::Fault;
use crate::transport::RequestId;
use crate::transport::page::Page;
use crate::transport::profile::PageProfile;

pub use answer::Answer;
pub use answer::Timing;
pub use examine::Examined;
pub use examine::Found;
pub use open::model_label;
pub use step::Phase;
pub use step::Step;

/// How a caller hears of steps. An error ends the conversation where it is.
pub type Follow<'a> = dyn FnMut(&Step) -> Result<(), Fault> + 'a;

/// How long an answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// From the send to the end of the answer.
    pub answer: Duration,
    /// Without any progress.
    pub stall: Duration,
}

/// What is sent in one turn.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The text must contain it.
    pub request_id: &'a RequestId,
    pub text: &'a str,
    pub files: &'a [Enclosure<'a>],
}

/// Where a prompt is after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whereabouts {
    /// It was not sent. It may be sent again.
    Unsent,
    /// The page was told to send it, and said no.
    Refused,
    /// It may or may not have been sent. It must not be sent again.
    Unclear,
    /// The page has it.
    Sent,
}

/// A turn that did not reach its end.
#[derive(Debug, thiserror::Error)]
#[error("{fault}")]
pub struct Broken {
    pub fault: Fault,
    pub whereabouts: Whereabouts,
    /// What there was of an answer.
    pub partial: Option<Box<Answer>>,
}

impl Broken {
    fn at(whereabouts: Whereabouts) -> impl FnOnce(Fault) -> Self {
        move |fault| Broken { fault, whereabouts, partial: None }
    }
}

/// One conversation on one page.
pub struct Conversation {
    browser: Browser,
    profile: PageProfile,
    page: Page,
    /// Which of the profile's layouts the page has.
    layout: Option<String>,
    /// The conversation's own address, once the page has given it one.
    address: Option<String>,
    /// How often the page is to be told while an answer is waited for.
    snapshots: Option<Duration>,
    started: Instant,
    ready_after: Duration,
}

impl Conversation {
    pub fn new(browser: Browser, profile: PageProfile) -> Self {
        let page = Page::of(&profile);
        Conversation {
            browser,
            profile,
            page,
            layout: None,
            address: None,
            snapshots: None,
            started: Instant::now(),
            ready_after: Duration::ZERO,
        }
    }

    /// Has the page told as [`Step::Snapshot`] so often while an answer is waited for.
    pub const fn take_snapshots(&mut self, every: Duration) {
        self.snapshots = Some(every);
    }

    pub const fn profile(&self) -> &PageProfile {
        &self.profile
    }

    /// Returns the address under which the conversation can be found again.
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Returns the page as it stands, as HTML.
    pub fn snapshot(&self) -> Result<String, Fault> {
        self.browser.source()
    }

    /// Returns a picture of the page, as PNG.
    pub fn screenshot(&self) -> Result<Vec<u8>, Fault> {
        self.browser.screenshot()
    }

    /// Ends the browser, or leaves the one that was attached to. Returns whether a remote session is known to have ended.
    pub fn close(self) -> bool {
        self.browser.is_remote() & self.browser.close()
    }

    fn note_address(&mut self, url: &str, follow: &mut Follow<'_>) -> Result<(), Fault> {
        if self.profile.is_conversation(url) && self.address.as_deref() != Some(url) {
            self.address = Some(url.to_owned());
            follow(&Step::Address { url: url.to_owned() })?;
        }
        Ok(())
    }
}
