//! What `ask` and `review` have in common on the command line: whom to ask, what goes along, how long to wait, and how it
//! looks while it goes on.

use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::base::visible;
use crate::bundle::Format;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::background;
use crate::cli::extract::read_reply;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply::Outcome;
use crate::flows::bundle;
use crate::flows::talk::EngineKind;
use crate::flows::talk::Listener;
use crate::flows::talk::Patience;
use crate::flows::talk::Progress;
use crate::flows::talk::Wanted;

/// What goes along, and how long to wait.
#[derive(clap::Args, Debug)]
pub(super) struct TalkArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Send these files of the repository along; patterns as for `bundle`
    #[arg(long, value_name = "GLOB", num_args = 1..)]
    browser_bundle_files: Vec<String>,

    /// How they are packed: in the text, or as an attached archive
    #[arg(long, value_name = "FORMAT", default_value = "text", requires = "browser_bundle_files")]
    browser_bundle_format: FormatArg,

    /// Name the session by these three to five words
    #[arg(long, value_name = "WORDS")]
    pub slug: Option<String>,

    /// How long one answer may take [default: 90, or 3600 for a Pro model]
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// How long nothing may move [default: 60, or 900 for a Pro model]
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    stall_timeout: Option<u64>,

    /// Stop when there is a secret in what would be sent; this is always on
    #[arg(long)]
    secret_scan: bool,

    /// Take secrets out of what is sent instead of stopping
    #[arg(long)]
    pub sanitize_prompt: bool,

    /// Keep a copy of the page every MS milliseconds while the answer is waited for
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(100..))]
    dom_snapshot: Option<u64>,

    /// Show what would be sent and where; send nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Go on in the background once nothing more can be refused; prints the session's name
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,

    /// This is the run in the background
    #[arg(long, hide = true)]
    pub detached: bool,

    /// Write the result to FILE, too
    #[arg(long, value_name = "FILE")]
    pub json_output: Option<PathBuf>,

    /// Write the metrics to FILE, too
    #[arg(long, value_name = "FILE")]
    pub metrics_output: Option<PathBuf>,

    /// Print the result as one JSON document (schemas/result.v1.json)
    #[arg(long)]
    pub json: bool,
}

/// Whom to ask, and where.
#[derive(clap::Args, Debug)]
pub(super) struct PlaceArgs {
    /// Ask the API or a chat page [default: api if OPENAI_API_KEY is set, else browser]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<EngineArg>,

    /// The page: a URL, or a host with or without a path [default: https://chatgpt.com/]
    #[arg(long, value_name = "URL")]
    browser_url: Option<String>,

    /// Ask GitHub Copilot at https://github.com/copilot/
    #[arg(long)]
    copilot: bool,

    /// The page profile, if not the one for the host; without a URL, its page is asked
    #[arg(long, value_name = "NAME")]
    page: Option<String>,

    #[command(flatten)]
    browser: BrowserArgs,

    /// The model to choose: gpt-5.1, gpt-5-pro, or as the page calls it [default: as the page stands]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Which browser.
#[derive(clap::Args, Debug)]
pub(super) struct BrowserArgs {
    /// Use a remote WebDriver, such as a Selenium Grid
    #[arg(long, value_name = "URL")]
    webdriver_url: Option<String>,

    /// Use a running browser by its debugging port on this machine; it is left open
    #[arg(long, value_name = "HOST:PORT")]
    attach: Option<String>,

    /// Show the browser's window
    #[arg(long)]
    headful: bool,
}

impl BrowserArgs {
    pub fn wanted(&self) -> Wanted {
        Wanted {
            webdriver_url: self.webdriver_url.clone(),
            attach: self.attach.clone(),
            headful: self.headful,
            ..Wanted::default()
        }
    }
}

#[derive(clap::ValueEnum, Debug, Clone, Copy)]
enum EngineArg {
    Api,
    Browser,
}

#[derive(clap::ValueEnum, Debug, Clone, Copy)]
enum FormatArg {
    Text,
    Zip,
}

impl PlaceArgs {
    pub fn wanted(&self) -> Wanted {
        Wanted {
            kind: self.engine.map(|engine| match engine {
                EngineArg::Api => EngineKind::Api,
                EngineArg::Browser => EngineKind::Browser,
            }),
            url: self.browser_url.clone(),
            copilot: self.copilot,
            page: self.page.clone(),
            model: self.model.clone(),
            ..self.browser.wanted()
        }
    }
}

impl TalkArgs {
    /// Takes out what says whom to ask.
    pub fn wanted(&self) -> Wanted {
        self.place.wanted()
    }

    pub fn context(&self) -> Option<bundle::Request> {
        let format = match self.browser_bundle_format {
            FormatArg::Text => Format::Text,
            FormatArg::Zip => Format::Zip,
        };
        let patterns = self.browser_bundle_files.clone();
        (!patterns.is_empty()).then(|| bundle::Request { patterns, format, ..bundle::Request::default() })
    }

    pub fn patience(&self) -> Patience {
        Patience {
            timeout: self.timeout.map(Duration::from_secs),
            stall: self.stall_timeout.map(Duration::from_secs),
            snapshots: self.dom_snapshot.map(Duration::from_millis),
        }
    }
}

/// Reads the prompt from where it is.
pub(super) fn read_prompt(typed: &str) -> Result<String, Failure> {
    let bytes = match typed.strip_prefix('@') {
        Some(file) => read_reply(Some(Path::new(file)))?,
        None if typed == "-" => read_reply(None)?,
        None => return Ok(typed.to_owned()),
    };
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Kind::Other, "the prompt is not UTF-8 text").hinted("Convert it: iconv -t UTF-8 FILE")
    })
}

/// Shows how a talk goes on, as long as it does or until it goes to the background.
pub(super) fn listen<T>(app: &App, detached: bool, talk: impl FnOnce(&Listener<'_>) -> T) -> T {
    let attended = terminal::is_attended();
    let shows = !app.quiet && attended;
    let tell = |text: &str| {
        if shows {
            render::progress(&format!("{}…", visible(text)));
        }
    };
    let progress = |progress: Progress<'_>| {
        if shows {
            let Progress { turn, limit, state, characters, elapsed } = progress;
            let which = if limit > 1 { format!("turn {turn} of {limit} · ") } else { String::new() };
            render::progress(&format!("{which}{} · {} s · {characters} characters", visible(state), elapsed.as_secs()));
        }
    };
    let begun = |slug: &str| if detached { background::leave(slug) } else { Ok(()) };
    let ended = talk(&Listener { attended, tell: &tell, progress: &progress, begun: &begun });
    if shows {
        render::end_progress();
    }
    ended
}

/// Says on stderr how it ended, where it is kept, and what was wrong. Returns how the program ends.
pub(super) fn conclude(app: &App, outcome: &Outcome) -> Exit {
    if !app.quiet {
        outcome.notes.iter().for_each(|text| render::note(format!("note: {}", visible(text))));
        render::note(format!("session: {}", outcome.session));
    }
    if let Some(trouble) = &outcome.error {
        let failure = Failure { hints: trouble.hints.clone(), ..Failure::new(Kind::Other, trouble.message.as_str()) };
        render::failure(&failure);
    }
    Exit::from(outcome.status)
}

/// Prints what a model wrote: as it is into a file or a pipe, with control characters made visible on a terminal.
pub(super) fn print_answer(answer: &str) {
    if std::io::stdout().is_terminal() {
        answer.lines().for_each(|line| render::out(visible(line)));
    } else {
        let _ = std::io::stdout().write_all(answer.as_bytes()).and_then(|()| std::io::stdout().write_all(b"\n"));
    }
}

pub(super) fn print_preview(preview: &Value) {
    let text = |field: &str| preview[field].as_str().map(str::to_owned);
    let number = |field: &str| preview[field].as_u64().map(|number| number.to_string());
    for (name, value) in [
        ("to", text("destination")),
        ("engine", text("engine")),
        ("page", text("platform")),
        ("model", text("model")),
        ("bundle", text("bundleFormat")),
        ("risk", text("riskClass")),
        ("approved by", Some(text("approvedBy").unwrap_or_else(|| "nobody yet".to_owned()))),
        ("bytes", number("bytes")),
        ("tokens", number("estimatedTokens").map(|tokens| format!("about {tokens}"))),
        ("secrets", preview["secretScan"]["status"].as_str().map(str::to_owned)),
    ] {
        if let Some(value) = value {
            render::out(format!("{name:<12} {}", visible(&value)));
        }
    }
    let list = |field: &str| preview[field].as_array().cloned().unwrap_or_default();
    for file in list("files") {
        let name = file["name"].as_str().unwrap_or_default();
        render::out(format!("{:<12} {} ({} bytes)", "part", visible(name), file["bytes"]));
    }
    for line in list("excluded") {
        render::out(format!("{:<12} {}", "left out", visible(line.as_str().unwrap_or_default())));
    }
}
