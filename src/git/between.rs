//! Two commits side by side: where they part, and what lies between them as a person or `git apply` reads it.

use std::ffi::OsStr;

use crate::base::Oid;
use crate::base::RepoPath;
use crate::git::Became;
use crate::git::GitError;
use crate::git::Repository;
use crate::git::history::History;
use crate::git::program::first_line;
use crate::git::writer::Terms;
use crate::system;
use crate::system::Group;
use crate::system::TemporaryFile;

/// How `git diff-tree` is asked, whatever is configured: no program of the repository runs, no colour, no prefix of its own.
const PLAIN: [&str; 8] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--diff-algorithm=histogram",
    "--ignore-submodules=none",
    "-r",
];

impl Repository {
    /// Returns the best common ancestor of two commits.
    pub fn merge_base(&self, a: Oid, b: Oid) -> Option<Oid> {
        History::new(&self.objects).merge_bases(a, b).first().copied()
    }

    /// Returns a change as a person reads it: with renames, and a word where a file is binary.
    pub fn readable_diff(&self, from: Oid, to: Oid) -> Result<Vec<u8>, GitError> {
        self.diff_tree(&["-p", "--find-renames"], from, to)
    }

    /// Returns a patch with which `git apply` makes one tree of the other, byte for byte.
    pub fn exact_patch(&self, from: Oid, to: Oid) -> Result<Vec<u8>, GitError> {
        self.diff_tree(&["-p", "--binary", "--full-index", "--no-renames"], from, to)
    }

    /// Returns the paths that differ, each with git's letter for how.
    pub fn changed_paths(&self, from: Oid, to: Oid) -> Result<Vec<(char, RepoPath)>, GitError> {
        let bytes = self.diff_tree(&["--name-status", "--no-renames", "-z"], from, to)?;
        let fields: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
        let pairs = fields.as_chunks::<2>().0.iter();
        Ok(pairs.map(|[letter, path]| (letter.first().map_or('?', |b| char::from(*b)), RepoPath::new(*path))).collect())
    }

    fn diff_tree(&self, how: &[&str], from: Oid, to: Oid) -> Result<Vec<u8>, GitError> {
        let (from, to) = (from.to_string(), to.to_string());
        let args: Vec<&OsStr> = [&["diff-tree"], &PLAIN[..], how, &[from.as_str(), to.as_str()]]
            .concat()
            .into_iter()
            .map(OsStr::new)
            .collect();
        // Attributes of the user's files may name drivers; what has no working tree has no such files.
        let finished = system::run(self.silent_command(None, &args)?, b"")?;
        match finished.succeeded() {
            true => Ok(finished.stdout),
            false => Err(failed("diff-tree", &finished.stderr)),
        }
    }

    /// Returns the tree of a commit with these paths as they have become.
    pub fn tree_with(&self, commit_id: Oid, became: &[Became]) -> Result<Oid, GitError> {
        let index = TemporaryFile::new("index", &mut |_| Ok(()))?;
        let run = |args: &[&str], input: &[u8]| {
            let mut command = self.silent_command(None, &args.iter().map(OsStr::new).collect::<Vec<_>>())?;
            command.env("GIT_INDEX_FILE", index.path());
            let finished = system::run(command, input)?;
            match finished.succeeded() {
                true => Ok(String::from_utf8_lossy(&finished.stdout).trim_end().to_owned()),
                false => Err(failed(args[0], &finished.stderr)),
            }
        };
        run(&["read-tree", &commit_id.to_string()], b"")?;
        let mut rows = Vec::new();
        // What goes makes room for what comes: a file may become a directory.
        let (gone, there): (Vec<&Became>, Vec<&Became>) = became.iter().partition(|(_, new)| new.is_none());
        for (path, new) in gone.into_iter().chain(there) {
            let (mode, id) = match new {
                Some((mode, content)) => (mode.as_str(), run(&["hash-object", "-w", "--stdin"], content)?),
                None => ("0", Oid::null(self.hash).to_string()),
            };
            rows.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            rows.extend_from_slice(path.as_bytes());
            rows.push(0);
        }
        run(&["update-index", "-z", "--index-info"], &rows)?;
        let tree = run(&["write-tree"], b"")?;
        Oid::from_hex(&tree).ok_or_else(|| failed("write-tree", &tree))
    }

    /// Makes a commit of a tree, on which another patch can be tried. No branch gets to know it.
    pub fn commit_candidate(&self, tree_id: Oid, parent_id: Oid) -> Result<Oid, GitError> {
        let (tree, parent) = (tree_id.to_string(), parent_id.to_string());
        let args = ["commit-tree", "--no-gpg-sign", "-m", "Candidate", "-p", &parent, &tree];
        let mut command = self.silent_command(None, &args.map(OsStr::new))?;
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "git-oracle")
                .env(format!("GIT_{role}_EMAIL"), "git-oracle@localhost");
        }
        let wrote = self.write(command, &Terms { timeout: None, held: None, group: Group::Own, stoppable: false })?;
        Oid::from_hex(wrote.output.trim_end())
            .filter(|_| wrote.succeeded())
            .ok_or_else(|| failed("commit-tree", &wrote.output))
    }
}

fn failed(command: &str, said: &str) -> GitError {
    GitError::Failed { command: command.to_owned(), reason: first_line(said) }
}
