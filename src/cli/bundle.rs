//! `git oracle bundle`.

use std::collections::BTreeMap;
use std::io;
use std::io::BufWriter;
use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::base::parse_size;
use crate::base::plural;
use crate::base::visible;
use crate::bundle::Exclusion;
use crate::bundle::Format;
use crate::bundle::Limits;
use crate::bundle::Package;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::bundle;
use crate::flows::bundle::Request;

/// Lists say no more than their beginning.
const SHOWN: usize = 10;

/// Pack files of the working tree for somebody who cannot see them
///
/// Takes tracked files, and untracked ones that are not ignored, and leaves out with a reason what is ignored, a symlink,
/// binary, too large, or looks like a secret. The text goes to stdout and a zip archive into a file or a pipe; the same
/// files always give the same bytes. What providers do with archives varies, so text is the default.
#[derive(clap::Args, Debug)]
pub(super) struct BundleArgs {
    /// What to pack, from the top of the repository: src/, '*.md', 'src/**/*.rs', '!src/generated'; everything if nothing
    /// is named
    #[arg(value_name = "GLOB")]
    globs: Vec<String>,

    /// One text, or an archive with a manifest
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: FormatArg,

    /// Write to FILE instead of stdout; it appears whole or not at all
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Leave out larger files: bytes, or a number with K, M or G [default: 1M]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_file_size: Option<u64>,

    /// Leave out files that no longer fit: bytes, or a number with K, M or G [default: 20M]
    #[arg(long, value_name = "N", value_parser = limit)]
    max_total_size: Option<u64>,

    /// Show what would be packed and what is left out; write nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the manifest and what is left out as one JSON document; needs --output or --dry-run
    #[arg(long)]
    json: bool,
}

impl BundleArgs {
    pub(super) const fn wants_json(&self) -> bool {
        self.json
    }
}

#[derive(clap::ValueEnum, Debug, Clone, Copy)]
enum FormatArg {
    Text,
    Zip,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Text => Format::Text,
            FormatArg::Zip => Format::Zip,
        }
    }
}

fn limit(text: &str) -> Result<u64, String> {
    match parse_size(text) {
        Some(size) if size <= Limits::MAX.total => Ok(size),
        Some(_) => Err("a package is made in memory, 1G is the most".to_owned()),
        None => Err("bytes, or a number with K, M or G".to_owned()),
    }
}

pub(super) fn bundle(app: &App, args: BundleArgs) -> Result<Exit, Failure> {
    let output = args.output.filter(|output| output != Path::new("-"));
    let to_stdout = output.is_none() && !args.dry_run;
    if to_stdout && args.json {
        return Err(Failure::new(Kind::Usage, "--json and the package cannot both go to stdout")
            .hinted("Add --output FILE, or --dry-run."));
    }
    let format = Format::from(args.format);
    if to_stdout && format == Format::Zip && io::stdout().is_terminal() {
        return Err(Failure::new(Kind::Usage, "a zip archive is not written to a terminal")
            .hinted("Add --output context.zip, or --dry-run."));
    }
    let request = Request {
        patterns: args.globs,
        format,
        max_file_size: args.max_file_size,
        max_total_size: args.max_total_size,
        output,
    };
    let package = bundle::pack(&app.flows, &request)?;
    match &request.output {
        _ if args.dry_run => {}
        Some(path) => bundle::save(&app.flows, &package, path)?,
        None => print(&package)?,
    }
    if args.json {
        document::print(&describe(&package, &request, args.dry_run)?);
    } else if args.dry_run {
        preview(&package, &request)?;
    } else if !app.quiet {
        render::note(summary(&package));
        left_out(&package).into_iter().for_each(render::note);
    }
    Ok(Exit::Success)
}

/// Writes a package to stdout. A reader that went away is no error of ours.
fn print(package: &Package) -> Result<(), Failure> {
    let stdout = io::stdout().lock();
    let written = if stdout.is_terminal() {
        // A terminal obeys what is in files, a pipe gets them as they are.
        let mut text = Vec::new();
        let made = package.write_to(&mut text);
        made.and_then(|()| { stdout }.write_all(visible(&String::from_utf8_lossy(&text)).as_bytes()))
    } else {
        let mut out = BufWriter::with_capacity(1 << 16, stdout);
        package.write_to(&mut out).and_then(|()| out.flush())
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(&error)),
        _ => Ok(()),
    }
}

fn unwritten(error: &io::Error) -> Failure {
    Failure::new(Kind::Other, format!("failed to write the package: {error}"))
        .hinted("Check that there is room where it goes, or pack less.")
}

/// Returns how much it is, in one line.
fn summary(package: &Package) -> String {
    let manifest = &package.manifest;
    format!(
        "packed {}, {}, about {}",
        plural(manifest.file_count as u64, "file"),
        plural(manifest.total_bytes, "byte"),
        plural(package.estimated_tokens(), "token"),
    )
}

/// Returns what was left out: how many for each reason, and the first of them.
fn left_out(package: &Package) -> Vec<String> {
    let all = &package.exclusions;
    if all.is_empty() {
        return Vec::new();
    }
    let mut counts = BTreeMap::new();
    all.iter().for_each(|left| *counts.entry(left.reason).or_insert(0) += 1);
    let counts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {}", reason.as_str())).collect();
    let mut lines = vec![format!("left out {}: {}", all.len(), counts.join(", "))];
    lines.extend(all.iter().take(SHOWN).map(line));
    if all.len() > SHOWN {
        lines.push(format!("  … and {} more", all.len() - SHOWN));
    }
    lines
}

fn line(left: &Exclusion) -> String {
    let detail = left.detail.as_ref().map(|detail| format!(" ({})", visible(detail))).unwrap_or_default();
    format!("  {}: {}{detail}", left.path, left.reason.as_str())
}

/// Returns where the package goes.
fn planned(request: &Request) -> String {
    request.output.as_ref().map_or_else(|| "stdout".to_owned(), |path| visible(&path.to_string_lossy()).into_owned())
}

/// Writes what would be packed.
fn preview(package: &Package, request: &Request) -> Result<(), Failure> {
    let manifest = &package.manifest;
    let bytes = package.bytes().map_err(|error| unwritten(&error))?;
    render::out(format!("format: {}", package.format.as_str()));
    render::out(format!("files: {}", manifest.file_count));
    render::out(format!("bytes: {}", manifest.total_bytes));
    render::out(format!("{} bytes: {bytes}", package.format.as_str()));
    render::out(format!("estimated tokens: {}", package.estimated_tokens()));
    render::out(format!("output: {}", planned(request)));
    render::out("manifest:");
    for file in manifest.files.iter().take(SHOWN) {
        render::out(format!("  {}: {}", file.path, plural(file.bytes, "byte")));
    }
    if manifest.files.len() > SHOWN {
        render::out(format!("  … and {} more", manifest.files.len() - SHOWN));
    }
    left_out(package).into_iter().for_each(render::out);
    Ok(())
}

fn describe(package: &Package, request: &Request, dry_run: bool) -> Result<Value, Failure> {
    let bytes = package.bytes().map_err(|error| unwritten(&error))?;
    let left = |exclusion: &Exclusion| {
        let mut fields = json!(exclusion);
        fields["detail"] = json!(exclusion.detail);
        fields
    };
    Ok(json!({
        "format": package.format.as_str(),
        "dryRun": dry_run,
        "fileCount": package.manifest.file_count,
        "totalBytes": package.manifest.total_bytes,
        "packageBytes": bytes,
        "estimatedTokens": package.estimated_tokens(),
        "output": request.output.as_ref().map(|path| path.to_string_lossy()),
        "manifest": package.manifest,
        "excluded": package.exclusions.iter().map(left).collect::<Vec<_>>(),
    }))
}
