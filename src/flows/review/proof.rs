//! What a review leaves in the repository: a record for the tree that came out of it, which a push can be held to.
//!
//! It says that this tree is what a review agreed to and tested here. Whoever may write refs can write one; it is no
//! signature.

use serde_json::Value;
use serde_json::json;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::base::Sha256Hex;
use crate::base::parse_strict;
use crate::flows::Failure;
use crate::flows::active::repo_config;
use crate::flows::apply::Law;
use crate::flows::apply::Outcome;
use crate::gate::Rule;
use crate::gate::Violation;
use crate::git::Repository;
use crate::policy::RepoConfig;
use crate::system;

/// The word by which a record is known.
const FORMAT: &str = "git-oracle review 1";

/// Keeps the record of a tree that came out of a review of `commit_id`.
pub(in crate::flows) fn keep(
    repository: &Repository,
    tree_id: Oid,
    commit_id: Oid,
    law: &Law,
    outcome: &Outcome,
) -> Result<(), Failure> {
    let tests = outcome.tests.iter().flatten().map(|test| json!({"name": test.name, "status": test.status}));
    let record = json!({
        "format": FORMAT,
        "tree": tree_id.to_string(),
        "commit": commit_id.to_string(),
        "createdAt": system::now(),
        "session": outcome.session,
        "platform": outcome.heard.platform,
        "requestId": outcome.heard.request_id,
        "turns": outcome.heard.turns.map(|turns| turns.used),
        "taskId": law.task_id(),
        "contractSha256": law.contract_sha256(),
        "patchSha256": Sha256Hex::of(&outcome.agreed_patch),
        "tests": tests.collect::<Vec<_>>(),
    });
    Ok(repository.keep_review(tree_id, format!("{record:#}\n").as_bytes())?)
}

/// Tells whether bytes are the record of a tree.
pub(in crate::flows) fn is_record_of(bytes: &[u8], tree: &str) -> bool {
    let Ok(record) = parse_strict(bytes, bytes.len()) else { return false };
    let is = |field: &str, expected: &str| record[field].as_str() == Some(expected);
    is("format", FORMAT)
        && is("tree", tree)
        && record["session"].is_string()
        && matches!(record["tests"], Value::Array(_))
}

/// Tells whether reviews are required here, or were at the start of a range.
pub(in crate::flows) fn is_required(repository: &Repository, from: Option<Oid>) -> Result<bool, Failure> {
    if repo_config(repository)?.review_required {
        return Ok(true);
    }
    let Some(from) = from else { return Ok(false) };
    let path = RepoPath::from(".oracle/config.toml");
    let Some(bytes) = repository.file_at(&from, &path)? else { return Ok(false) };
    let config = RepoConfig::parse(&bytes).map_err(|error| Failure::config(".oracle/config.toml".as_ref(), &error))?;
    Ok(config.review_required)
}

/// Returns the violation of a branch whose tree did not come out of a review.
pub(in crate::flows) fn violation(
    repository: &Repository,
    branch: &str,
    commit_id: Oid,
) -> Result<Option<Violation>, Failure> {
    let tree_id = repository.tree_id(commit_id)?;
    let record = repository.review_of(tree_id)?;
    if record.is_some_and(|record| is_record_of(&record, &tree_id.to_string())) {
        return Ok(None);
    }
    let message = format!("its tree {} did not come out of a review", &tree_id.to_string()[..12]);
    let hint = "git oracle review; or fetch the record: git fetch REMOTE 'refs/oracle/reviews/*:refs/oracle/reviews/*'";
    Ok(Some(Violation::of_path(Rule::ReviewMissing, branch.into(), message, hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_about_its_tree() {
        let record = r#"{"format":"git-oracle review 1","tree":"abc","session":"s","tests":[]}"#;
        assert!(is_record_of(record.as_bytes(), "abc"));
        for (bytes, tree) in [
            (record, "abd"),
            (r#"{"format":"git-oracle review 2","tree":"abc","session":"s","tests":[]}"#, "abc"),
            (r#"{"tree":"abc"}"#, "abc"),
            ("[]", "abc"),
            ("no json", "abc"),
        ] {
            assert!(!is_record_of(bytes.as_bytes(), tree), "{bytes}");
        }
    }
}
