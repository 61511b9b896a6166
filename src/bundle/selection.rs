//! Which paths somebody means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::GlobBuilder;
use globset::GlobSet;
use globset::GlobSetBuilder;

use crate::base::RepoPath;
use crate::base::is_within;
use crate::base::visible;

/// Patterns, as the user gave them, and patterns that the repository leaves out.
pub struct Selection {
    includes: Vec<Include>,
    /// What the user does not want.
    dropped: Leave,
    /// What the repository does not want to be sent.
    excluded: Leave,
    /// The patterns as the manifest tells them.
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    #[error("the pattern leads out of the repository: {0}")]
    Outside(String),
    #[error("the pattern cannot be used, {reason}: {pattern}")]
    Malformed { pattern: String, reason: String },
}

/// One pattern of what is wanted.
struct Include {
    text: String,
    /// The directories before the first wildcard: nothing outside of them is meant.
    base: String,
    matcher: Option<GlobSet>,
}

/// Patterns of what is not wanted.
#[derive(Default)]
struct Leave(Option<GlobSet>);

/// Characters that make a glob of a path.
const WILD: [char; 5] = ['*', '?', '[', '{', '\\'];

impl Selection {
    /// Reads patterns: `!` before one drops what it matches. Without any that select, everything is selected.
    pub fn parse(patterns: &[String], excluded: &[String]) -> Result<Self, SelectionError> {
        let (mut includes, mut dropped) = (Vec::new(), Vec::new());
        for pattern in patterns {
            let negative = ["!", ":!", ":^"].iter().find_map(|mark| pattern.strip_prefix(mark));
            let text = normal(negative.unwrap_or(pattern), pattern)?;
            match negative {
                Some(_) => dropped.push(text),
                None => includes.push(Include::parse(text)?),
            }
        }
        let include = includes.iter().map(|include| include.text.clone()).collect();
        let exclude = dropped.iter().chain(excluded).cloned().collect();
        Ok(Selection { includes, dropped: Leave::of(&dropped)?, excluded: Leave::of(excluded)?, include, exclude })
    }

    /// Tells whether a path is meant.
    pub fn takes(&self, path: &RepoPath) -> bool {
        let wanted = self.includes.is_empty() || self.includes.iter().any(|include| include.takes(path.as_bytes()));
        wanted && !self.dropped.has(path.as_bytes())
    }

    /// Tells whether the repository leaves a path out.
    pub fn is_excluded(&self, path: &RepoPath) -> bool {
        self.excluded.has(path.as_bytes())
    }

    /// Tells whether something in a directory can be meant.
    pub fn reaches(&self, directory: &[u8]) -> bool {
        let reached = |include: &Include| {
            is_within(directory, include.base.as_bytes()) || is_within(include.base.as_bytes(), directory)
        };
        (self.includes.is_empty() || self.includes.iter().any(reached)) && !self.dropped.has(directory)
    }

    /// Returns the patterns that match none of these paths.
    pub fn idle<'a>(&'a self, paths: impl Iterator<Item = &'a RepoPath> + Clone) -> Vec<&'a str> {
        let idle = self.includes.iter().filter(|include| {
            let directory = |path: &[u8]| path.last() == Some(&b'/') && include.may_be_in(&path[..path.len() - 1]);
            !paths.clone().any(|path| include.takes(path.as_bytes()) || directory(path.as_bytes()))
        });
        idle.map(|include| include.text.as_str()).collect()
    }
}

impl Include {
    fn parse(text: String) -> Result<Self, SelectionError> {
        if text.is_empty() || !text.contains(WILD) {
            return Ok(Include { base: text.clone(), text, matcher: None });
        }
        let before = &text[..text.find(WILD).unwrap_or(0)];
        let base = before.rfind('/').map_or("", |at| &before[..at]).to_owned();
        // A name such as `[id].tsx` may mean itself, and need not be a glob at all.
        let matcher = match GlobBuilder::new(&text).literal_separator(true).build() {
            Ok(_) => Some(matcher(&forms(&text, true))?),
            Err(_) => None,
        };
        Ok(Include { text, base, matcher })
    }

    fn takes(&self, path: &[u8]) -> bool {
        // As in git, a pattern first means the path that is spelt like it.
        is_within(path, self.text.as_bytes()) || self.matcher.as_ref().is_some_and(|matcher| is_match(matcher, path))
    }

    /// Tells whether something that the pattern means may lie in a directory.
    fn may_be_in(&self, directory: &[u8]) -> bool {
        is_within(self.base.as_bytes(), directory) || is_within(directory, self.base.as_bytes())
    }
}

impl Leave {
    fn of(patterns: &[String]) -> Result<Self, SelectionError> {
        if patterns.is_empty() {
            return Ok(Leave::default());
        }
        let forms: Vec<String> = patterns.iter().flat_map(|pattern| forms(pattern, false)).collect();
        Ok(Leave(Some(matcher(&forms)?)))
    }

    fn has(&self, path: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|matcher| is_match(matcher, path))
    }
}

/// Returns the globs that a pattern stands for: the path and what is under it. A pattern without a slash counts at any
/// depth; a plain name that selects, only at the top.
fn forms(pattern: &str, selects: bool) -> Vec<String> {
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let anywhere = !pattern.contains('/') && (!selects || pattern.contains(WILD));
    let from = if anywhere { format!("**/{pattern}") } else { pattern.to_owned() };
    vec![format!("{from}/**"), from]
}

fn matcher(globs: &[String]) -> Result<GlobSet, SelectionError> {
    let malformed = |error: globset::Error| {
        let pattern = visible(error.glob().unwrap_or_default()).into_owned();
        SelectionError::Malformed { pattern, reason: error.kind().to_string() }
    };
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(malformed)?);
    }
    builder.build().map_err(malformed)
}

fn is_match(matcher: &GlobSet, path: &[u8]) -> bool {
    matcher.is_match(OsStr::from_bytes(path))
}

/// Returns a pattern from the top of the repository, without a leading `./` and a slash at the end.
fn normal(pattern: &str, whole: &str) -> Result<String, SelectionError> {
    let mut text = pattern;
    while let Some(rest) = text.strip_prefix("./") {
        text = rest.trim_start_matches('/');
    }
    let text = text.strip_suffix('/').unwrap_or(text);
    let outside = pattern.starts_with('/') || text.split('/').any(|component| component == "..");
    if outside {
        return Err(SelectionError::Outside(visible(whole).into_owned()));
    }
    if pattern.is_empty() {
        let reason = "it is empty".to_owned();
        return Err(SelectionError::Malformed { pattern: visible(whole).into_owned(), reason });
    }
    Ok(if text == "." { String::new() } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selection(patterns: &[&str]) -> Selection {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Selection::parse(&patterns, &["fixtures".to_owned(), "db/*.sql".to_owned()]).unwrap()
    }

    #[test]
    fn patterns_mean_what_they_say() {
        let cases: [(&[&str], &str, bool); 32] = [
            (&[], "any/thing", true),
            (&["."], "any/thing", true),
            (&["src"], "src/a.rs", true),
            (&["src/"], "src/a/b.rs", true),
            (&["./src"], "src/a.rs", true),
            (&["src"], "src2/a.rs", false),
            (&["src"], "lib/src/a.rs", false),
            (&["*.rs"], "a.rs", true),
            (&["*.rs"], "a/b/c.rs", true),
            (&["src/*.rs"], "src/a.rs", true),
            (&["src/*.rs"], "src/a/b.rs", false),
            (&["src/**/*.rs"], "src/a.rs", true),
            (&["src/**/*.rs"], "src/a/b/c.rs", true),
            (&["src/*"], "src/a/b.rs", true),
            (&["src/**/*.{ts,tsx}"], "src/a/b.tsx", true),
            (&["app/[id].tsx"], "app/[id].tsx", true),
            (&["app/[id].tsx"], "app/i.tsx", true),
            (&["app/[id"], "app/[id", true),
            (&["app/[id"], "app/[id/x", true),
            (&["src", "!src/gen"], "src/gen/a.rs", false),
            (&["src", "!src/gen"], "src/a.rs", true),
            (&["!src"], "src/a.rs", false),
            (&["!src"], "README.md", true),
            (&[":!src"], "src/a.rs", false),
            (&[":^*.md"], "docs/a.md", false),
            (&["!gen"], "a/gen/b", false),
            (&["!src/*.rs"], "src/a/b.rs", true),
            (&["src/?.rs"], "src/a.rs", true),
            (&["src/?.rs"], "src/ab.rs", false),
            (&["*"], "a/b", true),
            (&["SRC"], "src/a", false),
            (&["a.rs", "b.rs"], "b.rs", true),
        ];
        for (patterns, path, expected) in cases {
            assert_eq!(selection(patterns).takes(&path.into()), expected, "{patterns:?} {path}");
        }
        assert!(selection(&[]).is_excluded(&"a/fixtures/b".into()));
        assert!(selection(&[]).is_excluded(&"db/a.sql".into()));
        assert!(!selection(&[]).is_excluded(&"db/a/b.sql".into()));
        assert!(selection(&["*.rs"]).takes(&RepoPath::new(&b"a\xff.rs"[..])));
    }

    #[test]
    fn a_directory_is_walked_only_when_something_in_it_can_be_meant() {
        let cases: [(&[&str], &str, bool); 9] = [
            (&[], "a", true),
            (&["src/a.rs"], "src", true),
            (&["src/a.rs"], "lib", false),
            (&["src/**/*.rs"], "src/deep/er", true),
            (&["src/x*/y"], "src", true),
            (&["src/x*/y"], "lib", false),
            (&["*.rs"], "lib", true),
            (&["!target"], "a/target", false),
            (&["src/a"], "src/ab", false),
        ];
        for (patterns, directory, expected) in cases {
            assert_eq!(selection(patterns).reaches(directory.as_bytes()), expected, "{patterns:?} {directory}");
        }
    }

    proptest! {
        #[test]
        fn a_directory_that_is_not_walked_hides_nothing_that_is_meant(
            patterns in proptest::collection::vec("!?(a|b|\\*|\\*\\*|\\[ab\\]|\\{a,b\\}|/|\\?|\\[){1,6}", 0..4),
            path in "[ab]{1,2}(/[ab]{1,2}){0,4}",
        ) {
            if let Ok(selection) = Selection::parse(&patterns, &[])
                && selection.takes(&path.as_str().into())
            {
                for (at, _) in path.match_indices('/') {
                    prop_assert!(selection.reaches(&path.as_bytes()[..at]), "{}", &path[..at]);
                }
            }
        }
    }

    #[test]
    fn patterns_that_lead_out_are_refused() {
        for pattern in ["/etc/passwd", "../x", "a/../../x", "!../x", "./../x", "src/.."] {
            let error = Selection::parse(&[pattern.to_owned()], &[]).err();
            assert_eq!(error, Some(SelectionError::Outside(pattern.to_owned())), "{pattern}");
        }
        for pattern in ["", "!", "![a"] {
            assert!(Selection::parse(&[pattern.to_owned()], &[]).is_err(), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_named() {
        let paths: Vec<RepoPath> = ["src/a.rs", "node_modules/"].map(RepoPath::from).to_vec();
        let selection = selection(&["src", "docs", "node_modules/x", "*.py"]);
        assert_eq!(selection.idle(paths.iter()), ["docs"]);
        assert_eq!(selection.idle(paths[..1].iter()), ["docs", "node_modules/x", "*.py"]);
    }
}
