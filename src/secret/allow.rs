//! Findings that somebody looked at and allows.

use globset::GlobBuilder;
use globset::GlobMatcher;
use memchr::memmem;
use memchr::memrchr;
use serde::Deserialize;

use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::secret::Finding;

/// What a comment on the same line says.
const INLINE: &[u8] = b"oracle:allow-secret";

/// How often a value is hashed: a list of allowed values should not be a list of passwords to guess.
const ROUNDS: usize = 2000;

/// One entry of `[[secrets.allow]]`. Everything that it says has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// A rule's id, or a label.
    pub rule: Option<String>,
    /// A glob, relative to the top of the repository.
    pub path: Option<String>,
    /// A salted hash of the value, as `scan --show-hashes` prints it.
    pub hash: Option<String>,
    /// Why it is allowed, for the next reader.
    pub reason: String,
}

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("number {number} of secrets.allow {problem}")]
pub struct AllowError {
    pub number: usize,
    pub problem: &'static str,
}

/// Everything that is allowed.
#[derive(Debug, Clone, Default)]
pub struct Allows {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    rule: Option<String>,
    path: Option<GlobMatcher>,
    /// The salt and the digest.
    hash: Option<(String, String)>,
}

/// Whether what somebody allowed counts.
#[derive(Debug, Clone, Copy)]
pub enum Strictness<'a> {
    /// For what leaves the machine, what comes from a model, and what a patch adds: nothing is allowed.
    Strict,
    /// For a person's own files and commits.
    Allowing(&'a Allows),
}

impl Allows {
    pub fn new(entries: &[Allow]) -> Result<Self, AllowError> {
        let entries = entries.iter().zip(1..).map(|(allow, number)| {
            let problem = |problem| AllowError { number, problem };
            if allow.rule.is_none() && allow.path.is_none() && allow.hash.is_none() {
                return Err(problem("needs a rule, a path or a hash"));
            }
            let path = allow.path.as_deref().map(|glob| GlobBuilder::new(glob).literal_separator(true).build());
            let path = path.transpose().map_err(|_| problem("has a path that is not a glob"))?;
            let hash = match allow.hash.as_deref().map(|text| text.split_once(':')) {
                None => None,
                Some(Some((salt, digest))) if salt.len() >= 16 && digest.len() == 64 => {
                    Some((salt.to_owned(), digest.to_owned()))
                }
                Some(_) => return Err(problem("has a hash that is not a salt, a colon and 64 digits")),
            };
            Ok(Entry { rule: allow.rule.clone(), path: path.map(|glob| glob.compile_matcher()), hash })
        });
        Ok(Allows { entries: entries.collect::<Result<_, _>>()? })
    }

    fn permits(&self, path: &RepoPath, finding: &Finding, value: &[u8]) -> bool {
        self.entries.iter().any(|entry| {
            let rule = entry.rule.as_ref().is_none_or(|rule| *rule == finding.rule || *rule == finding.label);
            let place = || {
                use std::os::unix::ffi::OsStrExt;
                let path = std::path::Path::new(std::ffi::OsStr::from_bytes(path.as_bytes()));
                entry.path.as_ref().is_none_or(|glob| glob.is_match(path))
            };
            rule && place() && entry.hash.as_ref().is_none_or(|(salt, digest)| digest_of(salt, value) == *digest)
        })
    }
}

impl Strictness<'_> {
    /// Tells whether somebody allowed this finding.
    pub fn permits(self, path: &RepoPath, bytes: &[u8], finding: &Finding) -> bool {
        match self {
            Strictness::Strict => false,
            Strictness::Allowing(allows) => {
                has_comment(bytes, finding) || allows.permits(path, finding, &bytes[finding.range.clone()])
            }
        }
    }

    /// Takes out what is allowed and returns how many that were.
    pub fn screen(self, path: &RepoPath, bytes: &[u8], findings: &mut Vec<Finding>) -> usize {
        let before = findings.len();
        findings.retain(|finding| !self.permits(path, bytes, finding));
        before - findings.len()
    }
}

/// Tells whether the line on which a secret begins or ends says that it is allowed.
fn has_comment(bytes: &[u8], finding: &Finding) -> bool {
    let start = memrchr(b'\n', &bytes[..finding.range.start]).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', &bytes[finding.range.end..]).map_or(bytes.len(), |at| finding.range.end + at);
    let (before, after) = (&bytes[start..finding.range.start], &bytes[finding.range.end..end]);
    [before, after].iter().any(|part| memmem::find(part, INLINE).is_some())
}

/// Returns a value's entry for `hash`.
pub fn salted(salt: &str, value: &[u8]) -> String {
    format!("{salt}:{}", digest_of(salt, value))
}

fn digest_of(salt: &str, value: &[u8]) -> String {
    let mut digest = Sha256Hex::of_parts(&[salt.as_bytes(), value]);
    for _ in 1..ROUNDS {
        digest = Sha256Hex::of_parts(&[salt.as_bytes(), digest.as_str().as_bytes()]);
    }
    digest.to_string()
}
