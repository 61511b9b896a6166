//! Whom to ask, and how to get there.

use std::path::PathBuf;
use std::time::Duration;

use url::Host;
use url::Url;

use crate::base::visible;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::talk::Clocks;
use crate::flows::talk::parcel::Room;
use crate::policy::PersonConfig;
use crate::transport::api::Api;
use crate::transport::driver::Configured;
use crate::transport::driver::Endpoint;
use crate::transport::driver::Launch;
use crate::transport::driver::Machine;
use crate::transport::driver::Profile;
use crate::transport::driver::parse_address;
use crate::transport::page_url;
use crate::transport::profile::PageProfile;
use crate::transport::profile::ProfileChoice;
use crate::transport::profile::choose;

pub use crate::policy::EngineKind;

const CHATGPT: &str = "https://chatgpt.com/";
const COPILOT: &str = "https://github.com/copilot/";
const API_MODEL: &str = "gpt-5.1";

/// An API takes long texts, but not without end.
const API_BYTES: usize = 4 << 20;

const ANSWER: Duration = Duration::from_secs(90);
const STALL: Duration = Duration::from_secs(60);
/// A model that thinks long says nothing meanwhile.
const LONG_ANSWER: Duration = Duration::from_secs(3600);
const LONG_STALL: Duration = Duration::from_secs(900);

/// How long a run waits for the profile when another one uses it.
const QUEUE: Duration = Duration::from_secs(600);

/// What the command line says about it.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub kind: Option<EngineKind>,
    pub url: Option<String>,
    pub copilot: bool,
    pub page: Option<String>,
    pub webdriver_url: Option<String>,
    pub attach: Option<String>,
    pub headful: bool,
    pub model: Option<String>,
}

/// Where something is sent to, as it may be shown.
#[derive(Debug)]
pub(in crate::flows) struct Destination {
    pub shown: String,
    pub host: String,
    pub is_loopback: bool,
}

/// A page to ask, and the browser for it.
pub(in crate::flows) struct ChatPage {
    pub url: String,
    pub profile: PageProfile,
    pub launch: Launch,
    pub model: Option<String>,
    destination: Destination,
}

/// An API to ask.
pub(in crate::flows) struct ApiPlace {
    pub api: Api,
    pub model: String,
    destination: Destination,
}

pub(in crate::flows) enum Engine {
    Page(Box<ChatPage>),
    Api(Box<ApiPlace>),
}

impl Engine {
    /// Decides whom to ask. A flag decides over the configuration, and a flag about a browser means one.
    pub fn choose(flows: &Flows, wanted: &Wanted, config: &PersonConfig) -> Result<Self, Failure> {
        let names_browser = wanted.url.is_some()
            || wanted.copilot
            || wanted.page.is_some()
            || wanted.webdriver_url.is_some()
            || wanted.attach.is_some()
            || wanted.headful;
        let has_key = flows.environment.api.key.is_some();
        let kind = match wanted.kind {
            Some(EngineKind::Api) if names_browser => {
                return Err(Failure::new(Kind::Usage, "a flag about a browser makes no sense with --engine api")
                    .hinted("Leave one of them out."));
            }
            Some(kind) => kind,
            None if names_browser => EngineKind::Browser,
            None => config.engine.default.unwrap_or(if has_key { EngineKind::Api } else { EngineKind::Browser }),
        };
        match kind {
            EngineKind::Api => api(flows, wanted, config).map(|place| Engine::Api(Box::new(place))),
            EngineKind::Browser => page(flows, wanted, config).map(|page| Engine::Page(Box::new(page))),
        }
    }

    pub const fn kind(&self) -> EngineKind {
        match self {
            Engine::Page(_) => EngineKind::Browser,
            Engine::Api(_) => EngineKind::Api,
        }
    }

    /// Returns the name of the page profile, or of the API.
    pub fn platform(&self) -> &str {
        match self {
            Engine::Page(page) => &page.profile.name,
            Engine::Api(_) => "openai",
        }
    }

    pub fn model(&self) -> Option<&str> {
        match self {
            Engine::Page(page) => page.model.as_deref(),
            Engine::Api(place) => Some(&place.model),
        }
    }

    pub const fn destination(&self) -> &Destination {
        match self {
            Engine::Page(page) => &page.destination,
            Engine::Api(place) => &place.destination,
        }
    }

    pub const fn room(&self) -> Room {
        match self {
            Engine::Page(page) => Room { text: page.profile.inline_bytes(), takes_files: true },
            Engine::Api(_) => Room { text: API_BYTES, takes_files: false },
        }
    }

    /// Returns how long to wait: as asked for, else as the model needs.
    pub fn clocks(&self, answer: Option<Duration>, stall: Option<Duration>) -> Clocks {
        let thinks_long = self.model().is_some_and(|model| {
            model
                .to_ascii_lowercase()
                .split(|character: char| !character.is_ascii_alphanumeric())
                .any(|word| word == "pro")
        });
        let (default, patience) = if thinks_long { (LONG_ANSWER, LONG_STALL) } else { (ANSWER, STALL) };
        let answer = answer.unwrap_or(default);
        Clocks { answer, stall: stall.unwrap_or(patience).min(answer) }
    }
}

fn api(flows: &Flows, wanted: &Wanted, config: &PersonConfig) -> Result<ApiPlace, Failure> {
    let variables = &flows.environment.api;
    let Some(key) = variables.key.clone() else {
        return Err(Failure::new(Kind::Unavailable, "there is no key for the API")
            .hinted("Set OPENAI_API_KEY, or use --engine browser."));
    };
    let api = Api::new(variables.base_url.as_deref(), key)?;
    let destination = Destination::parse(api.destination())?;
    let model = wanted.model.as_ref().or(config.engine.model.as_ref());
    Ok(ApiPlace { api, model: model.map_or_else(|| API_MODEL.to_owned(), Clone::clone), destination })
}

/// Finds the page and the browser for it.
pub(in crate::flows) fn page(flows: &Flows, wanted: &Wanted, config: &PersonConfig) -> Result<ChatPage, Failure> {
    if wanted.copilot && wanted.url.is_some() {
        return Err(Failure::new(Kind::Usage, "--copilot is an address of its own").hinted("Leave out --browser-url."));
    }
    let browser = &config.browser;
    let own = flows.environment.oracle_home.as_ref().map(|home| home.join("pages"));
    let find = |choice: ProfileChoice<'_>| {
        choose(choice, own.as_deref()).map_err(|error| {
            Failure::new(Kind::Other, visible(&error.to_string()).into_owned())
                .hinted("Say which page it is with --page NAME; docs/pages.md tells how a profile is written.")
        })
    };
    let named = wanted.page.as_ref().map(|name| find(ProfileChoice::Named(name))).transpose()?;
    // The configured address is that of another page when another profile is for it.
    let is_of = |url: &str, profile: &PageProfile| {
        page_url(url)
            .map_or(true, |url| find(ProfileChoice::For(url.as_str())).map_or(true, |own| own.name == profile.name))
    };
    let typed = match (&wanted.url, &browser.url, &named) {
        _ if wanted.copilot => COPILOT,
        (Some(url), ..) | (None, Some(url), None) => url,
        (None, Some(url), Some(profile)) if is_of(url, profile) => url,
        (None, _, Some(profile)) => &profile.home,
        (None, None, None) => CHATGPT,
    };
    let url = address(typed)?;
    let profile = match named.clone() {
        Some(profile) => profile,
        None => find(ProfileChoice::For(url.as_str()))?,
    };
    let configured = configured(flows, config);
    let machine = Machine::of(&flows.environment, &configured)?;
    let remote = wanted.webdriver_url.as_ref().or(browser.webdriver_url.as_ref().filter(|_| wanted.attach.is_none()));
    let launch = match (&wanted.attach, remote) {
        (Some(_), Some(_)) => {
            return Err(Failure::new(Kind::Usage, "--attach and --webdriver-url name two browsers")
                .hinted("Leave one of them out."));
        }
        (Some(address), None) => Launch::attach(machine, parse_address(address)?),
        (None, Some(url)) => Launch::remote(Endpoint::parse(url)?),
        (None, None) => {
            let profile = Profile::of(&flows.environment, &configured)?;
            Launch::own(machine, profile).headful(wanted.headful).patient(QUEUE)
        }
    };
    let model = wanted.model.clone().or_else(|| config.engine.model.clone());
    Ok(ChatPage { destination: Destination::of(&url)?, url: url.into(), profile, launch, model })
}

/// Returns what the person's configuration says about the browser.
pub(in crate::flows) fn configured(flows: &Flows, config: &PersonConfig) -> Configured {
    let browser = &config.browser;
    Configured {
        browser: browser.path.clone(),
        driver: browser.driver.clone(),
        profile: browser.profile.clone().map(|path: PathBuf| expand(flows, path)),
    }
}

/// Reads `~/…` in the configuration as a shell would.
fn expand(flows: &Flows, path: PathBuf) -> PathBuf {
    let home = flows.environment.inherited.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

/// Returns what was typed as an address. What is sent never goes over a network in the clear.
fn address(typed: &str) -> Result<Url, Failure> {
    let url = page_url(typed).map_err(|fault| Failure::new(Kind::Usage, fault.message).hinted(fault.hint))?;
    if url.scheme() == "http" && !Destination::of(&url)?.is_loopback {
        let message = "what is sent to the page would go over the network in the clear";
        return Err(Failure::new(Kind::Usage, message).hinted("Write https://, or leave it out."));
    }
    Ok(url)
}

impl Destination {
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let url = Url::parse(text).map_err(|error| {
            Failure::new(Kind::Usage, format!("the address cannot be used, {error}"))
                .hinted("Write it like https://chatgpt.com/")
        })?;
        Destination::of(&url)
    }

    fn of(url: &Url) -> Result<Self, Failure> {
        let host = url.host().ok_or_else(|| {
            Failure::new(Kind::Usage, "the address names no host").hinted("Write it like https://chatgpt.com/")
        })?;
        let is_loopback = match host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        let host = host.to_string();
        let mut shown = url.clone();
        // What follows may be somebody's own.
        shown.set_query(None);
        shown.set_fragment(None);
        Ok(Destination { shown: shown.into(), host, is_loopback })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_goes_over_a_network_in_the_clear() {
        for (typed, expected) in [
            ("github.com/copilot", Some("https://github.com/copilot")),
            ("http://127.0.0.1:8080/x", Some("http://127.0.0.1:8080/x")),
            ("http://localhost:1/", Some("http://localhost:1/")),
            ("http://chatgpt.com/", None),
            ("http://127.0.0.1.example.org/", None),
        ] {
            assert_eq!(address(typed).ok().map(String::from).as_deref(), expected, "{typed}");
        }
    }
}
