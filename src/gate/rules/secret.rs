//! `secret`: what is added has a key, a token or a password in it. No message says which.

use super::Context;
use super::Finding;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let secrets = &context.change.facts.secrets;
    let mut findings: Vec<Finding> = Vec::new();
    for secret in secrets {
        let message = format!("line {} has a secret ({})", secret.line, secret.label);
        let finding = Finding { line: Some(secret.line), ..Finding::new(Rule::Secret, message) };
        // Several of a kind on one line are one thing to mend.
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::edit;
    use crate::change::Secret;
    let secret = Secret {
        rule: "github_pat".into(),
        label: "github_token".into(),
        line: 3,
        column: 1,
        end_line: 3,
        preview: "ghp_…".into(),
    };
    super::example::Examples {
        rule: Rule::Secret,
        passes: vec![edit("src/a.rs"), edit("src/a.rs").with(|change| change.facts.allowed_secrets = 1)],
        blocks: vec![edit("src/a.rs").with(move |change| change.facts.secrets = vec![secret.clone()])],
    }
}
