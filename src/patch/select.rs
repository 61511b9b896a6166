//! A patch with some of its hunks, each at the line where it really stands.

use super::file::FilePatch;
use super::file::Patch;
use super::hunk::Hunk;

/// Returns the text of a patch without what lies between its files and without the hunks that are left out.
///
/// `chosen` says for each file `None` when it is left out, else for each of its hunks how many lines of the old file lie
/// before it, or `None` when that hunk is left out. `bytes` are the ones that `patch` was read from.
pub fn select(bytes: &[u8], patch: &Patch, chosen: &[Option<Vec<Option<usize>>>]) -> Vec<u8> {
    let mut starts = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1));
    // Line numbers begin at 1.
    let rows = |from: usize, to: usize| {
        let at = |line: usize| starts.get(line.saturating_sub(1)).copied().unwrap_or(bytes.len());
        &bytes[at(from)..at(to)]
    };
    let mut text = Vec::new();
    for (index, (file, places)) in patch.files.iter().zip(chosen).enumerate() {
        let Some(places) = places else { continue };
        let end = patch.files.get(index + 1).map_or(usize::MAX, |next| next.line);
        let header_end = file.hunks.first().map_or(end, |hunk| hunk.line);
        put_header(&mut text, rows(file.line, header_end), file, places);
        let mut shift: i128 = 0;
        for (hunk, place) in file.hunks.iter().zip(places) {
            let Some(place) = place else { continue };
            let markers = hunk.lines.iter().filter(|line| !line.newline).count();
            text.extend_from_slice(header(hunk, *place, shift).as_bytes());
            text.extend_from_slice(section(rows(hunk.line, hunk.line + 1)));
            text.extend_from_slice(rows(hunk.line + 1, hunk.line + 1 + hunk.lines.len() + markers));
            // The marker may be the last line of the text, without a newline.
            if !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            shift += i128::from(hunk.new_lines) - i128::from(hunk.old_lines);
        }
    }
    text
}

/// Takes over the header lines. Where a hunk is left out, the new object id in them would be wrong.
fn put_header(text: &mut Vec<u8>, header: &[u8], file: &FilePatch, places: &[Option<usize>]) {
    let whole = file.hunks.is_empty() || places.iter().all(Option::is_some);
    for row in header.split_inclusive(|byte| *byte == b'\n').filter(|row| whole || !row.starts_with(b"index ")) {
        text.extend_from_slice(row);
    }
}

/// Returns the `@@` line of a hunk up to the second `@@`. A side without lines is named by the line before it.
fn header(hunk: &Hunk, place: usize, shift: i128) -> String {
    let old = place as u64 + u64::from(hunk.old_lines > 0);
    let new = (i128::from(place as u64) + shift).max(0) + i128::from(u64::from(hunk.new_lines > 0));
    format!("@@ -{old},{} +{new},{} @@", hunk.old_lines, hunk.new_lines)
}

/// Returns what follows the second `@@`, with the newline.
fn section(row: &[u8]) -> &[u8] {
    memchr::memmem::find(&row[2.min(row.len())..], b"@@").map_or(b"\n", |at| &row[at + 4..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::parse_patch;

    const TEXT: &str = "\
From somebody

diff --git a/one b/one
index 1111111..2222222 100644
--- a/one
+++ b/one
@@ -1,2 +1,3 @@ fn first()
 a
+b
 c
@@ -10 +11 @@
-x
+y
prose
diff --git a/old b/new
similarity index 100%
rename from old
rename to new
diff --git a/two b/two
--- a/two
+++ b/two
@@ -1 +1 @@
-p
+q
\\ No newline at end of file";

    fn chosen(chosen: &[Option<Vec<Option<usize>>>]) -> String {
        String::from_utf8(select(TEXT.as_bytes(), &parse_patch(TEXT.as_bytes()).unwrap(), chosen)).unwrap()
    }

    #[test]
    fn a_hunk_that_is_left_out_moves_the_ones_behind_it() {
        let text = chosen(&[Some(vec![None, Some(9)]), None, None]);
        assert_eq!(text, "diff --git a/one b/one\n--- a/one\n+++ b/one\n@@ -10,1 +10,1 @@\n-x\n+y\n");
    }

    #[test]
    fn everything_is_the_patch_without_prose() {
        let text = chosen(&[Some(vec![Some(0), Some(20)]), Some(Vec::new()), Some(vec![Some(0)])]);
        let expected = TEXT
            .replace("From somebody\n\n", "")
            .replace("prose\n", "")
            .replace("-10 +11", "-21,1 +22,1")
            .replace("-1 +1", "-1,1 +1,1");
        assert_eq!(text, format!("{expected}\n"));
    }
}
