//! What a profile finds on a page, for people who mend it.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;

use crate::transport::Fault;
use crate::transport::conversation::Conversation;
use crate::transport::page::Job;
use crate::transport::page::Located;
use crate::transport::page::Mark;
use crate::transport::page::Ready;
use crate::transport::page::within;
use crate::transport::profile::Element;

/// What was found of one element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    pub element: Element,
    /// The entry that matched, and its place in the list.
    pub css: Option<String>,
    pub seen: Option<String>,
    pub entry: Option<usize>,
    pub count: usize,
    pub visible: usize,
}

/// What was found on a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examined {
    pub url: String,
    pub title: String,
    pub layout: Option<String>,
    /// Of every layout: the first that is there counts.
    pub layouts: Vec<Mark>,
    pub found: Vec<Found>,
}

impl Conversation {
    /// Opens a page, gives it time to come up, and tells which entry matches for each element.
    pub fn examine(&mut self, url: &str) -> Result<Examined, Fault> {
        self.browser.goto(url, self.profile.ready_limit())?;
        let look = self.profile.ready_limit().min(Duration::from_secs(15));
        // Whether it is ready does not matter: what is there is what is shown.
        let _ = self.page.wait::<Ready>(&self.browser, Job::Ready, within(look, json!({})), look * 2);
        let located: Located = self.page.run(&self.browser, Job::Locate, json!({}))?;
        let layout = located.layout;
        let found = located.found.into_iter().map(|(element, place)| {
            let entry = place.entry.and_then(|at| self.profile.entries(layout.as_deref(), element).get(at));
            Found {
                element,
                css: entry.map(|entry| entry.css.clone()),
                seen: entry.map(|entry| entry.seen.clone()),
                entry: place.entry,
                count: place.count,
                visible: place.visible,
            }
        });
        Ok(Examined { url: located.url, title: located.title, found: found.collect(), layouts: located.marks, layout })
    }
}
