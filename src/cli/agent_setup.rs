//! `git oracle hooks … --agent`.

use serde_json::json;

use crate::cli::App;
use crate::cli::Exit;
use crate::cli::document;
use crate::cli::render;
use crate::flows::Failure;
use crate::flows::agents;
use crate::flows::agents::Presence;

pub(super) fn install(app: &App, agent: &str) -> Result<Exit, Failure> {
    let (recipe, is_news) = agents::install(&app.flows, agent)?;
    if !app.quiet {
        render::note(match is_news {
            true => format!("installed the hook of {agent} in {}", recipe.file),
            false => format!("the hook of {agent} is installed in {}", recipe.file),
        });
    }
    if is_news && !app.quiet {
        render::hint(&format!("Commit {} while no contract is active, or leave it out of the commits.", recipe.file));
        render::hint(recipe.advice);
    }
    Ok(Exit::Success)
}

pub(super) fn uninstall(app: &App, agent: &str) -> Result<Exit, Failure> {
    let (recipe, was_there) = agents::uninstall(&app.flows, agent)?;
    if !app.quiet {
        render::note(match was_there {
            true => format!("removed the hook of {agent} from {}", recipe.file),
            false => format!("there is no hook of ours in {}", recipe.file),
        });
    }
    Ok(Exit::Success)
}

pub(super) fn status(app: &App, agent: &str, json: bool) -> Result<Exit, Failure> {
    let hook = agents::status(&app.flows, agent)?;
    let state = match hook.presence {
        Presence::Whole => "installed",
        Presence::Partial => "incomplete",
        Presence::Absent => "not installed",
    };
    let fired = hook.last_fired.as_deref();
    if json {
        document::print(&json!({"agent": agent, "state": state, "file": hook.recipe.file, "last_fired": fired}));
    } else {
        let fired = fired.map_or("never fired".to_owned(), |time| format!("last fired {time}"));
        render::out(format!("{agent:<22}{state}, in {}, {fired}", hook.recipe.file));
    }
    if hook.presence == Presence::Whole {
        return Ok(Exit::Success);
    }
    if !json {
        render::hint(&format!("git oracle hooks install --agent {agent}"));
    }
    Ok(Exit::Other)
}
