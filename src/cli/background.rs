//! Runs that go on in the background.
//!
//! Whoever wants that starts this program a second time. The second one works as ever, with the same terminal, as long as
//! something can be refused; before it sends anything it says which session it works on, and leaves the terminal. The
//! first one waits until it hears that, or until the second has ended.

use std::io::Read;
use std::io::Write;
use std::process::Command;
use std::process::Stdio;

use serde_json::json;

use crate::base::RepoPath;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::system;

/// What the second one is told: it is the one that goes on.
const FLAG: &str = "--detached";

/// Begins the line that names the session. Nothing that is printed before an answer is there begins so.
const MARK: char = '\0';

/// Starts the second one and says where it works. What it refuses is passed on.
pub(super) fn start(quiet: bool, wants_json: bool) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Kind::Other, format!("failed to go to the background: {error}")).hinted("Leave out --detach.")
    };
    let mut args: Vec<_> = std::env::args_os().skip(1).collect();
    let end = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    args.insert(end, FLAG.into());
    let program = system::own_program().map_err(failed)?;
    let mut second = Command::new(program).args(args).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut said = Vec::new();
    if let Some(mut output) = second.stdout.take() {
        output.read_to_end(&mut said).map_err(failed)?;
    }
    let text = String::from_utf8_lossy(&said);
    if let Some(slug) = text.strip_prefix(MARK) {
        let slug = slug.trim_end();
        match wants_json {
            true => document::print(&json!({"session": slug, "status": "running"})),
            false => render::out(slug),
        }
        if !quiet {
            render::note(format!("next: git oracle session attach {}", RepoPath::from(slug).typed()));
        }
        return Ok(Exit::Success);
    }
    let _ = std::io::stdout().write_all(&said);
    let status = second.wait().map_err(failed)?;
    Ok(Exit::of_code(status.code()))
}

/// Goes to the background, as the second one.
pub(super) fn leave(slug: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{MARK}{slug}")?;
    out.flush()?;
    system::leave_terminal()
}
