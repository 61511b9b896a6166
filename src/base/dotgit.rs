//! Names that some file system takes for `.git` or `.gitmodules`.
//!
//! A path is bytes to us and to git, but HFS+ drops invisible characters, NTFS drops trailing dots
//! and spaces, and both ignore case. A change made on Linux can therefore write into `.git` on
//! somebody else's machine. The rules are those of git with `core.protectHFS` and
//! `core.protectNTFS` both on, whatever machine we run on.

/// Returns whether a path component could reach the repository's `.git`.
///
/// A component holds no `/` and no NUL; should one be there, each side of it is looked at.
pub fn is_dotgit(component: &[u8]) -> bool {
    names(component).any(|name| is_hfs_name(name, ".git") || after_backslashes(name).any(is_ntfs_dotgit))
}

/// Returns whether a path component could be read as `.gitmodules`.
///
/// As a file that name is ordinary. As a symbolic link git refuses it, because it would read its
/// submodule settings from wherever the link points.
pub fn is_dotgitmodules(component: &[u8]) -> bool {
    names(component).any(|name| is_hfs_name(name, ".gitmodules") || after_backslashes(name).any(is_ntfs_dotgitmodules))
}

fn names(component: &[u8]) -> impl Iterator<Item = &[u8]> {
    component.split(|&byte| matches!(byte, b'/' | 0))
}

/// Yields the name, and what follows each backslash in it.
///
/// To Windows a backslash separates components, so a name that is harmless as a whole may end
/// inside `.git`. HFS+ has no such rule. Git's index lets `\.git` through when the backslash comes
/// first, while `git fsck` reports it; we side with `fsck`.
fn after_backslashes(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    let tails = name.iter().enumerate().filter(|&(_, &byte)| byte == b'\\');
    std::iter::once(name).chain(tails.filter_map(|(at, _)| name.get(at + 1..)))
}

/// Returns whether HFS+ takes the name for the wanted one, which is lower-case ASCII.
///
/// Like git we end a name at its first malformed sequence, and U+FFFE and U+FFFF count as one. HFS+
/// would write `.git%FF` for `.git\xff`, so that is stricter than it needs to be.
fn is_hfs_name(name: &[u8], wanted: &str) -> bool {
    let text = name.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    text.chars()
        .take_while(|c| !matches!(c, '\u{fffe}' | '\u{ffff}'))
        .filter(|&c| !is_hfs_ignorable(c))
        .map(|c| c.to_ascii_lowercase())
        .eq(wanted.chars())
}

/// Returns whether HFS+ skips the character when it compares names.
///
/// Apple TN1150, "Unicode Subtleties"; the table there is older than the bidi isolates.
fn is_hfs_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

/// Returns whether NTFS takes the start of the name for `.git`, or for its short name `GIT~1`.
///
/// Only `~1`: git makes `.git` first in a new directory, so nothing can have taken that name.
fn is_ntfs_dotgit(name: &[u8]) -> bool {
    strip_ignoring_case(name, b".git")
        .or_else(|| strip_ignoring_case(name, b"git~1"))
        .is_some_and(|rest| matches!(ntfs_end(rest), None | Some(b':' | b'\\')))
}

/// Returns whether NTFS takes the whole name for `.gitmodules` or one of its short names.
///
/// Unlike `.git` it matters only as the last component, so a backslash after it ends the danger.
fn is_ntfs_dotgitmodules(name: &[u8]) -> bool {
    strip_ignoring_case(name, b".gitmodules")
        .or_else(|| strip_counted_short_name(name))
        .or_else(|| strip_hashed_short_name(name))
        .is_some_and(|rest| matches!(ntfs_end(rest), None | Some(b':')))
}

/// Strips `GITMOD~1` to `GITMOD~4`, the first four short names NTFS gives out.
fn strip_counted_short_name(name: &[u8]) -> Option<&[u8]> {
    let (number, rest) = strip_ignoring_case(name, b"gitmod~")?.split_first()?;
    matches!(number, b'1'..=b'4').then_some(rest)
}

/// Strips the eight bytes of a short name NTFS makes once those four are taken.
///
/// It is two letters of the name and four hex digits of its hash, cut to make room for the number:
/// `GI7EBA~1`, …, `GI7EB~10`. Git cuts as far as `~1234567`, and so do we.
fn strip_hashed_short_name(name: &[u8]) -> Option<&[u8]> {
    let (short, rest) = name.split_at_checked(8)?;
    let tilde = short.iter().position(|&byte| byte == b'~')?;
    let number = short.get(tilde + 1..)?;
    let is_short_name = short.get(..tilde)?.eq_ignore_ascii_case(b"gi7eba".get(..tilde)?)
        && number.first() != Some(&b'0')
        && number.iter().all(u8::is_ascii_digit);
    is_short_name.then_some(rest)
}

fn strip_ignoring_case<'a>(name: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = name.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns the byte after the dots and spaces that NTFS drops, a colon where a stream name starts.
fn ntfs_end(rest: &[u8]) -> Option<u8> {
    rest.iter().copied().find(|byte| !matches!(byte, b'.' | b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &[u8]) -> String {
        name.escape_ascii().to_string()
    }

    #[test]
    fn dotgit_in_every_disguise() {
        let table: [&[u8]; 25] = [
            b".git",
            b".GIT",
            b".gIt",
            b"git~1",
            b"GIT~1",
            b".git.",
            b".git ",
            b".git . .",
            b"git~1 .",
            b".git:foo",
            b".git::$INDEX_ALLOCATION",
            b".git . :x",
            b".git\\config",
            b".git \\config",
            b"\\.git",
            b"x\\.git",
            b"x\\.git\\y",
            b"x\\git~1\\y",
            b"x\\y\\.GIT.",
            "\u{200c}.git".as_bytes(),
            ".g\u{200d}\u{feff}i\u{206f}T\u{202e}".as_bytes(),
            // Git ends the name at malformed text.
            b".git\xff",
            b".git\xe2\x80",
            b".git\xed\xa0\x80x",
            ".git\u{fffe}x".as_bytes(),
        ];
        for name in table {
            assert!(is_dotgit(name), "{}", shown(name));
        }
    }

    #[test]
    fn names_that_are_not_dotgit() {
        let table: [&[u8]; 19] = [
            b"",
            b".",
            b"..",
            b".gi",
            b"git",
            b".gitx",
            b".gitignore",
            b".git.x",
            b".git~1",
            b"git~2",
            b"git~10",
            b" .git",
            b"..git",
            b"x:.git",
            b".\\git",
            b".g\xffit",
            "x\\.git\u{200c}".as_bytes(),
            ".git\u{2066}".as_bytes(),
            ".g\u{131}t".as_bytes(),
        ];
        for name in table {
            assert!(!is_dotgit(name), "{}", shown(name));
        }
    }

    #[test]
    fn dotgitmodules_in_every_disguise() {
        let table: [&[u8]; 17] = [
            b".gitmodules",
            b".GitModules",
            b".gitmodules . .",
            b".gitmodules::$DATA",
            b"gitmod~1",
            b"GITMOD~4 .",
            b"gi7eba~1",
            b"GI7EBA~9:x",
            b"gi7eb~10",
            b"gi7e~123",
            b"g~123456",
            b"~1234567",
            b"x\\.gitmodules",
            b"x\\gitmod~2",
            b".gitmodules\xff",
            "\u{200c}.gitmodules".as_bytes(),
            ".gitmod\u{202a}ules".as_bytes(),
        ];
        for name in table {
            assert!(is_dotgitmodules(name), "{}", shown(name));
        }
    }

    #[test]
    fn names_that_are_not_dotgitmodules() {
        let table: [&[u8]; 17] = [
            b"",
            b"gitmodules",
            b".gitmodulesx",
            b".gitmodules x",
            b".gitmodules\\x",
            b"gitmod~",
            b"gitmod~0",
            b"gitmod~5",
            b"gitmod~10",
            b"gi7eba~",
            b"gi7eba~0",
            b"gi7eba~10",
            b"gi7eb~01",
            b"gi7eb~1",
            b"gi7ebax1",
            b"gi7ebb~1",
            b".git",
        ];
        for name in table {
            assert!(!is_dotgitmodules(name), "{}", shown(name));
        }
    }

    #[test]
    fn a_path_given_by_mistake_is_not_let_through() {
        for path in [&b"a/.git/config"[..], b".git/x", b"a/.git", b".git\0x"] {
            assert!(is_dotgit(path), "{}", shown(path));
        }
        assert!(is_dotgitmodules(b"a/.gitmodules"));
    }
}
