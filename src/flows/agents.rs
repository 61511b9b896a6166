//! `hooks --agent`: put our hook into a coding agent's settings, take it out, say how it stands.

use serde_json::json;

use crate::agent::EditError;
use crate::agent::Recipe;
use crate::base::Sha256Hex;
use crate::evidence::Event;
use crate::evidence::EventLog;
use crate::evidence::Level;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::flows::activate::worktree_name;
use crate::git::Agents;
use crate::git::Desk;
use crate::git::Repository;
use crate::git::Setup;

pub use crate::agent::Presence;

/// How the hook of one agent stands.
pub struct AgentHook {
    pub recipe: &'static Recipe,
    pub presence: Presence,
    pub last_fired: Option<String>,
}

/// Returns the names of the agents that can be set up.
pub fn names() -> impl Iterator<Item = &'static str> {
    Recipe::all().iter().map(|recipe| recipe.agent)
}

fn recipe(agent: &str) -> Result<&'static Recipe, Failure> {
    Recipe::named(agent).ok_or_else(|| {
        let known: Vec<&str> = names().collect();
        Failure::new(Kind::Usage, format!("this agent is not known: {agent}"))
            .hinted(format!("Known are {}.", known.join(", ")))
    })
}

/// Sets an agent up. Returns its settings file, and whether anything is different from before.
pub fn install(flows: &Flows, agent: &str) -> Result<(&'static Recipe, bool), Failure> {
    let (recipe, repository) = (recipe(agent)?, flows.repository()?);
    let agents = Agents::of(&repository);
    let _lock = Desk::of(&repository).lock()?;
    let now = agents.settings(recipe.file)?;
    let text = recipe.plan_install(now.as_deref()).map_err(|error| uneditable(recipe, &error))?;
    if now.as_deref() == Some(&text) {
        return Ok((recipe, false));
    }
    // What an earlier version of ours has left is not what the file was before.
    let earlier = agents.setup(agent)?.filter(|setup| is_as_left(setup, now.as_deref()));
    let before = match (earlier, now) {
        (Some(setup), _) => setup,
        (None, now) => {
            let before = match now {
                Some(now) if recipe.presence(&now) != Presence::Absent => {
                    recipe.plan_removal(&now, None).map_err(|error| uneditable(recipe, &error))?
                }
                now => now,
            };
            let made = agents.missing_directories(recipe.file)?;
            Setup { file: recipe.file.to_owned(), before, sha256: Sha256Hex::of(b""), made }
        }
    };
    agents.keep_setup(agent, &Setup { sha256: Sha256Hex::of(text.as_bytes()), ..before })?;
    agents.write_settings(recipe.file, &text)?;
    record(&repository, "HOOKS_INSTALLED", recipe)?;
    Ok((recipe, true))
}

/// Takes our hook out of an agent's settings. Returns whether there was one.
pub fn uninstall(flows: &Flows, agent: &str) -> Result<(&'static Recipe, bool), Failure> {
    let (recipe, repository) = (recipe(agent)?, flows.repository()?);
    let agents = Agents::of(&repository);
    let _lock = Desk::of(&repository).lock()?;
    let now = agents.settings(recipe.file)?.filter(|text| recipe.presence(text) != Presence::Absent);
    let setup = agents.setup(agent)?;
    if let Some(now) = &now {
        let left = match &setup {
            Some(setup) if is_as_left(setup, Some(now)) => setup.before.clone(),
            _ => {
                let before = setup.as_ref().and_then(|setup| setup.before.as_deref());
                recipe.plan_removal(now, before).map_err(|error| uneditable(recipe, &error))?
            }
        };
        match left {
            Some(text) => agents.write_settings(recipe.file, &text)?,
            None => agents.remove_settings(recipe.file, setup.as_ref().map_or(&[], |setup| &setup.made))?,
        }
        record(&repository, "HOOKS_REMOVED", recipe)?;
    }
    agents.forget_setup(agent)?;
    Ok((recipe, now.is_some()))
}

/// Returns how the hook of an agent stands.
pub fn status(flows: &Flows, agent: &str) -> Result<AgentHook, Failure> {
    standing(&flows.repository()?, recipe(agent)?)
}

/// Returns the agents that are set up here, in whole or in part.
pub(super) fn installed(repository: &Repository) -> Vec<AgentHook> {
    // Settings that cannot be read, or a link in their place, are nothing that we wrote.
    let hooks = Recipe::all().iter().filter_map(|recipe| standing(repository, recipe).ok());
    hooks.filter(|hook| hook.presence != Presence::Absent).collect()
}

fn standing(repository: &Repository, recipe: &'static Recipe) -> Result<AgentHook, Failure> {
    let agents = Agents::of(repository);
    let text = agents.settings(recipe.file)?.unwrap_or_default();
    Ok(AgentHook { recipe, presence: recipe.presence(&text), last_fired: agents.last_fired(recipe.agent) })
}

fn is_as_left(setup: &Setup, now: Option<&str>) -> bool {
    now.is_some_and(|now| Sha256Hex::of(now.as_bytes()) == setup.sha256)
}

fn uneditable(recipe: &Recipe, error: &EditError) -> Failure {
    Failure::new(Kind::Other, format!("the settings of {} cannot be edited, {error}: {}", recipe.agent, recipe.file))
        .hinted("Mend the file, or move it away; nothing was changed.")
}

fn record(repository: &Repository, event_type: &str, recipe: &Recipe) -> Result<(), Failure> {
    let payload = json!({"agent": recipe.agent, "directory": recipe.file, "worktree": worktree_name(repository)});
    let event = Event { level: Level::Info, event_type, task_id: None, payload };
    Ok(EventLog::of(&repository.common_dir).append(&event)?)
}
