//! `*** Begin Patch` blocks: files are updated, added, deleted and moved; `@@` lines name a line above the change.

use super::section::LooseHunk;
use super::section::Moved;
use super::section::Name;
use super::section::Op;
use super::section::Operation;
use super::section::Section;
use super::section::Style;
use super::unified::Read;
use super::unified::parse_header;
use super::unified::push_line;
use super::unified::trimmed;

/// Reads the blocks from the first `*** Begin Patch` on. `None` when the last one has no end.
pub fn read_begin_patch(lines: &[&[u8]]) -> Result<Option<Read>, String> {
    let mut sections = Vec::new();
    let mut inside = false;
    let mut taken = 0;
    let mut at = 0;
    while at < lines.len() {
        let line = trimmed(lines[at]);
        let word = line.trim_ascii();
        if word == b"*** Begin Patch" {
            if inside {
                return Err("a second `*** Begin Patch` comes before the end of the first".into());
            }
            inside = true;
        } else if word == b"*** End Patch" && inside {
            inside = false;
            taken = at + 1;
        } else if inside && let Some(mut section) = start_section(line, at) {
            at = read_section(lines, at + 1, &mut section)?;
            sections.push(section);
            continue;
        } else if inside && !line.is_empty() {
            return Err(format!("line {} of the block belongs to no file", at + 1));
        }
        at += 1;
    }
    Ok((!inside).then_some(Read { sections, taken }))
}

fn start_section(line: &[u8], at: usize) -> Option<Section> {
    let after = |word: &str| line.strip_prefix(word.as_bytes()).map(|name| name.trim_ascii().to_vec());
    let section = Section { line: at + 1, style: Style::BeginPatch, ..Section::default() };
    if let Some(name) = after("*** Update File: ") {
        let new = Some(Name::Path(name.clone()));
        Some(Section { operation: Some(Operation::Update), old: Some(Name::Path(name)), new, ..section })
    } else if let Some(name) = after("*** Add File: ") {
        let (old, new) = (Some(Name::Null), Some(Name::Path(name)));
        Some(Section { operation: Some(Operation::Add), old, new, ..section })
    } else if let Some(name) = after("*** Delete File: ") {
        let (old, new) = (Some(Name::Path(name)), Some(Name::Null));
        Some(Section { operation: Some(Operation::Delete), old, new, ..section })
    } else {
        None
    }
}

fn read_section(lines: &[&[u8]], mut at: usize, section: &mut Section) -> Result<usize, String> {
    let mut hunk: Option<LooseHunk> = None;
    while at < lines.len() {
        let line = trimmed(lines[at]);
        if let Some(name) = line.strip_prefix(b"*** Move to: ") {
            let name = name.trim_ascii().to_vec();
            let Some(Name::Path(from)) = section.old.clone() else {
                return Err("a file that is added or deleted is moved".into());
            };
            section.new = Some(Name::Path(name.clone()));
            section.moved = Some(Moved { from: Some(from), to: Some(name), copy: false });
        } else if line.trim_ascii() == b"*** End of File" {
            if let Some(hunk) = &mut hunk {
                hunk.at_end = true;
            }
        } else if line.starts_with(b"*** ") {
            break;
        } else if line.starts_with(b"@@") {
            let header = parse_header(line);
            // Several such lines in a row narrow the place down.
            if let Some(open) = hunk.as_mut().filter(|hunk| hunk.lines.is_empty() && !hunk.header.is_empty()) {
                open.anchors.extend(Some(header.rest).filter(|rest| !rest.is_empty()));
            } else {
                section.hunks.extend(hunk.take());
                let numbered = header.old_start.is_some();
                let anchors = Some(header.rest).filter(|rest| !rest.is_empty() && !numbered).into_iter().collect();
                hunk = Some(LooseHunk {
                    line: at + 1,
                    header: line.to_vec(),
                    old_start: header.old_start,
                    anchors,
                    ..LooseHunk::default()
                });
            }
        } else {
            push_line(hunk.get_or_insert_with(|| LooseHunk { line: at + 1, ..LooseHunk::default() }), lines[at]);
        }
        at += 1;
    }
    section.hunks.extend(hunk.take());
    // Empty lines between files belong to none of them.
    section.hunks.retain(|hunk| hunk.lines.iter().any(|line| !line.soft));
    if section.operation == Some(Operation::Add) {
        for hunk in &mut section.hunks {
            while hunk.lines.last().is_some_and(|line| line.soft) {
                hunk.lines.pop();
            }
            if hunk.lines.iter().any(|line| line.op != Op::Added) {
                return Err("an added file has lines without `+`".into());
            }
        }
    }
    Ok(at)
}
