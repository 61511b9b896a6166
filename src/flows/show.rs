//! `contract show`: the active contract.

use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::gate::refused;

/// Returns the active contract with its pin, or why there is none.
pub fn run(flows: &Flows) -> Result<(Box<crate::contract::Contract>, crate::git::Pin), Failure> {
    let repository = flows.repository()?;
    match ActiveContract::load(&repository)? {
        ActiveContract::Active { contract, pin } => Ok((contract, pin)),
        ActiveContract::Missing => Err(Failure::no_contract()),
        state => {
            let report = refused(&state);
            let hint = report.violations.first().map(|violation| violation.hint.clone()).unwrap_or_default();
            Err(Failure::new(Kind::GateFailed, state.trouble().unwrap_or_default()).hinted(hint))
        }
    }
}
