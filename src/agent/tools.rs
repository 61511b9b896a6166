//! The agents' tools: which edit, which run commands, which only read; and the paths among their arguments.

use serde_json::Value;

use super::begin_patch::patch_paths;
use super::call::CallError;
use super::command::look_at_command;
use super::command::look_at_words;

/// What a tool call would do, as far as it says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// It changes nothing that a contract is about.
    pub reads: bool,
    /// It is a `git oracle` command and nothing else, the way out of every refusal.
    pub is_way_out: bool,
    pub touches: Vec<Touch>,
    pub evasions: Vec<Evasion>,
}

/// A path that is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    pub path: String,
    /// The directory that a relative path is meant from, itself relative to the payload's.
    pub from: Option<String>,
    pub deletes: bool,
    pub claim: Claim,
}

/// How sure it is that a path will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// An edit tool or a patch says so.
    Edit,
    /// A tool that is not known has it as an argument.
    Argument,
    /// A shell command names it in a place where most programs write.
    Shell,
}

/// A way around the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evasion {
    /// What it gets past.
    pub place: &'static str,
    pub message: String,
}

impl Touch {
    pub(super) fn new(path: &str, claim: Claim) -> Self {
        Touch { path: path.to_owned(), from: None, deletes: false, claim }
    }
}

/// What sort of tool it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Edit,
    Patch,
    Shell,
    Read,
    Unknown,
}

/// The tools by their names. Names are unique enough that no agent needs a list of its own. Tools that start other agents
/// are not here: they name no path, and the tree is judged after them.
const TOOLS: [(Tool, &str); 4] = [
    (
        Tool::Edit,
        "Write Edit MultiEdit NotebookEdit StrReplace Delete EditNotebook write_file replace edit write \
         create multiedit notebook_edit str_replace str_replace_editor fs_write developer__write \
         developer__edit developer__text_editor write_to_file replace_in_file delete_file edit_file \
         search_replace",
    ),
    (Tool::Patch, "apply_patch ApplyPatch applypatch patch"),
    (
        Tool::Shell,
        "Bash PowerShell Monitor Shell bash powershell shell local_shell exec_command unified_exec \
         run_shell_command run_terminal_cmd execute_bash execute_cmd developer__shell execute_command \
         run_command",
    ),
    (
        Tool::Read,
        "Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead ToolSearch \
         AskUserQuestion BashOutput KillShell KillBash ExitPlanMode EnterPlanMode ListMcpResourcesTool \
         ReadMcpResourceTool SemanticSearch ReadLints view glob grep read list ls webfetch websearch \
         codesearch todowrite todoread question update_plan view_image read_file \
         read_many_files list_directory search_file_content grep_search google_web_search web_fetch \
         web_search write_todos todo_write fs_read list_files search_files list_code_definition_names \
         report_intent update_todo read_bash stop_bash read_powershell stop_powershell \
         ask_followup_question attempt_completion plan_mode_respond codebase_search file_search",
    ),
];

/// A tool that is not in the table reads when its own name begins with one of these words.
const READING_WORDS: [&str; 12] =
    ["read", "list", "get", "search", "find", "grep", "view", "fetch", "show", "query", "describe", "stat"];

/// Arguments that hold a path, compared without case, `_` and `-`.
const PATH_KEYS: [&str; 20] = [
    "path",
    "filepath",
    "file",
    "filename",
    "notebookpath",
    "targetfile",
    "targetpath",
    "oldpath",
    "newpath",
    "paths",
    "files",
    "filepaths",
    "source",
    "destination",
    "dest",
    "sourcepath",
    "destinationpath",
    "uri",
    "outputpath",
    "outputfile",
];

/// Arguments that hold a command.
const COMMAND_KEYS: [&str; 4] = ["command", "command_line", "cmd", "script"];

/// Arguments that hold the directory a command runs in.
const DIRECTORY_KEYS: [&str; 5] = ["cwd", "workdir", "dir_path", "directory", "working_directory"];

/// No path is longer; a longer text under a path's name is something else.
const MAX_PATH_BYTES: usize = 4096;

impl Tool {
    pub(super) fn named(name: &str) -> Self {
        let known = TOOLS.iter().find(|(_, names)| names.split(' ').any(|known| known == name));
        let own_name = name.rsplit("__").next().unwrap_or(name).to_ascii_lowercase();
        let first_word = own_name.split(['_', '-', '.', ' ']).next().unwrap_or_default();
        match known {
            Some((tool, _)) => *tool,
            None if READING_WORDS.contains(&first_word) => Tool::Read,
            None => Tool::Unknown,
        }
    }

    /// Returns what a call of this tool with this input would do.
    pub(super) fn wish(self, input: &Value) -> Result<Wish, CallError> {
        let touching = |touches: Vec<Touch>| Wish { touches, ..Wish::default() };
        match self {
            Tool::Read => Ok(Wish { reads: true, ..Wish::default() }),
            Tool::Edit => match named_paths(input, Claim::Edit) {
                touches if touches.is_empty() || has_odd_path(input) => Err(CallError::Lacks("a path")),
                touches => Ok(touching(touches)),
            },
            Tool::Patch => match patches(input) {
                touches if touches.is_empty() => Err(CallError::Lacks("a path in its patch")),
                touches => Ok(touching(touches)),
            },
            Tool::Shell => command(input),
            Tool::Unknown => Ok(touching(named_paths(input, Claim::Argument))),
        }
    }
}

fn command(input: &Value) -> Result<Wish, CallError> {
    let lacking = CallError::Lacks("a command");
    let given = COMMAND_KEYS.iter().find_map(|key| input.get(*key)).ok_or(lacking)?;
    let mut wish = match given {
        Value::String(text) => look_at_command(text),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            look_at_words(&words.ok_or(CallError::Lacks("a command"))?)
        }
        _ => return Err(CallError::Lacks("a command")),
    };
    let directory = DIRECTORY_KEYS.iter().find_map(|key| input.get(*key)?.as_str()).filter(|text| !text.is_empty());
    if let Some(directory) = directory {
        for touch in &mut wish.touches {
            touch.from = Some(match &touch.from {
                Some(from) => format!("{directory}/{from}"),
                None => directory.to_owned(),
            });
        }
    }
    Ok(wish)
}

/// Returns the paths of every patch among the arguments, whatever it is called there.
fn patches(input: &Value) -> Vec<Touch> {
    strings(input).into_iter().flat_map(|(_, text)| patch_paths(text)).collect()
}

fn is_path_key(key: &str) -> bool {
    let folded: String = key.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    PATH_KEYS.contains(&folded.as_str())
}

/// Tells whether an edit tool has something under a path's name that is no path; who knows what it makes of that.
fn has_odd_path(input: &Value) -> bool {
    input.as_object().is_some_and(|fields| {
        fields.iter().any(|(key, value)| is_path_key(key) && !value.is_string() && !value.is_null())
    })
}

/// Returns the arguments that look like paths: by their names, or because they begin as only paths do.
fn named_paths(input: &Value, claim: Claim) -> Vec<Touch> {
    let mut touches = Vec::new();
    for (key, text) in strings(input) {
        let is_named = is_path_key(key);
        let begins = ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start));
        // The text that an edit tool writes may begin like a path; its own arguments are known by name.
        let is_path = is_named || claim == Claim::Argument && begins && !text.contains(char::is_whitespace);
        let is_address = text.contains("://") && !text.starts_with("file://");
        if is_path && !is_address && text.len() <= MAX_PATH_BYTES && !text.is_empty() {
            touches.push(Touch::new(text.strip_prefix("file://").unwrap_or(text), claim));
        }
    }
    touches
}

/// Returns every string in a value with the name that it stands under; an item of a list has the list's name.
fn strings(value: &Value) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut open = vec![("", value)];
    while let Some((key, value)) = open.pop() {
        match value {
            Value::String(text) => found.push((key, text.as_str())),
            Value::Array(items) => open.extend(items.iter().rev().map(|item| (key, item))),
            Value::Object(fields) => open.extend(fields.iter().rev().map(|(name, field)| (name.as_str(), field))),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(name: &str, input: &Value) -> Vec<String> {
        Tool::named(name).wish(input).unwrap().touches.into_iter().map(|touch| touch.path).collect()
    }

    #[test]
    fn no_tool_is_in_two_lists() {
        let mut names: Vec<&str> = TOOLS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn paths_are_found_where_each_tool_has_them() {
        assert_eq!(paths("Write", &json!({"file_path": "a", "content": "/etc/passwd"})), ["a"]);
        assert_eq!(paths("NotebookEdit", &json!({"notebook_path": "n.ipynb", "new_source": "x"})), ["n.ipynb"]);
        assert_eq!(paths("edit", &json!({"filePath": "a", "oldString": "./b"})), ["a"]);
        assert_eq!(paths("apply_patch", &json!({"patchText": "*** Add File: p\n+x\n"})), ["p"]);
        assert_eq!(paths("apply_patch", &json!("*** Delete File: p\n")), ["p"]);
        assert_eq!(paths("mcp__fs__move_file", &json!({"source": "a", "destination": "b"})), ["b", "a"]);
        assert_eq!(paths("mcp__x__do", &json!({"edits": [{"path": "a"}, {"path": "b"}]})), ["a", "b"]);
        assert_eq!(paths("mcp__x__do", &json!({"what": "../a", "text": "/ a", "n": 1})), ["../a"]);
        assert_eq!(paths("mcp__x__do", &json!({"uri": "https://example.com/a", "file": "file:///a"})), ["/a"]);
    }

    #[test]
    fn a_tool_that_writes_and_does_not_say_where_is_refused() {
        for (tool, input) in [
            (Tool::Edit, json!({})),
            (Tool::Edit, json!({"file_path": 1})),
            (Tool::Edit, json!({"file_path": ""})),
            (Tool::Edit, json!({"file_path": ["src/a", 7]})),
            (Tool::Edit, json!({"file_path": "src/a", "path": {"x": 1}})),
            (Tool::Edit, json!(null)),
            (Tool::Patch, json!({"command": "no patch"})),
            (Tool::Shell, json!({})),
            (Tool::Shell, json!({"command": {"a": 1}})),
            (Tool::Shell, json!({"command": ["git", 1]})),
        ] {
            assert!(tool.wish(&input).is_err(), "{tool:?} {input}");
        }
    }

    #[test]
    fn reading_is_known_by_name() {
        for name in ["Read", "mcp__fs__read_text_file", "mcp__gh__get_issue", "list-things"] {
            assert_eq!(Tool::named(name), Tool::Read, "{name}");
        }
        for name in ["mcp__fs__write_file", "mcp__read__write", "reader", "", "ReadAndWrite"] {
            assert_eq!(Tool::named(name), Tool::Unknown, "{name}");
        }
    }
}
