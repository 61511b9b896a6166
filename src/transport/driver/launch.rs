//! Where a browser comes from, and what it is started with.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;
use url::Url;

use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::driver::Machine;
use crate::transport::driver::Profile;
use crate::transport::driver::devtools;
use crate::transport::driver::guard::Order;
use crate::transport::http::is_loopback;

/// A session of a browser of ours.
const OWN_SESSION: Duration = Duration::from_secs(60);
/// A session on a grid, which may have a queue.
const REMOTE_SESSION: Duration = Duration::from_secs(300);

const VISIBLE: [&str; 6] = [
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
    "--lang=en-US",
];

/// How to get a browser.
#[derive(Debug, Clone)]
pub struct Launch {
    pub(in crate::transport) source: Source,
    /// How long a new session may take. On a grid it may have to wait for its turn.
    pub session_limit: Duration,
}

#[derive(Debug, Clone)]
pub(in crate::transport) enum Source {
    Own { machine: Machine, profile: Profile, headful: bool, patience: Duration },
    Visited { machine: Machine, address: SocketAddr },
    Remote(Endpoint),
}

impl Launch {
    /// A browser of ours on this profile.
    pub const fn own(machine: Machine, profile: Profile) -> Self {
        let source = Source::Own { machine, profile, headful: false, patience: Duration::ZERO };
        Launch { source, session_limit: OWN_SESSION }
    }

    /// A browser that is already there and stays, by its debugging port.
    pub const fn attach(machine: Machine, address: SocketAddr) -> Self {
        Launch { source: Source::Visited { machine, address }, session_limit: OWN_SESSION }
    }

    /// A browser behind a remote WebDriver.
    pub const fn remote(endpoint: Endpoint) -> Self {
        Launch { source: Source::Remote(endpoint), session_limit: REMOTE_SESSION }
    }

    /// Returns the address of a remote WebDriver.
    pub const fn endpoint(&self) -> Option<&Endpoint> {
        match &self.source {
            Source::Remote(endpoint) => Some(endpoint),
            _ => None,
        }
    }

    /// Shows the window of a browser of ours.
    pub const fn headful(mut self, yes: bool) -> Self {
        if let Source::Own { headful, .. } = &mut self.source {
            *headful = yes;
        }
        self
    }

    /// Returns the process of ours that uses the profile now.
    pub fn waits_for(&self) -> Option<u32> {
        match &self.source {
            Source::Own { profile, .. } => profile.user().ok().flatten(),
            _ => None,
        }
    }

    /// Waits so long for a profile that another of our runs uses.
    pub const fn patient(mut self, limit: Duration) -> Self {
        if let Source::Own { patience, .. } = &mut self.source {
            *patience = limit;
        }
        self
    }
}

impl Source {
    /// Checks what the driver would not tell apart, and returns what the guard is to start. `None`: nothing here.
    pub(in crate::transport) fn order(&self) -> Result<Option<(&Machine, Order)>, Fault> {
        let (machine, profile, patience, visited) = match self {
            Source::Own { machine, profile, headful, patience } => {
                machine.browser()?;
                if *headful {
                    machine.require_display()?;
                }
                (machine, Some(profile.data_dir.clone()), *patience, None)
            }
            Source::Visited { machine, address } => {
                devtools::probe(*address)?;
                (machine, None, Duration::ZERO, Some(*address))
            }
            Source::Remote(_) => return Ok(None),
        };
        let command = vec![machine.driver()?.into_os_string(), OsString::from("--port=0")];
        let temporary = machine.temporary_dir()?;
        Ok(Some((machine, Order { profile, patience, temporary, visited, is_driver: true, command })))
    }

    /// Returns what the driver is asked for.
    pub(in crate::transport) fn capabilities(&self) -> Result<serde_json::Map<String, Value>, Fault> {
        let options = match self {
            Source::Own { machine, profile, headful, .. } => {
                let mut args = arguments(*headful, machine.is_root);
                args.push("--remote-debugging-pipe".to_owned());
                args.extend(profile.arguments()?);
                // The log that the driver has the browser write holds what pages print.
                json!({"binary": text(&machine.browser()?)?, "args": args, "excludeSwitches": ["enable-logging"]})
            }
            Source::Visited { address, .. } => json!({"debuggerAddress": address.to_string()}),
            Source::Remote(endpoint) => {
                // A node on this very machine runs as we do; about another one we know nothing.
                json!({"args": arguments(false, endpoint.is_loopback() && crate::system::is_root())})
            }
        };
        let capabilities = json!({
            "browserName": "chrome",
            "pageLoadStrategy": "eager",
            "unhandledPromptBehavior": "dismiss",
            "goog:chromeOptions": options,
        });
        match capabilities {
            Value::Object(map) => Ok(map),
            _ => Ok(serde_json::Map::new()),
        }
    }
}

impl Profile {
    /// Returns what tells a browser to use this profile.
    pub(in crate::transport) fn arguments(&self) -> Result<Vec<String>, Fault> {
        let mut args = vec![format!("--user-data-dir={}", text(&self.data_dir)?)];
        args.extend(self.name.as_ref().map(|name| format!("--profile-directory={name}")));
        Ok(args)
    }
}

fn arguments(headful: bool, is_root: bool) -> Vec<String> {
    let mut args: Vec<String> = VISIBLE.map(str::to_owned).to_vec();
    if !headful {
        args.extend(["--headless=new", "--disable-gpu"].map(str::to_owned));
    }
    if is_root {
        // The browser refuses to sandbox what runs as root.
        args.push("--no-sandbox".to_owned());
    }
    args
}

/// The driver speaks JSON, which has no words for other paths.
fn text(path: &std::path::Path) -> Result<&str, Fault> {
    path.to_str().ok_or_else(|| {
        let message =
            format!("the path is not valid UTF-8, which the driver needs: {}", visible(&path.to_string_lossy()));
        Fault::new(FaultKind::BrowserMissing, message, "Give it another name, or another place with ORACLE_HOME_DIR.")
    })
}

/// The address of a remote WebDriver. It may hold a password, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

impl Endpoint {
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let refused = |why: &str| {
            let hint = "Write it like http://127.0.0.1:4444 or https://grid.example.com/wd/hub";
            // The text itself is not shown: a password may be in it.
            Fault::new(FaultKind::DriverMissing, format!("the address of the WebDriver cannot be used, {why}"), hint)
        };
        let mut url = Url::parse(text.trim()).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(refused("it is not an http or https URL"));
        }
        url.set_query(None);
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Endpoint(url))
    }

    pub(in crate::transport) fn local(port: u16) -> Result<Self, Fault> {
        Endpoint::parse(&format!("http://127.0.0.1:{port}/"))
    }

    pub(in crate::transport) const fn url(&self) -> &Url {
        &self.0
    }

    /// Tells whether it leads to this machine and nowhere else.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.0.clone();
        let _ = url.set_username("");
        let _ = url.set_password(None);
        write!(formatter, "{url}")
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let endpoint = Endpoint::parse("https://person:secret@grid.example.com/wd/hub?x=secret#secret").unwrap();
        assert_eq!(endpoint.to_string(), "https://grid.example.com/wd/hub/");
        assert!(!format!("{endpoint:?} {:?}", Launch::remote(endpoint.clone())).contains("secret"));
        assert_eq!(endpoint.url().password(), Some("secret"));
        for wrong in ["ftp://person:secret@x", "person:secret@x", "http://", "", "http://a:secret@[::"] {
            let fault = Endpoint::parse(wrong).unwrap_err();
            assert!(!fault.to_string().contains("secret"), "{fault}");
        }
    }

    #[test]
    fn loopback_is_known_by_its_address() {
        for (text, expected) in [
            ("http://127.0.0.1:4444", true),
            ("http://localhost:4444/wd/hub", true),
            ("http://[::1]:4444", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Endpoint::parse(text).unwrap().is_loopback(), expected, "{text}");
        }
    }
}
