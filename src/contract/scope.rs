//! Which paths are inside: exact paths and directory prefixes, on component borders, compared byte by byte.

use crate::base::RepoPath;
use crate::base::is_dotgit;

/// The allowed paths of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    entries: Vec<String>,
}

impl Scope {
    pub fn new(entries: &[String]) -> Self {
        Scope { entries: entries.to_vec() }
    }

    pub fn covers(&self, path: &RepoPath) -> bool {
        self.covering(path).next().is_some()
    }

    /// Returns the entries that cover `path`, as they are written.
    pub fn covering<'a>(&'a self, path: &'a RepoPath) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(String::as_str).filter(|entry| path.is_within(directory(entry)))
    }

    pub fn entries(&self) -> &[String] {
        &self.entries
    }
}

/// Returns an entry without the slash that may end it: `src` and `src/` mean the same.
fn directory(entry: &str) -> &[u8] {
    entry.strip_suffix('/').unwrap_or(entry).as_bytes()
}

/// Returns why an entry cannot be used, and what to write instead.
pub fn path_problem(entry: &str) -> Option<(String, String)> {
    let refuse = |message: &str, hint: &str| Some((message.to_owned(), hint.to_owned()));
    if entry.trim().is_empty() {
        return refuse("the path is empty", "Name the files and directories that the task may change.");
    }
    if entry.contains(['*', '?']) {
        return refuse("wildcards are not allowed", "A directory such as `src/parser/` covers everything under it.");
    }
    if entry.contains('\\') {
        return refuse("a backslash is not allowed", "Write paths with `/`, as git does.");
    }
    if entry.starts_with('/') || entry.starts_with('~') {
        return refuse(
            "the path is not relative to the top of the repository",
            "Leave out what comes before the repository.",
        );
    }
    if entry.contains('\0') {
        return refuse("the path has a NUL in it", "No file name can hold one.");
    }
    let trimmed = entry.strip_suffix('/').unwrap_or(entry);
    for component in trimmed.split('/') {
        match component {
            "" => return refuse("the path has an empty component", "Write single slashes."),
            "." | ".." => {
                return refuse(
                    "`.` and `..` are not allowed",
                    "Write the path from the top of the repository; the whole repository cannot be a scope.",
                );
            }
            _ if is_dotgit(component.as_bytes()) => {
                return refuse("the path leads into the git directory", "git-oracle never lets a change in there.");
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn entries_mean_exactly_what_they_say() {
        let scope = Scope::new(&["src/".into(), "docs/guide.md".into(), "app/[id]".into()]);
        for path in ["src", "src/a", "src/a/b", "docs/guide.md", "docs/guide.md/x", "app/[id]/page.tsx"] {
            assert!(scope.covers(&path.into()), "{path}");
        }
        for path in
            ["src2", "src.bak/a", "SRC/a", "docs", "docs/guide", "docs/guide.md2", "app/i/page.tsx", " src/a", ""]
        {
            assert!(!scope.covers(&path.into()), "{path}");
        }
    }

    #[test]
    fn entries_that_would_open_more_than_they_say_are_refused() {
        for entry in [
            "",
            " ",
            ".",
            "./",
            "/",
            "./src",
            "src/..",
            "..",
            "*",
            "**",
            "src/*",
            "a?",
            "/etc",
            "~/x",
            "a\\b",
            "a//b",
            "a/./b",
            ".git",
            ".git/hooks",
            "x/.GIT",
            "a\0b",
            "//",
        ] {
            assert!(path_problem(entry).is_some(), "{entry:?}");
        }
        for entry in ["src", "src/", "a/b.c", "app/[id]/page.tsx", ".github/", "a b", "é", "a~", ".gitignore"] {
            assert_eq!(path_problem(entry), None, "{entry:?}");
        }
    }

    /// The slow obvious model: compare component by component.
    fn model(entries: &[String], path: &str) -> bool {
        entries.iter().any(|entry| {
            let wanted: Vec<&str> = entry.strip_suffix('/').unwrap_or(entry).split('/').collect();
            let found: Vec<&str> = path.split('/').collect();
            found.len() >= wanted.len() && found[..wanted.len()] == wanted[..]
        })
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_model(
            entries in proptest::collection::vec("[ab]{1,2}(/[ab.]{1,2}){0,2}/?", 0..4),
            path in "[ab]{1,2}(/[ab.]{1,2}){0,3}",
        ) {
            prop_assert_eq!(Scope::new(&entries).covers(&RepoPath::from(path.as_str())), model(&entries, &path));
        }
    }
}
