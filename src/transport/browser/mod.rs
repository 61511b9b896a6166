//! A browser that is driven: pages, scripts, files, pictures.
//!
//! The driver does one thing at a time for a session, and its client has no time limits. So every command here has one,
//! somebody who asks us to stop is heard while it runs, and after a command that was given up nothing more is asked.

mod command;
mod files;
mod wording;

use std::cell::Cell;
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use data_encoding::BASE64;
use fantoccini::Client;
use fantoccini::ClientBuilder;
use fantoccini::error::CmdError;
use fantoccini::error::NewSessionError;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::Value;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::browser::command::Command;
use crate::transport::browser::wording::crashed;
use crate::transport::browser::wording::drifted;
use crate::transport::browser::wording::fault;
use crate::transport::browser::wording::lost;
use crate::transport::driver::Endpoint;
use crate::transport::driver::Guarded;
use crate::transport::driver::Launch;
use crate::transport::driver::Source;
use crate::transport::http::tls_connector;
use crate::transport::wait::Unanswered;
use crate::transport::wait::bounded;
use crate::transport::wait::runtime;

pub use files::Enclosure;

/// A command that has nothing to wait for.
const PROMPT: Duration = Duration::from_secs(20);
/// A command that moves much: a long script argument, a file, a picture.
const BULKY: Duration = Duration::from_secs(60);
/// What a page may take longer than it was told.
const SPARE: Duration = Duration::from_secs(1);
/// What a driver may take longer than it was told.
const GRACE: Duration = Duration::from_secs(3);
const CLOSING: Duration = Duration::from_secs(2);
/// The same for a remote driver, which may be busy with a wait that was given up. A grid forgets what it was asked for by
/// somebody who has gone, so this is waited for.
const CLOSING_AFAR: Duration = Duration::from_secs(3);

/// The name under which WebDriver passes elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// An element of the page.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// The first one that this selector finds.
    Css(&'a str),
    /// What a script returned for an element.
    Found(&'a Value),
}

/// A browser with one tab of ours. It ends when this is dropped; one that was there before stays.
pub struct Browser {
    client: RefCell<Option<Client>>,
    guarded: RefCell<Option<Guarded>>,
    session_id: String,
    source: Source,
    page_limit: Cell<Duration>,
    script_limit: Cell<Duration>,
    /// A command was given up: the driver is still busy with it and would not answer another.
    is_stuck: Cell<bool>,
    /// How many files were kept for the page.
    places: Cell<u32>,
    // Last, so that it outlives what runs on it.
    runtime: Runtime,
}

impl Browser {
    /// Starts a browser, or goes to one, as `launch` says.
    pub fn start(launch: &Launch) -> Result<Self, Fault> {
        let runtime = runtime().map_err(|error| crashed(format!("failed to prepare for a browser: {error}")))?;
        let source = launch.source.clone();
        let capabilities = source.capabilities()?;
        let (guarded, endpoint) = match (source.order()?, &source) {
            (Some((machine, order)), _) => {
                let (guarded, port) = Guarded::start(machine, &order)?;
                (Some(guarded), Endpoint::local(port.unwrap_or_default())?)
            }
            (None, Source::Remote(endpoint)) => (None, endpoint.clone()),
            (None, _) => return Err(drifted("there is nothing to start")),
        };
        let connected = bounded(&runtime, launch.session_limit, connect(&endpoint, capabilities));
        let client = match connected {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(wording::no_session(&source, error)),
            Err(Unanswered::Interrupted) => return Err(Fault::interrupted()),
            Err(Unanswered::TooLate) => {
                let message = format!("no session was to be had in {} seconds", launch.session_limit.as_secs());
                let hint = "On a grid, wait until a slot is free; on this machine, look for a lack of memory.";
                return Err(Fault::new(FaultKind::TimedOut, message, hint));
            }
        };
        let session_id = runtime.block_on(client.session_id()).ok().flatten().unwrap_or_default();
        let browser = Browser {
            client: RefCell::new(Some(client)),
            guarded: RefCell::new(guarded),
            session_id,
            source,
            page_limit: Cell::new(Duration::ZERO),
            script_limit: Cell::new(Duration::ZERO),
            is_stuck: Cell::new(false),
            places: Cell::new(0),
            runtime,
        };
        if matches!(browser.source, Source::Visited { .. }) {
            browser.enter_tab_of_our_own()?;
        }
        Ok(browser)
    }

    /// Returns the address and id of a remote session. Whoever keeps them can end it after a crash of ours.
    pub fn remote_session(&self) -> Option<(Endpoint, String)> {
        match &self.source {
            Source::Remote(endpoint) => Some((endpoint.clone(), self.session_id.clone())),
            _ => None,
        }
    }

    /// Goes to a page and returns when its document is there; what it shows, only its elements prove.
    pub fn goto(&self, url: &str, limit: Duration) -> Result<(), Fault> {
        if self.page_limit.replace(limit) != limit {
            self.set_limit("pageLoad", limit)?;
        }
        let doing = format!("open {}", without_secrets(url));
        self.run(&doing, limit + GRACE, Command::post("url", &json!({"url": url}))).map(drop)
    }

    pub fn url(&self) -> Result<String, Fault> {
        self.text("ask for the address", "url", PROMPT)
    }

    pub fn title(&self) -> Result<String, Fault> {
        self.text("ask for the title", "title", PROMPT)
    }

    /// Returns the page as it stands, as HTML.
    pub fn source(&self) -> Result<String, Fault> {
        self.text("read the page", "source", BULKY)
    }

    /// Returns a picture of what is visible, as PNG.
    pub fn screenshot(&self) -> Result<Vec<u8>, Fault> {
        let text = self.text("take a picture", "screenshot", BULKY)?;
        BASE64.decode(text.as_bytes()).map_err(|_| drifted("the picture that was taken cannot be read"))
    }

    /// Runs the body of a function in the page and returns what it returns. An element comes back as a [`Target::Found`].
    pub fn execute(&self, script: &str, args: &[Value]) -> Result<Value, Fault> {
        self.run(
            "run a script in the page",
            BULKY,
            Command::post("execute/sync", &json!({"script": script, "args": args})),
        )
    }

    /// Runs the body of a function in the page and returns what it hands to its last argument.
    ///
    /// The script has to answer within `slice`, if only to say that there is nothing yet: until then nothing else can be
    /// asked. Its answer is an object, so that silence is never taken for one.
    pub fn wait_in_page(&self, script: &str, args: &[Value], slice: Duration) -> Result<Value, Fault> {
        // Behind its own limit the driver is free again, so that the session can be ended even when the page is stuck.
        let script_limit = slice + SPARE;
        if self.script_limit.replace(script_limit) != script_limit {
            self.set_limit("script", script_limit)?;
        }
        let command = Command::post("execute/async", &json!({"script": script, "args": args}));
        let asked = Instant::now();
        match self.try_run("wait for the page", script_limit + GRACE, command)? {
            Ok(answer @ Value::Object(_)) => Ok(answer),
            Ok(_) => Err(drifted("the page did not answer; a dialog that opened cut it off")),
            // Early, the same error says that the page was left.
            Err(error) if error.is_script_timeout() && asked.elapsed() >= slice => {
                Err(crashed(format!("the page did not answer for {} seconds", script_limit.as_secs())))
            }
            Err(error) => Err(fault("wait for the page", error)),
        }
    }

    /// Sends a command of the Chrome DevTools Protocol.
    pub fn cdp(&self, name: &str, params: Value) -> Result<Value, Fault> {
        let command = Command::post("goog/cdp/execute", &json!({"cmd": name, "params": params}));
        self.run(&format!("run {name}"), BULKY, command)
    }

    /// Clicks as a person does, so that the page may do what it may only do for a person.
    pub fn click(&self, target: Target<'_>) -> Result<(), Fault> {
        let element = self.element(target)?;
        let command = Command::post(format!("element/{element}/click"), &json!({}));
        self.run(&format!("click on {}", named(target)), PROMPT, command).map(drop)
    }

    /// Presses keys in an element. Not for text of any length: what a tab or a newline does, the page decides.
    pub fn press(&self, target: Target<'_>, keys: &str) -> Result<(), Fault> {
        let element = self.element(target)?;
        let command = Command::post(format!("element/{element}/value"), &json!({"text": keys}));
        self.run(&format!("press keys in {}", named(target)), PROMPT, command).map(drop)
    }

    /// Gives these files, and no others, to an `<input type=file>`.
    pub fn set_files(&self, target: Target<'_>, files: &[Enclosure<'_>]) -> Result<(), Fault> {
        files::set(self, target, files)
    }

    /// Opens a tab and goes on there. Returns its handle.
    pub fn new_tab(&self) -> Result<String, Fault> {
        let opened = self.run("open a tab", PROMPT, Command::post("window/new", &json!({"type": "tab"})))?;
        let handle = opened["handle"].as_str().ok_or_else(|| drifted("the browser opened no tab"))?;
        self.run("change to a tab", PROMPT, Command::post("window", &json!({"handle": handle})))?;
        Ok(handle.to_owned())
    }

    /// Ends the session and everything that was started for it. Returns whether the driver said that it has ended.
    pub fn close(mut self) -> bool {
        self.end()
    }

    /// Tells whether the browser is behind a remote WebDriver.
    pub(in crate::transport) const fn is_remote(&self) -> bool {
        matches!(self.source, Source::Remote(_))
    }

    fn end(&mut self) -> bool {
        let visits = matches!(self.source, Source::Visited { .. });
        if visits && !self.is_stuck.get() {
            let _ = self.run("close our tab", CLOSING, Command::delete("window"));
        }
        let limit = if self.is_remote() { CLOSING_AFAR } else { CLOSING };
        let has_ended = match (self.client.take(), &self.source) {
            (None, _) => false,
            (Some(client), Source::Remote(endpoint)) if self.is_stuck.get() => {
                // The client would wait in line behind the command that was given up.
                drop(client);
                delete_session(&self.runtime, endpoint, &self.session_id, limit).is_ok()
            }
            (Some(_), _) if self.is_stuck.get() => false,
            (Some(client), _) => {
                let closing = async move { client.close().await };
                let closed = self.runtime.block_on(async { tokio::time::timeout(limit, closing).await });
                matches!(closed, Ok(Ok(())))
            }
        };
        self.guarded.take();
        has_ended
    }

    fn enter_tab_of_our_own(&self) -> Result<(), Fault> {
        let handle = self.new_tab()?;
        if let Some(guarded) = &mut *self.guarded.borrow_mut() {
            guarded.owns_tab(&handle);
        }
        Ok(())
    }

    fn set_limit(&self, of: &str, limit: Duration) -> Result<(), Fault> {
        let limits = json!({of: limit.as_millis() as u64});
        self.run("set a time limit", PROMPT, Command::post("timeouts", &limits)).map(drop)
    }

    /// Returns the id of an element.
    fn element(&self, target: Target<'_>) -> Result<String, Fault> {
        let found = match target {
            Target::Css(selector) => {
                let command = Command::post("element", &json!({"using": "css selector", "value": selector}));
                &self.run(&format!("find {selector}"), PROMPT, command)?
            }
            Target::Found(value) => value,
        };
        let id = found[ELEMENT].as_str().filter(|id| !id.is_empty() && !id.contains('/'));
        id.map(str::to_owned).ok_or_else(|| drifted(format!("{} is not an element", named(target))))
    }

    fn text(&self, doing: &str, path: &str, limit: Duration) -> Result<String, Fault> {
        match self.run(doing, limit, Command::get(path))? {
            Value::String(text) => Ok(text),
            _ => Err(drifted(format!("failed to {doing}: the answer is no text"))),
        }
    }

    /// Sends one command and waits for its answer.
    fn run(&self, doing: &str, limit: Duration, command: Command) -> Result<Value, Fault> {
        self.try_run(doing, limit, command)?.map_err(|error| fault(doing, error))
    }

    /// The same, for those who know what to make of an error.
    fn try_run(&self, doing: &str, limit: Duration, command: Command) -> Result<Result<Value, CmdError>, Fault> {
        let Some(client) = self.client.borrow().clone().filter(|_| !self.is_stuck.get()) else {
            return Err(crashed(format!("the browser does not answer any more, so it cannot be asked to {doing}")));
        };
        match bounded(&self.runtime, limit, client.issue_cmd(command)) {
            Ok(answer) => Ok(answer),
            Err(unanswered) => {
                self.is_stuck.set(true);
                Err(match unanswered {
                    Unanswered::Interrupted => Fault::interrupted(),
                    Unanswered::TooLate => {
                        let seconds = limit.as_secs();
                        crashed(format!("the browser did not answer for {seconds} seconds when asked to {doing}"))
                    }
                })
            }
        }
    }

    /// Returns a directory, to be made, that goes with the browser.
    fn next_place(&self) -> Result<PathBuf, Fault> {
        let number = self.places.get() + 1;
        self.places.set(number);
        let guarded = self.guarded.borrow();
        let guarded = guarded.as_ref().ok_or_else(|| crashed("the browser has ended, so it can be given no file"))?;
        Ok(guarded.temporary().join(format!("file-{number}")))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends a session that a run of ours left on a remote WebDriver. One that is gone is fine.
pub fn end_remote_session(endpoint: &Endpoint, session_id: &str) -> Result<(), Fault> {
    let runtime = runtime().map_err(|error| crashed(format!("failed to prepare for a browser: {error}")))?;
    delete_session(&runtime, endpoint, session_id, PROMPT)
}

fn delete_session(runtime: &Runtime, endpoint: &Endpoint, session_id: &str, limit: Duration) -> Result<(), Fault> {
    let is_plain =
        !session_id.is_empty() && session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_plain {
        return Err(drifted("the id of the remote session cannot be one"));
    }
    let ending = async {
        let client = existing(endpoint, session_id).await?;
        client.close().await.map_err(NewSessionError::UnexpectedError)
    };
    match runtime.block_on(async { tokio::time::timeout(limit, ending).await }) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(NewSessionError::UnexpectedError(error))) if error.is_invalid_session_id() => Ok(()),
        Ok(Err(error)) => Err(wording::no_session(&Source::Remote(endpoint.clone()), error)),
        Err(_) => Err(lost(format!("the WebDriver at {endpoint} did not answer"))),
    }
}

async fn connect(endpoint: &Endpoint, capabilities: serde_json::Map<String, Value>) -> Result<Client, NewSessionError> {
    let address = endpoint.url().as_str();
    match endpoint.url().scheme() {
        "https" => {
            let connector = tls_connector().map_err(NewSessionError::Lost)?;
            ClientBuilder::new(connector).capabilities(capabilities).connect(address).await
        }
        _ => ClientBuilder::new(HttpConnector::new()).capabilities(capabilities).connect(address).await,
    }
}

async fn existing(endpoint: &Endpoint, session_id: &str) -> Result<Client, NewSessionError> {
    let address = endpoint.url().as_str();
    match endpoint.url().scheme() {
        "https" => {
            let connector = tls_connector().map_err(NewSessionError::Lost)?;
            Client::with_existing_session(address, session_id, connector).await
        }
        _ => Client::with_existing_session(address, session_id, HttpConnector::new()).await,
    }
}

fn named(target: Target<'_>) -> String {
    match target {
        Target::Css(selector) => selector.to_owned(),
        Target::Found(_) => "what was found".to_owned(),
    }
}

/// Returns an address without the parts in which people put secrets.
fn without_secrets(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else { return "an address that is none".to_owned() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}
