//! The contract's acceptance tests, run in a candidate: words, never a shell; a time limit; a clean environment.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

use std::io::Write;

use crate::base::visible;
use crate::contract::Contract;
use crate::contract::Network;
use crate::evidence::Session;
use crate::flows::Ask;
use crate::flows::Question;
use crate::flows::apply::result::Status;
use crate::flows::apply::result::TestResult;
use crate::flows::apply::result::Trouble;
use crate::policy::CommandDecision;
use crate::policy::CommandPolicy;
use crate::system;
use crate::system::Ended;
use crate::system::Environment;
use crate::system::Group;
use crate::system::Job;

/// Where a contract sets no limit.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// A command that may run.
pub(in crate::flows) struct Approved {
    name: String,
    argv: Vec<String>,
    decision: String,
    must_pass: bool,
}

/// Decides about every command before anything is done. What nobody knows needs a person.
pub(super) fn approve(contract: &Contract, ask: Ask<'_>) -> Result<Vec<Approved>, Trouble> {
    let policy = CommandPolicy::embedded();
    let mut approved = Vec::new();
    for test in &contract.file.acceptance_tests {
        let argv = shlex::split(&test.cmd).unwrap_or_default();
        let named = visible(&test.cmd).into_owned();
        let decision = match policy.decide(&argv, &contract.file.forbidden_actions) {
            _ if !test.must_pass => "it is not required and is not run".to_owned(),
            CommandDecision::Allow { reason } => reason,
            CommandDecision::Deny { reason } => {
                let message = format!("the acceptance test {} may not run, {reason}: {named}", test.name);
                return Err(Trouble::new(Status::GateFailed, "unsafe_action", message)
                    .hinted("Write a contract with another test: git oracle contract new"));
            }
            CommandDecision::Ask { reason } => {
                let question = Question {
                    title: format!("the acceptance test {} needs approval, because {reason}", visible(&test.name)),
                    details: vec![named.clone()],
                    prompt: "Run it in the candidate?".to_owned(),
                };
                match ask(&question) {
                    Some(true) => format!("approved at the terminal; {reason}"),
                    Some(false) => {
                        let message = format!("the acceptance test was not approved: {named}");
                        return Err(Trouble::new(Status::ApprovalRequired, "approval_required", message)
                            .hinted("Nothing was changed."));
                    }
                    None => {
                        let message = format!("the acceptance test needs a person's approval, {reason}: {named}");
                        return Err(Trouble::new(Status::ApprovalRequired, "approval_required", message)
                            .hinted("Run the same command at a terminal."));
                    }
                }
            }
        };
        approved.push(Approved { name: test.name.clone(), argv, decision, must_pass: test.must_pass });
    }
    Ok(approved)
}

/// How tests are kept off the network.
pub(super) struct Isolation {
    prefix: Vec<&'static str>,
    /// What the log says about it.
    pub note: &'static str,
}

impl Isolation {
    /// Finds out what the system allows.
    pub fn of(contract: &Contract, environment: &Environment, directory: &Path) -> Self {
        if contract.file.tool_permissions.network == Network::Allow {
            return Isolation { prefix: Vec::new(), note: "allowed by the contract" };
        }
        let ways: [&[&str]; 2] =
            [&["unshare", "--user", "--map-current-user", "--net", "--"], &["unshare", "--net", "--"]];
        for way in ways {
            let mut command = Command::new(way[0]);
            command.args(&way[1..]).arg("true").env_clear().envs(environment.inherited.iter().cloned());
            command.current_dir(directory);
            if system::run(command, b"").is_ok_and(|finished| finished.succeeded()) {
                return Isolation { prefix: way.to_vec(), note: "denied: the test has no network, not even loopback" };
            }
        }
        Isolation { prefix: Vec::new(), note: "denied by the contract, NOT ENFORCED: this system gives no namespaces" }
    }

    pub fn is_enforced(&self) -> bool {
        !self.note.contains("NOT ENFORCED")
    }
}

/// Where tests run, and where what they print is kept.
pub(super) struct Place<'a> {
    pub directory: &'a Path,
    pub session: &'a Session,
    /// Which of several proposals is tested; the logs are named after it.
    pub turn: Option<u32>,
    pub environment: &'a Environment,
    pub isolation: &'a Isolation,
}

/// Runs what was approved. The first failure is enough.
pub(super) fn run(
    approved: &[Approved],
    contract: &Contract,
    place: &Place<'_>,
) -> Result<(Vec<TestResult>, Option<Trouble>), Trouble> {
    let limit = contract.file.timeout_retry.timeout_sec;
    let timeout = if limit == 0 { DEFAULT_TIMEOUT } else { Duration::from_secs(limit.min(24 * 3600)) };
    let mut results = Vec::new();
    let mut trouble = None;
    for (number, test) in approved.iter().enumerate() {
        if !test.must_pass || trouble.is_some() {
            results.push(TestResult { name: test.name.clone(), status: "skipped", exit_code: None, log: None });
            continue;
        }
        let name = match place.turn {
            Some(turn) => format!("test-{turn}-{}.log", number + 1),
            None => format!("test-{}.log", number + 1),
        };
        let path = place.session.directory.join(name);
        let ended = run_one(test, place, &path, timeout)?;
        let (status, exit_code, why, kind) = match ended {
            Ended::Exited(Some(0)) => ("passed", Some(0), None, ""),
            Ended::Exited(code) => {
                let how = code.map_or_else(|| "was ended by a signal".to_owned(), |code| format!("exited with {code}"));
                ("failed", code, Some(how), "test_failure")
            }
            Ended::TimedOut => {
                ("timeout", None, Some(format!("took longer than {} s", timeout.as_secs())), "timed_out")
            }
            Ended::TooLoud => ("failed", None, Some("printed too much".to_owned()), "test_failure"),
            Ended::Interrupted => return Err(Trouble::interrupted()),
        };
        if let Some(why) = why {
            let name = visible(&test.name);
            trouble = Some(
                Trouble::new(Status::GateFailed, kind, format!("the acceptance test {name} {why} in the candidate"))
                    .hinted(format!("What it printed: {}", path.display())),
            );
        }
        let log = Some(path.display().to_string());
        results.push(TestResult { name: test.name.clone(), status, exit_code, log });
    }
    Ok((results, trouble))
}

fn run_one(test: &Approved, place: &Place<'_>, log: &Path, timeout: Duration) -> Result<Ended, Trouble> {
    let Place { directory, environment, isolation, .. } = place;
    let mut file = system::open_log(log)?;
    let words: Vec<&str> = test.argv.iter().map(String::as_str).collect();
    let header = format!(
        "# command: {}\n# decision: {}\n# network: {}\n# directory: {}\n# limit: {} s\n",
        shlex::try_join(words.iter().copied()).unwrap_or_default(),
        test.decision,
        isolation.note,
        directory.display(),
        timeout.as_secs()
    );
    let _ = file.write_all(header.as_bytes());
    let argv: Vec<&str> = isolation.prefix.iter().copied().chain(words).collect();
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).current_dir(directory).env_clear();
    for (name, value) in &environment.inherited {
        match name.to_str() {
            // A relative directory would be looked up in the candidate, which the patch wrote.
            Some("PATH") => {
                let absolute: Vec<PathBuf> = std::env::split_paths(value).filter(|path| path.is_absolute()).collect();
                command.env(name, std::env::join_paths(absolute).unwrap_or_default());
            }
            _ => drop(command.env(name, value)),
        }
    }
    let output =
        file.try_clone().map_err(|source| system::FileError::Io { action: "open", path: log.to_owned(), source })?;
    let began = Instant::now();
    let job = Job { command, timeout: Some(timeout), output, input: None, group: Group::Contained, stoppable: true };
    let ended = match job.run() {
        Ok(ended) => ended,
        // A program that is not there is a test that fails.
        Err(error) => {
            let _ = file.write_all(format!("{error}: {}\n", error.source).as_bytes());
            Ended::Exited(Some(127))
        }
    };
    let _ = file.write_all(format!("# {ended:?} after {} ms\n", began.elapsed().as_millis()).as_bytes());
    Ok(ended)
}
