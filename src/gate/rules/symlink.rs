//! `symlink`, `symlink_escape` and `type_change`: a link makes one path speak for another.

use super::Context;
use super::Finding;
use super::verb;
use crate::change::Kind;
use crate::change::Link;
use crate::contract::Permit;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let change = context.change;
    let kinds = [change.old, change.new].map(|side| side.map(|side| side.mode.kind()));
    if let [Some(old), Some(new)] = kinds
        && old != new
        && !is_permitted(context, old) | !is_permitted(context, new)
    {
        return vec![Finding::new(Rule::TypeChange, format!("turned from {} into {}", name(old), name(new)))];
    }
    if !kinds.contains(&Some(Kind::Symlink)) {
        return Vec::new();
    }
    if !is_permitted(context, Kind::Symlink) {
        return vec![Finding::new(Rule::Symlink, format!("{} as a symlink", verb(change)))];
    }
    let message = match &change.facts.link {
        Some(Link::Inside(target)) if is_open(context, target) => return Vec::new(),
        Some(Link::Inside(target)) => format!("the symlink leads out of the allowed paths, to {target}"),
        Some(Link::Escapes { target }) => format!("the symlink leads out of the repository, to {target}"),
        None => return Vec::new(),
    };
    vec![Finding::new(Rule::SymlinkEscape, message)]
}

/// Tells whether the contract lets this sort of thing through here.
fn is_permitted(context: &Context<'_>, kind: Kind) -> bool {
    let policy = context.policy();
    let permit = match kind {
        Kind::File => return true,
        Kind::Symlink => policy.and_then(|policy| policy.symlink.as_ref()),
        Kind::Gitlink => policy.and_then(|policy| policy.submodule.as_ref()),
    };
    permit.unwrap_or(&Permit::DENY).covers(&context.change.path)
}

/// Tells whether a link may lead to `target`: it is in the scope and not protected.
fn is_open(context: &Context<'_>, target: &crate::base::RepoPath) -> bool {
    context.is_in_scope(target) && context.protected.always(target).is_none()
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Symlink => "a symlink",
        Kind::Gitlink => "a submodule",
    }
}

#[cfg(test)]
fn allow(contract: &mut serde_json::Value) {
    contract["diff_policy"] = serde_json::json!({"symlink": "allow"});
}

#[cfg(test)]
fn link_to(link: Link) -> super::example::Case {
    super::example::change("src/link", None, Some(crate::change::Mode::Symlink))
        .with(|change| change.facts.link = Some(link))
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::change;
    use crate::change::Mode;
    super::example::Examples {
        rule: Rule::Symlink,
        passes: vec![link_to(Link::Inside("src/a.rs".into())).contract(allow)],
        blocks: vec![
            link_to(Link::Inside("src/a.rs".into())),
            change("src/link", Some(Mode::Symlink), Some(Mode::Symlink)),
            change("src/link", Some(Mode::Symlink), None),
        ],
    }
}

#[cfg(test)]
pub(super) fn escape_examples() -> super::example::Examples {
    super::example::Examples {
        rule: Rule::SymlinkEscape,
        passes: vec![link_to(Link::Inside("src/deep".into())).contract(allow)],
        blocks: vec![
            link_to(Link::Inside("docs/guide.md".into())).contract(allow),
            link_to(Link::Inside("src/.env".into())).contract(allow),
            link_to(Link::Escapes { target: "/etc/passwd".into() }).contract(allow),
        ],
    }
}

#[cfg(test)]
pub(super) fn type_examples() -> super::example::Examples {
    use super::example::change;
    use crate::change::Mode;
    let into_link = || {
        change("src/a", Some(Mode::Regular), Some(Mode::Symlink))
            .with(|change| change.facts.link = Some(Link::Inside("src/b".into())))
    };
    super::example::Examples {
        rule: Rule::TypeChange,
        passes: vec![change("src/a", Some(Mode::Regular), Some(Mode::Executable)), into_link().contract(allow)],
        blocks: vec![
            into_link(),
            change("src/a", Some(Mode::Symlink), Some(Mode::Regular)),
            change("src/a", Some(Mode::Regular), Some(Mode::Gitlink)),
        ],
    }
}
