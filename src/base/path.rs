//! A path inside a repository, as git stores it: bytes with `/` between components.

use std::fmt;

use data_encoding::BASE64;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::base::quote::quote;
use crate::base::quote::visible;

/// A path relative to the top of the tree. Bytes are kept as they are: no case folding, no normalisation, no trimming.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        RepoPath(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the components between slashes.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/')
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &[u8] {
        self.components().next_back().unwrap_or_default()
    }

    /// Returns the path of the directory that holds this path; empty at the top.
    pub fn parent(&self) -> &[u8] {
        match self.0.iter().rposition(|byte| *byte == b'/') {
            Some(at) => &self.0[..at],
            None => b"",
        }
    }

    /// Tells whether this path is `directory` or lies under it, on a component border.
    pub fn is_within(&self, directory: &[u8]) -> bool {
        is_within(&self.0, directory)
    }

    /// Returns the path as it can be typed into a shell; `PATH` where a name cannot be typed.
    pub fn typed(&self) -> String {
        let text = self.to_str().filter(|text| visible(text) == *text && !text.contains('\n'));
        text.and_then(|text| shlex::try_quote(text).ok())
            .map_or_else(|| "PATH".to_owned(), |quoted| quoted.into_owned())
    }

    /// Returns the path as text when it is UTF-8.
    pub fn to_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

/// Tells whether a path is `directory` or lies under it, on a component border. Everything lies under the top.
pub fn is_within(path: &[u8], directory: &[u8]) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || directory.is_empty(),
        None => false,
    }
}

/// Adds a path to a document: as it is when it is UTF-8, else quoted as git does and with its bytes beside it.
pub fn put_path(fields: &mut Map<String, Value>, name: &str, path: &RepoPath) {
    match path.to_str() {
        Some(text) => drop(fields.insert(name.into(), json!(text))),
        None => {
            fields.insert(name.into(), json!(path.to_string()));
            fields.insert(format!("{name}_b64"), json!(BASE64.encode(path.as_bytes())));
        }
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        RepoPath(text.as_bytes().to_vec())
    }
}

impl fmt::Display for RepoPath {
    /// Writes the path as git would show it: C-quoted when it has unusual bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_respects_component_borders() {
        let cases = [
            ("src", "src", true),
            ("src/a", "src", true),
            ("src2/a", "src", false),
            ("src", "src/a", false),
            ("anything", "", true),
        ];
        for (path, directory, expected) in cases {
            assert_eq!(RepoPath::from(path).is_within(directory.as_bytes()), expected, "{path} in {directory}");
        }
    }

    #[test]
    fn a_typed_path_is_one_word() {
        for (path, typed) in
            [("src/a.rs", "src/a.rs"), ("a b", "'a b'"), ("$(x)", "'$(x)'"), ("a\nb", "PATH"), ("\u{202e}", "PATH")]
        {
            assert_eq!(RepoPath::from(path).typed(), typed);
        }
    }

    #[test]
    fn parent_and_name_split_at_the_last_slash() {
        let path = RepoPath::from("a/b/c");
        assert_eq!((path.parent(), path.file_name()), (&b"a/b"[..], &b"c"[..]));
        let top = RepoPath::from("c");
        assert_eq!((top.parent(), top.file_name()), (&b""[..], &b"c"[..]));
    }
}
