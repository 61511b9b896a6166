//! `git oracle hook agent`.
//!
//! It ends with 0 or with 2. To most agents every other code means that the call may run, and so does a hook that takes
//! too long; so panics, bad arguments and a deadline end with 2 as well.

use std::ffi::OsString;
use std::io::Read;
use std::io::Write;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::time::Duration;

use crate::agent::Answer;
use crate::agent::Call;
use crate::agent::Dialect;
use crate::agent::MAX_PAYLOAD_BYTES;
use crate::agent::Moment;
use crate::base::plural;
use crate::base::visible;
use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::hook::one_line;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::hook::Reason;
use crate::flows::hook::agent::Place;
use crate::flows::hook::agent::Refused;
use crate::flows::hook::agent::Said;
use crate::flows::hook::agent::hear;
use crate::gate::Report;
use crate::gate::Rule;

/// A reason names this many paths, then a count.
const SHOWN: usize = 10;

/// The tree may be large, and nothing runs meanwhile that could be stopped.
const TREE_FACTOR: u32 = 10;

/// The log waits this long for another writer.
const RECORDING: Duration = Duration::from_secs(3);

/// What to do about changes that are there; some of them may be the person's.
const UNDO: &str = " Undo what this task changed there, and leave alone what was there before it.";

/// A thread has less room than a process begins with.
const STACK_BYTES: usize = 16 << 20;

/// Answer a coding agent before and after it uses a tool
///
/// Reads what the agent says as JSON from stdin and answers in the way of that agent: it ends with 0 and is silent when
/// nothing is against the call, and ends with 2 and gives the reason on stderr when the call must not run or when that
/// could not be found out. It never ends in another way.
#[derive(clap::Args, Debug)]
pub(super) struct AgentArgs {
    /// The agent that the hook was installed for; what it sends decides
    #[arg(long = "for", value_name = "NAME")]
    hint: Option<String>,

    /// Refuse when a call is not judged after this many seconds; the tree gets ten times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    deadline: u32,
}

/// Tells whether these arguments are those of an agent's hook, before anybody has understood them.
pub(super) fn is_asked(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    words.any(|word| word == "hook") && words.any(|word| word == "agent")
}

/// Makes every end but success a refusal.
pub(super) fn guarded(run: impl FnOnce() -> Exit) -> Exit {
    // A panic would end with a code that lets the call run.
    std::panic::set_hook(Box::new(|panic| {
        let message = one_line(&panic.to_string());
        render::note(format!("git-oracle refuses this call, because it failed: {message}. See: git oracle doctor"));
        std::process::exit(Exit::AgentRefused.code().into());
    }));
    match run() {
        Exit::Success => Exit::Success,
        _ => Exit::AgentRefused,
    }
}

/// What the thread that judges tells the one that waits.
enum News {
    Heard(&'static Dialect, Duration),
    /// A reason for stderr is a refusal.
    Answered {
        stdout: Option<String>,
        reason: Option<String>,
    },
    Recorded,
}

pub(super) fn agent(app: &App, args: AgentArgs) -> Exit {
    let dialect = Dialect::fallback(args.hint.as_deref());
    let deadline = Duration::from_secs(args.deadline.into());
    let (sender, receiver) = mpsc::channel();
    let flows = Flows { environment: app.flows.environment.clone() };
    let worker = move || work(&flows, args.hint.as_deref(), deadline, &sender);
    match std::thread::Builder::new().stack_size(STACK_BYTES).spawn(worker) {
        Ok(_) => wait(&receiver, dialect, deadline),
        Err(error) => give_up(dialect, &format!("no thread could be started: {error}")),
    }
}

/// Waits for the answer, and gives one itself when none comes in time.
fn wait(receiver: &Receiver<News>, mut dialect: &'static Dialect, mut left: Duration) -> Exit {
    loop {
        match receiver.recv_timeout(left) {
            Ok(News::Heard(found, deadline)) => (dialect, left) = (found, deadline),
            Ok(News::Answered { stdout, reason }) => {
                // The answer stands; what remains is to get it into the log.
                let _ = receiver.recv_timeout(RECORDING);
                return finish(stdout.as_deref(), reason.as_deref());
            }
            Ok(News::Recorded) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return give_up(dialect, &format!("it was not judged within {} s", left.as_secs()));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return give_up(dialect, "the judgement ended without an answer");
            }
        }
    }
}

fn work(flows: &Flows, hint: Option<&str>, deadline: Duration, news: &Sender<News>) {
    // Nobody listens any more when the time is over.
    let tell = |what: News| drop(news.send(what));
    let call = match read_input().and_then(|input| hear(&input, hint)) {
        Ok(call) => call,
        Err(failure) => {
            let said = Said::Deny(Refused { reason: Reason::Undecided(failure), allowed: Vec::new() });
            tell(answered(Dialect::fallback(hint), &said, None));
            record(&Place::of(flows, None), &said);
            tell(News::Recorded);
            return;
        }
    };
    let is_tree = !matches!(call.moment, Moment::Before(_));
    tell(News::Heard(call.dialect, if is_tree { deadline * TREE_FACTOR } else { deadline }));
    let place = Place::of(flows, Some(&call));
    let said = place.judge(&call);
    tell(answered(call.dialect, &said, Some(&call)));
    record(&place, &said);
    tell(News::Recorded);
}

fn record(place: &Place, said: &Said) {
    if let Said::Deny(refused) | Said::After(refused) | Said::Continue(refused) = said {
        // An agent has no use for a second reason; `doctor` says what is wrong with the log.
        let _ = place.record(&refused.reason);
    }
}

fn read_input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let limit = MAX_PAYLOAD_BYTES as u64 + 1;
    let read = std::io::stdin().lock().take(limit).read_to_end(&mut input);
    read.map_err(|error| Failure::new(Kind::Other, format!("failed to read what the agent says: {error}")))?;
    Ok(input)
}

fn answered(dialect: &Dialect, said: &Said, call: Option<&Call>) -> News {
    let reason = match said {
        Said::Pass => String::new(),
        Said::Deny(refused) => match call.map(|call| &call.moment) {
            Some(Moment::Before(_)) | None => paragraph("git-oracle refuses this call", "", refused),
            Some(_) => paragraph("git-oracle cannot vouch for the working tree", "", refused),
        },
        Said::After(refused) | Said::Continue(refused) => {
            paragraph("git-oracle finds changes that do not fit the contract", UNDO, refused)
        }
    };
    let answer = match said {
        Said::Pass => Answer::Pass,
        Said::Deny(_) => Answer::Deny(&reason),
        Said::After(_) => Answer::After(&reason),
        Said::Continue(_) => Answer::Continue(&reason),
    };
    let stdout = dialect.stdout(answer).map(|document| document::compact(&document));
    let refuses = answer.refuses();
    News::Answered { stdout, reason: refuses.then_some(reason) }
}

fn give_up(dialect: &Dialect, why: &str) -> Exit {
    let reason = format!("git-oracle refuses this call, because it could not be judged: {why}. See: git oracle doctor");
    let stdout = dialect.stdout(Answer::Deny(&reason)).map(|document| document::compact(&document));
    finish(stdout.as_deref(), Some(&reason))
}

fn finish(stdout: Option<&str>, reason: Option<&str>) -> Exit {
    if let Some(text) = stdout {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
    let Some(reason) = reason else { return Exit::Success };
    render::note(reason);
    Exit::AgentRefused
}

/// Returns why, in one paragraph: what is wrong with which path, what is allowed, how to ask for more.
fn paragraph(title: &str, advice: &str, refused: &Refused) -> String {
    let text = match &refused.reason {
        Reason::Judged(report) => judged(title, advice, report, &refused.allowed),
        Reason::Undecided(failure) => {
            let hints: String = failure.hints.iter().map(|hint| format!(" {}", hint.trim())).collect();
            format!("{title}, because it could not be judged: {}.{hints} See: git oracle doctor", failure.message)
        }
    };
    one_line(&visible(&text))
}

fn judged(title: &str, advice: &str, report: &Report, allowed: &[String]) -> String {
    let mut lines: Vec<String> = report.violations.iter().take(SHOWN).map(render::line).collect();
    if report.violations.len() > SHOWN {
        lines.push(format!("and {} more", report.violations.len() - SHOWN));
    }
    let advice = report.contract.as_ref().map_or("", |_| advice);
    let scope = match &report.contract {
        Some(contract) => {
            let more = allowed.len().saturating_sub(SHOWN);
            let more = if more == 0 { String::new() } else { format!(" and {}", plural(more as u64, "further path")) };
            let listed: Vec<&str> = allowed.iter().take(SHOWN).map(String::as_str).collect();
            format!(" The contract {} allows: {}{more}.", contract.task_id, listed.join(", "))
        }
        None => String::new(),
    };
    format!("{title}: {}.{advice}{scope} {}", lines.join("; "), request(report))
}

/// Returns how to ask for more.
fn request(report: &Report) -> String {
    let can_be_opened = |rule: Rule| matches!(rule, Rule::OutOfScope | Rule::ProtectedTest);
    if let Some(violation) = report.violations.iter().find(|violation| can_be_opened(violation.rule)) {
        let path = violation.path.typed();
        return format!("If the task needs more, ask the person to run: git oracle contract amend --allow {path}");
    }
    let is_contract =
        |rule: Rule| matches!(rule, Rule::ContractMissing | Rule::ContractInvalid | Rule::ContractChanged);
    match report.violations.iter().find(|violation| is_contract(violation.rule)) {
        Some(violation) => format!("Ask the person to run: {}", violation.hint),
        None => "If the task needs it, ask the person to do it.".to_owned(),
    }
}
