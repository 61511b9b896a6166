//! Signing in: by a person in a plain browser, or at GitHub's form with what the environment holds.
//!
//! What is typed into the form is nowhere else: not in a message, not in a log, not on disk.

mod totp;

use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;
use url::Url;

use crate::base::Secret;
use crate::base::visible;
use crate::system;
use crate::transport::Browser;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::Target;

pub use totp::Totp;

/// Where GitHub asks who we are.
pub const GITHUB: &str = "https://github.com/login";

const LOOK: &str = include_str!("github.js");
const FILL: &str = include_str!("fill.js");

const PAGE: Duration = Duration::from_secs(30);
/// What a page may take to become another one.
const STEP: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);
/// A one-time password that is about to change may be too late when it arrives.
const FRESH_SECONDS: u64 = 3;

/// Who signs in.
pub struct Credentials {
    pub username: String,
    pub password: Secret,
    pub totp: Option<Totp>,
}

/// Signs in at GitHub's form. Returns whether that was needed.
pub fn at_github(browser: &Browser, address: &str, credentials: &Credentials) -> Result<bool, Fault> {
    browser.goto(address, PAGE)?;
    let mut page = look(browser, |state| !matches!(state, "loading"))?;
    if page["state"] == "signed_in" {
        return Ok(false);
    }
    if page["state"] == "form" {
        stay_at(browser, address)?;
        fill(browser, &page["login"], &credentials.username)?;
        fill(browser, &page["password"], credentials.password.expose())?;
        match &page["button"] {
            Value::Null => browser.press(Target::Found(&page["password"]), "\u{e007}")?,
            button => browser.click(Target::Found(button))?,
        }
        page = look_after(browser, &page)?;
    }
    if page["state"] == "elsewhere" {
        browser.click(Target::Found(&page["link"]))?;
        page = look_after(browser, &page)?;
    }
    // The second time in case the first password was used already, or changed on its way.
    let mut used = None;
    for _ in 0..2 {
        if page["state"] == "code" {
            stay_at(browser, address)?;
            let totp = credentials.totp.as_ref().ok_or_else(|| {
                refused(
                    "GitHub asks for a one-time password",
                    "Set GITHUB_TOTP_SECRET, or sign in yourself: git oracle auth login",
                )
            })?;
            let field = page["field"].clone();
            let code = fresh(totp, used.as_ref())?;
            fill(browser, &field, code.expose())?;
            used = Some(code);
            // The page may send it by itself as soon as it is complete.
            if let Err(fault) = browser.press(Target::Found(&field), "\u{e007}")
                && fault.kind != FaultKind::PageDrifted
            {
                return Err(fault);
            }
            page = look_after(browser, &page)?;
        }
    }
    match page["state"].as_str().unwrap_or_default() {
        "signed_in" => Ok(true),
        "form" => Err(refused(
            &format!("GitHub did not accept the user name and the password{}", complaint(&page)),
            "Check GITHUB_USERNAME and GITHUB_PASSWORD.",
        )),
        "code" => Err(refused(
            &format!("GitHub did not accept the one-time password{}", complaint(&page)),
            "Check GITHUB_TOTP_SECRET and the clock of this machine.",
        )),
        "person" => Err(refused(
            "GitHub asks for something that only a person can give",
            "Sign in yourself: git oracle auth login --copilot",
        )),
        _ => Err(Fault::new(
            FaultKind::PageDrifted,
            "the page that GitHub shows is none of those of its sign-in",
            "Sign in yourself: git oracle auth login --copilot",
        )),
    }
}

/// Looks at the page until it is one that `counts`, or until it has had its time.
fn look(browser: &Browser, counts: impl Fn(&str) -> bool) -> Result<Value, Fault> {
    let deadline = Instant::now() + STEP;
    loop {
        let page = browser.execute(LOOK, &[])?;
        if counts(page["state"].as_str().unwrap_or_default()) || Instant::now() >= deadline {
            return Ok(page);
        }
        pause()?;
    }
}

/// Looks until the page is no longer the one that was answered, or complains about the answer.
fn look_after(browser: &Browser, before: &Value) -> Result<Value, Fault> {
    let element = ["password", "field", "link"].iter().map(|name| &before[*name]).find(|value| !value.is_null());
    let deadline = Instant::now() + STEP;
    loop {
        let page = look(browser, |state| !matches!(state, "loading" | "unknown"))?;
        let is_same =
            ["password", "field", "link"].iter().any(|name| !page[*name].is_null() && Some(&page[*name]) == element);
        if !is_same || Instant::now() >= deadline {
            return Ok(page);
        }
        pause()?;
    }
}

fn fill(browser: &Browser, field: &Value, value: &str) -> Result<(), Fault> {
    // What a driver says about a script that failed does not hold its arguments.
    browser.execute(FILL, &[field.clone(), json!(value)]).map(drop)
}

/// Returns a password that has a while to go and was not used before.
fn fresh(totp: &Totp, used: Option<&Secret>) -> Result<Secret, Fault> {
    loop {
        let now = system::unix_seconds();
        let code = totp.at(now);
        if Totp::left(now) >= FRESH_SECONDS && used != Some(&code) {
            return Ok(code);
        }
        pause()?;
    }
}

/// Makes sure that nothing is typed on a page of somebody else's to which we were sent.
fn stay_at(browser: &Browser, address: &str) -> Result<(), Fault> {
    let origin = |text: &str| Url::parse(text).map(|url| url.origin()).ok().filter(|origin| origin.is_tuple());
    let expected = origin(address);
    if expected.is_some() && origin(&browser.url()?) == expected {
        return Ok(());
    }
    let hint = "Sign in yourself: git oracle auth login --copilot";
    Err(Fault::new(FaultKind::NavigationLost, "the sign-in led to another site, and nothing was typed there", hint))
}

fn pause() -> Result<(), Fault> {
    if system::interrupted() {
        return Err(Fault::interrupted());
    }
    std::thread::sleep(POLL);
    Ok(())
}

fn refused(message: &str, hint: &str) -> Fault {
    Fault::new(FaultKind::SignedOut, message, hint)
}

fn complaint(page: &Value) -> String {
    match page["complaint"].as_str().filter(|text| !text.is_empty()) {
        Some(text) => format!(": {}", visible(&text.replace('\n', " "))),
        None => String::new(),
    }
}
