//! A file that changed since the reply: both changes are kept if they are apart.

use imara_diff::Algorithm;
use imara_diff::Diff;
use imara_diff::InternedInput;

use super::edit::Edit;

/// Moves an edit of the base to where it belongs in the file as it is now. `None` when the file changed there too, or
/// right beside it.
pub fn carry_over(base: &[u8], ours: &[u8], edits: &[Edit]) -> Option<Vec<Edit>> {
    let input = InternedInput::new(base, ours);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changes: Vec<_> = diff.hunks().collect();
    let count = ours.split_inclusive(|byte| *byte == b'\n').count();
    edits
        .iter()
        .map(|edit| {
            let mut shift = 0_isize;
            for change in &changes {
                let (start, end) = (change.before.start as usize, change.before.end as usize);
                if start <= edit.end() && edit.at <= end {
                    return None;
                }
                if end < edit.at {
                    shift += isize::try_from(change.after.len()).ok()? - isize::try_from(change.before.len()).ok()?;
                }
            }
            let at = edit.at.checked_add_signed(shift)?;
            // What the edit says of the end of the file holds only where it still is the end.
            let final_newline = edit.final_newline.filter(|_| at + edit.removed == count);
            Some(Edit { at, final_newline, ..edit.clone() })
        })
        .collect()
}
