//! `git oracle extract`.

use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::put_path;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::extract;
use crate::flows::extract::MAX_REPLY_BYTES;
use crate::flows::extract::Outcome;
use crate::flows::extract::Request;
use crate::patch::place::HunkState;
use crate::patch::place::PlannedFile;
use crate::patch::place::PlannedHunk;
use crate::secret::Scanner;
use crate::system;

/// Print the patch that a reply holds, as git would write it
///
/// Finds the patch in an assistant's answer (fenced, bare or Begin-Patch), mends what is certainly a defect of
/// transcription, and places it in the files of the repository. Prints the canonical patch, which `git apply` takes, and
/// nothing else. Exits with 2 when the reply has no patch, or none that has one certain place.
#[derive(clap::Args, Debug)]
pub(super) struct ExtractArgs {
    /// The reply; `-` or nothing reads it from stdin
    file: Option<PathBuf>,

    /// Print candidates, scores, reasons and hunks as one JSON document
    #[arg(long)]
    json: bool,

    /// Place the patch in the files of REV instead of the index
    #[arg(long, value_name = "REV")]
    at: Option<String>,

    /// The commit that the reply was asked about: a file that changed since is merged
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Ask for numbers in every hunk header and a hunk for every file
    #[arg(long)]
    strict_diff: bool,

    /// Refuse a patch that touches anything outside of DIR
    #[arg(long, value_name = "DIR")]
    restrict_path_prefix: Option<String>,
}

pub(super) fn extract(app: &App, args: ExtractArgs) -> Result<Exit, Failure> {
    let reply = read_reply(args.file.as_deref())?;
    let ExtractArgs { json, at, base, strict_diff: strict, restrict_path_prefix: restrict, .. } = args;
    let outcome = extract::run(&app.flows, &Request { reply, at, base, strict, restrict })?;
    if json {
        document::print(&describe(&outcome));
    } else if let Ok(patch) = &outcome.patch
        && outcome.secrets.is_empty()
    {
        let _ = std::io::stdout().write_all(patch);
    }
    outcome.failure().map_or(Ok(Exit::Success), Err)
}

/// Reads a reply from a file, or from stdin when none is named or it is called `-`.
pub(super) fn read_reply(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    if let Some(path) = file.filter(|path| *path != Path::new("-")) {
        return Ok(system::read_limited(path, MAX_REPLY_BYTES)?);
    }
    let mut reply = Vec::new();
    let failed = |reason: String| Failure::new(Kind::Other, format!("failed to read the reply from stdin: {reason}"));
    std::io::stdin()
        .lock()
        .take(MAX_REPLY_BYTES + 1)
        .read_to_end(&mut reply)
        .map_err(|error| failed(error.to_string()))?;
    if reply.len() as u64 > MAX_REPLY_BYTES {
        return Err(failed("it is too long".into()).hinted("Pass the answer alone."));
    }
    Ok(reply)
}

fn describe(outcome: &Outcome) -> Value {
    let dropped =
        |number: usize| outcome.plan.as_ref().and_then(|plan| plan.dropped.iter().find(|(at, _)| *at == number));
    let candidates: Vec<Value> = outcome
        .extraction
        .candidates
        .iter()
        .enumerate()
        .map(|(number, candidate)| {
            let (taken, why) =
                dropped(number).map_or((candidate.taken, candidate.why.as_str()), |(_, why)| (false, *why));
            json!({"kind": candidate.kind.as_str(), "line": candidate.line, "label": candidate.label,
                "score": candidate.score, "taken": taken, "reason": why})
        })
        .collect();
    let refusal = outcome.patch.as_ref().err();
    let status =
        refusal.map_or("success", |refusal| if refusal.reason.is_missing() { "diff_missing" } else { "invalid_diff" });
    let status = if outcome.secrets.is_empty() { status } else { "secret_detected" };
    let scanner = Scanner::built_in();
    let files = outcome.plan.as_ref().map_or(&[][..], |plan| &plan.files);
    json!({
        "status": status,
        "diffScore": outcome.extraction.score(),
        "diffBlocks": candidates.len(),
        "diffReason": refusal.map(|refusal| refusal.reason.as_str()),
        "message": refusal.map(|refusal| &refusal.message),
        "patchBytes": outcome.patch.as_ref().ok().map(Vec::len),
        "candidates": candidates,
        "hunks": files.iter().flat_map(|file| file.hunks.iter().map(|hunk| describe_hunk(file, hunk, &scanner))).collect::<Vec<_>>(),
    })
}

/// Describes a hunk. What it quotes of the reply and of the files is without secrets.
fn describe_hunk(file: &PlannedFile, hunk: &PlannedHunk, scanner: &Scanner) -> Value {
    let clean = |text: &str| String::from_utf8_lossy(&scanner.redact(text.as_bytes()).0).into_owned();
    let mut fields = Map::new();
    if let Some(path) = file.path() {
        put_path(&mut fields, "file", path);
    }
    fields.insert("header".into(), json!(clean(&hunk.header)));
    let (verdict, line, reasons, nearest) = match &hunk.state {
        HunkState::Placed { line, .. } => ("placed", Some(*line), vec![], vec![]),
        HunkState::Unplaced { why, nearest } => ("rejected", None, vec![why.as_str()], nearest.clone()),
    };
    fields.insert("verdict".into(), json!(verdict));
    fields.insert("line".into(), json!(line));
    fields.insert("reasons".into(), json!(reasons));
    fields.insert("mends".into(), json!(hunk.mends.iter().map(|mend| mend.as_str()).collect::<Vec<_>>()));
    fields.insert(
        "nearest".into(),
        nearest.iter().map(|near| json!({"line": near.line, "text": clean(&near.text)})).collect(),
    );
    Value::Object(fields)
}
