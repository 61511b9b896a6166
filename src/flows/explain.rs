//! `contract explain`: why a path is in or out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Component;
use std::path::Path;

use crate::base::RepoPath;
use crate::contract::Contract;
use crate::contract::Filesystem;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::active::protected;
use crate::flows::show;
use crate::git::Repository;
use crate::policy::Protected;
use crate::policy::Protection;

/// What the contract says about one path.
pub struct Explained {
    pub path: RepoPath,
    pub allowed: bool,
    pub reason: String,
    pub hint: Option<String>,
}

pub fn run(flows: &Flows, paths: &[OsString]) -> Result<Vec<Explained>, Failure> {
    let repository = flows.repository()?;
    let (contract, _) = show::run(flows)?;
    let protected = protected(&repository, Some(&contract))?;
    paths
        .iter()
        .map(|path| Ok(explain(repository_path(flows, &repository, Path::new(path))?, &contract, &protected)))
        .collect()
}

fn explain(path: RepoPath, contract: &Contract, protected: &Protected) -> Explained {
    let refuse =
        |reason: String, hint: String| Explained { path: path.clone(), allowed: false, reason, hint: Some(hint) };
    if contract.file.tool_permissions.filesystem == Filesystem::ReadOnly {
        return refuse(
            "the contract allows reading only".to_owned(),
            "Activate a contract with workspace-write.".to_owned(),
        );
    }
    match protected.always(&path) {
        Some(Protection::Configured(glob)) => {
            return refuse(
                format!("protected by the pattern {glob}"),
                "The pattern is in the contract's diff_policy or in .oracle/config.toml.".into(),
            );
        }
        Some(Protection::Control(what)) => {
            return refuse(format!("protected: it is {what}"), "No contract opens it.".into());
        }
        _ => {}
    }
    let mut covering = contract.scope.covering(&path);
    let Some(entry) = covering.next() else {
        return refuse(
            "not under any allowed path".to_owned(),
            format!("git oracle contract amend --allow {}", path.typed()),
        );
    };
    let protection = protected.unless_named(&path);
    let is_named = |entry: &str| protected.unless_named(&RepoPath::from(entry.trim_end_matches('/'))) == protection;
    match &protection {
        Some(protection) if !contract.scope.covering(&path).any(is_named) => {
            let reason = format!("under {entry}, but it is {}, which the contract has to name", protection.name());
            refuse(reason, format!("git oracle contract amend --allow {}", path.typed()))
        }
        _ => Explained { path: path.clone(), allowed: true, reason: format!("under {entry}"), hint: None },
    }
}

/// Returns the path from the top of the tree for one that was typed in the current directory.
fn repository_path(flows: &Flows, repository: &Repository, typed: &Path) -> Result<RepoPath, Failure> {
    let outside = || {
        Failure::new(Kind::Other, format!("the path is outside the repository, or all of it: {}", typed.display()))
            .hinted("Name a file or directory in the working tree.")
    };
    let mut absolute = Vec::new();
    let start = match repository.work_tree {
        Some(_) => flows.environment.current_dir.join(typed),
        None => Path::new("/").join(typed),
    };
    for component in start.components() {
        match component {
            Component::Normal(name) => absolute.push(name),
            Component::ParentDir => drop(absolute.pop()),
            _ => {}
        }
    }
    let absolute: std::path::PathBuf = std::iter::once(std::ffi::OsStr::new("/")).chain(absolute).collect();
    let top = repository.work_tree.as_deref().unwrap_or(Path::new("/"));
    // The current directory may have been reached through a link.
    let current = std::fs::canonicalize(&flows.environment.current_dir).ok();
    let inside = absolute.strip_prefix(top).map(Path::to_owned).ok().or_else(|| {
        let below = absolute.strip_prefix(&flows.environment.current_dir).ok()?;
        current?.join(below).strip_prefix(top).map(Path::to_owned).ok()
    });
    let inside = inside.filter(|path| !path.as_os_str().is_empty()).ok_or_else(outside)?;
    Ok(RepoPath::new(inside.as_os_str().as_bytes()))
}
