//! `contract amend`: the active contract with other paths or more tests.

use crate::contract::ContractFile;
use crate::flows::ActiveContract;
use crate::flows::Ask;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate;
use crate::flows::activate::Activated;

pub struct Request {
    pub allow: Vec<String>,
    pub drop: Vec<String>,
    pub tests: Vec<String>,
}

pub fn run(flows: &Flows, request: &Request, ask: Ask<'_>) -> Result<Activated, Failure> {
    let repository = flows.repository()?;
    let state = ActiveContract::load(&repository)?;
    let ActiveContract::Active { contract, .. } = state else {
        let reason = state.trouble().unwrap_or("no contract is active");
        return Err(
            Failure::new(Kind::Other, format!("there is nothing to amend: {reason}")).hinted("git oracle status")
        );
    };
    let mut file = contract.file.clone();
    edit(&mut file, request)?;
    let change = activate::Change {
        event_type: "CONTRACT_AMENDED",
        // Commits so far were made under the old terms and are judged by them.
        baseline: activate::Baseline::Head,
        ref_pattern: None,
    };
    activate::apply(flows, &repository, &file.to_bytes(), "the amended contract", &change, ask)
}

fn edit(file: &mut ContractFile, request: &Request) -> Result<(), Failure> {
    let same = |a: &str, b: &str| a.trim_end_matches('/') == b.trim_end_matches('/');
    for path in &request.drop {
        let before = file.allowed_paths.len();
        file.allowed_paths.retain(|known| !same(known, path));
        if file.allowed_paths.len() == before {
            return Err(Failure::new(Kind::Other, format!("the contract does not list this path: {path}"))
                .hinted("git oracle contract show"));
        }
    }
    for path in &request.allow {
        if !file.allowed_paths.iter().any(|known| same(known, path)) {
            file.allowed_paths.push(path.clone());
        }
    }
    for cmd in &request.tests {
        if !file.acceptance_tests.iter().any(|test| test.cmd == *cmd) {
            let name = format!("test-{}", file.acceptance_tests.len() + 1);
            file.acceptance_tests.push(crate::contract::AcceptanceTest { name, cmd: cmd.clone(), must_pass: true });
        }
    }
    Ok(())
}
