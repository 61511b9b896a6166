//! `status`: one screen that says where things stand.

use crate::evidence::KeptSession;
use crate::evidence::Shelf;
use crate::flows::ActiveContract;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::gate;
use crate::flows::gate::ContractSource;
use crate::flows::gate::Request;
use crate::flows::gate::Subject;
use crate::flows::hooks::Standing;
use crate::flows::hooks::standing;
use crate::gate::Report;

pub struct Status {
    pub branch: Option<String>,
    pub contract: ActiveContract,
    /// The verdict on what is staged and on what is on disk; none in a bare repository.
    pub staged: Option<Report>,
    pub worktree: Option<Report>,
    pub hooks: Standing,
    /// The last session, of any repository.
    pub session: Option<KeptSession>,
}

pub fn run(flows: &Flows) -> Result<Status, Failure> {
    let repository = flows.repository()?;
    let judge = |subject| gate::run(flows, &Request { subject, contract: ContractSource::Active });
    let (staged, worktree) = match repository.work_tree {
        Some(_) => (Some(judge(Subject::Staged)?), Some(judge(Subject::Worktree)?)),
        None => (None, None),
    };
    Ok(Status {
        branch: repository.branch()?,
        contract: ActiveContract::load(&repository)?,
        staged,
        worktree,
        hooks: standing(flows, &repository)?,
        session: match &flows.environment.oracle_home {
            Some(home) => Shelf::of(home).last(|_| true)?,
            None => None,
        },
    })
}
