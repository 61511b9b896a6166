//! `hook agent`: what a coding agent asks before and after it uses a tool, and when it wants to stop.
//!
//! Before a call the paths that it names are judged, by the rules that judge a change. Afterwards and at the end the
//! working tree is, because what a shell command wrote is seen nowhere else. Whatever keeps us from deciding is a
//! refusal, and every refusal is an event.

mod call;
mod tree;

use std::path::PathBuf;

use crate::agent;
use crate::agent::Call;
use crate::agent::Moment;
use crate::agent::Stop;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::hook::Reason;
use crate::flows::hook::record;
use crate::gate::Report;
use crate::git::Agents;
use crate::git::Repository;
use crate::system::Environment;

/// An agent that was sent back this often in a row may stop.
const MAX_CONTINUED: u64 = 2;

/// What the agent is told.
pub enum Said {
    Pass,
    /// The call must not run, or it could not be found out.
    Deny(Refused),
    /// The call has run, and the tree does not fit.
    After(Refused),
    /// The agent wants to stop, and the tree does not fit.
    Continue(Refused),
}

/// Why, and what would have been allowed.
pub struct Refused {
    pub reason: Reason,
    pub allowed: Vec<String>,
}

impl Refused {
    fn undecided(failure: Failure) -> Self {
        Refused { reason: Reason::Undecided(failure), allowed: Vec::new() }
    }
}

/// Reads what an agent says. `hint` is the agent that the hook was installed for.
pub fn hear(input: &[u8], hint: Option<&str>) -> Result<Call, Failure> {
    agent::parse_call(input, hint).map_err(|error| {
        Failure::new(Kind::Other, error.to_string())
            .hinted("A coding agent calls this with JSON on stdin; docs/agents.md says which agents are known.")
    })
}

/// The repository that a call is about.
pub struct Place {
    repository: Result<Repository, Failure>,
    directory: PathBuf,
    agent: &'static str,
}

impl Place {
    /// Finds the repository that a call is about; without a call, the one around the current directory.
    pub fn of(flows: &Flows, call: Option<&Call>) -> Self {
        let root = call.and_then(|call| call.root.as_deref()).unwrap_or_default();
        let directory = flows.environment.current_dir.join(root);
        let environment = Environment { current_dir: directory.clone(), ..flows.environment.clone() };
        let repository = match directory.is_dir() {
            true => Flows { environment }.repository(),
            false => Err(Failure::new(Kind::Other, format!("there is no such directory: {}", directory.display()))),
        };
        Place { repository, directory, agent: call.map_or("unknown", |call| call.dialect.name) }
    }

    /// Answers a call.
    pub fn judge(&self, call: &Call) -> Said {
        let repository = match &self.repository {
            Ok(repository) => repository,
            Err(failure) => return lost(call, failure),
        };
        Agents::of(repository).mark_fired(self.agent);
        match &call.moment {
            Moment::Other => Said::Pass,
            Moment::Before(wish) if wish.reads || wish.is_way_out => Said::Pass,
            Moment::Before(wish) => match call::judge(repository, &self.directory, wish) {
                Ok(None) => Said::Pass,
                Ok(Some(refused)) => Said::Deny(refused),
                Err(failure) => Said::Deny(Refused::undecided(failure)),
            },
            Moment::After => match tree::judge(repository) {
                Ok(None) => Said::Pass,
                Ok(Some(refused)) => Said::After(refused),
                Err(failure) => Said::Deny(Refused::undecided(failure)),
            },
            Moment::Stop(stop) => stopped(repository, self.agent, stop),
        }
    }

    /// Records a refusal. Returns why that was not possible.
    pub fn record(&self, reason: &Reason) -> Result<(), String> {
        match &self.repository {
            Ok(repository) => record::refusal(repository, &format!("agent {}", self.agent), reason),
            Err(_) => Err("the repository was not found".to_owned()),
        }
    }
}

/// Answers a call where there is no repository to judge by.
fn lost(call: &Call, failure: &Failure) -> Said {
    let refused = || {
        let mut copy = Failure::new(failure.kind, failure.message.clone());
        copy.hints.clone_from(&failure.hints);
        Said::Deny(Refused::undecided(copy))
    };
    match &call.moment {
        Moment::Other => Said::Pass,
        Moment::Before(wish) if wish.reads || wish.is_way_out => Said::Pass,
        // There is no place to count in; once is enough then.
        Moment::Stop(stop) if stop.active == Some(true) || stop.count.is_some_and(|count| count > 0) => Said::Pass,
        _ => refused(),
    }
}

/// Judges the tree as the agent wants to stop. Sent back twice, it may: it would go round in a circle.
fn stopped(repository: &Repository, agent: &str, stop: &Stop) -> Said {
    let agents = Agents::of(repository);
    let count = match (stop.count, stop.active) {
        (Some(count), _) => count,
        (None, Some(false)) => 0,
        (None, _) => agents.times_continued(agent, &stop.session),
    };
    let judged = if count < MAX_CONTINUED { tree::judge(repository) } else { Ok(None) };
    let said = match judged {
        Ok(None) => Said::Pass,
        Ok(Some(refused)) => Said::Continue(refused),
        Err(failure) => Said::Deny(Refused::undecided(failure)),
    };
    let next = if matches!(said, Said::Pass) { 0 } else { count + 1 };
    match agents.set_times_continued(agent, &stop.session, next) {
        // What cannot be counted might never end.
        Err(_) if stop.active != Some(false) => Said::Pass,
        _ => said,
    }
}

/// Returns a refusal when a report has reasons for one.
fn refused(report: Report, allowed: &[String]) -> Option<Refused> {
    (!report.violations.is_empty())
        .then(|| Refused { reason: Reason::Judged(Box::new(report)), allowed: allowed.to_vec() })
}
