//! Files that were meant and are not in the package, each with its reason.

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::Map;

use crate::base::RepoPath;
use crate::base::put_path;

/// Why a file is left out. The words are a promise to whoever reads a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    Ignored,
    Excluded,
    Symlink,
    SpecialFile,
    Submodule,
    NestedRepository,
    UnsafeName,
    SecretPath,
    Secret,
    TooLarge,
    TotalSize,
    Binary,
    NotUtf8,
    Changed,
    Unreadable,
    Output,
}

impl Reason {
    pub const ALL: [Reason; 16] = [
        Reason::Ignored,
        Reason::Excluded,
        Reason::Symlink,
        Reason::SpecialFile,
        Reason::Submodule,
        Reason::NestedRepository,
        Reason::UnsafeName,
        Reason::SecretPath,
        Reason::Secret,
        Reason::TooLarge,
        Reason::TotalSize,
        Reason::Binary,
        Reason::NotUtf8,
        Reason::Changed,
        Reason::Unreadable,
        Reason::Output,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Ignored => "ignored",
            Reason::Excluded => "excluded",
            Reason::Symlink => "symlink",
            Reason::SpecialFile => "special_file",
            Reason::Submodule => "submodule",
            Reason::NestedRepository => "nested_repository",
            Reason::UnsafeName => "unsafe_name",
            Reason::SecretPath => "secret_path",
            Reason::Secret => "secret",
            Reason::TooLarge => "too_large",
            Reason::TotalSize => "total_size",
            Reason::Binary => "binary",
            Reason::NotUtf8 => "not_utf8",
            Reason::Changed => "changed",
            Reason::Unreadable => "unreadable",
            Reason::Output => "output",
        }
    }
}

/// A file or directory that is left out. The path of a directory ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion {
    pub path: RepoPath,
    pub reason: Reason,
    /// More about it, for the person at the terminal. It is not part of a package.
    pub detail: Option<String>,
}

impl Serialize for Exclusion {
    /// Writes the path and the reason, as a package tells them. There may be a million.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        match self.path.to_str() {
            Some(text) => fields.serialize_entry("path", text)?,
            None => {
                let mut quoted = Map::new();
                put_path(&mut quoted, "path", &self.path);
                quoted.iter().try_for_each(|(name, value)| fields.serialize_entry(name, value))?;
            }
        }
        fields.serialize_entry("reason", self.reason.as_str())?;
        fields.end()
    }
}
