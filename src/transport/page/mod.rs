//! What is done on a page, one script for each job. The scripts are files beside this one; here they get their types.
//!
//! A script runs inside the page and answers with an object. What it keeps between jobs stays in the page as well: what
//! was typed, what stood there before the send, the watcher. They change nothing but what their job is.

mod job;
mod seen;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::json;

use crate::transport::Browser;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::profile::PageProfile;

pub(super) use job::Job;
pub(super) use seen::AttachState;
pub(super) use seen::Attached;
pub use seen::Capture;
pub(super) use seen::Captured;
pub(super) use seen::ClearState;
pub(super) use seen::Cleared;
pub(super) use seen::Commit;
pub(super) use seen::CommitState;
pub use seen::CompletionPath;
pub(super) use seen::Input;
pub(super) use seen::Located;
pub use seen::Mark;
pub(super) use seen::ModeChosen;
pub(super) use seen::ModeState;
pub(super) use seen::ModelChosen;
pub(super) use seen::ModelState;
pub(super) use seen::Notice;
pub use seen::Proof;
pub(super) use seen::Ready;
pub(super) use seen::ReadyState;
pub(super) use seen::SendState;
pub(super) use seen::Sent;
pub use seen::Signals;
pub(super) use seen::TypeState;
pub(super) use seen::Typed;
pub(super) use seen::Watch;
pub(super) use seen::WatchState;

/// A script that has nothing to wait for takes at most this long, menus and editors included.
const SOON: Duration = Duration::from_secs(45);

/// What is known about a page, ready to be handed to its scripts.
pub(super) struct Page {
    profile: Value,
}

impl Page {
    pub(super) fn of(profile: &PageProfile) -> Self {
        Page { profile: profile.for_scripts() }
    }

    /// Does a job that waits for nothing from outside of the page.
    pub(super) fn run<T: DeserializeOwned>(&self, browser: &Browser, job: Job, input: Value) -> Result<T, Fault> {
        self.wait(browser, job, input, SOON)
    }

    /// Does a job that waits for at most `limit`; its script knows the limit, too.
    pub(super) fn wait<T: DeserializeOwned>(
        &self,
        browser: &Browser,
        job: Job,
        input: Value,
        limit: Duration,
    ) -> Result<T, Fault> {
        let mut answer = browser.wait_in_page(&job.script(), &[self.profile.clone(), input], limit)?;
        if let Some(error) = answer["error"].as_str() {
            return Err(broken(job, error.lines().next().unwrap_or_default()));
        }
        serde_json::from_value(answer["value"].take()).map_err(|error| broken(job, &error.to_string()))
    }
}

fn broken(job: Job, error: &str) -> Fault {
    let message = format!("the page broke a script of ours ({}): {}", job.name(), crate::base::visible(error));
    Fault::new(
        FaultKind::PageDrifted,
        message,
        "Start the command again; if it happens again, the page needs a new version of git-oracle.",
    )
}

/// Returns the input of a job that waits for so long.
pub(super) fn within(limit: Duration, mut more: Value) -> Value {
    more["ms"] = json!(limit.as_millis() as u64);
    more
}
