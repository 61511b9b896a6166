//! A browser for a person, on our profile and without a driver.

use std::time::Duration;

use url::Url;

use crate::transport::Fault;
use crate::transport::driver::Guarded;
use crate::transport::driver::Machine;
use crate::transport::driver::Profile;
use crate::transport::driver::guard::Order;

/// What a driver gives its browser as well where it decides how the profile is kept, and what only bothers people.
const ARGUMENTS: [&str; 6] = [
    // Else the cookies would be encrypted with a key that a driven browser does not have.
    "--password-store=basic",
    "--use-mock-keychain",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-mode",
    "--hide-crash-restore-bubble",
];

/// Shows a page in a browser and returns when the person has closed it. `begun` is called when there is a browser.
pub fn show_to_person(
    machine: &Machine,
    profile: &Profile,
    url: &Url,
    patience: Duration,
    begun: &dyn Fn(),
) -> Result<(), Fault> {
    machine.require_display()?;
    let mut command = vec![machine.browser()?.into_os_string()];
    command.extend(ARGUMENTS.iter().map(Into::into));
    command.extend(profile.arguments()?.into_iter().map(Into::into));
    if machine.is_root {
        command.push("--no-sandbox".into());
    }
    command.push(url.as_str().into());
    let order = Order {
        profile: Some(profile.data_dir.clone()),
        patience,
        temporary: machine.temporary_dir()?,
        visited: None,
        is_driver: false,
        command,
    };
    let (guarded, _) = Guarded::start(machine, &order)?;
    begun();
    guarded.wait()
}
