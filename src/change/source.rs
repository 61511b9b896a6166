//! Where the content of a new file came from.

use crate::base::RepoPath;
use crate::change::Source;
use crate::change::SourceKind;

/// A file that vanished and half of which turns up elsewhere was renamed: git's own default.
const RENAME_SIMILARITY: u8 = 50;

/// A file that is still there is blamed only when most of the new one is its content: source files of one project
/// share headers and boilerplate.
const COPY_SIMILARITY: u8 = 70;

/// An old file that a new one may have been made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub path: RepoPath,
    /// The file is no longer at its old place.
    pub gone: bool,
    pub similarity: u8,
}

/// Returns the candidate outside the scope that a new file was made from.
///
/// Content that the scope already holds is never blamed on a file outside it.
pub fn find_source(candidates: &[Candidate], in_scope: &dyn Fn(&RepoPath) -> bool) -> Option<Source> {
    let near = |candidate: &&Candidate| {
        candidate.similarity >= if candidate.gone { RENAME_SIMILARITY } else { COPY_SIMILARITY }
    };
    let (inside, outside): (Vec<_>, Vec<_>) = candidates.iter().filter(near).partition(|found| in_scope(&found.path));
    let own = inside.iter().map(|candidate| candidate.similarity).max().unwrap_or(0);
    let best = outside
        .into_iter()
        .filter(|candidate| candidate.similarity > own)
        .max_by(|a, b| (a.similarity, a.gone, &b.path).cmp(&(b.similarity, b.gone, &a.path)))?;
    let kind = if best.gone { SourceKind::Rename } else { SourceKind::Copy };
    Some(Source { kind, path: best.path.clone(), similarity: best.similarity })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(candidates: &[(&str, bool, u8)]) -> Option<(SourceKind, String)> {
        let candidates: Vec<_> = candidates
            .iter()
            .map(|(path, gone, similarity)| Candidate { path: (*path).into(), gone: *gone, similarity: *similarity })
            .collect();
        find_source(&candidates, &|path| path.is_within(b"src")).map(|source| (source.kind, source.path.to_string()))
    }

    #[test]
    fn the_most_similar_file_outside_is_named() {
        assert_eq!(found(&[("docs/a", false, 100)]), Some((SourceKind::Copy, "docs/a".into())));
        assert_eq!(found(&[("docs/a", false, 80), ("lib/b", true, 90)]), Some((SourceKind::Rename, "lib/b".into())));
        assert_eq!(found(&[("b", false, 90), ("a", false, 90)]), Some((SourceKind::Copy, "a".into())));
    }

    #[test]
    fn boilerplate_and_content_of_the_scope_are_not_blamed() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("docs/a", false, 60)]), None);
        assert_eq!(found(&[("docs/a", false, 100), ("src/a", false, 100)]), None);
        assert_eq!(found(&[("docs/a", false, 80), ("src/a", false, 95)]), None);
        assert_eq!(found(&[("src/a", true, 100)]), None);
    }

    #[test]
    fn a_vanished_file_counts_at_half() {
        assert_eq!(found(&[("docs/a", true, 50)]), Some((SourceKind::Rename, "docs/a".into())));
        assert_eq!(found(&[("docs/a", true, 49)]), None);
    }
}
