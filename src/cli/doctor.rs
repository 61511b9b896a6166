//! `git oracle doctor`.

use serde_json::json;

use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::cli::talk::BrowserArgs;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::doctor;
use crate::flows::doctor::Examined;
use crate::flows::doctor::Report;
use crate::flows::doctor::Request;
use crate::flows::doctor::State;
use crate::flows::talk::Wanted;

/// Check what git-oracle depends on, and say how to mend what is broken
///
/// Looks at git, the repository, the contract, the hooks, the browser and what it needs. With --browser or --page a browser
/// is started, too. Nothing is sent anywhere. Exits with 1 when something is broken.
#[derive(clap::Args, Debug)]
pub(super) struct DoctorArgs {
    /// Start the browser and have it ask the built-in page one question
    #[arg(long)]
    browser: bool,

    /// Open the chat page of this profile and say which of the profile's entries match on it
    #[arg(long, value_name = "NAME")]
    page: Option<String>,

    /// Open this address instead of the page's own
    #[arg(long, value_name = "URL", requires = "page")]
    browser_url: Option<String>,

    #[command(flatten)]
    which: BrowserArgs,

    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

impl DoctorArgs {
    fn request(&self) -> Request {
        let wanted = Wanted { url: self.browser_url.clone(), ..self.which.wanted() };
        Request { browser: self.browser, page: self.page.clone(), wanted }
    }
}

pub(super) fn doctor(app: &App, args: &DoctorArgs) -> Result<Exit, Failure> {
    let shows = !app.quiet && terminal::is_attended();
    let begun = |what: &str| {
        if shows {
            render::progress(&format!("{what}…"));
        }
    };
    let report = doctor::run(&app.flows, &args.request(), &begun);
    if shows {
        render::end_progress();
    }
    match args.json {
        true => print_document(&report),
        false => print(&report),
    }
    Ok(if report.state() == State::Broken { Exit::Other } else { Exit::Success })
}

fn print_document(report: &Report) {
    let checks: Vec<_> = report
        .checks
        .iter()
        .map(|check| json!({"name": check.name, "state": check.state.as_str(), "message": check.message, "hint": check.hint}))
        .collect();
    document::print(&json!({"state": report.state().as_str(), "checks": checks, "page": report.page}));
}

fn print(report: &Report) {
    for check in &report.checks {
        render::out(format!("{:<6}  {:<10}  {}", check.state.as_str(), check.name, visible(&check.message)));
        if let Some(hint) = &check.hint {
            render::out(format!("{:<6}  {:<10}  mend: {}", "", "", visible(hint)));
        }
    }
    if let Some(page) = &report.page {
        print_page(page);
    }
}

/// Prints a line for each layout and each element: how many there are, and which entry of the profile found them.
fn print_page(page: &Examined) {
    render::out(format!("\n{}, titled \"{}\"", visible(&page.url), visible(&page.title)));
    for layout in &page.layouts {
        let mark = format!("{} has its mark {} times, {}", layout.name, layout.count, layout.when);
        render::out(format!("  {:<15} {}", "layout", visible(&mark)));
    }
    for found in &page.found {
        let element = found.element.as_str();
        let what = match (found.entry, &found.css, &found.seen) {
            (Some(entry), Some(css), Some(seen)) => {
                format!(
                    "{} found, {} visible: entry {}, {} (seen {})",
                    found.count,
                    found.visible,
                    entry + 1,
                    css,
                    seen
                )
            }
            _ => "-".to_owned(),
        };
        render::out(format!("  {element:<15} {}", visible(&what)));
    }
}
