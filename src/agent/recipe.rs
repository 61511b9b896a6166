//! Where each agent keeps its hooks in a repository, and what we write there.

use serde_json::Value;

use super::edit;
use super::edit::EditError;

/// What every command of ours begins with, and nobody else's.
const MARK: &str = "git oracle hook agent";

/// How one agent is set up.
#[derive(Debug)]
pub struct Recipe {
    pub agent: &'static str,
    /// The settings file, from the top of the working tree.
    pub file: &'static str,
    form: Form,
    /// What the agent's own program puts beside its settings as soon as there are some.
    pub byproducts: &'static [&'static str],
    /// What to look at when the hook never fires.
    pub advice: &'static str,
}

#[derive(Debug)]
enum Form {
    /// One entry in the list of each event, in a file that others write to as well.
    Entries {
        /// The file when there is none.
        blank: &'static str,
        events: &'static [&'static str],
        /// The command is constant: what an agent has approved or counted once stays so.
        entry: &'static str,
    },
    /// A file of our own.
    Plugin(&'static str),
}

/// How much of a recipe is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Whole,
    /// Something of ours is there, and something is missing or different.
    Partial,
    Absent,
}

static RECIPES: [Recipe; 6] = [
    Recipe {
        agent: "claude",
        file: ".claude/settings.json",
        form: Form::Entries {
            blank: "{}\n",
            events: &["PreToolUse", "PostToolUse", "Stop", "SubagentStop"],
            entry: r#"{"hooks": [{"type": "command", "command": "git oracle hook agent --for claude || exit 2", "timeout": 30, "onFailure": "block"}]}"#,
        },
        byproducts: &[],
        advice: "Start Claude Code again in this repository; /hooks lists what it runs.",
    },
    Recipe {
        agent: "codex",
        file: ".codex/hooks.json",
        form: Form::Entries {
            blank: "{}\n",
            events: &["PreToolUse", "PostToolUse", "Stop"],
            entry: r#"{"hooks": [{"type": "command", "command": "git oracle hook agent --for codex || exit 2", "timeout": 30}]}"#,
        },
        byproducts: &[],
        advice: "Codex skips a hook without a word until it is approved: type /hooks in Codex.",
    },
    Recipe {
        agent: "gemini",
        file: ".gemini/settings.json",
        form: Form::Entries {
            blank: "{}\n",
            events: &["BeforeTool", "AfterTool", "AfterAgent"],
            entry: r#"{"hooks": [{"type": "command", "name": "git-oracle", "command": "git oracle hook agent --for gemini || exit 2", "timeout": 30000}]}"#,
        },
        byproducts: &[],
        advice: "Gemini CLI runs no hooks in a folder that is not trusted: type /permissions trust in it.",
    },
    Recipe {
        agent: "copilot",
        file: ".github/hooks/git-oracle.json",
        form: Form::Entries {
            blank: "{\n  \"version\": 1\n}\n",
            events: &["preToolUse", "postToolUse", "agentStop"],
            entry: r#"{"type": "command", "bash": "git oracle hook agent --for copilot || exit 2", "timeoutSec": 30}"#,
        },
        byproducts: &[],
        advice: "Copilot runs the hooks of a repository in a trusted folder only: start it here and trust the folder.",
    },
    Recipe {
        agent: "cursor",
        file: ".cursor/hooks.json",
        form: Form::Entries {
            blank: "{\n  \"version\": 1\n}\n",
            // One event that Cursor does not know makes it ignore the whole file.
            events: &["preToolUse", "beforeShellExecution", "beforeMCPExecution", "stop"],
            entry: r#"{"command": "git oracle hook agent --for cursor || exit 2", "timeout": 30, "failClosed": true}"#,
        },
        byproducts: &[],
        advice: "Cursor runs the hooks of a project in a trusted workspace only, and may skip them without a window.",
    },
    Recipe {
        agent: "opencode",
        file: ".opencode/plugins/git-oracle.js",
        form: Form::Plugin(include_str!("../../hooks/opencode.js")),
        byproducts: &[
            ".opencode/.gitignore",
            ".opencode/bun.lock",
            ".opencode/node_modules",
            ".opencode/package-lock.json",
            ".opencode/package.json",
        ],
        advice: "Start OpenCode again in this repository, without --pure.",
    },
];

impl Recipe {
    pub fn all() -> &'static [Recipe] {
        &RECIPES
    }

    pub fn named(agent: &str) -> Option<&'static Recipe> {
        RECIPES.iter().find(|recipe| recipe.agent == agent)
    }

    /// Tells how much of the recipe a settings file has.
    pub fn presence(&self, text: &str) -> Presence {
        match &self.form {
            Form::Plugin(plugin) if text == *plugin => Presence::Whole,
            Form::Plugin(_) if text.contains(MARK) => Presence::Partial,
            Form::Plugin(_) => Presence::Absent,
            Form::Entries { events, entry, .. } => {
                let Ok(document) = edit::parse(text) else {
                    return if text.contains(MARK) { Presence::Partial } else { Presence::Absent };
                };
                let entry = parsed(entry);
                let list = |event: &str| document["hooks"][event].as_array().cloned().unwrap_or_default();
                let has = |event: &&str| list(event).iter().filter(|item| is_ours(item)).eq([&entry]);
                match (events.iter().all(has), is_ours(&document)) {
                    (true, _) => Presence::Whole,
                    (false, true) => Presence::Partial,
                    (false, false) => Presence::Absent,
                }
            }
        }
    }

    /// Returns the settings file with our part in it. Safe to repeat.
    pub fn plan_install(&self, before: Option<&str>) -> Result<String, EditError> {
        let (blank, events, entry) = match &self.form {
            Form::Plugin(plugin) => match before {
                Some(text) if self.presence(text) == Presence::Absent => return Err(EditError::NotOurs),
                _ => return Ok((*plugin).to_owned()),
            },
            Form::Entries { blank, events, entry } => (blank, events, entry),
        };
        let before = before.unwrap_or(blank);
        let presence = self.presence(before);
        if presence == Presence::Whole {
            return Ok(before.to_owned());
        }
        let mut text = before.to_owned();
        // What is left of an older form goes first.
        if presence == Presence::Partial {
            text = self.without_entries(&text, &|_| true)?;
        }
        for event in *events {
            text = edit::append(&text, &["hooks", event], &parsed(entry))?;
        }
        Ok(text)
    }

    /// Returns the settings file without our part, where somebody has changed it since; `None` when nothing is left that
    /// was not ours. `before` is the file as the install found it, when that is known.
    pub fn plan_removal(&self, now: &str, before: Option<&str>) -> Result<Option<String>, EditError> {
        let Form::Entries { blank, .. } = &self.form else {
            return match self.presence(now) {
                Presence::Whole => Ok(None),
                _ => Err(EditError::NotOurs),
            };
        };
        let known = before.and_then(|text| edit::parse(text).ok());
        let was_there = |path: &[&str]| {
            known.as_ref().is_some_and(|known| known.pointer(&format!("/{}", path.join("/"))).is_some())
        };
        let text = self.without_entries(now, &was_there)?;
        let is_blank = before.is_none() && edit::parse(&text)? == parsed(blank);
        Ok((!is_blank).then_some(text))
    }

    fn without_entries(&self, text: &str, was_there: &dyn Fn(&[&str]) -> bool) -> Result<String, EditError> {
        let document = edit::parse(text)?;
        let events = document["hooks"].as_object().into_iter().flatten().filter(|(_, list)| is_ours(list));
        let mut text = text.to_owned();
        for (event, _) in events {
            text = edit::remove(&text, &["hooks", event], &is_ours, was_there)?;
        }
        Ok(text)
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the recipes are literals, a test reads them")
}

/// Tells whether a value has a command of ours in it.
fn is_ours(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with(MARK),
        Value::Array(items) => items.iter().any(is_ours),
        Value::Object(fields) => fields.values().any(is_ours),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_goes_in_and_out() {
        for recipe in Recipe::all() {
            let made = recipe.plan_install(None).unwrap();
            assert_eq!(recipe.presence(&made), Presence::Whole, "{made}");
            assert_eq!(recipe.plan_install(Some(&made)).unwrap(), made);
            assert_eq!(recipe.plan_removal(&made, None).unwrap(), None, "{made}");
            assert!(
                made.contains(&format!("--for {}", recipe.agent)) || made.contains(&format!("\"{}\"", recipe.agent))
            );
            let Form::Entries { .. } = recipe.form else { continue };
            let theirs =
                "{\n  \"z\": 1,\n  \"hooks\": {\n    \"Stop\": [],\n    \"Mine\": [{\"command\": \"x\"}]\n  }\n}\n";
            let with = recipe.plan_install(Some(theirs)).unwrap();
            assert_eq!(recipe.presence(&with), Presence::Whole, "{with}");
            assert_eq!(recipe.plan_removal(&with, Some(theirs)).unwrap().as_deref(), Some(theirs));
            // Somebody adds a key of their own meanwhile.
            let edited = with.replace("\"z\": 1", "\"z\": 2");
            let left = recipe.plan_removal(&edited, Some(theirs)).unwrap();
            assert_eq!(left, Some(theirs.replace("\"z\": 1", "\"z\": 2")));
        }
    }

    #[test]
    fn an_older_entry_is_replaced() {
        let recipe = Recipe::named("claude").unwrap();
        let old = "{\"hooks\": {\"PreToolUse\": [{\"hooks\": [{\"command\": \"git oracle hook agent --for x\"}]}, 7], \"Gone\": [{\"command\": \"git oracle hook agent\"}]}}";
        assert_eq!(recipe.presence(old), Presence::Partial);
        let new = recipe.plan_install(Some(old)).unwrap();
        assert_eq!(recipe.presence(&new), Presence::Whole, "{new}");
        assert!(!new.contains("--for x") && new.contains('7') && new.matches(MARK).count() == 4, "{new}");
    }
}
