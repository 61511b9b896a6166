//! `contract check`: everything that is wrong with a contract, at once.

use std::path::Path;

use crate::contract::Contract;
use crate::contract::Problem;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::active::check_contract;
use crate::flows::active::read_contract_file;

/// Returns a valid contract with its warnings. Works outside a repository too.
pub fn run(flows: &Flows, path: &Path) -> Result<(Contract, Vec<Problem>), Failure> {
    let bytes = read_contract_file(path)?;
    let repository = flows.repository().ok();
    let checked = check_contract(&bytes, repository.as_ref())?;
    checked.map_err(|problems| Failure::contract(&path.display().to_string(), problems))
}
