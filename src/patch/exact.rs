//! Where the hunks of a file stand, to the letter, and what becomes of the file.
//!
//! Nothing is mended here and nothing is guessed: the old lines of a hunk stand where the hunk says, or at exactly one
//! other place, or nowhere.

use memchr::memmem;

use super::hunk::Hunk;
use super::hunk::LineKind;

/// Why a hunk has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    #[error("its old lines are not in the file")]
    Missing,
    #[error("its old lines are in the file more than once, and none of the places is the line it names")]
    Ambiguous,
    #[error("it has no old lines that say where it belongs")]
    Adrift,
}

/// Returns for each hunk the number of lines before it in `content`; hunks follow each other.
pub fn place_exactly(hunks: &[Hunk], content: &[u8]) -> Vec<Result<usize, Misplaced>> {
    // With a newline before the first line, every line begins behind one.
    let text = [b"\n", content].concat();
    let starts: Vec<usize> = memchr::memchr_iter(b'\n', &text).collect();
    let mut floor = 0;
    hunks
        .iter()
        .map(|hunk| {
            let place = place(hunk, &text, &starts, floor)?;
            floor = place + usize::try_from(hunk.old_lines).unwrap_or(usize::MAX - place);
            Ok(place)
        })
        .collect()
}

/// Finds one hunk at or behind line `floor`.
fn place(hunk: &Hunk, text: &[u8], starts: &[usize], floor: usize) -> Result<usize, Misplaced> {
    if hunk.old_lines == 0 {
        return if text.len() == 1 { Ok(0) } else { Err(Misplaced::Adrift) };
    }
    let old = side(hunk, LineKind::Removed);
    let needle = [b"\n", &old[..]].concat();
    let open_ended = !old.ends_with(b"\n");
    // Each newline of `text` is where a line starts, and the one that ends the needle is where the next one does.
    let fits = |at: usize| text[at..].starts_with(&needle) && (!open_ended || at + needle.len() == text.len());
    let named = usize::try_from(hunk.old_start).unwrap_or(usize::MAX).saturating_sub(1);
    if named >= floor && starts.get(named).is_some_and(|at| fits(*at)) {
        return Ok(named);
    }
    let from = *starts.get(floor).ok_or(Misplaced::Missing)?;
    let found = match open_ended {
        true => {
            let at = text.len().checked_sub(needle.len()).filter(|at| *at >= from && fits(*at));
            at.ok_or(Misplaced::Missing)?
        }
        false => {
            let finder = memmem::Finder::new(&needle);
            let first = from + finder.find(&text[from..]).ok_or(Misplaced::Missing)?;
            if finder.find(&text[first + 1..]).is_some() {
                return Err(Misplaced::Ambiguous);
            }
            first
        }
    };
    starts.binary_search(&found).map_err(|_| Misplaced::Missing)
}

/// Returns the lines of a hunk that one side has: context and those of this kind.
fn side(hunk: &Hunk, kind: LineKind) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in hunk.lines.iter().filter(|line| line.kind == LineKind::Context || line.kind == kind) {
        bytes.extend_from_slice(&line.text);
        if line.newline {
            bytes.push(b'\n');
        }
    }
    bytes
}

/// Returns `content` with these hunks applied, each behind the given number of lines, in order.
pub fn patched(content: &[u8], hunks: &[(usize, &Hunk)]) -> Vec<u8> {
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', content).map(|at| at + 1).collect();
    let offset = |line: usize| match line {
        0 => 0,
        _ => ends.get(line - 1).copied().unwrap_or(content.len()),
    };
    let mut result = Vec::with_capacity(content.len());
    let mut copied = 0;
    for (place, hunk) in hunks {
        let start = offset(*place).max(copied);
        result.extend_from_slice(&content[copied..start]);
        result.extend_from_slice(&side(hunk, LineKind::Added));
        copied = start + side(hunk, LineKind::Removed).len().min(content.len() - start);
    }
    result.extend_from_slice(&content[copied..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse_patch;

    fn places(content: &str, body: &str) -> Vec<Result<usize, Misplaced>> {
        let patch = parse_patch(format!("--- a/f\n+++ b/f\n{body}").as_bytes()).unwrap();
        place_exactly(&patch.files[0].hunks, content.as_bytes())
    }

    #[test]
    fn a_hunk_stands_where_it_says_or_at_one_other_place() {
        let cases: [(&str, &str, Result<usize, Misplaced>); 9] = [
            ("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", Ok(1)),
            ("x\na\nb\nc\n", "@@ -2 +2 @@\n-b\n+B\n", Ok(2)),
            ("b\na\nb\n", "@@ -2 +2 @@\n-b\n+B\n", Err(Misplaced::Ambiguous)),
            ("b\na\nb\n", "@@ -3 +3 @@\n-b\n+B\n", Ok(2)),
            ("bb\nab\n", "@@ -2 +2 @@\n-b\n+B\n", Err(Misplaced::Missing)),
            ("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n", Ok(1)),
            ("b\nb\n", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n", Err(Misplaced::Missing)),
            ("a\n", "@@ -1,0 +2 @@\n+b\n", Err(Misplaced::Adrift)),
            ("", "@@ -0,0 +1 @@\n+b\n", Ok(0)),
        ];
        for (content, body, expected) in cases {
            assert_eq!(places(content, body), [expected], "{content:?} {body:?}");
        }
        assert_eq!(places("b\nb\nb\n", "@@ -2 +2 @@\n-b\n+B\n@@ -9 +9 @@\n-b\n+C\n"), [Ok(1), Ok(2)]);
    }

    proptest::proptest! {
        #[test]
        fn what_was_taken_apart_is_put_together(
            before in proptest::collection::vec("[ab]{0,2}", 0..12),
            at in 0..12_usize,
            removed in 0..3_usize,
            added in proptest::collection::vec("[abc]{0,2}", 0..3),
        ) {
            let at = at.min(before.len());
            let end = (at + removed).min(before.len());
            let mut after = before.clone();
            after.splice(at..end, added.clone());
            proptest::prop_assume!(before != after && !before.is_empty());
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            // All of the file as context.
            let mut body = format!("@@ -1,{} +1,{} @@\n", before.len(), after.len());
            for line in &before[..at] { body += &format!(" {line}\n"); }
            for line in &before[at..end] { body += &format!("-{line}\n"); }
            for line in &added { body += &format!("+{line}\n"); }
            for line in &before[end..] { body += &format!(" {line}\n"); }
            let patch = parse_patch(format!("--- a/f\n+++ b/f\n{body}").as_bytes()).unwrap();
            let hunks = &patch.files[0].hunks;
            proptest::prop_assert_eq!(place_exactly(hunks, text(&before).as_bytes()), [Ok(0)]);
            proptest::prop_assert_eq!(patched(text(&before).as_bytes(), &[(0, &hunks[0])]), text(&after).into_bytes());
        }
    }
}
