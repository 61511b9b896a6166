//! `unsafe_path`: a path that leaves the tree, is malformed, or some file system takes for `.git`.

use super::Context;
use super::Finding;
use crate::base::is_dotgit;
use crate::gate::Rule;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let path = &context.change.path;
    let refuse = |message: &str| vec![Finding::new(Rule::UnsafePath, message)];
    if path.as_bytes().contains(&0) {
        return refuse("the path has a NUL in it");
    }
    for component in path.components() {
        match component {
            b"" => return refuse("the path is absolute or has an empty component"),
            b"." | b".." => return refuse("the path has `.` or `..` in it"),
            _ if is_dotgit(component) => return refuse("some file system takes this name for `.git`"),
            _ => {}
        }
    }
    if path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic() {
        return refuse("Windows takes this path for one on a drive");
    }
    Vec::new()
}

#[cfg(test)]
pub(super) fn examples() -> super::example::Examples {
    use super::example::add;
    super::example::Examples {
        rule: Rule::UnsafePath,
        passes: vec![add("src/.gitx/a"), add("src/git~x"), add("src/..a"), add("src/.gitignore"), add("src/a:b")],
        blocks: vec![
            add("src/.git/config"),
            add("src/.GIT/config"),
            add("src/git~1/x"),
            add("src/../x"),
            add("/etc/passwd"),
            add("src//x"),
            add("C:/x"),
            add("src/.git\u{200c}/config"),
        ],
    }
}
