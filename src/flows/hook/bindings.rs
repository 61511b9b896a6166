//! Which contract holds for which ref of a server.

use crate::contract::Contract;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Kind;
use crate::git::Binding;
use crate::git::Desk;
use crate::git::Pin;
use crate::git::Repository;

/// The contracts of a bare repository: those bound to refs, and the one for all others.
pub(super) struct Bindings {
    bound: Vec<Binding>,
    for_all: ActiveContract,
}

/// The contracts that hold for one ref. All of them have to agree.
pub(super) enum Holding<'a> {
    Bound(Vec<&'a Binding>),
    ForAll(&'a ActiveContract),
}

impl Bindings {
    pub fn load(repository: &Repository) -> Result<Self, Failure> {
        Ok(Bindings { bound: Desk::of(repository).bindings()?, for_all: ActiveContract::load(repository)? })
    }

    /// Returns what holds for a ref.
    pub fn of(&self, name: &str) -> Holding<'_> {
        let bound: Vec<&Binding> = self.bound.iter().filter(|binding| matches_ref(&binding.pattern, name)).collect();
        if bound.is_empty() { Holding::ForAll(&self.for_all) } else { Holding::Bound(bound) }
    }
}

impl Holding<'_> {
    /// Returns the contracts with their pins; none where no usable contract holds.
    pub fn contracts(&self, repository: &Repository) -> Result<Vec<(Contract, Pin)>, Failure> {
        match self {
            Holding::ForAll(ActiveContract::Active { contract, pin }) => Ok(vec![((**contract).clone(), pin.clone())]),
            Holding::ForAll(_) => Ok(Vec::new()),
            Holding::Bound(bindings) => bindings
                .iter()
                .map(|binding| {
                    let bytes = Desk::of(repository).kept_contract(&binding.pin.sha256)?;
                    let contract = bytes.and_then(|bytes| Contract::from_pinned(&bytes).ok());
                    let lost = || {
                        let message = format!("the contract {} is gone from the git directory", binding.pin.task_id);
                        Failure::new(Kind::Other, message)
                            .hinted(format!("git oracle contract activate FILE --ref '{}'", binding.pattern))
                    };
                    Ok((contract.ok_or_else(lost)?, binding.pin.clone()))
                })
                .collect(),
        }
    }

    /// Tells whether other refs are held to exactly the same, so that what they have has been judged alike.
    pub fn is_like(&self, other: &Holding<'_>) -> bool {
        match (self, other) {
            (Holding::ForAll(_), Holding::ForAll(_)) => true,
            (Holding::Bound(own), Holding::Bound(others)) => {
                let digests = |bindings: &[&Binding]| {
                    let mut digests: Vec<_> = bindings.iter().map(|binding| binding.pin.sha256.to_string()).collect();
                    digests.sort_unstable();
                    digests
                };
                digests(own) == digests(others)
            }
            _ => false,
        }
    }

    /// Tells whether nothing can be pushed to such a ref, so that only the server's owner has put there what it has.
    pub fn is_closed(&self) -> bool {
        matches!(self, Holding::ForAll(state) if !matches!(state, ActiveContract::Active { .. }))
    }
}

/// Tells whether a pattern covers a ref. `*` stands for anything, as in a refspec; a name without `refs/` is a branch.
fn matches_ref(pattern: &str, name: &str) -> bool {
    match pattern.starts_with("refs/") {
        true => matches_stars(pattern, name),
        false => name.strip_prefix("refs/heads/").is_some_and(|branch| matches_stars(pattern, branch)),
    }
}

fn matches_stars(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        match left.find(piece) {
            Some(at) => left = &left[at + piece.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches_ref;

    #[test]
    fn patterns_cover_refs_as_refspecs_do() {
        let cases = [
            ("refs/heads/main", "refs/heads/main", true),
            ("refs/heads/main", "refs/heads/main2", false),
            ("refs/heads/agent/*", "refs/heads/agent/x", true),
            ("refs/heads/agent/*", "refs/heads/agent/x/y", true),
            ("refs/heads/agent/*", "refs/heads/agent", false),
            ("refs/*", "refs/tags/v1", true),
            ("*", "refs/heads/x", true),
            ("*", "refs/tags/v1", false),
            ("main", "refs/heads/main", true),
            ("agent/*/wip", "refs/heads/agent/a/b/wip", true),
            ("agent/*/wip", "refs/heads/agent/wip", false),
            ("a*b*c", "refs/heads/axbxc", true),
            ("a*b*c", "refs/heads/axcxb", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_ref(pattern, name), expected, "{pattern} {name}");
        }
    }
}
