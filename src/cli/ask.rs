//! `git oracle ask`.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::base::RepoPath;
use crate::base::visible;
use crate::bundle::Format;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::extract::read_reply;
use crate::cli::render;
use crate::cli::terminal;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::apply::Files;
use crate::flows::ask;
use crate::flows::ask::Answered;
use crate::flows::ask::Request;
use crate::flows::bundle;
use crate::flows::talk::EngineKind;
use crate::flows::talk::Listener;
use crate::flows::talk::Patience;
use crate::flows::talk::Progress;
use crate::flows::talk::Wanted;

/// Ask a chat page or an API one question and print the answer
///
/// The prompt goes to the page in a real browser, is sent once, and the answer comes back as markdown. What is sent is
/// scanned for secrets before; without a terminal, the person's configuration has to name where it goes. Everything is
/// kept in a session.
#[derive(clap::Args, Debug)]
pub(super) struct AskArgs {
    /// The prompt; @FILE reads it from a file, - from stdin
    #[arg(short, long, value_name = "TEXT")]
    prompt: String,

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
    slug: Option<String>,

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
    sanitize_prompt: bool,

    /// Keep a copy of the page every MS milliseconds while the answer is waited for
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(100..))]
    dom_snapshot: Option<u64>,

    /// Show what would be sent and where; send nothing
    #[arg(long)]
    dry_run: bool,

    /// Write the result to FILE, too
    #[arg(long, value_name = "FILE")]
    json_output: Option<PathBuf>,

    /// Write the metrics to FILE, too
    #[arg(long, value_name = "FILE")]
    metrics_output: Option<PathBuf>,

    /// Print the result as one JSON document (schemas/result.v1.json) instead of the answer
    #[arg(long)]
    json: bool,
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

    /// The page profile, if not the one for the host
    #[arg(long, value_name = "NAME")]
    page: Option<String>,

    /// Use a remote WebDriver, such as a Selenium Grid
    #[arg(long, value_name = "URL")]
    webdriver_url: Option<String>,

    /// Use a running browser by its debugging port on this machine; it is left open
    #[arg(long, value_name = "HOST:PORT")]
    attach: Option<String>,

    /// The model to choose: gpt-5.1, gpt-5-pro, or as the page calls it [default: as the page stands]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Show the browser's window
    #[arg(long)]
    headful: bool,
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
    pub(super) fn into_wanted(self) -> Wanted {
        Wanted {
            kind: self.engine.map(|engine| match engine {
                EngineArg::Api => EngineKind::Api,
                EngineArg::Browser => EngineKind::Browser,
            }),
            url: self.browser_url,
            copilot: self.copilot,
            page: self.page,
            webdriver_url: self.webdriver_url,
            attach: self.attach,
            headful: self.headful,
            model: self.model,
        }
    }
}

impl AskArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json
    }

    fn into_request(self) -> Result<Request, Failure> {
        let format = match self.browser_bundle_format {
            FormatArg::Text => Format::Text,
            FormatArg::Zip => Format::Zip,
        };
        let patterns = self.browser_bundle_files;
        let context =
            (!patterns.is_empty()).then(|| bundle::Request { patterns, format, ..bundle::Request::default() });
        Ok(Request {
            prompt: read_prompt(self.prompt)?,
            engine: self.place.into_wanted(),
            context,
            slug: self.slug,
            patience: Patience {
                timeout: self.timeout.map(Duration::from_secs),
                stall: self.stall_timeout.map(Duration::from_secs),
                snapshots: self.dom_snapshot.map(Duration::from_millis),
            },
            sanitize: self.sanitize_prompt,
            files: Files { diff: None, result: self.json_output, metrics: self.metrics_output },
        })
    }
}

/// Reads the prompt from where it is.
fn read_prompt(typed: String) -> Result<String, Failure> {
    let bytes = match typed.strip_prefix('@') {
        Some(file) => read_reply(Some(Path::new(file)))?,
        None if typed == "-" => read_reply(None)?,
        None => return Ok(typed),
    };
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(Kind::Other, "the prompt is not UTF-8 text").hinted("Convert it: iconv -t UTF-8 FILE")
    })
}

pub(super) fn ask(app: &App, args: AskArgs) -> Result<Exit, Failure> {
    let (wants_json, dry_run) = (args.json, args.dry_run);
    let request = args.into_request()?;
    if dry_run {
        let preview = ask::preview(&app.flows, &request, terminal::is_attended())?;
        match wants_json {
            true => document::print(&preview),
            false => print_preview(&preview),
        }
        return Ok(Exit::Success);
    }
    listen(app, wants_json, |listener| ask::run(&app.flows, &request, listener))
}

/// Picks up a talk that was cut off.
pub(super) fn attach(app: &App, slug: Option<&str>, wants_json: bool) -> Result<Exit, Failure> {
    listen(app, wants_json, |listener| ask::attach(&app.flows, slug, listener))
}

/// Shows how a talk goes on, then what came of it.
fn listen(
    app: &App,
    wants_json: bool,
    talk: impl FnOnce(&Listener<'_>) -> Result<Answered, Failure>,
) -> Result<Exit, Failure> {
    let attended = terminal::is_attended();
    let shows = !app.quiet && attended;
    let tell = |text: &str| {
        if shows {
            render::progress(&format!("{}…", visible(text)));
        }
    };
    let progress = |progress: Progress| {
        if shows {
            let Progress { turn, limit, state, characters, elapsed } = progress;
            let which = if limit > 1 { format!("turn {turn} of {limit} · ") } else { String::new() };
            render::progress(&format!("{which}{state} · {} s · {characters} characters", elapsed.as_secs()));
        }
    };
    let answered = talk(&Listener { attended, tell: &tell, progress: &progress });
    if shows {
        render::end_progress();
    }
    let answered = answered?;
    let outcome = &answered.outcome;
    match (wants_json, &answered.answer) {
        (true, _) => document::print(&outcome.to_json()),
        (false, Some(answer)) => print_answer(answer),
        (false, None) => {}
    }
    if !app.quiet {
        outcome.notes.iter().for_each(|text| render::note(format!("note: {}", visible(text))));
        render::note(format!("session: {}", RepoPath::from(outcome.session.as_str()).typed()));
    }
    if let Some(trouble) = &outcome.error {
        let failure = Failure { hints: trouble.hints.clone(), ..Failure::new(Kind::Other, trouble.message.as_str()) };
        render::failure(&failure);
    }
    Ok(Exit::from(outcome.status))
}

/// Prints what a model wrote: as it is into a file or a pipe, with control characters made visible on a terminal.
fn print_answer(answer: &str) {
    use std::io::IsTerminal;
    if std::io::stdout().is_terminal() {
        answer.lines().for_each(|line| render::out(visible(line)));
    } else {
        let _ = std::io::stdout().write_all(answer.as_bytes()).and_then(|()| std::io::stdout().write_all(b"\n"));
    }
}

fn print_preview(preview: &Value) {
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
