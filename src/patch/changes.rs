//! A patch as a change set, so that the gate judges it like any other change.

use crate::base::RepoPath;
use crate::change::Change;
use crate::change::ChangeSet;
use crate::change::Entry;
use crate::change::Mode;
use crate::change::Source;
use crate::change::SourceKind;
use crate::change::Step;
use crate::change::StepKind;
use crate::change::has_bidi;
use crate::patch::FileKind;
use crate::patch::FilePatch;
use crate::patch::Line;
use crate::patch::LineKind;
use crate::patch::Patch;

/// What a patch changes, and the files that it holds whole.
pub struct PatchChanges {
    pub set: ChangeSet,
    pub contents: Vec<(RepoPath, Vec<u8>)>,
}

/// Turns a patch into a change set. `present` returns the file that is at a path now; a patch need not state its mode.
pub fn to_changes(patch: &Patch, present: &dyn Fn(&RepoPath) -> Option<Entry>) -> PatchChanges {
    let mut changes = Vec::new();
    let mut contents = Vec::new();
    for file in &patch.files {
        let old_path = file.old_path.clone().map(RepoPath::new);
        let new_path = file.new_path.clone().map(RepoPath::new);
        let there = old_path.as_ref().and_then(present);
        // A change of a file that is not there makes it: git applies it as an addition.
        let adds = file.kind == FileKind::Add || file.kind == FileKind::Modify && there.is_none();
        let old = there.or_else(|| stated(file.old_mode, old_path.is_some() && !adds));
        let new = new_path.as_ref().map(|_| {
            let unstated = old.filter(|_| !adds).map_or(Mode::Regular, |old| old.mode);
            // Without hunks a renamed or copied file is the old one.
            let id = old.and_then(|old| old.id).filter(|_| file.hunks.is_empty() && !file.binary);
            Entry { mode: file.new_mode.and_then(Mode::from_octal).unwrap_or(unstated), id: id.filter(|_| !adds) }
        });
        let moved = match file.kind {
            FileKind::Rename => Some(SourceKind::Rename),
            FileKind::Copy => Some(SourceKind::Copy),
            FileKind::Modify | FileKind::Add | FileKind::Delete => None,
        };
        match (moved, old_path, new_path) {
            (Some(kind), Some(old_path), Some(new_path)) => {
                if kind == SourceKind::Rename {
                    changes.push(Change::new(old_path.clone(), old, None));
                }
                if new.is_some_and(|new| new.mode == Mode::Symlink) && !file.hunks.is_empty() {
                    contents.push((new_path.clone(), whole_content(file)));
                }
                let mut change = Change::new(new_path, None, new);
                change.source =
                    Some(Source { kind, path: old_path, similarity: if file.hunks.is_empty() { 100 } else { 50 } });
                changes.push(with_facts(change, file));
            }
            (_, old_path, new_path) => {
                let Some(path) = new_path.or(old_path) else { continue };
                // A link is one line, so the patch holds its new content whole.
                let is_link = new.is_some_and(|new| new.mode == Mode::Symlink) && !file.hunks.is_empty();
                if (adds || is_link) && !file.binary {
                    contents.push((path.clone(), whole_content(file)));
                }
                // A file that is added over one that is there replaces it.
                let old = old.or_else(|| present(&path));
                changes.push(with_facts(Change::new(path, old, new), file));
            }
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    PatchChanges {
        set: ChangeSet { steps: vec![Step { kind: StepKind::Patch, changes }], faults: Vec::new() },
        contents,
    }
}

fn stated(mode: Option<u32>, exists: bool) -> Option<Entry> {
    exists.then(|| Entry { mode: mode.and_then(Mode::from_octal).unwrap_or(Mode::Regular), id: None })
}

fn added(file: &FilePatch) -> impl Iterator<Item = (usize, &Line)> {
    file.hunks.iter().flat_map(|hunk| {
        let mut number = usize::try_from(hunk.new_start).unwrap_or(usize::MAX);
        hunk.lines.iter().filter_map(move |line| {
            let here = number;
            number = number.saturating_add(usize::from(line.kind != LineKind::Removed));
            (line.kind == LineKind::Added).then_some((here, line))
        })
    })
}

fn with_facts(mut change: Change, file: &FilePatch) -> Change {
    change.facts.binary = file.binary || added(file).any(|(_, line)| line.text.contains(&0));
    change.facts.bidi_lines = added(file).filter(|(_, line)| has_bidi(&line.text)).map(|(number, _)| number).collect();
    change
}

/// Returns the content of a file that the patch holds whole.
fn whole_content(file: &FilePatch) -> Vec<u8> {
    let mut content = Vec::new();
    for line in file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind != LineKind::Removed) {
        content.extend_from_slice(&line.text);
        if line.newline {
            content.push(b'\n');
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Oid;
    use crate::patch::parse_patch;

    fn changes(text: &str) -> PatchChanges {
        let present = |path: &RepoPath| {
            let mode = if path.file_name() == b"link" { Mode::Symlink } else { Mode::Executable };
            path.is_within(b"src").then(|| Entry::object(mode, Oid::from_bytes(&[1; 20]).unwrap()))
        };
        to_changes(&parse_patch(text.as_bytes()).unwrap(), &present)
    }

    #[test]
    fn a_mode_that_is_not_stated_is_the_present_one() {
        let set = changes("--- a/src/link\n+++ b/src/link\n@@ -1 +1 @@\n-a\n+b\n").set;
        let change = &set.steps[0].changes[0];
        assert_eq!(change.old.map(|old| old.mode), Some(Mode::Symlink));
        assert_eq!(change.new.map(|new| new.mode), Some(Mode::Symlink));
    }

    #[test]
    fn a_rename_takes_away_and_adds() {
        let text = "diff --git a/src/a b/lib/a\nsimilarity index 100%\nrename from src/a\nrename to lib/a\n";
        let set = changes(text).set;
        let [added, removed] = &set.steps[0].changes[..] else { panic!("two changes") };
        assert_eq!(
            (added.path.to_string(), added.old, removed.path.to_string(), removed.new),
            ("lib/a".into(), None, "src/a".into(), None)
        );
        assert_eq!(added.source.as_ref().map(|source| source.kind), Some(SourceKind::Rename));
        assert!(added.new.is_some_and(|new| new.id.is_some() && new.mode == Mode::Executable));
    }

    #[test]
    fn new_files_come_with_their_content_and_lines_with_their_numbers() {
        let text = "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+one\n+tw\u{202e}o\n\\ No newline at end of file\n";
        let found = changes(text);
        assert_eq!(found.contents, [(RepoPath::from("new"), "one\ntw\u{202e}o".as_bytes().to_vec())]);
        assert_eq!(found.set.steps[0].changes[0].facts.bidi_lines, [2]);
    }
}
