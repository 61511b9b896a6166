//! The canonical patch: as git would write it, with all context copied from the file.

use super::edit::Edit;
use super::edit::apply;
use super::mend::Mend;
use super::plan::ApplyPlan;
use super::plan::HunkState;
use super::plan::PlannedFile;
use super::plan::PlannedHunk;
use crate::base::quote;
use crate::change::Mode;
use crate::patch::FileKind;

const CONTEXT: usize = 3;

impl ApplyPlan {
    /// Returns the patch of the hunks that are kept, by the numbers of file and hunk. A file of which no hunk is kept is
    /// left out; a file without hunks is asked for as its hunk 0.
    pub fn canonical(&self, keep: &dyn Fn(usize, usize) -> bool) -> Vec<u8> {
        let mut patch = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            if let Some(edits) = file.kept(number, keep) {
                write_file(&mut patch, file, &edits);
            }
        }
        patch
    }

    /// Returns what was mended in each hunk of the canonical patch. One that stands for several of the reply has the
    /// mends of all of them.
    pub fn canonical_mends(&self, keep: &dyn Fn(usize, usize) -> bool) -> Vec<Vec<Mend>> {
        let mut mends = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let edits = file.kept(number, keep).unwrap_or_default();
            for group in groups(&edits) {
                let in_group = |hunk: &&PlannedHunk| match &hunk.state {
                    HunkState::Placed { edits, .. } => {
                        edits.iter().any(|edit| group.iter().any(|kept| std::ptr::eq(*kept, edit)))
                    }
                    HunkState::Unplaced { .. } => false,
                };
                let mut joined: Vec<Mend> = Vec::new();
                for mend in file.hunks.iter().filter(in_group).flat_map(|hunk| &hunk.mends) {
                    if !joined.contains(mend) {
                        joined.push(*mend);
                    }
                }
                mends.push(joined);
            }
        }
        mends
    }
}

/// Splits edits where enough lines lie between them for two hunks.
fn groups<'a, 'e>(edits: &'a [&'e Edit]) -> impl Iterator<Item = &'a [&'e Edit]> {
    edits.chunk_by(|before, after| after.at <= before.end() + 2 * CONTEXT)
}

impl PlannedFile {
    /// Returns the edits of the hunks that are kept, in order; `None` when the file is left out.
    fn kept(&self, number: usize, keep: &dyn Fn(usize, usize) -> bool) -> Option<Vec<&Edit>> {
        if self.hunks.is_empty() {
            return keep(number, 0).then(Vec::new);
        }
        let mut any = false;
        let mut edits = Vec::new();
        for (position, hunk) in self.hunks.iter().enumerate() {
            if let HunkState::Placed { edits: own, .. } = &hunk.state
                && keep(number, position)
            {
                any = true;
                edits.extend(own);
            }
        }
        edits.sort_by_key(|edit| (edit.at, edit.end()));
        any.then_some(edits)
    }

    /// Returns the content after the hunks that are kept; `None` when the file goes away.
    pub fn new_bytes(&self, number: usize, keep: &dyn Fn(usize, usize) -> bool) -> Option<Vec<u8>> {
        if self.kind == FileKind::Delete {
            return None;
        }
        let edits = self.kept(number, keep).unwrap_or_default();
        Some(apply(self.old_bytes.as_deref().map_or(&[], Vec::as_slice), &edits))
    }
}

fn write_file(patch: &mut Vec<u8>, file: &PlannedFile, edits: &[&Edit]) {
    let name = |prefix: &str, path: &[u8]| quote(&[prefix.as_bytes(), path].concat());
    let (Some(old), Some(new)) =
        (file.old_path.as_ref().or(file.new_path.as_ref()), file.new_path.as_ref().or(file.old_path.as_ref()))
    else {
        return;
    };
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let mut line = |text: String| {
        patch.extend_from_slice(text.as_bytes());
        patch.push(b'\n');
    };
    line(format!("diff --git {} {}", name("a/", old), name("b/", new)));
    let mode = |mode: Option<Mode>| mode.unwrap_or(Mode::Regular).as_str();
    match file.kind {
        FileKind::Add => line(format!("new file mode {}", mode(file.new_mode))),
        FileKind::Delete => line(format!("deleted file mode {}", mode(file.old_mode))),
        _ if file.old_mode != file.new_mode => {
            line(format!("old mode {}", mode(file.old_mode)));
            line(format!("new mode {}", mode(file.new_mode)));
        }
        _ => {}
    }
    let verb = match file.kind {
        FileKind::Rename => Some("rename"),
        FileKind::Copy => Some("copy"),
        _ => None,
    };
    if let Some(verb) = verb {
        if edits.is_empty() {
            line("similarity index 100%".into());
        }
        line(format!("{verb} from {}", name("", old)));
        line(format!("{verb} to {}", name("", new)));
    }
    if edits.is_empty() {
        return;
    }
    // A name with a space ends with a tab, as git writes it.
    let side = |prefix: &str, path: &[u8]| {
        let name = name(prefix, path);
        let tab = if name.contains(' ') && !name.starts_with('"') { "\t" } else { "" };
        format!("{name}{tab}")
    };
    let old_side = if file.kind == FileKind::Add { "/dev/null".into() } else { side("a/", old) };
    let new_side = if file.kind == FileKind::Delete { "/dev/null".into() } else { side("b/", new) };
    line(format!("--- {old_side}"));
    line(format!("+++ {new_side}"));
    write_hunks(patch, file.old_bytes.as_deref().map_or(&[], Vec::as_slice), edits);
}

fn write_hunks(patch: &mut Vec<u8>, old: &[u8], edits: &[&Edit]) {
    let lines: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut shift = 0_isize;
    for group in groups(edits) {
        let start = group[0].at.saturating_sub(CONTEXT);
        let end = (group[group.len() - 1].end() + CONTEXT).min(lines.len());
        let added: usize = group.iter().map(|edit| edit.added.len()).sum();
        let removed: usize = group.iter().map(|edit| edit.removed).sum();
        let (old_len, new_len) = (end - start, end - start + added - removed);
        let new_start = start.saturating_add_signed(shift);
        let range = |start: usize, len: usize| match len {
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{len}", start + 1),
        };
        patch.extend(format!("@@ -{} +{} @@\n", range(start, old_len), range(new_start, new_len)).bytes());
        let mut at = start;
        for edit in group {
            for line in &lines[at..edit.at] {
                write_line(patch, b' ', line, true);
            }
            let reaches_end = edit.end() == lines.len();
            for line in &lines[edit.at..edit.end()] {
                write_line(patch, b'-', line, true);
            }
            for (position, line) in edit.added.iter().enumerate() {
                let last = reaches_end && position + 1 == edit.added.len();
                write_line(patch, b'+', line, !(last && edit.final_newline == Some(false)));
            }
            at = edit.end();
        }
        for line in &lines[at..end] {
            write_line(patch, b' ', line, true);
        }
        shift += isize::try_from(added).unwrap_or(0) - isize::try_from(removed).unwrap_or(0);
    }
}

/// Writes a line of the old file with its newline or a marker; a new line has none and says whether it gets one.
fn write_line(patch: &mut Vec<u8>, marker: u8, line: &[u8], newline: bool) {
    patch.push(marker);
    patch.extend_from_slice(line.strip_suffix(b"\n").filter(|_| marker != b'+').unwrap_or(line));
    patch.push(b'\n');
    let ends = if marker == b'+' { newline } else { line.ends_with(b"\n") };
    if !ends {
        patch.extend_from_slice(b"\\ No newline at end of file\n");
    }
}
