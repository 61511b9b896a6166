//! `rename_source` and `copy_source`: source and destination must both be allowed.

use super::Context;
use super::Finding;
use crate::change::SourceKind;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(source) = &context.change.source else { return Vec::new() };
    if context.is_in_scope(&source.path) {
        return Vec::new();
    }
    let (rule, verb) = match source.kind {
        SourceKind::Rename => (Rule::RenameSource, "renamed"),
        SourceKind::Copy => (Rule::CopySource, "copied"),
    };
    let message = format!("{verb} from outside the allowed paths ({} % the same): {}", source.similarity, source.path);
    vec![Finding { old_path: Some(source.path.clone()), ..Finding::new(rule, message) }]
}

#[cfg(test)]
fn from(path: &str, kind: SourceKind) -> super::example::Case {
    let source = crate::change::Source { kind, path: path.into(), similarity: 90 };
    super::example::add("src/new.rs").with(|change| change.source = Some(source))
}

#[cfg(test)]
pub(super) fn rename_examples() -> super::example::Examples {
    super::example::Examples {
        rule: Rule::RenameSource,
        passes: vec![from("src/old.rs", SourceKind::Rename)],
        blocks: vec![from("lib/old.rs", SourceKind::Rename)],
    }
}

#[cfg(test)]
pub(super) fn copy_examples() -> super::example::Examples {
    super::example::Examples {
        rule: Rule::CopySource,
        passes: vec![from("src/old.rs", SourceKind::Copy)],
        blocks: vec![from("docs/notes.txt", SourceKind::Copy)],
    }
}
