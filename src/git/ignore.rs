//! Which untracked files a tracked `.gitignore` covers.
//!
//! Only tracked ones count: whoever works here can write `.git/info/exclude` or a new ignore file to hide a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix_ignore::glob::pattern::Case;
use gix_ignore::search::Ignore;

/// The ignore files from the top of the tree down to one directory.
#[derive(Clone, Default)]
pub struct Ignores {
    innermost: Option<Arc<Level>>,
}

struct Level {
    patterns: gix_ignore::glob::search::pattern::List<Ignore>,
    outer: Option<Arc<Level>>,
}

impl Ignores {
    /// Returns these rules with those of the ignore file in `directory` on top.
    pub fn with(&self, content: &[u8], directory: &[u8]) -> Self {
        let root = Path::new("/");
        let file = root.join(OsStr::from_bytes(directory)).join(".gitignore");
        let parse = Ignore { support_precious: false };
        match gix_ignore::glob::search::pattern::List::from_bytes(content, file, Some(root), parse) {
            Ok(patterns) => Ignores { innermost: Some(Arc::new(Level { patterns, outer: self.innermost.clone() })) },
            // Without readable rules nothing is hidden.
            Err(_) => self.clone(),
        }
    }

    /// Tells whether the rules hide `path`. That a directory above it is hidden is the caller's matter.
    pub fn hides(&self, path: &[u8], is_dir: bool) -> bool {
        let name_start = path.iter().rposition(|byte| *byte == b'/').map(|at| at + 1);
        let mut level = self.innermost.as_deref();
        while let Some(Level { patterns, outer }) = level {
            let found = gix_ignore::search::pattern_matching_relative_path(
                patterns,
                path.as_bstr(),
                name_start,
                Some(is_dir),
                Case::Sensitive,
            );
            if let Some(found) = found {
                return !found.pattern.is_negative();
            }
            level = outer.as_deref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_rules_win_and_reach_only_below_their_directory() {
        let outer = Ignores::default().with(b"target/\n*.log\n/top\n", b"");
        let inner = outer.with(b"!keep.log\nsecret\n", b"src/lib");
        let cases = [
            ("target", true, true),
            ("target", false, false),
            ("src/lib/a.log", false, true),
            ("src/lib/keep.log", false, false),
            ("keep.log", false, true),
            ("src/lib/deep/secret", false, true),
            ("secret", false, false),
            ("src/lib/top", false, false),
            ("top", false, true),
            ("src/lib/x.rs", false, false),
        ];
        for (path, is_dir, expected) in cases {
            assert_eq!(inner.hides(path.as_bytes(), is_dir), expected, "{path}");
        }
        assert!(!Ignores::default().hides(b"anything", false));
    }
}
