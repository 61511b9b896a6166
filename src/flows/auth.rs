//! `auth`: the profile of the browser is signed in, by a person or from the environment.

use std::path::Path;
use std::time::Duration;

use crate::base::Secret;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::talk::Wanted;
use crate::flows::talk::engine;
use crate::system;
use crate::transport::Browser;
use crate::transport::conversation::Conversation;
use crate::transport::driver::Launch;
use crate::transport::driver::Machine;
use crate::transport::driver::Profile;
use crate::transport::driver::show_to_person;
use crate::transport::page_url;
use crate::transport::sign_in;
use crate::transport::sign_in::Credentials;
use crate::transport::sign_in::Totp;

/// Another run on the profile may be about to end.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_DOTENV_BYTES: u64 = 1 << 20;

/// What to sign in to.
pub struct Request {
    pub url: String,
}

/// A page that can be asked.
pub struct Checked {
    pub url: String,
    /// The page profile's name.
    pub page: String,
}

/// How a sign-in from the environment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedIn {
    Now,
    Before,
}

/// Opens a browser on the profile and returns when the person has closed it. `begun` is told which profile that is.
pub fn login(flows: &Flows, request: &Request, begun: &dyn Fn(&Path)) -> Result<(), Failure> {
    let (machine, profile) = local(flows)?;
    let url = page_url(&request.url)?;
    Ok(show_to_person(&machine, &profile, &url, PATIENCE, &|| begun(&profile.data_dir))?)
}

/// Signs in at GitHub with what the environment or `.env` holds.
pub fn login_from_environment(flows: &Flows) -> Result<SignedIn, Failure> {
    let credentials = credentials(flows)?;
    let (machine, profile) = local(flows)?;
    let browser = Browser::start(&Launch::own(machine, profile).patient(PATIENCE))?;
    let needed = sign_in::at_github(&browser, sign_in::GITHUB, &credentials)?;
    Ok(if needed { SignedIn::Now } else { SignedIn::Before })
}

/// Opens the page as `ask` would, and sends nothing. What it is not ready for is a failure.
pub fn check(flows: &Flows, wanted: &Wanted) -> Result<Checked, Failure> {
    watch()?;
    let page = engine::page(flows, wanted, &flows.person()?)?;
    let name = page.profile.name.clone();
    let browser = Browser::start(&page.launch.patient(PATIENCE))?;
    let mut conversation = Conversation::new(browser, page.profile);
    conversation.open(&page.url, page.model.as_deref(), &mut |_| Ok(()))?;
    Ok(Checked { url: page.url, page: name })
}

fn watch() -> Result<(), Failure> {
    system::watch_interrupts()
        .map_err(|error| Failure::new(Kind::Other, format!("failed to watch for signals: {error}")))
}

fn local(flows: &Flows) -> Result<(Machine, Profile), Failure> {
    watch()?;
    let configured = engine::configured(flows, &flows.person()?);
    let machine = Machine::of(&flows.environment, &configured)?;
    Ok((machine, Profile::of(&flows.environment, &configured)?))
}

fn credentials(flows: &Flows) -> Result<Credentials, Failure> {
    let path = flows.environment.current_dir.join(".env");
    let dotenv = match system::read_limited(&path, MAX_DOTENV_BYTES) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.is_not_found() => None,
        Err(error) => return Err(error.into()),
    };
    let find = |name: &str| system::variable(name, dotenv.as_deref());
    let missing = |name: &str| {
        Failure::new(Kind::Unavailable, format!("{name} is set neither in the environment nor in .env"))
            .hinted("Without --from-env a browser opens, in which you sign in yourself.")
    };
    let username = find("GITHUB_USERNAME").ok_or_else(|| missing("GITHUB_USERNAME"))?;
    let password = find("GITHUB_PASSWORD").map(Secret::new).ok_or_else(|| missing("GITHUB_PASSWORD"))?;
    let totp = match find("GITHUB_TOTP_SECRET").map(Secret::new) {
        None => None,
        Some(secret) => Some(Totp::parse(&secret).ok_or_else(|| {
            Failure::new(Kind::Unavailable, "GITHUB_TOTP_SECRET is not a secret of an authenticator")
                .hinted("GitHub shows it as letters and the digits 2 to 7 when you choose to enter it by hand.")
        })?),
    };
    Ok(Credentials { username, password, totp })
}
