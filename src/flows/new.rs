//! `contract new`: a complete contract from a task, paths and tests.

use std::path::PathBuf;

use crate::base::Oid;
use crate::contract::ContractFile;
use crate::contract::Problem;
use crate::contract::Scaffold;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate;
use crate::flows::activate::Activated;
use crate::flows::active::check_contract;
use crate::git::Desk;
use crate::system;

pub struct Request {
    pub task: String,
    pub allow: Vec<String>,
    pub tests: Vec<String>,
    pub output: Option<PathBuf>,
    pub activate: bool,
}

/// What was written, and activated if asked for.
pub struct Written {
    pub path: PathBuf,
    pub file: ContractFile,
    pub warnings: Vec<Problem>,
    pub activated: Option<Activated>,
}

pub fn run(flows: &Flows, request: &Request, ask: Ask<'_>) -> Result<Written, Failure> {
    let repository = flows.repository()?;
    let scaffold = Scaffold {
        task: request.task.clone(),
        allow: request.allow.clone(),
        tests: request.tests.clone(),
        baseline_commit_id: repository.head()?.unwrap_or(Oid::null(repository.hash_kind())),
        created_at: system::now(),
    };
    let file = scaffold.contract();
    let bytes = file.to_bytes();
    // Nothing invalid is written: whatever is wrong comes from the answers.
    let (_, warnings) = check_contract(&bytes, Some(&repository))?
        .map_err(|problems| Failure::contract("nothing was written", problems))?;
    let path = match &request.output {
        Some(path) => flows.environment.current_dir.join(path),
        None => {
            let desk = Desk::of(&repository);
            desk.prepare()?;
            let directory = match desk.oracle_dir() {
                Some(directory) => directory.join("contracts"),
                // Not among the contracts that were active.
                None => repository.git_dir.join("oracle").join("drafts"),
            };
            system::ensure_real_dir(&directory)?;
            directory.join(format!("{}.json", file.task_id))
        }
    };
    system::write_new(&path, &bytes).map_err(|error| match path.exists() {
        true => Failure::new(Kind::Other, format!("there is a file already: {}", path.display()))
            .hinted("Name another one with --output."),
        false => error.into(),
    })?;
    let activated = match request.activate {
        true => {
            let request = activate::Request { file: path.clone(), ref_pattern: None };
            let written = format!("The contract is written and not active: {}", path.display());
            Some(activate::run(flows, &request, ask).map_err(|failure| failure.hinted(written))?)
        }
        false => None,
    };
    Ok(Written { path, file, warnings, activated })
}
