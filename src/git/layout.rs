//! Where the parts of a repository are, found without asking git.
//!
//! git starts a hook at the top of a working tree and says where its git directory is. Where everything else is as git
//! makes it, the rest follows. Anything unusual is left to git: other variables of its own, a submodule, included
//! configuration, an extension.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

use crate::base::HashKind;
use crate::git::Repository;
use crate::system;
use crate::system::Environment;

/// No configuration of a repository is longer.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The parts of a repository whose refs are files.
pub struct Layout {
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    pub work_tree: PathBuf,
    pub index_path: PathBuf,
    pub hash: HashKind,
}

impl Layout {
    /// Returns where things are for a hook that runs at the top of a working tree; `None` when git has to be asked.
    pub fn of_hook(environment: &Environment) -> Option<Self> {
        let variables = &environment.git;
        let top = &environment.current_dir;
        let stays = variables.work_tree.as_ref().is_none_or(|path| path == Path::new(".") || path == top);
        if variables.has_others || !stays {
            return None;
        }
        let beside = top.join(".git");
        let git_dir = match &variables.dir {
            Some(path) => top.join(path).canonicalize().ok()?,
            None => beside.canonicalize().ok()?,
        };
        // The git directory knows that this is its working tree, or the working tree that it has this git directory.
        let is_own = beside.canonicalize().is_ok_and(|path| path == git_dir) && git_dir.is_dir();
        if !is_own && linked_git_dir(&beside)?.canonicalize().ok()? != git_dir {
            return None;
        }
        let common_dir = match read_line(&git_dir.join("commondir")) {
            Some(path) => git_dir.join(path).canonicalize().ok()?,
            None => git_dir.clone(),
        };
        let hash = plain_hash_of(&common_dir)?;
        let index_path = match &variables.index_file {
            Some(path) => top.join(path),
            None => git_dir.join("index"),
        };
        Some(Layout { git_dir, common_dir, work_tree: top.clone(), index_path, hash })
    }
}

impl Layout {
    /// Returns where things are for whoever stands in a working tree of their own; `None` when git has to be asked.
    pub fn around(environment: &Environment) -> Option<Self> {
        let variables = &environment.git;
        if variables.has_others || variables.names_place() {
            return None;
        }
        let start = environment.current_dir.canonicalize().ok()?;
        // Whoever stands inside of a git directory has no working tree.
        let top = start.ancestors().find(|place| is_git_dir(place) || place.join(".git").symlink_metadata().is_ok())?;
        let git_dir = top.join(".git");
        // git trusts no repository that belongs to somebody else.
        let is_own =
            |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir() && found.uid() == system::user_id());
        if is_git_dir(top) || !is_own(top) || !is_own(&git_dir) || !is_git_dir(&git_dir) {
            return None;
        }
        let hash = plain_hash_of(&git_dir)?;
        let index_path = git_dir.join("index");
        Some(Layout { common_dir: git_dir.clone(), git_dir, work_tree: top.to_owned(), index_path, hash })
    }
}

/// Tells whether this is a git directory with everything in it.
fn is_git_dir(place: &Path) -> bool {
    place.join("HEAD").symlink_metadata().is_ok()
        && place.join("objects").is_dir()
        && place.join("refs").is_dir()
        && place.join("commondir").symlink_metadata().is_err()
}

/// Returns the git directory that the `.git` file of a linked worktree names.
fn linked_git_dir(file: &Path) -> Option<PathBuf> {
    let line = read_line(file)?;
    let path = line.strip_prefix("gitdir: ")?;
    Some(file.parent()?.join(path))
}

fn read_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read(path)?).ok()?;
    Some(text.strip_suffix('\n').unwrap_or(&text).to_owned()).filter(|line| !line.contains('\n'))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    Repository::read_optional(path, MAX_CONFIG_BYTES).ok()?
}

/// Returns how objects are named in a repository that is laid out as git makes it; `None` for any other.
pub fn plain_hash_of(common_dir: &Path) -> Option<HashKind> {
    plain_hash(&read(&common_dir.join("config"))?)
}

/// Returns how objects are named by a configuration that moves nothing; `None` for any other.
fn plain_hash(config: &[u8]) -> Option<HashKind> {
    let config = gix::config::File::try_from(std::str::from_utf8(config).ok()?).ok()?;
    let mut hash = HashKind::Sha1;
    for section in config.sections() {
        let name = section.header().name().to_ascii_lowercase();
        let value = |key: &str| section.value(key).map(|value| value.to_ascii_lowercase());
        match name.as_slice() {
            b"include" | b"includeif" => return None,
            b"core" => {
                let is_plain = |key: &str, plain: &[&[u8]]| {
                    !section.contains_value_name(key)
                        || value(key).is_some_and(|value| plain.contains(&value.as_slice()))
                };
                if section.contains_value_name("worktree")
                    || !is_plain("bare", &[b"false"])
                    || !is_plain("repositoryformatversion", &[b"0", b"1"])
                {
                    return None;
                }
            }
            b"extensions" => {
                for key in section.value_names() {
                    match (key.to_ascii_lowercase().as_str(), value(&key)?.as_slice()) {
                        ("objectformat", b"sha1") => hash = HashKind::Sha1,
                        ("objectformat", b"sha256") => hash = HashKind::Sha256,
                        _ => return None,
                    }
                }
            }
            _ => {}
        }
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_configuration_is_read() {
        let cases = [
            ("[core]\n\trepositoryformatversion = 0\n\tbare = false\n", Some(HashKind::Sha1)),
            ("[core]\nbare=false\n[extensions]\nobjectFormat=sha256\n[user]\nname=x\n", Some(HashKind::Sha256)),
            ("", Some(HashKind::Sha1)),
            ("[core]\nbare = true\n", None),
            ("[core]\nbare\n", None),
            ("[core]\nrepositoryformatversion = 2\n", None),
            ("[Core]\nWorkTree = ../x\n", None),
            ("[include]\npath = x\n", None),
            ("[includeIf \"gitdir:/\"]\npath = x\n", None),
            ("[extensions]\nrefStorage = reftable\n", None),
            ("[extensions]\nworktreeConfig = true\n", None),
            ("[extensions]\nobjectFormat = sha3\n", None),
            ("[core\n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(plain_hash(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(plain_hash(b"\xff"), None);
    }
}
