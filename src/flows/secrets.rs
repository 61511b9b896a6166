//! The rules about secrets that hold in a repository, and what somebody allowed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::OnceLock;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::change::ChangeSet;
use crate::change::Secret;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::active::repo_config;
use crate::git::Repository;
use crate::git::Watch;
use crate::patch::Hunk;
use crate::patch::Line;
use crate::patch::LineKind;
use crate::patch::Patch;
use crate::patch::parse_patch;
use crate::policy::RepoConfig;
use crate::secret::Allow;
use crate::secret::Allows;
use crate::secret::Finding;
use crate::secret::RuleFile;
use crate::secret::Rules;
use crate::secret::Scanner;
use crate::secret::Strictness;

/// Finds secrets by the rules in force here.
pub struct Guard {
    allows: Allows,
    /// Made when the first content is looked at: most runs of most hooks look at none.
    scanner: OnceLock<Scanner>,
}

impl Guard {
    /// Returns what holds where nothing is configured.
    pub fn built_in() -> Self {
        Guard { allows: Allows::default(), scanner: OnceLock::new() }
    }

    /// Returns what holds in a repository.
    pub fn of_repository(repository: &Repository) -> Result<Self, Failure> {
        Self::of_config(&repo_config(repository)?)
    }

    /// Returns what holds for a range of commits: what its first revision says, so that no commit of it excuses itself.
    pub fn of_commit(repository: &Repository, commit_id: &Oid) -> Result<Self, Failure> {
        match repository.file_at(commit_id, &".oracle/config.toml".into())? {
            Some(bytes) => {
                let config = RepoConfig::parse(&bytes);
                Self::of_config(&config.map_err(|error| Failure::config(Path::new(".oracle/config.toml"), &error))?)
            }
            None => Ok(Self::built_in()),
        }
    }

    /// Returns what a configuration asks for. Rules have to hold what their examples promise.
    pub fn of_config(config: &RepoConfig) -> Result<Self, Failure> {
        let broken = |reason: String| {
            Failure::new(Kind::Other, format!("the configuration cannot be used, {reason}: .oracle/config.toml"))
                .hinted("docs/secrets.md shows how rules and allowed findings are written.")
        };
        let own = config.secret_rules.iter().map(|table| table.clone().try_into::<RuleFile>());
        let own: Vec<RuleFile> =
            own.collect::<Result<_, _>>().map_err(|error| broken(format!("secrets.rules: {}", error.message())))?;
        let allows = config.secret_allows.iter().map(|table| table.clone().try_into::<Allow>());
        let allows: Vec<Allow> =
            allows.collect::<Result<_, _>>().map_err(|error| broken(format!("secrets.allow: {}", error.message())))?;
        let allows = Allows::new(&allows).map_err(|error| broken(error.to_string()))?;
        let scanner = OnceLock::new();
        if !own.is_empty() {
            let rules = Rules::with(own).map_err(|error| broken(error.to_string()))?;
            let _ = scanner.set(Scanner::new(rules));
        }
        Ok(Guard { allows, scanner })
    }

    pub fn scanner(&self) -> &Scanner {
        self.scanner.get_or_init(Scanner::built_in)
    }

    /// Returns what git is to look for in a person's own commits.
    pub fn watch(&self) -> Watcher<'_> {
        Watcher { guard: self, strictness: self.allowing() }
    }

    /// Returns a finding as a fact about a change.
    pub fn fact(finding: &Finding) -> Secret {
        Secret {
            rule: finding.rule.clone(),
            label: finding.label.clone(),
            line: finding.line,
            column: finding.column,
            end_line: finding.end_line,
            preview: finding.preview.clone(),
        }
    }

    /// Returns the strictness for a person's own files and commits.
    pub fn allowing(&self) -> Strictness<'_> {
        Strictness::Allowing(&self.allows)
    }
}

/// Notes the secrets in the lines that a patch adds. Nobody's word counts for them.
pub(super) fn note_secrets(set: &mut ChangeSet, patch: &Patch, scanner: &Scanner) {
    for file in &patch.files {
        let Some(path) = file.new_path.as_ref().map(|path| RepoPath::new(path.clone())) else { continue };
        let secrets: Vec<Secret> = file.hunks.iter().flat_map(|hunk| secrets_of(hunk, scanner)).collect();
        let changes = set.steps.iter_mut().flat_map(|step| &mut step.changes);
        for change in changes.filter(|change| change.path == path && change.new.is_some()) {
            change.facts.secrets.extend(secrets.iter().cloned());
        }
    }
}

/// Returns the labels of the secrets that a patch adds.
pub(super) fn added_secrets(patch: &[u8], scanner: &Scanner) -> Vec<String> {
    let files = parse_patch(patch).map(|patch| patch.files).unwrap_or_default();
    let hunks = files.iter().flat_map(|file| &file.hunks);
    let mut labels: Vec<String> = hunks.flat_map(|hunk| secrets_of(hunk, scanner)).map(|secret| secret.label).collect();
    labels.sort();
    labels.dedup();
    labels
}

/// Returns the secrets that a hunk adds. The lines around it are read too: a name can be on one line and its value on the next.
fn secrets_of(hunk: &Hunk, scanner: &Scanner) -> Vec<Secret> {
    let new: Vec<&Line> = hunk.lines.iter().filter(|line| line.kind != LineKind::Removed).collect();
    let text = new.iter().map(|line| line.text.as_slice()).collect::<Vec<_>>().join(&b'\n');
    let first = usize::try_from(hunk.new_start).unwrap_or(usize::MAX / 2).max(1) - 1;
    let secrets = scanner.scan(&text).into_iter().filter_map(|finding| {
        let is_added = |number: &usize| new.get(number - 1).is_some_and(|line| line.kind == LineKind::Added);
        let line = (finding.line..=finding.end_line).find(is_added)?;
        Some(Secret { line: first + line, end_line: first + finding.end_line, ..Guard::fact(&finding) })
    });
    secrets.collect()
}

/// Looks for secrets in what a change adds.
pub struct Watcher<'a> {
    guard: &'a Guard,
    strictness: Strictness<'a>,
}

impl Watch for Watcher<'_> {
    fn suspects(&self, content: &[u8]) -> bool {
        self.guard.scanner().finds(content)
    }

    fn added(&self, path: &RepoPath, old: &[u8], new: &[u8]) -> (Vec<Secret>, usize) {
        let mut findings = self.guard.scanner().scan(new);
        // Of what is no text nobody can say which part is new.
        if !new.contains(&0) {
            let known: HashSet<&[u8]> = old.split(|byte| *byte == b'\n').collect();
            let lines: Vec<&[u8]> = new.split(|byte| *byte == b'\n').collect();
            let is_added = |number: usize| lines.get(number - 1).is_some_and(|line| !known.contains(line));
            findings.retain(|finding| (finding.line..=finding.end_line).any(is_added));
        }
        let allowed = self.strictness.screen(path, new, &mut findings);
        (findings.iter().map(Guard::fact).collect(), allowed)
    }
}
