//! Where a path leads that somebody names.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::base::RepoPath;
use crate::git::Git;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::program::first_line;

/// Links are followed this far, as Linux does.
const MAX_HOPS: usize = 40;

/// Where a named path leads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The paths of the tree that a program may mean by it: the name itself, and where links lead.
    pub inside: Vec<RepoPath>,
    /// A program may also reach something outside of the working tree.
    pub outside: bool,
    pub exists: bool,
    pub is_directory: bool,
}

impl Repository {
    /// Finds what a program may mean that is given `typed` in `directory`.
    ///
    /// Programs disagree: some take `a/..` out of a name before they open it, some follow `a` first; some write through
    /// a link, some put a file in its place. Whatever may be meant is named.
    pub fn named(&self, directory: &Path, typed: &str) -> Result<Named, GitError> {
        let top = self.work_tree()?;
        // No program that we know leaves a home directory's sign as it is.
        if typed == "~" || typed.starts_with("~/") {
            return Ok(Named { outside: true, ..Named::default() });
        }
        let raw = directory.join(typed);
        let plain = without_dots(&raw);
        let mut found = Named {
            exists: std::fs::symlink_metadata(&plain).is_ok(),
            is_directory: plain.is_dir(),
            ..Named::default()
        };
        for meant in [(&plain, false), (&plain, true), (&raw, false), (&raw, true)] {
            match resolve(meant.0, meant.1).as_deref().and_then(|path| path.strip_prefix(top).ok()) {
                Some(path) if path.as_os_str().is_empty() => found.inside.push(RepoPath::from(".")),
                Some(path) => found.inside.push(RepoPath::new(path.as_os_str().as_bytes())),
                None => found.outside = true,
            }
        }
        found.inside.sort();
        found.inside.dedup();
        Ok(found)
    }

    /// Returns those of `paths` that git ignores.
    pub fn ignored(&self, paths: &[RepoPath]) -> Result<Vec<RepoPath>, GitError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        // A pattern that ends with a slash holds for a directory, also for one that is not there yet.
        let forms = |path: &RepoPath| [path.as_bytes(), b"\0", path.as_bytes(), b"/\0"].concat();
        let input: Vec<u8> = paths.iter().flat_map(forms).collect();
        let git = Git::at(self.work_tree()?, &self.git_dir);
        let finished = git.run_with_input(&["check-ignore", "-z", "--stdin"], &input)?;
        match finished.code {
            Some(0 | 1) => {
                let listed = finished.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
                Ok(listed.map(|path| RepoPath::new(path.strip_suffix(b"/").unwrap_or(path))).collect())
            }
            _ => Err(GitError::Failed { command: "check-ignore".to_owned(), reason: first_line(&finished.stderr) }),
        }
    }
}

/// Returns an absolute path without `.` and `..`, as a program does that looks at the name alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    plain
}

/// Follows the links of a path, whether its end exists or not; the last name only if that is wanted. `None` when the
/// links go round in a circle.
fn resolve(path: &Path, through_last: bool) -> Option<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> {
        let name = |component: Component<'_>| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        };
        path.components().filter_map(name).collect()
    };
    let mut open: VecDeque<OsString> = names(path).into();
    let mut reached = PathBuf::from("/");
    let mut hops = 0;
    while let Some(name) = open.pop_front() {
        if name == OsStr::new("..") {
            reached.pop();
            continue;
        }
        reached.push(&name);
        if open.is_empty() && !through_last {
            break;
        }
        if let Ok(target) = std::fs::read_link(&reached) {
            hops += 1;
            if hops > MAX_HOPS {
                return None;
            }
            reached.pop();
            if target.is_absolute() {
                reached = PathBuf::from("/");
            }
            for name in names(&target).into_iter().rev() {
                open.push_front(name);
            }
        }
    }
    Some(reached)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_as_far_as_they_lead() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/deep")).unwrap();
        symlink("a/deep", root.join("to-deep")).unwrap();
        symlink("/etc", root.join("to-etc")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let cases = [
            ("a/new/file", true, Some("a/new/file")),
            ("to-deep/x", true, Some("a/deep/x")),
            ("to-deep/../x", true, Some("a/x")),
            ("to-deep", false, Some("to-deep")),
            ("to-deep", true, Some("a/deep")),
            ("round", true, None),
            ("round", false, Some("round")),
        ];
        for (path, through_last, expected) in cases {
            let expected = expected.map(|path| root.join(path));
            assert_eq!(resolve(&root.join(path), through_last), expected, "{path}");
        }
        assert_eq!(resolve(&root.join("to-etc/passwd"), true), Some(PathBuf::from("/etc/passwd")));
        assert_eq!(without_dots(&root.join("to-deep/../x/./y")), root.join("x/y"));
        assert_eq!(without_dots(Path::new("/../../x")), PathBuf::from("/x"));
    }
}
