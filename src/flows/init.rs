//! `init`: make the place where a contract can live, and the hooks that hold to it. Safe to repeat.

use std::path::PathBuf;

use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::hooks::Installed;
use crate::flows::hooks::install_into;
use crate::git::Desk;

/// What was made and what stands.
pub struct Initialised {
    pub made: Vec<PathBuf>,
    pub bare: bool,
    pub hooks: Installed,
    /// Why no contract holds yet.
    pub trouble: Option<&'static str>,
}

pub fn run(flows: &Flows) -> Result<Initialised, Failure> {
    let repository = flows.repository()?;
    let made = Desk::of(&repository).prepare()?;
    let state = ActiveContract::load(&repository)?;
    let hooks = install_into(flows, &repository)?;
    Ok(Initialised { made, bare: repository.work_tree.is_none(), hooks, trouble: state.trouble() })
}
