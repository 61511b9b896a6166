//! Two changes of one text joined, where the later one has the last word.

use imara_diff::Algorithm;
use imara_diff::Diff;
use imara_diff::InternedInput;

/// A run of lines that something else takes the place of.
struct Edit<'a> {
    start: usize,
    end: usize,
    added: Vec<&'a [u8]>,
}

/// Returns `base` with everything that `later` changes, and of what `earlier` changes all that is apart from it.
pub fn blend(base: &[u8], earlier: &[u8], later: &[u8]) -> Vec<u8> {
    let mut edits = edits(base, later);
    // Side by side is not apart: then nobody knows which comes first.
    let is_apart = |edit: &Edit<'_>| edits.iter().all(|other| edit.end < other.start || other.end < edit.start);
    let kept: Vec<Edit<'_>> = self::edits(base, earlier).into_iter().filter(is_apart).collect();
    edits.extend(kept);
    edits.sort_by_key(|edit| edit.start);
    let lines = lines(base);
    let mut blended = Vec::new();
    let mut at = 0;
    for edit in &edits {
        blended.extend(lines[at..edit.start].concat());
        blended.extend(edit.added.concat());
        at = edit.end;
    }
    blended.extend(lines[at..].concat());
    blended
}

fn edits<'a>(base: &'a [u8], changed: &'a [u8]) -> Vec<Edit<'a>> {
    let input = InternedInput::new(base, changed);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let lines = lines(changed);
    let edit = |hunk: imara_diff::Hunk| Edit {
        start: hunk.before.start as usize,
        end: hunk.before.end as usize,
        added: lines[hunk.after.start as usize..hunk.after.end as usize].to_vec(),
    };
    diff.hunks().map(edit).collect()
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_apart_stays_and_what_overlaps_is_the_later_one() {
        let base = "a\nb\nc\nd\ne\nf\n";
        for (earlier, later, expected) in [
            ("A\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n", "A\nb\nc\nd\ne\nF\n"),
            ("a\nB\nc\nd\ne\nf\n", "a\nBB\nc\nd\ne\nf\n", "a\nBB\nc\nd\ne\nf\n"),
            ("a\nB\nc\nd\nE\nf\n", "a\nb\nC\nd\ne\nf\n", "a\nb\nC\nd\nE\nf\n"),
            ("a\nb\nc\nd\ne\nf\nnew\n", "a\nb\nc\nd\ne\nf\nnew\n", "a\nb\nc\nd\ne\nf\nnew\n"),
            ("a\nb\nc\nd\ne\nf\nend", "A\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne\nf\nend"),
        ] {
            let blended = blend(base.as_bytes(), earlier.as_bytes(), later.as_bytes());
            assert_eq!(String::from_utf8(blended).unwrap(), expected, "{earlier:?} {later:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_of_the_later_change_is_lost(base in "[ab\n]{0,30}", earlier in "[abc\n]{0,30}", later in "[abd\n]{0,30}") {
            let of = |a: &str, b: &str| blend(base.as_bytes(), a.as_bytes(), b.as_bytes());
            prop_assert_eq!(of(&base, &later), later.as_bytes());
            prop_assert_eq!(of(&earlier, &base), earlier.as_bytes());
            prop_assert_eq!(of(&later, &later), later.as_bytes());
            let blended = of(&earlier, &later);
            let added = later.matches('d').count();
            prop_assert_eq!(blended.iter().filter(|byte| **byte == b'd').count(), added);
        }
    }
}
