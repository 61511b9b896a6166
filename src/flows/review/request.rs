//! The request: a template, filled in with what is known about the branch.

use crate::base::RepoPath;
use crate::base::nearest;
use crate::base::visible;
use crate::contract::Contract;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::flows::review::branch::Place;
use crate::flows::rounds::Briefing;
use crate::flows::rounds::FORMAT;
use crate::git::Repository;
use crate::system;

/// What is sent where the repository has no template of its own.
const TEMPLATE: &str = include_str!("../../../docs/templates/review-request.md");

/// Where a repository has one, unless its configuration says otherwise.
const OWN_TEMPLATE: &str = ".oracle/review-request.md";

const MAX_TEMPLATE_BYTES: u64 = 1 << 20;

/// So many changed files are listed.
const SHOWN_FILES: usize = 200;

/// What is asked where nobody says it.
const TASK: &str = "\
Review the change. Look for wrong behaviour, cases that were missed, unclear code and missing tests, and correct what has \
to be corrected with the smallest patch that does it.";

/// Where a template can say something of its own.
const NAMES: [&str; 11] =
    ["repository", "branch", "commit", "upstream", "base", "task", "scope", "tests", "files", "diff", "format"];

/// A request, in the parts before and after the change that it is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestText {
    pub before: String,
    /// `None` where the template does not show the change.
    pub after: Option<String>,
}

/// Reads the template: the one that is configured, the repository's own, or ours.
pub(super) fn template(repository: &Repository, configured: Option<&str>) -> Result<String, Failure> {
    let name = configured.unwrap_or(OWN_TEMPLATE);
    let unusable = |reason: &str| {
        Failure::new(Kind::Other, format!("the template of review requests cannot be used, {reason}: {name}"))
            .hinted("docs/review.md shows what a template may say.")
    };
    match system::read_limited(&repository.work_tree()?.join(name), MAX_TEMPLATE_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| unusable("it is not UTF-8 text")),
        Err(error) if error.is_not_found() && configured.is_none() => Ok(TEMPLATE.to_owned()),
        Err(error) => Err(unusable(&error.to_string())),
    }
}

/// Returns what the patch has to keep to, in words.
pub(super) fn briefing(contract: Option<&Contract>, prompt: Option<&str>, place: &Place) -> Briefing {
    let spec = contract.map(|contract| contract.file.inputs.spec.as_str()).filter(|spec| !spec.trim().is_empty());
    let task = match (prompt, spec) {
        (Some(prompt), _) => prompt.trim().to_owned(),
        (None, Some(spec)) => format!("{TASK}\n\nThe change is made for this task: {}", visible(spec)),
        (None, None) => TASK.to_owned(),
    };
    Briefing::of(contract, &task, place.head)
}

/// Fills a template in.
pub(super) fn fill(template: &str, place: &Place, briefing: &Briefing) -> Result<RequestText, Failure> {
    let value = |name: &str| match name {
        "repository" => place.repository.clone(),
        "branch" => visible(&place.branch).into_owned(),
        "commit" => briefing.commit.clone(),
        "upstream" => place.upstream.clone().unwrap_or_else(|| "none yet".to_owned()),
        "base" => place.base_name(),
        "task" => briefing.task.clone(),
        "scope" => briefing.scope.clone(),
        "tests" => briefing.tests.clone(),
        "files" => listed(&place.files),
        _ => FORMAT.to_owned(),
    };
    let (mut before, mut after): (String, Option<String>) = (String::new(), None);
    let mut rest = template;
    while let Some((text, tail)) = rest.split_once("{{") {
        let Some((name, tail)) = tail.split_once("}}") else { break };
        let name = name.trim();
        if !NAMES.contains(&name) {
            let hint = match nearest(name, NAMES) {
                Some(known) => format!("Did you mean {{{{{known}}}}}?"),
                None => format!("It may say {}.", NAMES.map(|name| format!("{{{{{name}}}}}")).join(", ")),
            };
            let name: String = visible(name).chars().take(40).collect();
            let message = format!("the template of review requests says {{{{{name}}}}}, which is not known");
            return Err(Failure::new(Kind::Other, message).hinted(hint));
        }
        let part = after.as_mut().unwrap_or(&mut before);
        part.push_str(text);
        match name {
            // Once is enough.
            "diff" => after = Some(after.unwrap_or_default()),
            _ => part.push_str(&value(name)),
        }
        rest = tail;
    }
    after.as_mut().unwrap_or(&mut before).push_str(rest);
    Ok(RequestText { before, after })
}

fn listed(files: &[(char, RepoPath)]) -> String {
    if files.is_empty() {
        return "None yet: the branch has no change of its own.".to_owned();
    }
    let mut rows: Vec<String> =
        files.iter().take(SHOWN_FILES).map(|(letter, path)| format!("- {letter} `{path}`")).collect();
    if files.len() > SHOWN_FILES {
        rows.push(format!("- and {} more", files.len() - SHOWN_FILES));
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Oid;

    fn place() -> Place {
        Place {
            repository: "owner/repo".into(),
            branch: "feature/x".into(),
            head: Oid::from_hex(&"a".repeat(40)).unwrap(),
            upstream: Some("origin/feature/x".into()),
            base: None,
            files: vec![('M', "src/a.rs".into())],
        }
    }

    fn filled(template: &str) -> Result<RequestText, String> {
        let briefing = briefing(None, Some("Do {{this}} {{diff}}."), &place());
        fill(template, &place(), &briefing).map_err(|failure| failure.message)
    }

    #[test]
    fn a_template_is_filled_in_once_and_what_fills_it_is_text() {
        let text = filled("{{ repository }} {{branch}}: {{task}}\n{{diff}}\nend {{files}}").unwrap();
        assert_eq!(text.before, "owner/repo feature/x: Do {{this}} {{diff}}.\n");
        assert_eq!(text.after.as_deref(), Some("\nend - M `src/a.rs`"));
        assert_eq!(filled("plain { text }").unwrap(), RequestText { before: "plain { text }".into(), after: None });
        assert_eq!(filled("an open {{ brace").unwrap().before, "an open {{ brace");
    }

    #[test]
    fn ours_can_be_filled_in_and_names_everything_that_an_answer_needs() {
        let text = filled(TEMPLATE).unwrap();
        for part in ["owner/repo", "feature/x", "aaaaaaaa", "src/a.rs"] {
            assert!(text.before.contains(part), "{part}: {}", text.before);
        }
        assert!(text.after.unwrap().contains("diff --git"));
    }

    #[test]
    fn a_misspelt_name_is_an_error() {
        assert_eq!(
            filled("{{brunch}}").unwrap_err(),
            "the template of review requests says {{brunch}}, which is not known"
        );
    }
}
