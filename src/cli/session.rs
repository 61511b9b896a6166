//! `git oracle session …`.

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::base::plural;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::ask;
use crate::cli::document;
use crate::cli::render;
use crate::cli::session_page;
use crate::flows::Failure;
use crate::flows::session;
use crate::flows::session::KeptSession;
use crate::flows::session::PruneRequest;
use crate::system;

/// Look at what earlier runs left, and throw it away
///
/// Every `apply`, `ask` and `review` keeps a folder in `~/.oracle/sessions/`: what was sent, what came back, what was
/// decided and how it ended.
#[derive(clap::Args, Debug)]
pub(super) struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(clap::Subcommand, Debug)]
enum SessionCommand {
    List(ListArgs),
    Show(ShowArgs),
    Attach(AttachArgs),
    Render(RenderArgs),
    Prune(PruneArgs),
}

/// List the sessions, the oldest first
#[derive(clap::Args, Debug)]
struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Show how a session went
#[derive(clap::Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    which: Which,

    /// Print one JSON document: the session, its result, its files
    #[arg(long)]
    json: bool,
}

/// Wait for a run that is at work, or bring home the answer of one that was cut off
///
/// Nothing is sent. The conversation is opened again and looked through for the request id.
#[derive(clap::Args, Debug)]
struct AttachArgs {
    #[command(flatten)]
    which: Which,

    /// Print the result as one JSON document (schemas/result.v1.json) instead of the answer
    #[arg(long)]
    json: bool,
}

/// Write a session as one page that opens in any browser, without a network
///
/// The page holds the requests, the answers, the hunks with their verdicts, the tests, the timing and the screenshots.
/// Nothing in it runs.
#[derive(clap::Args, Debug)]
struct RenderArgs {
    #[command(flatten)]
    which: Which,

    /// Write to FILE instead of session.html in the session's folder
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Remove old sessions
///
/// Sessions that somebody works on and folders of other programs stay.
#[derive(clap::Args, Debug)]
struct PruneArgs {
    /// Remove what is older: 30d, 12h; a number alone is days
    #[arg(long, value_name = "AGE", value_parser = parse_age, required_unless_present = "keep")]
    older_than: Option<u64>,

    /// Keep the youngest N
    #[arg(long, value_name = "N")]
    keep: Option<usize>,

    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
struct Which {
    /// The name of the session
    slug: Option<String>,

    /// The last session
    #[arg(long)]
    last: bool,
}

impl SessionArgs {
    pub(super) const fn wants_json(&self) -> bool {
        match &self.command {
            SessionCommand::List(args) => args.json,
            SessionCommand::Show(args) => args.json,
            SessionCommand::Attach(args) => args.json,
            SessionCommand::Render(_) | SessionCommand::Prune(_) => false,
        }
    }
}

pub(super) fn session(app: &App, args: SessionArgs) -> Result<Exit, Failure> {
    match args.command {
        SessionCommand::List(args) => list(app, &args)?,
        SessionCommand::Show(args) => show(app, &args)?,
        SessionCommand::Attach(args) => return ask::attach(app, args.which.slug.as_deref(), args.json),
        SessionCommand::Render(args) => write_page(app, &args)?,
        SessionCommand::Prune(args) => prune(app, &args)?,
    }
    Ok(Exit::Success)
}

fn list(app: &App, args: &ListArgs) -> Result<(), Failure> {
    let sessions = session::list(&app.flows)?;
    if args.json {
        document::print(&json!({"sessions": sessions.iter().map(|session| json!({
            "id": session.slug,
            "createdAt": session.created_at,
            "status": session::state(session),
            "directory": session.directory.display().to_string(),
        })).collect::<Vec<_>>()}));
        return Ok(());
    }
    let wide = sessions.iter().map(|session| session.slug.len()).max().unwrap_or(0);
    for session in &sessions {
        let (slug, state) = (&session.slug, session::state(session));
        render::out(format!("{}  {slug:<wide$}  {}", moment(session), visible(state)));
    }
    if sessions.is_empty() && !app.quiet {
        render::note("no session yet");
    }
    Ok(())
}

/// Returns when a session began, as far as a person wants to know.
fn moment(session: &KeptSession) -> String {
    let text = visible(&session.created_at).replace('T', " ");
    text.chars().take(16).collect()
}

fn find(app: &App, which: &Which) -> Result<KeptSession, Failure> {
    session::find(&app.flows, which.slug.as_deref())
}

fn show(app: &App, args: &ShowArgs) -> Result<(), Failure> {
    let session = find(app, &args.which)?;
    let result = session.read("result.json");
    if args.json {
        document::print(&json!({
            "session": session.document,
            "status": session::state(&session),
            "result": result,
            "directory": session.directory.display().to_string(),
            "files": session.files(),
        }));
        return Ok(());
    }
    for (name, value) in facts(&session, result.as_ref()) {
        render::out(format!("{name:<9} {}", visible(&value)));
    }
    for line in turns(&session).into_iter().flatten() {
        render::out(line);
    }
    result.iter().flat_map(hunks).for_each(render::out);
    render::out(format!("{:<9} {}", "files", session.files().join(" ")));
    Ok(())
}

/// Returns what was decided about each hunk, and how the tests ended: a line for each.
pub(super) fn hunks(result: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for hunk in result["hunks"].as_array().into_iter().flatten() {
        lines.push(format!("{:<9} {}  {}", text(hunk, "verdict"), text(hunk, "file"), text(hunk, "header")));
        let reasons = hunk["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.extend(reasons.map(|reason| format!("          {}", visible(reason))));
    }
    for test in result["tests"].as_array().into_iter().flatten() {
        lines.push(format!("{:<9} test {}", text(test, "status"), text(test, "name")));
    }
    lines
}

/// Returns what was decided about each answer, where there were several: the lines of each turn.
pub(super) fn turns(session: &KeptSession) -> Vec<Vec<String>> {
    let judgements = session::judgements(session);
    if judgements.len() < 2 {
        return Vec::new();
    }
    let lines = |facts: Value| {
        let rejected = facts["rejected"].as_array().cloned().unwrap_or_default();
        let turn = format!("turn {}", facts["turn"]);
        let mut lines = vec![format!("{turn:<9} {} agreed, {} rejected", facts["agreed"], rejected.len())];
        for hunk in &rejected {
            let reasons = hunk["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let reasons = reasons.map(|reason| visible(reason).into_owned()).collect::<Vec<_>>().join("; ");
            lines.push(format!("          {}  {}  {reasons}", text(hunk, "file"), text(hunk, "header")));
        }
        let why = text(&facts["shortfall"], "message");
        if !why.is_empty() && rejected.is_empty() {
            lines.push(format!("          {why}"));
        }
        lines
    };
    judgements.into_iter().map(lines).collect()
}

fn text(value: &Value, field: &str) -> String {
    visible(value[field].as_str().unwrap_or_default()).into_owned()
}

/// Returns what there is to say about a session, a line each. The texts are as they were written.
pub(super) fn facts(session: &KeptSession, result: Option<&Value>) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("session", session.slug.clone()),
        ("status", session::state(session).to_owned()),
        ("began", session.created_at.clone()),
        ("folder", session.directory.display().to_string()),
    ];
    let mut add = |name: &'static str, value: &Value| match value {
        Value::String(text) => facts.push((name, text.clone())),
        Value::Number(number) => facts.push((name, number.to_string())),
        _ => {}
    };
    let document = &session.document;
    for (name, field) in [("in", "cwd"), ("page", "platform"), ("model", "model"), ("prompt", "promptPreview")] {
        add(name, &document[field]);
    }
    let Some(result) = result else { return facts };
    for (name, field) in [
        ("branch", "branch"),
        ("mode", "applyMode"),
        ("commit", "commitSha"),
        ("captured", "capture"),
        ("ended by", "completionPath"),
        ("no patch", "diffReason"),
    ] {
        add(name, &result[field]);
    }
    let turns = |field: &str| result["turns"][field].as_u64();
    if let (Some(used), Some(limit)) = (turns("used"), turns("limit")) {
        let more = if result["turns"]["limitHit"] == true { "; there was more to ask" } else { "" };
        add("turns", &Value::String(format!("{used} of {limit}{more}")));
    }
    add("error", &result["error"]["message"]);
    add("hint", &result["error"]["hint"]);
    facts
}

fn write_page(app: &App, args: &RenderArgs) -> Result<(), Failure> {
    let session = find(app, &args.which)?;
    let place = match &args.output {
        Some(path) => app.flows.environment.current_dir.join(path),
        None => session.directory.join("session.html"),
    };
    let story = session::story(session);
    let page = session_page::page(&story);
    system::write_private(&place, page.as_bytes())?;
    render::out(visible(&place.display().to_string()));
    Ok(())
}

fn prune(app: &App, args: &PruneArgs) -> Result<(), Failure> {
    let plan = session::plan_prune(&app.flows, PruneRequest { older_than: args.older_than, keep: args.keep })?;
    plan.sessions.iter().for_each(|session| render::out(&session.slug));
    let (count, kept) = (plural(plan.sessions.len() as u64, "session"), plan.kept);
    let word = if args.dry_run { "would be removed" } else { "removed" };
    if !args.dry_run {
        plan.carry_out()?;
    }
    if !app.quiet {
        render::note(format!("{count} {word}, {kept} kept"));
    }
    Ok(())
}

/// Reads an age as seconds.
fn parse_age(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['d', 'h']) {
        Some(number) if text.ends_with('h') => (number, 3600),
        Some(number) => (number, 86_400),
        None => (text, 86_400),
    };
    let number: u64 = number.parse().map_err(|_| "an age is a number of days or hours: 30d, 12h".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "nothing is so old".to_owned())
}
