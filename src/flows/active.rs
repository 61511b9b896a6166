//! The contract in force: the active one, or one that was named; and what else holds in this repository.

use std::path::Path;

use crate::base::Sha256Hex;
use crate::contract::Contract;
use crate::contract::MAX_CONTRACT_BYTES;
use crate::contract::Registry;
use crate::contract::Surroundings;
use crate::contract::Validated;
use crate::contract::validate;
use crate::flows::Failure;
use crate::flows::secrets::Guard;
use crate::git::Desk;
use crate::git::Pin;
use crate::git::Repository;
use crate::policy::Protected;
use crate::policy::RepoConfig;
use crate::system;

/// The state of the active contract of a worktree.
pub enum ActiveContract {
    /// There is neither a pin nor a contract file.
    Missing,
    /// There is a contract file that nobody activated.
    NeverActivated,
    /// The contract file is gone, although one is pinned.
    Deleted(Pin),
    /// The contract file is not the one that is pinned.
    Edited(Pin),
    Active {
        contract: Box<Contract>,
        pin: Pin,
    },
}

impl ActiveContract {
    /// Reads the state. A hash is compared; no schema is compiled.
    pub fn load(repository: &Repository) -> Result<Self, Failure> {
        let desk = Desk::of(repository);
        let bytes = desk.contract_bytes()?;
        Ok(match (desk.pin()?, bytes) {
            (None, None) => ActiveContract::Missing,
            (None, Some(_)) => ActiveContract::NeverActivated,
            (Some(pin), None) => ActiveContract::Deleted(pin),
            (Some(pin), Some(bytes)) if Sha256Hex::of(&bytes) != pin.sha256 => ActiveContract::Edited(pin),
            (Some(pin), Some(bytes)) => match Contract::from_pinned(&bytes) {
                Ok(contract) => ActiveContract::Active { contract: Box::new(contract), pin },
                Err(_) => ActiveContract::Edited(pin),
            },
        })
    }

    /// Returns why there is no contract to judge by, for those who only need that.
    pub fn trouble(&self) -> Option<&'static str> {
        match self {
            ActiveContract::Active { .. } => None,
            ActiveContract::Missing => Some("no contract is active"),
            ActiveContract::NeverActivated => Some("there is a contract that nobody activated"),
            ActiveContract::Deleted(_) => Some("the active contract was deleted"),
            ActiveContract::Edited(_) => Some("the contract was edited after it was activated"),
        }
    }
}

/// Checks the bytes of a contract in the surroundings of a repository.
pub(super) fn check_contract(bytes: &[u8], repository: Option<&Repository>) -> Result<Validated, Failure> {
    let registry = match repository
        .map(|repository| Desk::of(repository).configured("agent_registry.json"))
        .transpose()?
        .flatten()
    {
        Some(bytes) => Registry::with_agents(&bytes)?,
        None => Registry::embedded(),
    };
    let top = repository.and_then(|repository| repository.work_tree.clone());
    let file = |uri: &str| system::read_limited(&top.as_ref()?.join(uri), MAX_CONTRACT_BYTES as u64).ok();
    Ok(validate(bytes, &Surroundings { registry: &registry, file: &file }))
}

/// Reads a contract file that somebody named.
pub(super) fn read_contract_file(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(system::read_limited(path, MAX_CONTRACT_BYTES as u64)?)
}

/// Reads the repository's own configuration.
pub(super) fn repo_config(repository: &Repository) -> Result<RepoConfig, Failure> {
    let Some(bytes) = Desk::of(repository).configured("config.toml")? else { return Ok(RepoConfig::default()) };
    RepoConfig::parse(&bytes).map_err(|error| Failure::config(Path::new(".oracle/config.toml"), &error))
}

/// Returns what is protected here under a contract.
pub(super) fn protected(repository: &Repository, contract: Option<&Contract>) -> Result<Protected, Failure> {
    Ok(in_force(repository, contract)?.0)
}

/// Returns what is protected here under a contract, and the rules about secrets.
pub(super) fn in_force(repository: &Repository, contract: Option<&Contract>) -> Result<(Protected, Guard), Failure> {
    let config = repo_config(repository)?;
    let guard = Guard::of_config(&config)?;
    let mut globs = config.protected;
    let policy = contract.and_then(|contract| contract.file.diff_policy.as_ref());
    globs.extend(policy.into_iter().flat_map(|policy| policy.protected_extra.iter().cloned()));
    let protected = Protected::new(repository.tracked_hooks_dir(), globs)
        .map_err(|error| Failure::new(super::Kind::Other, format!("a protected pattern cannot be used: {error}")))?;
    Ok((protected, guard))
}
