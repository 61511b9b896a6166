//! Paths that are protected whatever a contract allows, and paths that are protected unless it names them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::GlobSet;
use globset::GlobSetBuilder;
use serde::Deserialize;

use crate::base::RepoPath;
use crate::base::is_dotgitmodules;

const EMBEDDED: &str = include_str!("../../policies/protected.json");

/// Templates that carry no secret, although their names begin like the files that do.
const ENV_TEMPLATES: [&[u8]; 4] = [b".env.example", b".env.sample", b".env.template", b".env.dist"];

/// Why a path is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protection {
    /// A file that controls git, git-oracle or a program's secrets; nothing opens it.
    Control(&'static str),
    /// A glob of the configuration or the contract; nothing opens it.
    Configured(String),
    /// The settings of a coding agent; opened by an entry that names them.
    AgentSettings,
    /// A test, a fixture, a snapshot, an eval; opened by an entry that names it.
    Test,
}

impl Protection {
    /// Returns what is protected, in a few words.
    pub const fn name(&self) -> &'static str {
        match self {
            Protection::Control(what) => what,
            Protection::Configured(_) => "a configured path",
            Protection::AgentSettings => "a coding agent's settings",
            Protection::Test => "a test",
        }
    }
}

/// What is protected in one repository.
#[derive(Debug, Clone)]
pub struct Protected {
    lists: Lists,
    /// One piece of each pattern for test files.
    keys: Vec<[u8; KEY]>,
    /// The bytes with which the names of directories and settings begin, in either case, and those of the keys.
    name_starts: Starts,
    key_starts: Starts,
    /// The hooks directory in use, when it lies in the tree.
    hooks_dir: Option<RepoPath>,
    globs: Vec<String>,
    matcher: Option<GlobSet>,
}

#[derive(Debug, Clone, Deserialize)]
struct Lists {
    test_directories: Vec<String>,
    test_files: Vec<String>,
    agent_settings: Vec<String>,
}

impl Protected {
    /// Returns the embedded rules with further globs on top. Globs are checked when they are read.
    pub fn new(hooks_dir: Option<RepoPath>, globs: Vec<String>) -> Result<Self, globset::Error> {
        let lists: Lists = serde_json::from_str(EMBEDDED).expect("the embedded lists are valid, a test reads them");
        // Compiling a matcher costs more than everything else here, so it is made only when it is needed.
        let matcher = match globs.is_empty() {
            true => None,
            false => {
                let mut builder = GlobSetBuilder::new();
                for glob in &globs {
                    for form in forms(glob) {
                        builder.add(globset::Glob::new(&form)?);
                    }
                }
                Some(builder.build()?)
            }
        };
        let mut keys: Vec<_> = lists
            .test_files
            .iter()
            .map(|pattern| key(pattern).expect("every pattern has a long piece, a test reads each"))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let names = lists.test_directories.iter().chain(&lists.agent_settings);
        let name_starts = Starts::of(names.filter_map(|name| name.bytes().next()));
        let key_starts = Starts::of(keys.iter().map(|key| key[0]));
        Ok(Protected { lists, keys, name_starts, key_starts, hooks_dir, globs, matcher })
    }

    /// Returns why `path` is protected, where nothing can open it.
    pub fn always(&self, path: &RepoPath) -> Option<Protection> {
        if let Some(reason) = control_file(path) {
            return Some(Protection::Control(reason));
        }
        if self.hooks_dir.as_ref().is_some_and(|hooks_dir| is_within_folded(path.as_bytes(), hooks_dir.as_bytes())) {
            return Some(Protection::Control("the hooks directory in use"));
        }
        let matches = self.matcher.as_ref()?.matches(OsStr::from_bytes(path.as_bytes()));
        matches.first().map(|index| Protection::Configured(self.globs[*index / FORMS].clone()))
    }

    /// Returns why `path` is protected, where an allowed path that names it opens it.
    pub fn unless_named(&self, path: &RepoPath) -> Option<Protection> {
        // `.github/hooks` counts only where GitHub looks for it, `.claude` at any depth.
        if self
            .lists
            .agent_settings
            .iter()
            .any(|name| name.contains('/') && is_within_folded(path.as_bytes(), name.as_bytes()))
        {
            return Some(Protection::AgentSettings);
        }
        let mut is_test = false;
        // Nearly every component is decided by its first byte. The last one may be a directory too: an allowed path need
        // not say which it is.
        let may_be_listed = |component: &&[u8]| component.first().is_some_and(|byte| self.name_starts.has(*byte));
        for component in path.components().filter(may_be_listed) {
            let is_listed = |names: &[String]| names.iter().any(|name| component.eq_ignore_ascii_case(name.as_bytes()));
            if is_listed(&self.lists.agent_settings) {
                return Some(Protection::AgentSettings);
            }
            is_test |= is_listed(&self.lists.test_directories);
        }
        (is_test || self.is_test_file(path.file_name())).then_some(Protection::Test)
    }

    fn is_test_file(&self, name: &[u8]) -> bool {
        // Nearly every name is decided here: it has no piece of any pattern in it.
        let is_key =
            |piece: &[u8]| self.key_starts.has(piece[0]) && self.keys.iter().any(|key| key.eq_ignore_ascii_case(piece));
        if !name.windows(KEY).any(is_key) {
            return false;
        }
        let folded = fold(name);
        self.lists.test_files.iter().any(|pattern| {
            // A pattern with a capital letter means it: `*Test.java` is not `latest.java`.
            let exact = pattern.bytes().any(|byte| byte.is_ascii_uppercase());
            matches_name(pattern.as_bytes(), if exact { name } else { &folded })
        })
    }
}

/// A set of first bytes, whatever the case of the letters.
#[derive(Debug, Clone)]
struct Starts([bool; 256]);

impl Starts {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut starts = [false; 256];
        for byte in bytes {
            starts[usize::from(byte.to_ascii_lowercase())] = true;
            starts[usize::from(byte.to_ascii_uppercase())] = true;
        }
        Starts(starts)
    }

    const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}

/// How long a piece of a pattern is that a name has to have.
const KEY: usize = 4;

/// Returns the piece of a pattern that every name it matches has in it.
fn key(pattern: &str) -> Option<[u8; KEY]> {
    let longest = pattern.split('*').max_by_key(|piece| piece.len())?;
    fold(longest.as_bytes()).first_chunk().copied()
}

/// Tells whether a path is `directory` or under it, whatever the case of the letters.
fn is_within_folded(path: &[u8], directory: &[u8]) -> bool {
    path.get(..directory.len()).is_some_and(|start| start.eq_ignore_ascii_case(directory))
        && path.get(directory.len()).is_none_or(|next| *next == b'/')
}

/// How many patterns a glob stands for.
const FORMS: usize = 4;

/// Returns what a glob means: the path itself and what is under it; a name without a slash at any depth.
fn forms(glob: &str) -> [String; FORMS] {
    let glob = glob.strip_suffix('/').unwrap_or(glob);
    let anywhere = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
    [glob.to_owned(), format!("{glob}/**"), anywhere.clone(), format!("{anywhere}/**")]
}

fn fold(bytes: &[u8]) -> Vec<u8> {
    bytes.to_ascii_lowercase()
}

/// Returns what a path controls, if it controls something.
fn control_file(path: &RepoPath) -> Option<&'static str> {
    let mut components = path.components();
    let first = components.next().unwrap_or_default();
    // Some file systems ignore case and what Windows trims from the end of a name.
    let trimmed: &[u8] = first.trim_ascii_end();
    let trimmed = trimmed.strip_suffix(b".").unwrap_or(trimmed);
    if trimmed.eq_ignore_ascii_case(b".oracle") {
        return Some("git-oracle's own directory");
    }
    if components.next().is_none() && is_dotgitmodules(first) {
        return Some("the list of submodules");
    }
    let is_env = |component: &[u8]| {
        component.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b".env"))
            && !ENV_TEMPLATES.iter().any(|template| component.eq_ignore_ascii_case(template))
    };
    path.components().any(is_env).then_some("a file that holds secrets")
}

/// Matches a name against a pattern in which `*` stands for any characters.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    let mut pieces = pattern.split(|byte| *byte == b'*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.windows(piece.len().max(1)).position(|window| window == piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected() -> Protected {
        Protected::new(Some("tools/hooks".into()), vec!["*.sql".into(), "db/**".into()]).unwrap()
    }

    #[test]
    fn control_files_are_known_in_every_spelling() {
        for path in [
            ".oracle/config.toml",
            ".ORACLE/x",
            ".oracle./x",
            ".oracle /x",
            ".gitmodules",
            ".GitModules",
            ".env",
            "src/.env",
            "src/.ENV",
            "a/.env.local",
            ".envrc",
            ".env ",
            ".env.sample.local",
            ".env/x",
            "tools/hooks/pre-commit",
            "Tools/Hooks/x",
        ] {
            assert!(matches!(protected().always(&path.into()), Some(Protection::Control(_))), "{path}");
        }
        for path in [
            "src/.env.example",
            ".env.sample",
            ".ENV.TEMPLATE",
            ".env.dist",
            "environment.ts",
            "git/x.c",
            "src/.oracle/x",
            "src/hooks/useAuth.ts",
            "tools/hooks2/x",
            "gitmodules",
            "sub/.gitmodules",
        ] {
            assert_eq!(protected().always(&path.into()), None, "{path}");
        }
    }

    #[test]
    fn configured_globs_protect() {
        assert_eq!(protected().always(&"a/b.sql".into()), Some(Protection::Configured("*.sql".into())));
        assert_eq!(protected().always(&"db/x/y".into()), Some(Protection::Configured("db/**".into())));
        assert_eq!(protected().always(&"dbx/y".into()), None);
        for glob in ["src/lib", "src/lib/", "src/lib/**", "core.py", "src/*/core.py"] {
            let protected = Protected::new(None, vec!["other".into(), glob.into()]).unwrap();
            assert_eq!(
                protected.always(&"src/lib/core.py".into()),
                Some(Protection::Configured(glob.into())),
                "{glob}"
            );
            assert_eq!(protected.always(&"src/lib2/core.rs".into()), None, "{glob}");
        }
    }

    #[test]
    fn tests_and_agent_settings_are_known() {
        for path in [
            "tests/a.rs",
            "src/tests",
            "src/Tests/a",
            "src/app.test.tsx",
            "src/a_test.go",
            "src/test_a.py",
            "src/a.spec.ts",
            "x/FooTest.java",
            "src/fixtures/a.json",
            "a/__snapshots__/b",
            "x.snap",
            "conftest.py",
            "src/tests.rs",
            "evals/a.yaml",
        ] {
            assert_eq!(protected().unless_named(&path.into()), Some(Protection::Test), "{path}");
        }
        for path in
            [".claude/settings.json", "src/.claude/x", ".GitHub/Hooks/a.json", ".codex/config.toml", "opencode.json"]
        {
            assert_eq!(protected().unless_named(&path.into()), Some(Protection::AgentSettings), "{path}");
        }
        for path in [
            "src/latest.java",
            "src/contest.py",
            "src/testimony.md",
            "src/inspect.rs",
            "src/specification.md",
            "src/attest.ts",
            "src/hooks/x.ts",
            ".github/workflows/ci.yml",
            "src/evaluate.py",
            "src/snapshot.rs2/x",
            "src/protest.go",
            "greatest_hits.txt",
        ] {
            assert_eq!(protected().unless_named(&path.into()), None, "{path}");
        }
    }
}
