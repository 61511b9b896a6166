//! `git oracle auth`.

use std::path::Path;

use clap::Subcommand;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::render;
use crate::cli::talk::PlaceArgs;
use crate::flows::Failure;
use crate::flows::auth;
use crate::flows::auth::Request;
use crate::flows::auth::SignedIn;

/// Sign the browser profile in to a chat page
///
/// The profile is ~/.oracle/profiles/default, or the one that CHROME_PROFILE_DIR names. What a page keeps about you stays
/// there; git-oracle reads no cookies.
#[derive(clap::Args, Debug)]
pub(super) struct AuthArgs {
    #[command(subcommand)]
    command: AuthCommand,
}

#[derive(Subcommand, Debug)]
enum AuthCommand {
    Login(LoginArgs),
    Check(CheckArgs),
}

/// Open a browser in which you sign in; it ends when you close its window
///
/// The browser is not driven, because sign-in pages refuse driven ones. It needs a display; on a machine without one, use
/// xvfb-run and a way to see that display. Close the window when you are done: cookies of the last half minute are lost when
/// the command is stopped instead.
#[derive(clap::Args, Debug)]
struct LoginArgs {
    /// Fill in GitHub's form from GITHUB_USERNAME, GITHUB_PASSWORD and GITHUB_TOTP_SECRET, of the environment or of .env here
    #[arg(long, conflicts_with_all = ["browser_url", "copilot"])]
    from_env: bool,

    /// The page to sign in to: a URL, or a host with or without a path
    #[arg(long, value_name = "URL", default_value = "https://chatgpt.com/")]
    browser_url: String,

    /// Short for --browser-url https://github.com/copilot/
    #[arg(long, conflicts_with = "browser_url")]
    copilot: bool,
}

/// Say whether the chat page can be asked: there, signed in, ready to be written to
///
/// The browser is driven and has no window; nothing is sent. Ends with 10 and the reason when the page is not ready.
#[derive(clap::Args, Debug)]
struct CheckArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn auth(app: &App, args: AuthArgs) -> Result<Exit, Failure> {
    match args.command {
        AuthCommand::Login(args) => login(app, args),
        AuthCommand::Check(args) => check(app, args),
    }
}

fn login(app: &App, args: LoginArgs) -> Result<Exit, Failure> {
    if args.from_env {
        let message = match auth::login_from_environment(&app.flows)? {
            SignedIn::Now => "signed in at GitHub",
            SignedIn::Before => "the profile was signed in at GitHub before",
        };
        render::out(message);
        return Ok(Exit::Success);
    }
    let url = if args.copilot { "https://github.com/copilot/".to_owned() } else { args.browser_url };
    let begun = |profile: &Path| {
        if !app.quiet {
            let shown = profile.display().to_string();
            render::note(format!("sign in, then close the window; the profile is {}", visible(&shown)));
        }
    };
    auth::login(&app.flows, &Request { url }, &begun)?;
    Ok(Exit::Success)
}

fn check(app: &App, args: CheckArgs) -> Result<Exit, Failure> {
    let checked = auth::check(&app.flows, &args.place.wanted())?;
    render::out(format!("{} is signed in and ready (page profile {})", visible(&checked.url), visible(&checked.page)));
    Ok(Exit::Success)
}
