//! Putting our hook into an agent's settings, beside what is there, and taking it out again.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;

/// The agents with their settings files.
const AGENTS: [(&str, &str); 6] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("copilot", ".github/hooks/git-oracle.json"),
    ("cursor", ".cursor/hooks.json"),
    ("opencode", ".opencode/plugins/git-oracle.js"),
];

/// Settings that people have.
const SETTINGS: [&str; 6] = [
    "{\n  \"model\": \"x\",\n  \"env\": {\"A\": \"1\"},\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}\n    ]\n  }\n}\n",
    "{\"z\":1,\"a\":{\"hooks\":{}},\"hooks\":{\"Stop\":[]}}",
    "{\r\n\t\"version\": 1,\r\n\t\"hooks\": {\r\n\t\t\"preToolUse\": [ {\"command\": \"mine\"} ]\r\n\t}\r\n}",
    "{}",
    "  { }\n\n",
    "{\"hooks\": {\"BeforeTool\": [ ], \"stop\": [{\"command\": \"a \\\"b\\\" ]}\"}]}}\n",
];

/// Every file and directory of the working tree but git's and ours.
fn snapshot(env: &TestEnv) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![env.repo()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(env.repo()).unwrap().to_string_lossy().into_owned();
            if matches!(name.as_str(), ".git" | ".oracle") {
                continue;
            }
            let mode = entry.path().symlink_metadata().unwrap().permissions().mode();
            match entry.file_type().unwrap().is_dir() {
                true => {
                    found.insert(name, "directory".into());
                    open.push(entry.path());
                }
                false => {
                    found.insert(name, format!("{mode:o} {:?}", std::fs::read(entry.path()).unwrap_or_default()));
                }
            }
        }
    }
    found
}

fn settings(env: &TestEnv, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(env.repo().join(file)).unwrap()).unwrap()
}

#[test]
fn what_was_there_is_back_after_removal() {
    for (agent, file) in AGENTS {
        let is_plugin = file.ends_with(".js");
        for before in std::iter::once(None).chain(SETTINGS.map(Some).into_iter().filter(|_| !is_plugin)) {
            let env = TestEnv::under_contract(&["src/"]);
            if let Some(text) = before {
                env.write(file, text);
                let mode = std::fs::Permissions::from_mode(0o600);
                std::fs::set_permissions(env.repo().join(file), mode).unwrap();
            }
            let untouched = snapshot(&env);
            assert_eq!(
                env.expect(1, &["hooks", "status", "--agent", agent, "--json"]).json()["state"],
                "not installed"
            );
            let ran = env.expect(0, &["hooks", "install", "--agent", agent]);
            assert!(ran.stderr.contains(&format!("installed the hook of {agent} in {file}")), "{}", ran.shown());
            let installed = snapshot(&env);
            assert_ne!(installed, untouched, "{agent} {before:?}");
            let again = env.expect(0, &["hooks", "install", "--agent", agent]);
            assert!(again.stderr.contains("is installed in"), "{}", again.shown());
            assert_eq!(snapshot(&env), installed, "{agent} {before:?}");
            let status = env.expect(0, &["hooks", "status", "--agent", agent, "--json"]).json();
            assert_eq!(status, json!({"agent": agent, "state": "installed", "file": file, "last_fired": null}));
            if let (Some(text), false) = (before, is_plugin) {
                // Everything that was there is there, and in its order.
                let (old, new) = (serde_json::from_str::<Value>(text).unwrap(), settings(&env, file));
                for (key, value) in old.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks") {
                    assert_eq!(new[key], *value);
                }
                for (event, items) in old["hooks"].as_object().into_iter().flatten() {
                    let kept = &new["hooks"][event].as_array().unwrap()[..items.as_array().unwrap().len()];
                    assert_eq!(kept, items.as_array().unwrap().as_slice());
                }
            }
            env.expect(0, &["hooks", "uninstall", "--agent", agent]);
            assert_eq!(snapshot(&env), untouched, "{agent} {before:?}");
            let none = env.expect(0, &["hooks", "uninstall", "--agent", agent]);
            assert!(none.stderr.contains("there is no hook of ours"), "{}", none.shown());
            assert_eq!(snapshot(&env), untouched, "{agent} {before:?}");
        }
    }
}

#[test]
fn settings_that_changed_meanwhile_keep_the_change() {
    for (agent, file) in AGENTS.into_iter().filter(|(_, file)| !file.ends_with(".js")) {
        let env = TestEnv::under_contract(&["src/"]);
        env.write(file, "{\n  \"mine\": 1\n}\n");
        env.expect(0, &["hooks", "install", "--agent", agent]);
        let text = std::fs::read_to_string(env.repo().join(file)).unwrap();
        env.write(file, &text.replace("\"mine\": 1", "\"mine\": 2"));
        env.expect(0, &["hooks", "status", "--agent", agent]);
        env.expect(0, &["hooks", "uninstall", "--agent", agent]);
        assert_eq!(std::fs::read_to_string(env.repo().join(file)).unwrap(), "{\n  \"mine\": 2\n}\n", "{agent}");
        // A clone has the settings and none of our notes about them.
        env.expect(0, &["hooks", "install", "--agent", agent]);
        std::fs::remove_dir_all(env.repo().join(".git/oracle/agents")).unwrap();
        env.expect(0, &["hooks", "uninstall", "--agent", agent]);
        assert_eq!(std::fs::read_to_string(env.repo().join(file)).unwrap(), "{\n  \"mine\": 2\n}\n", "{agent}");
    }
}

#[test]
fn what_cannot_be_edited_is_left_alone() {
    let cases = [
        ("{\"a\": 1,}", "is not valid JSON"),
        ("{ // mine\n}", "is not valid JSON"),
        ("{\"hooks\": [], \"a\": 1}", "hooks is not an object"),
        ("{\"hooks\": {\"PreToolUse\": {}}}", "hooks.PreToolUse is not a list"),
        ("[]", "the document is not an object"),
        ("\u{feff}{}", "byte order mark"),
    ];
    let env = TestEnv::under_contract(&["src/"]);
    for (text, message) in cases {
        env.write(".claude/settings.json", text);
        let before = snapshot(&env);
        let ran = env.expect(1, &["hooks", "install", "--agent", "claude"]);
        assert!(ran.stderr.contains(message) && ran.stderr.contains(".claude/settings.json"), "{}", ran.shown());
        assert_eq!(snapshot(&env), before);
    }
    env.write(".opencode/plugins/git-oracle.js", "// mine\n");
    let ran = env.expect(1, &["hooks", "install", "--agent", "opencode"]);
    assert!(ran.stderr.contains("it is not a file of git-oracle"), "{}", ran.shown());
    env.expect(129, &["hooks", "install", "--agent", "nobody"]);
}

#[test]
fn a_link_is_not_written_through() {
    for (script, what) in [
        ("mkdir ../elsewhere && ln -s ../elsewhere .claude", ".claude is not a directory"),
        (
            "mkdir .claude ../elsewhere && echo {} > ../elsewhere/x && ln -s ../../elsewhere/x .claude/settings.json",
            "settings.json is not a regular file",
        ),
    ] {
        let env = TestEnv::under_contract(&["src/"]);
        assert_eq!(env.sh(script).code, 0);
        let ran = env.expect(1, &["hooks", "install", "--agent", "claude"]);
        assert!(ran.stderr.contains(what), "{}", ran.shown());
        let written = std::fs::read_dir(env.root().join("elsewhere")).unwrap().count();
        assert!(written <= 1 && env.sh("cat ../elsewhere/* 2>/dev/null").stdout.len() < 4);
        env.expect(0, &["doctor"]);
    }
}

#[test]
fn the_settings_are_protected_and_do_not_trouble_the_agent() {
    for (agent, file) in AGENTS {
        let env = TestEnv::under_contract(&["src/"]);
        env.expect(0, &["hooks", "install", "--agent", agent]);
        let ask =
            |payload: &Value| env.oracle_fed(&["hook", "agent", "--deadline", "60"], payload.to_string().as_bytes());
        let edit = json!({"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": file}});
        assert_eq!(ask(&edit).code, 2, "{file}");
        let stop = json!({"hook_event_name": "Stop", "stop_hook_active": false});
        if agent == "opencode" {
            // Its program installs packages beside every plugin.
            env.write(".opencode/node_modules/x/package.json", "{}");
            env.write(".opencode/package.json", "{}");
        }
        assert_eq!(ask(&stop).stdout, "", "{file}: what the install wrote is no change of the agent's");
        // Changed by somebody, it is.
        env.sh(&format!("printf ' \\n' >> {file}"));
        assert!(ask(&stop).stdout.contains(file), "{file}");
        // A contract that opens what is around the file does not open the file.
        let (allow, path) = match agent {
            "copilot" => (".github/", file.to_owned()),
            _ => ("src/", format!("src/{file}")),
        };
        let around = TestEnv::under_contract(&[allow]);
        around.write(&path, "x");
        assert_eq!(around.judge(&["--worktree"]), (7, vec![format!("{path} protected_path")]));
    }
}

#[test]
fn doctor_says_when_a_hook_last_fired() {
    let env = TestEnv::hooked(&["src/"]);
    env.expect(0, &["hooks", "install", "--agent", "codex"]);
    let said = |env: &TestEnv| {
        let lines = env.oracle(&["doctor"]).stdout;
        lines.lines().filter(|line| line.contains("codex")).map(str::to_owned).collect::<Vec<_>>()
    };
    let before = said(&env);
    assert!(before[0].starts_with("note    agent       codex: in .codex/hooks.json, never fired"), "{before:?}");
    let payload = json!({"hook_event_name": "PreToolUse", "turn_id": "1", "tool_name": "view_image", "tool_input": {"path": "x"}});
    assert_eq!(env.oracle_fed(&["hook", "agent"], payload.to_string().as_bytes()).code, 0);
    let after = said(&env);
    assert!(after[0].starts_with("ok      agent       codex: in .codex/hooks.json, last fired 20"), "{after:?}");
    // A part of it is gone.
    let text = std::fs::read_to_string(env.repo().join(".codex/hooks.json")).unwrap();
    env.write(".codex/hooks.json", &text.replacen("|| exit 2", "|| true", 1));
    assert!(said(&env)[0].starts_with("broken  agent"), "{:?}", said(&env));
    env.expect(1, &["hooks", "status", "--agent", "codex"]);
    env.expect(0, &["hooks", "install", "--agent", "codex"]);
    assert_eq!(std::fs::read_to_string(env.repo().join(".codex/hooks.json")).unwrap(), text);
}

#[test]
fn the_command_is_constant() {
    for (agent, file) in AGENTS {
        let env = TestEnv::under_contract(&["src/"]);
        env.expect(0, &["hooks", "install", "--agent", agent]);
        let text = std::fs::read_to_string(env.repo().join(file)).unwrap();
        match agent {
            "opencode" => {
                assert!(text.contains("[\"oracle\", \"hook\", \"agent\", \"--for\", \"opencode\"]"), "{text}")
            }
            _ => assert!(text.contains(&format!("\"git oracle hook agent --for {agent} || exit 2\"")), "{text}"),
        }
    }
}

/// Where node is there, the plugin is run as OpenCode runs it.
#[test]
fn the_plugin_throws_what_is_refused() {
    let env = TestEnv::under_contract(&["src/"]);
    if !Path::new("/usr/bin/node").exists() && env.sh("command -v node").code != 0 {
        return;
    }
    env.expect(0, &["hooks", "install", "--agent", "opencode"]);
    let script = "
        import { copyFileSync } from 'node:fs'
        copyFileSync('.opencode/plugins/git-oracle.js', '../plugin.mjs')
        const { GitOracle } = await import(process.cwd() + '/../plugin.mjs')
        const hooks = await GitOracle({ directory: process.cwd(), worktree: process.cwd() })
        const before = async (tool, args) => {
            try { await hooks['tool.execute.before']({ tool }, { args }); console.log('runs') }
            catch (error) { console.log(error.message.trim()) }
        }
        await before('write', { filePath: 'src/a.rs', content: 'x' })
        await before('write', { filePath: 'docs/a.md', content: 'x' })
        const output = { output: 'done' }
        await hooks['tool.execute.after']({ tool: 'bash', args: { command: 'x' } }, output)
        console.log(output.output)
    ";
    env.write("docs/guide.md", "changed\n");
    let ran = env.run_in(&env.repo(), "node", &["--input-type=module", "--eval", script], &[]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!((lines[0], lines[2]), ("runs", "done"), "{}", ran.shown());
    assert!(
        lines[1].contains("docs/a.md: out_of_scope") && lines[3].contains("docs/guide.md: out_of_scope"),
        "{}",
        ran.shown()
    );
}
