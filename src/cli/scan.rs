//! `git oracle scan`.

use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::RepoPath;
use crate::base::plural;
use crate::base::put_path;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::cli::sarif;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::scan;
use crate::flows::scan::Match;
use crate::flows::scan::Outcome;
use crate::flows::scan::Subject;
use crate::secret::Piece;
use crate::secret::Stream;

/// Find secrets: keys, tokens, passwords
///
/// Scans files and directories (what git ignores in them is left out), stdin, what is staged, or the lines that a range
/// of commits adds. Exits with 3 when a secret is found, with 0 when there is none, and with 1 when something could not be
/// read. No output ever has a secret in it.
#[derive(clap::Args, Debug)]
pub(super) struct ScanArgs {
    /// Files and directories; `-` is stdin, nothing is the current directory
    paths: Vec<PathBuf>,

    /// Scan what `git commit` would add now
    #[arg(long, conflicts_with_all = ["paths", "range", "redact"])]
    staged: bool,

    /// Scan the lines that the commits from A (without it) to B add
    #[arg(long, value_name = "A..B", conflicts_with_all = ["paths", "redact"])]
    range: Option<String>,

    /// Copy stdin to stdout with each secret as ***REDACTED*** and no other byte changed
    #[arg(long, conflicts_with_all = ["json", "format"])]
    redact: bool,

    /// Print the salted hash by which each finding could be allowed
    #[arg(long, requires = "paths", conflicts_with = "redact")]
    show_hashes: bool,

    /// How to print the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// One line for each secret: `path:line:column: label`
    Text,
    /// One JSON document (schemas/scan_report.v1.json)
    Json,
    /// SARIF 2.1.0
    Sarif,
}

impl ScanArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json || matches!(self.format, Format::Json)
    }

    fn is_stdin(&self) -> bool {
        self.paths.iter().any(|path| path == Path::new("-"))
    }
}

pub(super) fn scan(app: &App, args: ScanArgs) -> Result<Exit, Failure> {
    let format = if args.wants_json() { Format::Json } else { args.format };
    if args.redact {
        return match args.paths.is_empty() || args.is_stdin() && args.paths.len() == 1 {
            true => redact(app),
            false => Err(Failure::new(Kind::Usage, "--redact copies stdin to stdout and takes no files")
                .hinted("git oracle scan --redact < FILE")),
        };
    }
    let outcome = match (args.range, args.staged) {
        (Some(range), _) => scan::run(&app.flows, &Subject::Range(range))?,
        (None, true) => scan::run(&app.flows, &Subject::Staged)?,
        (None, false) if args.paths.iter().any(|path| path == Path::new("-")) => match args.paths.len() {
            1 => scan_stdin(app)?,
            _ => return Err(Failure::new(Kind::Usage, "`-` is stdin, and stands alone")),
        },
        (None, false) => scan::run(&app.flows, &Subject::Paths { paths: args.paths, hashes: args.show_hashes })?,
    };
    match (format, scan::incomplete(&outcome.unreadable)) {
        (Format::Json, Some(failure)) if outcome.matches.is_empty() => return Err(failure),
        (Format::Json, _) => document::print(&describe(&outcome)),
        (Format::Sarif, _) => document::print(&sarif::scan_document(&outcome)),
        (Format::Text, _) => print(app, &outcome),
    }
    match (outcome.matches.is_empty(), scan::incomplete(&outcome.unreadable)) {
        (false, Some(failure)) => {
            render::failure(&failure);
            Ok(Exit::SecretDetected)
        }
        (false, None) => Ok(Exit::SecretDetected),
        (true, Some(failure)) => Err(failure),
        (true, None) => Ok(Exit::Success),
    }
}

/// Copies stdin to stdout without its secrets.
fn redact(app: &App) -> Result<Exit, Failure> {
    let guard = scan::guard(&app.flows)?;
    let mut found = false;
    let mut stdout = io::stdout().lock();
    // What leaves a program for a reader elsewhere knows no exceptions.
    let path = RepoPath::from("-");
    let mut stream = Stream::new(guard.scanner(), &path, crate::secret::Strictness::Strict);
    let failed = |error: io::Error| Failure::new(Kind::Other, format!("failed to write to stdout: {error}"));
    let mut write = |piece: Piece| {
        found |= !piece.findings.is_empty();
        stdout.write_all(&piece.redacted)
    };
    read_stdin(|piece| write(stream.push(piece)).map_err(failed))?;
    write(stream.finish()).map_err(failed)?;
    stdout.flush().map_err(failed)?;
    Ok(if found { Exit::SecretDetected } else { Exit::Success })
}

fn scan_stdin(app: &App) -> Result<Outcome, Failure> {
    let guard = scan::guard(&app.flows)?;
    let path = RepoPath::from("-");
    let mut outcome = Outcome::default();
    let mut stream = Stream::new(guard.scanner(), &path, guard.allowing());
    let mut keep = |piece: Piece| {
        outcome.allowed += piece.allowed;
        outcome.matches.extend(piece.findings.iter().map(|finding| scan::found(&path, finding)));
    };
    read_stdin(|piece| {
        keep(stream.push(piece));
        Ok(())
    })?;
    keep(stream.finish());
    Ok(outcome)
}

fn read_stdin(mut take: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut stdin = io::stdin().lock();
    let mut piece = vec![0; 256 << 10];
    loop {
        match stdin.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&piece[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Failure::new(Kind::Other, format!("failed to read stdin: {error}"))
                    .hinted("Pass the text on stdin, or name a file."));
            }
        }
    }
}

fn describe(outcome: &Outcome) -> Value {
    let matches: Vec<Value> = outcome.matches.iter().map(describe_match).collect();
    let status = if matches.is_empty() { "ok" } else { "matches_detected" };
    json!({"status": status, "matches": matches, "allowed": outcome.allowed})
}

fn describe_match(found: &Match) -> Value {
    let Match { path, commit, secret, hash } = found;
    let mut fields = Map::new();
    fields.insert("label".into(), json!(secret.label));
    fields.insert("rule".into(), json!(secret.rule));
    put_path(&mut fields, "path", path);
    fields.insert("line".into(), json!(secret.line));
    fields.insert("column".into(), json!(secret.column));
    fields.insert("end_line".into(), json!(secret.end_line));
    fields.insert("preview".into(), json!(secret.preview));
    if let Some(commit) = commit {
        fields.insert("commit".into(), json!(commit.to_string()));
    }
    if let Some(hash) = hash {
        fields.insert("hash".into(), json!(hash));
    }
    Value::Object(fields)
}

fn print(app: &App, outcome: &Outcome) {
    for Match { path, commit, secret, hash } in &outcome.matches {
        let commit = commit.map(|id| format!(" (in {})", id.short())).unwrap_or_default();
        render::out(format!("{path}:{}:{}: {} {}{commit}", secret.line, secret.column, secret.label, secret.preview));
        if let Some(hash) = hash {
            render::out(format!("  hash = \"{hash}\""));
        }
    }
    if app.quiet {
        return;
    }
    let allowed = match outcome.allowed {
        0 => String::new(),
        count => format!(", {count} allowed"),
    };
    render::note(format!("{}{allowed}", plural(outcome.matches.len() as u64, "secret")));
    if !outcome.matches.is_empty() {
        render::hint("Take it out and read it from the environment; revoke it if anybody else has it.");
    }
}
