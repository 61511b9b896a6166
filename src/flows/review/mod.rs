//! `review`: a feature branch goes to a chat page or an API, and what comes back and is agreed goes to the branch.
//!
//! - `branch`: which branch may be reviewed, and what it changes; `request`: what is sent about it
//! - `proof`: the record that a review leaves, and whether a push needs one
//!
//! The rounds themselves are in [`rounds`](crate::flows::rounds).

mod branch;
mod proof;
mod request;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;
use serde_json::json;

use crate::evidence::Session;
use crate::evidence::slug;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::active::repo_config;
use crate::flows::apply;
use crate::flows::apply::ApplyMode;
use crate::flows::apply::Files;
use crate::flows::apply::Law;
use crate::flows::apply::Outcome;
use crate::flows::apply::Person;
use crate::flows::apply::Trouble;
use crate::flows::apply::Work;
use crate::flows::bundle;
use crate::flows::rounds::Briefing;
use crate::flows::rounds::Follows;
use crate::flows::rounds::Rounds;
use crate::flows::rounds::Trial;
use crate::flows::talk;
use crate::flows::talk::Change;
use crate::flows::talk::Draft;
use crate::flows::talk::Listener;
use crate::flows::talk::Patience;
use crate::flows::talk::Prompt;
use crate::flows::talk::Record;
use crate::flows::talk::Room;
use crate::flows::talk::Talk;
use crate::flows::talk::Wanted;
use crate::flows::talk::engine::Engine;
use crate::git::Repository;
use crate::policy::PersonConfig;
use crate::secret::Scanner;

use branch::Place;
use branch::Wishes;

pub(in crate::flows) use proof::is_record_of;
pub(in crate::flows) use proof::is_required;
pub(in crate::flows) use proof::keep as keep_record;
pub(in crate::flows) use proof::violation;

/// What to review, whom to ask, and how far to go.
pub struct Request {
    /// What is asked, where it is not the usual.
    pub prompt: Option<String>,
    pub engine: Wanted,
    /// Files of the repository that go with it.
    pub context: Option<bundle::Request>,
    pub slug: Option<String>,
    pub patience: Patience,
    /// Takes secrets out instead of refusing.
    pub sanitize: bool,
    pub git_root: Option<PathBuf>,
    pub terms: apply::Terms,
    pub files: Files,
    /// Makes this branch first.
    pub create_branch: Option<String>,
    /// Pushes the branch first.
    pub push_first: bool,
    /// How often something may be sent.
    pub turns: u32,
    /// What is said when an answer falls short, instead of what was found out.
    pub followup: Option<String>,
}

/// Reviews the branch. What goes wrong after the session exists is in the outcome, and in its `result.json`.
pub fn run(flows: &Flows, request: &Request, listener: &Listener<'_>, person: &Person<'_>) -> Result<Outcome, Failure> {
    let began = Instant::now();
    let home = flows.home()?;
    let files = request.files.absolute(&flows.environment.current_dir)?;
    let config = flows.person()?;
    let flows = &flows.rooted(request.git_root.as_deref());
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let mode = mode(request, &config);
    let repository = flows.repository();
    let branch = repository.as_ref().ok().and_then(|repository| repository.branch().ok().flatten());
    let guard = talk::rules(flows)?;
    // What is refused for a secret in it is kept without.
    let clean = |text: &str| String::from_utf8_lossy(&guard.scanner().redact(text.as_bytes()).0).into_owned();
    let about = format!("review {}", request.create_branch.as_deref().or(branch.as_deref()).unwrap_or("branch"));
    let words = clean(request.slug.as_deref().unwrap_or(&about));
    let session = Session::create(&home, &slug(&words).unwrap_or_else(|| "review".to_owned()))?;
    let record =
        Record::begin(flows, &engine, &clean(request.prompt.as_deref().unwrap_or(&about)), options(request, mode));
    let terms = talk::Terms {
        session: &session,
        engine: &engine,
        guard: &guard,
        config: &config,
        patience: request.patience,
        listener,
        purpose: "review",
        limit: request.turns,
    };
    let mut talk = Talk::new(terms, record);
    talk.write_record("running")?;
    let mut outcome = Outcome::new(mode, &session.slug);
    outcome.branch = branch;
    // What is kept for later is kept without secrets, whatever a repository's own rules say.
    let scanner = Scanner::built_in();
    let attempt = || -> Result<(), Trouble> {
        let repository =
            repository.map_err(|failure| Trouble { kind: "not_a_repository", ..Trouble::from(failure) })?;
        repository.work_tree()?;
        let work = Work::new(flows, &home, Some(&repository), &session, (&request.terms, mode), person, &scanner);
        work.recover(&repository, &mut outcome)?;
        // What would stop it at the end is found out before anything is sent.
        let law = work.law()?;
        if mode > ApplyMode::None {
            work.approve(&law)?;
        }
        let parts = Parts { flows, repository: &repository, request, scanner: guard.scanner() };
        let may_send = || talk.check_destination();
        let asked = parts.ask(&law, engine.room(), Some(&may_send), &mut outcome)?;
        asked.excluded.iter().for_each(|line| session.log(line));
        session.log(&format!("{} to {}", asked.draft.id, engine.destination().shown));
        talk.record.about(asked.place.head);
        let trial = Trial { work: &work, repository: &repository, ground: asked.place.head };
        let mut rounds = Rounds { talk: &mut talk, trial, follows: Follows::Anything, briefing: &asked.briefing };
        let ended = rounds.ask(&asked.draft, &mut outcome)?;
        talk.keep_picture(&mut outcome);
        talk.close();
        if let Some(tree_id) = ended.tree() {
            proof::keep(&repository, tree_id, asked.place.head, &law, &outcome)?;
        }
        ended.land(&work, &mut outcome)
    };
    let ended = attempt();
    talk.close();
    apply::conclude(&mut outcome, ended, began);
    outcome.redact(&scanner);
    apply::clean_files(&session, &scanner)?;
    session.log(outcome.status.as_str());
    files.write_diff(&session, &mut outcome)?;
    files.write_documents(&session, &outcome)?;
    talk.write_record(outcome.status.as_str())?;
    Ok(outcome)
}

/// Returns the request for pasting it by hand, and the commit that it is about. Nothing is sent.
pub fn print(flows: &Flows, request: &Request) -> Result<(String, String), Trouble> {
    let flows = &flows.rooted(request.git_root.as_deref());
    let (guard, repository) = (talk::rules(flows)?, flows.repository()?);
    let parts = Parts { flows, repository: &repository, request, scanner: guard.scanner() };
    let law = Law::of(flows, Some(&repository), ApplyMode::None)?;
    let room = Room { text: usize::MAX, takes_files: false };
    let asked = parts.ask(&law, room, None, &mut Outcome::new(ApplyMode::None, ""))?;
    asked.draft.check()?;
    Ok((asked.draft.parcel.request, asked.place.head.to_string()))
}

/// Returns what would be sent and where. Nothing is sent, and no session is made.
pub fn preview(flows: &Flows, request: &Request, attended: bool) -> Result<Value, Trouble> {
    let config = flows.person()?;
    let flows = &flows.rooted(request.git_root.as_deref());
    let engine = Engine::choose(flows, &request.engine, &config)?;
    let (guard, repository) = (talk::rules(flows)?, flows.repository()?);
    let parts = Parts { flows, repository: &repository, request, scanner: guard.scanner() };
    let law = Law::of(flows, Some(&repository), ApplyMode::None)?;
    let asked = parts.ask(&law, engine.room(), None, &mut Outcome::new(ApplyMode::None, ""))?;
    let mut preview = talk::preview("review", &asked.draft, &engine, attended, &config.transfers);
    preview["bundleFormat"] = json!(request.context.as_ref().map(|context| context.format.as_str()));
    preview["excluded"] = json!(asked.excluded);
    Ok(preview)
}

fn mode(request: &Request, config: &PersonConfig) -> ApplyMode {
    request.terms.mode.or(config.apply_mode).unwrap_or(ApplyMode::Check)
}

/// What a request is made of.
struct Parts<'a> {
    flows: &'a Flows,
    repository: &'a Repository,
    request: &'a Request,
    scanner: &'a Scanner,
}

/// A request that can be sent.
struct Asked {
    place: Place,
    briefing: Briefing,
    draft: Draft,
    /// Files that stay out of the context, each with the reason.
    excluded: Vec<String>,
}

impl Parts<'_> {
    /// Makes sure that the branch can be reviewed, and makes the request. Without a way to send it nothing is changed.
    fn ask(
        &self,
        law: &Law,
        room: Room,
        may_send: Option<&dyn Fn() -> Result<(), Trouble>>,
        outcome: &mut Outcome,
    ) -> Result<Asked, Trouble> {
        let Parts { flows, repository, request, scanner } = self;
        let config = repo_config(repository)?;
        let wishes = Wishes {
            create: request.create_branch.as_deref().filter(|_| may_send.is_some()),
            push_first: request.push_first,
            unseen: may_send.is_none() || config.review_required,
            may_send: may_send.unwrap_or(&|| Ok(())),
        };
        let place = branch::prepare(repository, &flows.environment, &config, &wishes, outcome)?;
        let mut briefing = request::briefing(law.contract(), request.prompt.as_deref(), &place);
        briefing.own.clone_from(&request.followup);
        let template = request::template(repository, config.review_template.as_deref())?;
        let text = request::fill(&template, &place, &briefing)?;
        let diff = match &place.base {
            Some((_, base)) => String::from_utf8_lossy(&repository.readable_diff(*base, place.head)?).into_owned(),
            None => String::new(),
        };
        let (text, change) = match &text.after {
            Some(after) if diff.is_empty() => (format!("{}There is no change yet.{after}", text.before), None),
            Some(after) => (text.before.clone(), Some(Change { diff: &diff, after: after.trim_start_matches('\n') })),
            None => (text.before.clone(), None),
        };
        let (package, excluded) = bundle::context(flows, request.context.as_ref())?;
        let prompt = Prompt { text: &text, change, package: package.as_ref() };
        let draft = Draft::make(&prompt, room, scanner, request.sanitize)?;
        Ok(Asked { place, briefing, draft, excluded })
    }
}

/// Returns what a session says about how it was asked.
fn options(request: &Request, mode: ApplyMode) -> Value {
    json!({
        "prompt": request.prompt.is_some(),
        "files": request.context.as_ref().map(|context| &context.patterns),
        "bundleFormat": request.context.as_ref().map(|context| context.format.as_str()),
        "timeoutSec": request.patience.timeout.map(|limit| limit.as_secs()),
        "stallTimeoutSec": request.patience.stall.map(|limit| limit.as_secs()),
        "sanitizePrompt": request.sanitize,
        "attach": request.engine.attach,
        "terms": apply::Terms { mode: Some(mode), ..request.terms.clone() }.to_json(),
        "maxTurns": request.turns,
    })
}
