//! Real edits, damaged in the ways of a transcription: the result is the true one, or a refusal.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::base::RepoPath;
use crate::change::Mode;
use crate::patch::parse_patch;
use crate::patch::reply::Refusal;
use crate::patch::reply::extract;

struct Memory(HashMap<RepoPath, Arc<Vec<u8>>>, Option<Vec<u8>>);

impl Files for Memory {
    fn look(&self, path: &RepoPath) -> Result<Found, String> {
        Ok(self.0.get(path).map_or(Found::Absent, |bytes| Found::File(Mode::Regular, bytes.clone())))
    }

    fn old_content(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn base(&self, _: &RepoPath) -> Option<Vec<u8>> {
        self.1.clone()
    }
}

/// Returns what a reply makes of the file `f`.
fn outcome(reply: &str, file: &str, base: Option<&str>) -> Result<String, Refusal> {
    let bytes = Arc::new(file.as_bytes().to_vec());
    let files = Memory(HashMap::from([(RepoPath::from("f"), bytes)]), base.map(|base| base.as_bytes().to_vec()));
    let plan = plan(&extract(reply.as_bytes()), &files)?;
    if let Some(trouble) = plan.trouble() {
        return Err(trouble);
    }
    let patch = plan.canonical(&|_, _| true);
    // What is printed is read back by the strict reader, which is the one of the gate.
    let read = parse_patch(&patch).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&patch)));
    assert_eq!(read.files.len(), 1);
    let new = plan.files[0].new_bytes(0, &|_, _| true).unwrap_or_default();
    Ok(String::from_utf8(new).unwrap_or_default())
}

/// An edit of a file of few different lines, so that contexts repeat.
#[derive(Debug, Clone)]
struct Case {
    old: Vec<String>,
    at: usize,
    removed: usize,
    added: Vec<String>,
    context: usize,
}

impl Case {
    fn text(lines: &[String]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn new_lines(&self) -> Vec<String> {
        let mut new = self.old.clone();
        new.splice(self.at..self.at + self.removed, self.added.iter().cloned());
        new
    }

    fn hunk(&self) -> (usize, Vec<String>) {
        let start = self.at.saturating_sub(self.context);
        let end = (self.at + self.removed + self.context).min(self.old.len());
        let context = |line: &String| format!(" {line}");
        let mut lines: Vec<String> = self.old[start..self.at].iter().map(context).collect();
        lines.extend(self.old[self.at..self.at + self.removed].iter().map(|line| format!("-{line}")));
        lines.extend(self.added.iter().map(|line| format!("+{line}")));
        lines.extend(self.old[self.at + self.removed..end].iter().map(context));
        (start, lines)
    }
}

fn line() -> impl Strategy<Value = String> {
    let words =
        ["", "}", "    x = 1;", "\tgo();", "a &lt; b", "if (a < b) {", "  \"q\"  ", "end", "- item", "+ plus", "..."];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 2 => "[a-f]{1,3}".prop_map(|word| format!("    call_{word}();"))]
}

fn case() -> impl Strategy<Value = Case> {
    (
        proptest::collection::vec(line(), 1..30),
        any::<prop::sample::Index>(),
        0..4_usize,
        proptest::collection::vec(line(), 0..4),
        0..4_usize,
    )
        .prop_map(|(old, at, removed, added, context)| {
            let at = at.index(old.len());
            let removed = removed.min(old.len() - at);
            Case { old, at, removed, added, context }
        })
        .prop_filter("it changes something", |case| case.new_lines() != case.old)
}

/// What happens to a hunk on its way.
#[derive(Debug, Clone, Copy)]
enum Damage {
    None,
    Counts,
    Drift(usize),
    NoNumbers,
    LostSpaces,
    TrailingSpace,
    Tabs,
    Escapes,
    CrLf,
    Indent,
    DroppedBlank,
    CutOff(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::None),
        Just(Damage::Counts),
        (1..40_usize).prop_map(Damage::Drift),
        Just(Damage::NoNumbers),
        Just(Damage::LostSpaces),
        Just(Damage::TrailingSpace),
        Just(Damage::Tabs),
        Just(Damage::Escapes),
        Just(Damage::CrLf),
        Just(Damage::Indent),
        Just(Damage::DroppedBlank),
        (1..6_usize).prop_map(Damage::CutOff),
    ]
}

fn render(case: &Case, damage: Damage) -> String {
    let (start, mut lines) = case.hunk();
    let count = |without: char| lines.iter().filter(|line| !line.starts_with(without)).count();
    let (old, new) = (count('+'), count('-'));
    let first = if old == 0 { start } else { start + 1 };
    let header = match damage {
        Damage::Counts => format!("@@ -{first},{} +{first},{} @@", old + 3, new + 1),
        Damage::Drift(by) => format!("@@ -{},{old} +{first},{new} @@", first + by),
        Damage::NoNumbers => "@@ ... @@".to_owned(),
        _ => format!("@@ -{first},{old} +{first},{new} @@"),
    };
    let is_context = |line: &String| line.starts_with(' ');
    match damage {
        Damage::LostSpaces => lines.iter_mut().filter(|line| *line == " ").for_each(String::clear),
        Damage::TrailingSpace => lines
            .iter_mut()
            .filter(|line| is_context(line))
            .for_each(|line| *line = format!(" {}", line[1..].trim_end())),
        Damage::Tabs => {
            lines.iter_mut().filter(|line| is_context(line)).for_each(|line| *line = line.replace('\t', "    "))
        }
        Damage::Escapes => lines.iter_mut().for_each(|line| *line = line.replace('&', "&amp;").replace('<', "&lt;")),
        Damage::DroppedBlank => lines.retain(|line| line != " "),
        Damage::CutOff(by) => lines.truncate(lines.len().saturating_sub(by)),
        _ => {}
    }
    let mut reply = String::from("Here:\n\n");
    let indent = if matches!(damage, Damage::Indent) { "    " } else { "" };
    let close = if matches!(damage, Damage::CutOff(_)) { "" } else { "```" };
    reply.push_str("````diff\n--- a/f\n+++ b/f\n".replace("````", "```").as_str());
    let _ = writeln!(reply, "{header}");
    for line in lines {
        let _ = writeln!(
            reply,
            "{}{}{}",
            line.get(..1).unwrap_or_default(),
            if line.is_empty() { "" } else { indent },
            line.get(1..).unwrap_or_default()
        );
    }
    let _ = writeln!(reply, "{close}");
    if matches!(damage, Damage::CrLf) { reply.replace('\n', "\r\n") } else { reply }
}

/// Tells whether somebody who has only the hunk could mean another place: then a number that is wrong may point there.
fn is_repeated(case: &Case) -> bool {
    let (_, lines) = case.hunk();
    let squeeze = |text: &str| text.split_whitespace().collect::<String>().replace("&lt;", "<");
    let wanted: Vec<String> = lines
        .iter()
        .filter(|line| !line.starts_with('+'))
        .map(|line| squeeze(&line[1..]))
        .filter(|line| !line.is_empty())
        .collect();
    let file: Vec<String> = case.old.iter().map(|line| squeeze(line)).filter(|line| !line.is_empty()).collect();
    wanted.is_empty() || file.windows(wanted.len()).filter(|window| **window == wanted).count() > 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_patch_is_the_true_one_or_refused(case in case(), damage in damage()) {
        let truth = Case::text(&case.new_lines());
        let reply = render(&case, damage);
        let found = outcome(&reply, &Case::text(&case.old), None);
        // In a file that has entities itself, added ones may be meant.
        if matches!(damage, Damage::Escapes) && case.old.iter().any(|line| line.contains("&lt;")) {
            return Ok(());
        }
        let exact = matches!(damage, Damage::None) && case.context > 0;
        match found {
            // A wrong number that points exactly at a copy of the place cannot be told from a right one.
            Ok(new) => prop_assert!(new == truth || matches!(damage, Damage::Drift(_)) && is_repeated(&case), "{reply}\n{new}"),
            Err(refusal) => prop_assert!(!exact || case.hunk().1.iter().all(|line| line.starts_with('+')) || refusal.message.contains("escaped") || refusal.message.contains("left out"), "{reply}\n{refusal}"),
        }
    }

    #[test]
    fn without_a_number_only_a_single_place_is_taken(case in case()) {
        let truth = Case::text(&case.new_lines());
        if let Ok(new) = outcome(&render(&case, Damage::NoNumbers), &Case::text(&case.old), None) {
            prop_assert_eq!(new, truth);
        }
    }

    #[test]
    fn a_file_that_moved_on_is_merged_or_refused(case in case(), other in any::<prop::sample::Index>(), text in "[x-z]{3}") {
        if is_repeated(&case) {
            return Ok(());
        }
        let at = other.index(case.old.len());
        let mut ours = case.old.clone();
        ours[at] = text.clone();
        let found = outcome(&render(&case, Damage::None), &Case::text(&ours), Some(&Case::text(&case.old)));
        if let Ok(new) = found {
            // Both changes are there, each in its place.
            let mut both = ours.clone();
            both.splice(case.at..case.at + case.removed, case.added.iter().cloned());
            prop_assert!(at < case.at || at >= case.at + case.removed);
            prop_assert!(new == Case::text(&both) || is_repeated(&case), "{new}");
        }
    }

    #[test]
    fn no_reply_panics(reply in "(```diff\n|```\n|--- a/f\n|\\+\\+\\+ b/f\n|@@ -1,2 \\+1 @@\n|@@\n| a\n|-b\n|\\+c\n|\n|> |    |\\*\\*\\* (Begin|End) Patch\n|\\*\\*\\* (Update|Add|Delete) File: f\n|\\\\ No newline at end of file\n|\r|[a-z ]{0,5}\n|&lt;|12\\| |\\.\\.\\.\n){0,40}", file in "(a\n|b\n|c|\n|\r\n){0,12}") {
        let _ = outcome(&reply, &file, Some("a\nb\nc\n"));
    }
}
