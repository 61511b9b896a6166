//! What `ask` and `review` depend on: a browser, its driver and profile, the profiles of pages, the sessions.

use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use crate::base::plural;
use crate::base::visible;
use crate::evidence::Shelf;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::doctor::Check;
use crate::flows::doctor::Request;
use crate::flows::session;
use crate::flows::talk::Wanted;
use crate::flows::talk::engine;
use crate::system;
use crate::transport::Browser;
use crate::transport::Fault;
use crate::transport::RequestId;
use crate::transport::conversation::Clocks;
use crate::transport::conversation::Conversation;
use crate::transport::conversation::Examined;
use crate::transport::conversation::Message;
use crate::transport::driver::Machine;
use crate::transport::driver::Profile;
use crate::transport::profile::Element;
use crate::transport::profile::ProfileChoice;
use crate::transport::profile::choose;
use crate::transport::profile::names;
use crate::transport::rehearsal::Rehearsal;
use crate::transport::rehearsal::Script;

/// The profile of the page that is in this program.
const REHEARSAL: &str = "rehearsal";

/// Another run on the profile may be about to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// The built-in page answers at once.
const CLOCKS: Clocks = Clocks { answer: Duration::from_secs(30), stall: Duration::from_secs(20) };

/// What the built-in page answers: something that only comes home whole when everything works.
const ANSWER: &str =
    "{{REQUEST_ID}}\n\n- one\n  - two\n\n```rust\nlet text = \"<b>&amp;</b>\";\n\n\treturn;\n```\n\n{{REQUEST_ID}}";

/// Looks at what is there, without starting a browser.
pub(super) fn installed(flows: &Flows, request: &Request) -> Vec<Check> {
    // What is wrong with the person's file has been said.
    let configured = flows.person().map(|config| engine::configured(flows, &config)).unwrap_or_default();
    let is_needed = request.browser || request.page.is_some();
    let mut checks = match Machine::of(&flows.environment, &configured) {
        Ok(machine) => programs(&machine, is_needed),
        Err(fault) => vec![missing("browser", fault, is_needed)],
    };
    checks.push(match Profile::of(&flows.environment, &configured) {
        Ok(profile) => user_data(&profile),
        Err(fault) => missing("profile", fault, is_needed),
    });
    let own = flows.environment.oracle_home.as_ref().map(|home| home.join("pages"));
    checks.push(pages(own.as_deref()));
    checks.extend(flows.home().ok().map(|home| store(&home)));
    checks
}

/// Whoever only keeps commits in bounds can do without a browser.
fn missing(name: &'static str, fault: Fault, is_needed: bool) -> Check {
    match is_needed {
        true => Check::broken(name, fault.message, fault.hint),
        false => Check::note(name, format!("{}; `ask` and `review` need it", fault.message), fault.hint),
    }
}

/// Looks at the browser and the driver, which have to be of one version.
fn programs(machine: &Machine, is_needed: bool) -> Vec<Check> {
    let (browser, driver) = match (machine.browser(), machine.driver()) {
        (Ok(browser), Ok(driver)) => (browser, driver),
        (browser, driver) => {
            let check = |name, found: Result<std::path::PathBuf, Fault>| match found {
                Ok(path) => Check::fine(name, path.display().to_string()),
                Err(fault) => missing(name, fault, is_needed),
            };
            return vec![check("browser", browser), check("driver", driver)];
        }
    };
    let describe = |name, path: &Path, version: Option<&str>| match version {
        Some(version) => Check::fine(name, format!("version {version}, {}", path.display())),
        None => Check::broken(
            name,
            format!("it does not say its version: {}", path.display()),
            format!("Run it by hand: {} --version", path.display()),
        ),
    };
    let versions = (machine.version_of(&browser), machine.version_of(&driver));
    let of_browser = describe("browser", &browser, versions.0.as_deref());
    let of_driver = match &versions {
        (Some(one), Some(other)) if major(one) != major(other) => Check::broken(
            "driver",
            format!("version {other} does not fit the browser's {one}: {}", driver.display()),
            "Install both of one version, or say where they are with CHROME_PATH and CHROMEDRIVER_PATH.",
        ),
        _ => describe("driver", &driver, versions.1.as_deref()),
    };
    vec![of_browser, of_driver]
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or(version)
}

fn user_data(profile: &Profile) -> Check {
    let place = profile.data_dir.display();
    match profile.user() {
        Err(fault) => Check::note("profile", fault.message, fault.hint),
        Ok(Some(pid)) => Check::fine("profile", format!("{place}, in use by process {pid}")),
        Ok(None) if profile.data_dir.is_dir() => Check::fine("profile", place.to_string()),
        Ok(None) => Check::fine("profile", format!("{place}, which the first run makes")),
    }
}

/// Reads every page profile, the person's and the built-in ones.
fn pages(own: Option<&Path>) -> Check {
    let names = names(own);
    for name in &names {
        if let Err(error) = choose(ProfileChoice::Named(name), own) {
            let message = visible(&error.to_string()).into_owned();
            return Check::broken("pages", message, "docs/pages.md tells how a profile is written.");
        }
    }
    Check::fine("pages", names.join(", "))
}

fn store(home: &Path) -> Check {
    let sessions = match Shelf::of(home).sessions() {
        Ok(sessions) => sessions,
        Err(error) => return Check::of_failure("store", error.into()),
    };
    let count = plural(sessions.len() as u64, "session");
    match sessions.iter().rev().find(|session| session::state(session) == "killed") {
        Some(killed) => Check::note(
            "store",
            format!("{count}, of which {} was cut off", visible(&killed.slug)),
            format!("git oracle session attach {}", killed.slug),
        ),
        None => Check::fine("store", format!("{count} in {}", home.join("sessions").display())),
    }
}

/// Has the built-in page answer one prompt, in the browser that `ask` would use.
pub(super) fn self_test(flows: &Flows, wanted: &Wanted) -> Check {
    let begun = Instant::now();
    match rehearse(flows, wanted) {
        Ok(()) => {
            let seconds = begun.elapsed().as_secs_f64();
            Check::fine("self-test", format!("a prompt went out once, its answer came home exactly, in {seconds:.1} s"))
        }
        Err(failure) => Check::of_failure("self-test", failure),
    }
}

fn rehearse(flows: &Flows, wanted: &Wanted) -> Result<(), Failure> {
    let page = rehearsal()?;
    let (mut conversation, url) = open(flows, REHEARSAL, &Wanted { url: Some(page.url()), ..wanted.clone() })?;
    let id = RequestId::random().map_err(|error| {
        Failure::new(Kind::Other, format!("the system gives no random numbers: {error}")).hinted("Try again.")
    })?;
    let text = format!("{id}\nAnswer with a list and a block of code.\n\t<i>&lt;</i>\n{id}");
    conversation.open(&url, None, &mut |_| Ok(()))?;
    let message = Message { request_id: &id, text: &text, files: &[] };
    let answer = conversation.ask(&message, &CLOCKS, &mut |_| Ok(())).map_err(|broken| broken.fault)?;
    let wrong = |what: &str| {
        let message = format!("{what}, although the page is our own");
        Failure::new(Kind::Other, message).hinted("Install the browser and the driver again, both of one version.")
    };
    let sent: Vec<String> = page.record().prompts.into_iter().map(|prompt| prompt.text).collect();
    if sent != [text] {
        return Err(wrong("the prompt did not arrive as it was typed"));
    }
    if answer.text.trim() != ANSWER.replace("{{REQUEST_ID}}", id.as_str()) {
        return Err(wrong("the answer did not come home as it was given"));
    }
    Ok(())
}

fn rehearsal() -> Result<Rehearsal, Failure> {
    Rehearsal::start(Script::answering([ANSWER])).map_err(|error| {
        Failure::new(Kind::Other, format!("the built-in page cannot be started: {error}"))
            .hinted("It needs a free port of this machine.")
    })
}

/// Starts a browser for the page with this profile. Returns where the page is, too.
fn open(flows: &Flows, name: &str, wanted: &Wanted) -> Result<(Conversation, String), Failure> {
    system::watch_interrupts().map_err(|error| {
        Failure::new(Kind::Other, format!("failed to watch for signals: {error}")).hinted("Try again.")
    })?;
    let wanted = Wanted { page: Some(name.to_owned()), ..wanted.clone() };
    let page = engine::page(flows, &wanted, &flows.person()?)?;
    let browser = Browser::start(&page.launch.patient(PATIENCE))?;
    Ok((Conversation::new(browser, page.profile), page.url))
}

/// Opens a page and says what the profile finds on it.
pub(super) fn page(flows: &Flows, name: &str, wanted: &Wanted) -> (Check, Option<Examined>) {
    match examine(flows, name, wanted) {
        Ok(examined) => (judge(name, &examined), Some(examined)),
        Err(failure) => (Check::of_failure("page", failure), None),
    }
}

fn examine(flows: &Flows, name: &str, wanted: &Wanted) -> Result<Examined, Failure> {
    // The built-in page is nowhere until it is started.
    let own = (name == REHEARSAL && wanted.url.is_none()).then(rehearsal).transpose()?;
    let url = own.as_ref().map(Rehearsal::url).or_else(|| wanted.url.clone());
    let (mut conversation, url) = open(flows, name, &Wanted { url, ..wanted.clone() })?;
    Ok(conversation.examine(&url)?)
}

/// On a page that can be asked there is one of the layouts, and something to write into.
fn judge(name: &str, page: &Examined) -> Check {
    let found = page.found.iter().filter(|found| found.count > 0).count();
    let summary = format!("{found} of {} elements found", page.found.len());
    let can_write = page.found.iter().any(|found| found.element == Element::Composer && found.visible > 0);
    let hint = format!(
        "git oracle auth login signs in; entries in ~/.oracle/pages/{name}.toml take the place of the built-in ones."
    );
    match &page.layout {
        Some(layout) if can_write => Check::fine("page", format!("{name} with the layout {layout}, {summary}")),
        Some(layout) => {
            Check::broken("page", format!("{name} with the layout {layout}, nothing to write into, {summary}"), hint)
        }
        None => Check::broken("page", format!("{name} has none of the layouts of its profile, {summary}"), hint),
    }
}
