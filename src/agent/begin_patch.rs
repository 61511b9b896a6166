//! The paths in a `*** Begin Patch` text.

use super::tools::Claim;
use super::tools::Touch;

/// Headers with a path, and whether the file is gone afterwards.
const HEADERS: [(&str, bool); 4] =
    [("*** Add File:", false), ("*** Update File:", false), ("*** Delete File:", true), ("*** Move to:", false)];

/// Returns every path that a patch names. Headers may be indented, as the programs that apply them allow.
///
/// A line of content that looks like a header is taken for one: `+*** Add File:` does not begin with `*`.
pub(super) fn patch_paths(text: &str) -> Vec<Touch> {
    let path = |line: &str| {
        let line = line.trim();
        let (rest, deletes) =
            HEADERS.iter().find_map(|(header, deletes)| Some((line.strip_prefix(header)?, deletes)))?;
        Some(Touch { deletes: *deletes, ..Touch::new(rest.trim(), Claim::Edit) })
    };
    text.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_counts() {
        let text = "*** Begin Patch\n*** Add File: a.rs\n+*** Add File: no.rs\n  *** Update File: b c.rs\r\n*** Move to: d.rs\n@@\n*** Delete File:e.rs\n*** End Patch\n";
        let paths: Vec<(String, bool)> =
            patch_paths(text).into_iter().map(|touch| (touch.path, touch.deletes)).collect();
        let expected = [("a.rs", false), ("b c.rs", false), ("d.rs", false), ("e.rs", true)];
        assert_eq!(paths, expected.map(|(path, deletes)| (path.to_owned(), deletes)));
    }
}
