//! Which file a section means, and whether it may be named at all.

use super::mend::Mend;
use super::plan::Files;
use super::plan::Found;
use crate::base::RepoPath;
use crate::base::is_dotgit;
use crate::base::is_within;
use crate::change::Mode;
use crate::patch::FileKind;
use crate::patch::reply::Name;
use crate::patch::reply::Operation;
use crate::patch::reply::Reason;
use crate::patch::reply::Refusal;
use crate::patch::reply::Section;
use crate::patch::reply::Style;

/// The file that a section is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub kind: FileKind,
    pub old_path: Option<RepoPath>,
    pub new_path: Option<RepoPath>,
    pub old_mode: Option<Mode>,
    pub new_mode: Option<Mode>,
    pub mends: Vec<Mend>,
}

/// Returns why a path must not be touched, whatever a contract says.
pub fn unsafe_reason(path: &[u8]) -> Option<&'static str> {
    let drive = matches!(path, [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut parts = path.split(|byte| matches!(byte, b'/' | b'\\'));
    match () {
        () if path.is_empty() => Some("it is empty"),
        () if path.contains(&0) => Some("it contains a nul byte"),
        () if path.starts_with(b"/") || path.starts_with(b"\\") => Some("it is absolute"),
        () if drive => Some("it names a drive"),
        () if path.starts_with(b"~") => Some("it may mean a home directory"),
        () if parts.clone().any(|part| part == b"..") => Some("it leads out of its directory"),
        () if path.split(|byte| *byte == b'/').any(is_dotgit) || parts.any(is_dotgit) => {
            Some("it leads into git's own directory")
        }
        () if path.split(|byte| *byte == b'/').any(|part| part.is_empty() || part == b".") => {
            Some("it has an empty component")
        }
        () => None,
    }
}

/// Returns the first path outside of a directory; `src` covers `src/a` and not `src2`.
pub fn restrict<'p>(paths: impl Iterator<Item = &'p RepoPath>, prefix: &str) -> Option<&'p RepoPath> {
    let prefix = prefix.replace('\\', "/");
    let prefix = prefix.trim_start_matches("./").trim_end_matches('/').to_owned();
    paths.into_iter().find(|path| !is_within(path.as_bytes(), prefix.as_bytes()))
}

/// Checks a name as written, with and without its `a/`.
fn check_safe(name: &[u8]) -> Result<(), Refusal> {
    let bare = name.strip_prefix(b"./").unwrap_or(name);
    let stripped = bare.strip_prefix(b"a/").or_else(|| bare.strip_prefix(b"b/"));
    for name in [Some(bare), stripped].into_iter().flatten() {
        if let Some(why) = unsafe_reason(name) {
            return Err(Refusal::new(
                Reason::UnsafePath,
                format!("the reply names a path that is not safe, {why}: {}", RepoPath::new(name)),
            ));
        }
    }
    Ok(())
}

fn malformed(message: &str, name: &[u8]) -> Refusal {
    Refusal::new(Reason::Malformed, format!("{message}: {}", RepoPath::new(name)))
}

/// Checks every name that a section has.
pub fn check_names(section: &Section) -> Result<(), Refusal> {
    let sides = [&section.old, &section.new].into_iter().flatten().filter_map(|name| match name {
        Name::Path(path) => Some(path),
        Name::Null => None,
    });
    let moved = section.moved.iter().flat_map(|moved| [&moved.from, &moved.to]).flatten();
    for name in sides.chain(moved) {
        check_safe(name)?;
    }
    if let Some(git) = &section.git {
        // The names may have spaces in them, so the line is looked at in all ways.
        for word in git.split(|byte| matches!(byte, b' ' | b'"')).filter(|word| !word.is_empty()) {
            if word.starts_with(b"/")
                || word.split(|byte| matches!(byte, b'/' | b'\\')).any(|part| part == b".." || is_dotgit(part))
            {
                check_safe(word)?;
            }
        }
    }
    Ok(())
}

/// Finds out which file a section means.
pub fn resolve(section: &Section, files: &dyn Files, named: Option<&RepoPath>) -> Result<Target, Refusal> {
    let mut mends = Vec::new();
    let new_mode = modes(section)?[1];
    if section.style == Style::Headless {
        let path = named.ok_or_else(|| {
            Refusal::new(Reason::Malformed, "a hunk has no file header, and no file is named before it")
        })?;
        mends.extend([Mend::FileName, Mend::GitHeader]);
        let mode = file_mode(files, path)?;
        let path = Some(path.clone());
        return Ok(Target {
            kind: FileKind::Modify,
            old_path: path.clone(),
            new_path: path,
            old_mode: mode,
            new_mode: mode,
            mends,
        });
    }
    if section.git.is_none() && section.style == Style::Unified {
        mends.push(Mend::GitHeader);
    }
    let (old, new) = names(section, files, &mut mends)?;
    check_git_line(section, &old, &new)?;
    let copy = section.moved.as_ref().is_some_and(|moved| moved.copy);
    let kind = match (&old, &new, section.operation) {
        (None, Some(_), None | Some(Operation::Add)) => FileKind::Add,
        (Some(_), None, None | Some(Operation::Delete)) => FileKind::Delete,
        (Some(_), Some(_), None | Some(Operation::Update)) if section.moved.is_some() && copy => FileKind::Copy,
        (Some(_), Some(_), None | Some(Operation::Update)) if section.moved.is_some() => FileKind::Rename,
        (Some(old), Some(new), None | Some(Operation::Update)) if old == new => FileKind::Modify,
        (Some(old), Some(_), None) => return Err(malformed("the header lines name different files", old.as_bytes())),
        (name, other, _) => {
            let name = name.as_ref().or(other.as_ref()).map_or(&b""[..], |path| path.as_bytes());
            return Err(malformed("the header lines state different kinds of change", name));
        }
    };
    let mut kind = kind;
    let (mut old, new) = (old, new);
    // Without numbers on the old side, a patch of a file that is not there makes it.
    if kind == FileKind::Modify
        && let (Some(path), [hunk]) = (&old, section.hunks.as_slice())
        && hunk.old_start == Some(0)
        && hunk.counts.is_some_and(|(old, _)| old == 0)
        && matches!(look(files, path)?, Found::Absent)
    {
        kind = FileKind::Add;
        old = None;
    }
    let present = match &old {
        Some(path) => file_mode(files, path)?,
        None => None,
    };
    let new_mode = match kind {
        FileKind::Add => Some(new_mode.unwrap_or(Mode::Regular)),
        FileKind::Delete => None,
        _ => new_mode.or(present),
    };
    Ok(Target { kind, old_path: old, new_path: new, old_mode: present, new_mode, mends })
}

fn modes(section: &Section) -> Result<[Option<Mode>; 2], Refusal> {
    let read = |mode: &Option<Vec<u8>>| match mode.as_deref() {
        None => Ok(None),
        Some(text) => {
            let octal = std::str::from_utf8(text).ok().and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
            octal
                .and_then(Mode::from_octal)
                .map(Some)
                .ok_or_else(|| malformed("the file mode is not one that git stores", text))
        }
    };
    let [old, new] = [read(&section.old_mode)?, read(&section.new_mode)?];
    if section.operation.is_none() && old.is_some() != new.is_some() {
        return Err(Refusal::new(Reason::Malformed, "the header lines state only one of two modes"));
    }
    Ok([old, new])
}

pub fn look(files: &dyn Files, path: &RepoPath) -> Result<Found, Refusal> {
    files.look(path).map_err(|message| Refusal::new(Reason::NotPlaceable, format!("{message}: {path}")))
}

fn file_mode(files: &dyn Files, path: &RepoPath) -> Result<Option<Mode>, Refusal> {
    Ok(match look(files, path)? {
        Found::File(mode, _) => Some(mode),
        Found::Absent | Found::Directory => None,
    })
}

/// Returns the two paths; `None` for `/dev/null`.
fn names(
    section: &Section,
    files: &dyn Files,
    mends: &mut Vec<Mend>,
) -> Result<(Option<RepoPath>, Option<RepoPath>), Refusal> {
    if section.style == Style::BeginPatch {
        let path = |name: &Option<Name>| match name {
            Some(Name::Path(path)) => Some(RepoPath::new(path.strip_prefix(b"./").unwrap_or(path))),
            _ => None,
        };
        return Ok((path(&section.old), path(&section.new)));
    }
    if let Some(moved) = &section.moved {
        let (Some(from), Some(to)) = (&moved.from, &moved.to) else {
            return Err(Refusal::new(Reason::Malformed, "a rename or copy names only one file"));
        };
        let agrees = |side: &Option<Name>, path: &[u8]| match side {
            None => true,
            Some(Name::Path(name)) => {
                name == path || name.iter().position(|byte| *byte == b'/').is_some_and(|at| &name[at + 1..] == path)
            }
            Some(Name::Null) => false,
        };
        if !agrees(&section.old, from) || !agrees(&section.new, to) {
            return Err(malformed("the header lines name different files", from));
        }
        return Ok((Some(RepoPath::new(from.clone())), Some(RepoPath::new(to.clone()))));
    }
    match (&section.old, &section.new) {
        (Some(old), Some(new)) => sides(old, new, files, mends),
        _ => {
            let git = section.git.as_deref().unwrap_or_default();
            let name = crate::patch::name::shared_name(git).map_err(|kind| malformed(&kind.to_string(), git))?;
            let path = Some(RepoPath::new(name));
            Ok(match section.operation {
                Some(Operation::Add) => (None, path),
                Some(Operation::Delete) => (path, None),
                _ => (path.clone(), path),
            })
        }
    }
}

/// Takes the `a/` and `b/` off, where they are no directories.
fn sides(
    old: &Name,
    new: &Name,
    files: &dyn Files,
    mends: &mut Vec<Mend>,
) -> Result<(Option<RepoPath>, Option<RepoPath>), Refusal> {
    let bare = |name: &Name| match name {
        Name::Null => None,
        Name::Path(path) => Some(path.strip_prefix(b"./").unwrap_or(path).to_vec()),
    };
    let (old, new) = (bare(old), bare(new));
    let is_prefixed = |name: &Option<Vec<u8>>, letters: &[u8]| match name.as_deref() {
        None => true,
        Some([letter, b'/', _, ..]) => letters.contains(letter),
        Some(_) => false,
    };
    let stripped = |name: &Option<Vec<u8>>| name.as_ref().map(|name| RepoPath::new(&name[2..]));
    let whole = |name: &Option<Vec<u8>>| name.as_ref().map(|name| RepoPath::new(name.clone()));
    if is_prefixed(&old, b"a") && is_prefixed(&new, b"b") {
        return Ok((stripped(&old), stripped(&new)));
    }
    let there = |path: &Option<RepoPath>| match path {
        Some(path) => Ok(matches!(look(files, path)?, Found::File(..))),
        None => Ok(false),
    };
    // Other letters are git's own with `diff.mnemonicPrefix`, or a directory.
    if is_prefixed(&old, b"abciow12")
        && is_prefixed(&new, b"abciow12")
        && !there(&whole(&old))?
        && there(&stripped(&old))?
    {
        mends.push(Mend::NamePrefix);
        return Ok((stripped(&old), stripped(&new)));
    }
    mends.push(Mend::NamePrefix);
    Ok((whole(&old), whole(&new)))
}

/// Makes sure that the `diff --git` line names the same files.
fn check_git_line(section: &Section, old: &Option<RepoPath>, new: &Option<RepoPath>) -> Result<(), Refusal> {
    let Some(git) = &section.git else { return Ok(()) };
    let (Some(old), Some(new)) = (old.as_ref().or(new.as_ref()), new.as_ref().or(old.as_ref())) else { return Ok(()) };
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let plain = crate::patch::name::names_both(git, old, new).unwrap_or(false);
    let bare = [old, b" ", new].concat() == *git;
    if plain || bare { Ok(()) } else { Err(malformed("the header lines name different files", git)) }
}
