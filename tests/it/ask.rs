//! `git oracle ask`, through a real browser on the rehearsal page.

use git_oracle::transport::rehearsal::Composer;
use git_oracle::transport::rehearsal::Faults;
use git_oracle::transport::rehearsal::Happening;
use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Reply;
use git_oracle::transport::rehearsal::Script;
use git_oracle::transport::rehearsal::SignedOut;
use serde_json::Value;
use serde_json::json;

use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::project_file;
use crate::support::unzip;

const ANSWER: &str = "{{REQUEST_ID}}\n\nUse `split`:\n\n```rust\nlet parts = line.split(',');\n```\n\n{{REQUEST_ID}}";

/// Asks the page; the browser's profile is that of the sealed home.
fn ask(env: &TestEnv, page: &Rehearsal, args: &[&str]) -> Ran {
    let url = page.url();
    env.oracle(&[&["ask", "--page", "rehearsal", "--browser-url", &url, "--slug", "under test"], args].concat())
}

fn fits(result: &Value) {
    let schema: Value = serde_json::from_str(&project_file("schemas/result.v1.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(result).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0], "{result:#}");
}

fn kept(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.root().join("home/.oracle/sessions/under-test").join(name)).unwrap()
}

#[test]
fn an_answer_comes_home_exactly_and_everything_is_kept() {
    let env = TestEnv::new();
    let page = Rehearsal::start(Script::answering([ANSWER])).unwrap();
    let ran = ask(&env, &page, &["-p", "How do I take a line apart?"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(ran.stdout, "Use `split`:\n\n```rust\nlet parts = line.split(',');\n```\n");
    let record = page.record();
    assert_eq!(record.prompts.len(), 1, "sent once");
    let result = env.session("under-test", "result.json");
    fits(&result);
    let id = result["requestId"].as_str().unwrap().to_owned();
    assert_eq!(record.prompts[0].text, kept(&env, "request-1.md"));
    assert_eq!(kept(&env, "response-1.md").trim(), ANSWER.replace("{{REQUEST_ID}}", &id));
    assert_eq!((&result["status"], &result["capture"]), (&json!("success"), &json!("clipboard")));
    assert_eq!((&result["requestIdSeen"], &result["completionPath"]), (&json!(true), &json!("all_signals")));
    let transfer = env.session("under-test", "transfer-1.json");
    assert_eq!((&transfer["approvedBy"], &transfer["riskClass"]), (&json!("loopback"), &json!("none")));
    assert_eq!(transfer["bytes"], json!(record.prompts[0].text.len()));
    let ledger = kept(&env, "ledger.jsonl");
    let steps: Vec<Value> =
        ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["step"].clone()).collect();
    let known = ["intent", "typed", "sending", "sent", "committed", "captured"];
    let order: Vec<&Value> = steps.iter().filter(|step| known.iter().any(|known| *step == known)).collect();
    assert_eq!(order, known, "{ledger}");
    let session = env.session("under-test", "session.json");
    assert_eq!((&session["mode"], &session["platform"]), (&json!("browser"), &json!("rehearsal")));
    assert_eq!(session["promptPreview"], json!("How do I take a line apart?"));
    assert_eq!(env.sh("ls -A $TMPDIR").stdout, "home\nrepo\n", "no temporary file is left");
}

#[test]
fn files_go_along_in_the_text_or_as_an_archive() {
    let env = TestEnv::new();
    let script = Script { editor: Composer::Textarea, ..Script::answering([ANSWER]) };
    let page = Rehearsal::start(script).unwrap();
    let ran = ask(&env, &page, &["-p", "Read this.", "--browser-bundle-files", "src/parser.rs"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let parser = std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap();
    assert!(page.record().prompts[0].text.contains(parser.trim_end()), "{:?}", page.record().prompts);
    let zip = ["-p", "Read this.", "--browser-bundle-files", "src/", "--browser-bundle-format", "zip"];
    assert_eq!(ask(&env, &page, &zip).code, 0);
    let record = page.record();
    assert_eq!(record.prompts[1].files[0].name, "oracle-context-package.zip");
    assert!(record.prompts[1].files[0].content.starts_with(b"PK"));
}

#[test]
fn no_secret_reaches_the_page() {
    let env = TestEnv::new();
    let page = Rehearsal::start(Script::answering([ANSWER])).unwrap();
    let token = git_oracle::secret::fill("ghp_<alnum:30><crc62>", 7);
    let prompt = format!("Why does this fail?\ntoken = {token}\n");
    let ran = ask(&env, &page, &["-p", &prompt, "--json"]);
    assert_eq!((ran.code, ran.json()["status"].clone()), (3, json!("secret_detected")), "{}", ran.shown());
    fits(&ran.json());
    assert!(page.record().prompts.is_empty() && !ran.shown().contains(&token), "{}", ran.shown());
    let ran = ask(&env, &page, &["-p", &prompt, "--sanitize-prompt"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let record = page.record();
    assert!(record.prompts[0].text.contains("***REDACTED***") && !record.prompts[0].text.contains(&token));
    let left = env.sh(&format!("grep -rl {token} $HOME/.oracle/sessions || true")).stdout;
    assert_eq!(left, "", "the secret is kept nowhere");
}

#[test]
fn no_secret_of_a_file_or_its_name_reaches_the_page() {
    let env = TestEnv::new();
    let page = Rehearsal::start(Script::answering([ANSWER])).unwrap();
    let token = |seed| git_oracle::secret::fill("ghp_<alnum:30><crc62>", seed);
    let (inside, name) = (token(7), token(8));
    env.write("src/config.rs", &format!("const TOKEN: &str = \"{inside}\";\n"));
    env.write(&format!("src/{name}.rs"), "fn named() {}\n");
    for format in ["text", "zip"] {
        for flags in [&[][..], &["--sanitize-prompt"]] {
            let bundle = ["-p", "Read this.", "--browser-bundle-files", "src/", "--browser-bundle-format", format];
            let ran = ask(&env, &page, &[&bundle[..], flags].concat());
            assert!(!ran.shown().contains(&inside) && !ran.shown().contains(&name), "{format}: {}", ran.shown());
        }
    }
    let record = page.record();
    assert!(!record.prompts.is_empty(), "what has no secret in it goes out");
    let mut sent = String::new();
    for prompt in &record.prompts {
        sent.push_str(&prompt.text);
        for file in &prompt.files {
            for (name, content) in unzip(&file.content) {
                sent.push_str(&format!("{name}\n{}", String::from_utf8_lossy(&content)));
            }
        }
    }
    assert!(sent.contains("fn parse()"), "the other files are there: {sent}");
    assert!(!sent.contains(&inside) && !sent.contains(&name), "{sent}");
    let left = env.sh(&format!("grep -rlE '{inside}|{name}' $HOME/.oracle/sessions || true")).stdout;
    assert_eq!(left, "", "it is kept nowhere");
}

#[test]
fn a_run_says_that_it_waits_for_another() {
    let env = TestEnv::new();
    let late = Reply { start_ms: 1_500, ..Reply::of(ANSWER) };
    let page = Rehearsal::start(Script { replies: vec![late, Reply::of(ANSWER)], ..Script::default() }).unwrap();
    assert_eq!(ask(&env, &page, &["-p", "First", "--detach"]).code, 0);
    // The first one has a browser when it has typed.
    let ledger = env.root().join("home/.oracle/sessions/under-test/ledger.jsonl");
    while !std::fs::read_to_string(&ledger).is_ok_and(|text| text.contains("\"typed\"")) {
        std::thread::yield_now();
    }
    let second = ask(&env, &page, &["-p", "Second"]);
    assert_eq!(second.code, 0, "{}", second.shown());
    let log = env.root().join("home/.oracle/sessions/under-test-2/output.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("waiting for process ") && log.contains("starting the browser"), "{log}");
    assert_eq!(env.expect(0, &["session", "attach", "under-test"]).code, 0);
    assert_eq!(page.record().prompts.len(), 2);
}

#[test]
fn what_goes_wrong_has_a_name_a_code_and_a_hint() {
    let env = TestEnv::new();
    let signed_out = Faults { signed_out: Some(SignedOut::Redirect), ..Faults::default() };
    let page = Rehearsal::start(Script { faults: signed_out, ..Script::answering([ANSWER]) }).unwrap();
    let ran = ask(&env, &page, &["-p", "Hello", "--json"]);
    let result = ran.json();
    assert_eq!((ran.code, &result["status"]), (10, &json!("unavailable")), "{}", ran.shown());
    assert_eq!(result["error"]["kind"], json!("signed_out"));
    assert!(result["error"]["hint"].as_str().unwrap().contains("auth login"), "{result:#}");
    fits(&result);
    let endless = Reply { start_ms: 3_600_000, ..Reply::of("late") };
    let page = Rehearsal::start(Script { replies: vec![endless], ..Script::default() }).unwrap();
    let ran = ask(&env, &page, &["-p", "Hello", "--json", "--timeout", "4"]);
    assert_eq!((ran.code, ran.json()["status"].clone()), (6, json!("timeout")), "{}", ran.shown());
    let slow = Reply { chunk: 1, every_ms: 500, ..Reply::of(&"slowly ".repeat(50)) };
    let page = Rehearsal::start(Script { replies: vec![slow], ..Script::default() }).unwrap();
    let ran = ask(&env, &page, &["-p", "Hello", "--json", "--timeout", "6", "--dom-snapshot", "500"]);
    let result = ran.json();
    assert_eq!((ran.code, &result["status"]), (2, &json!("partial")), "{}", ran.shown());
    assert_eq!(result["completionPath"], json!("timeout_partial"));
    assert!(result["responseChars"].as_u64().unwrap() > 0 && !result["snapshots"].as_array().unwrap().is_empty());
}

/// A page on which this is wrong.
fn faulty(faults: Faults) -> Script {
    Script { faults, ..Script::answering([ANSWER]) }
}

/// A page on which this happens while it answers, long after it took the prompt.
fn happening(what: Happening) -> Script {
    let reply = Reply { happenings: vec![what], start_ms: 1500, chunk: 20, every_ms: 20, ..Reply::of(ANSWER) };
    Script { replies: vec![reply], ..Script::default() }
}

/// A page, the arguments to ask it with, and what is to come of it: a kind of error, sends, and words of the hint.
type Faulty<'a> = (Script, &'a [&'a str], &'a str, usize, &'a str);

fn expect_faults(cases: Vec<Faulty<'_>>) {
    for (script, args, kind, sends, hint) in cases {
        let env = TestEnv::new();
        let page = Rehearsal::start(script.clone()).unwrap();
        let ran = ask(&env, &page, &[&["-p", "Hello", "--json"], args].concat());
        let result = ran.json();
        fits(&result);
        assert_eq!((ran.code, &result["status"]), (10, &json!("unavailable")), "{script:?}: {}", ran.shown());
        assert_eq!(result["error"]["kind"], json!(kind), "{script:?}: {result:#}");
        assert!(result["error"]["hint"].as_str().unwrap().contains(hint), "{script:?}: {result:#}");
        assert_eq!(page.record().prompts.len(), sends, "{script:?}");
        assert_eq!(env.sh("ls -A $TMPDIR").stdout, "home\nrepo\n", "{script:?}: a temporary file is left");
    }
}

#[test]
fn each_fault_before_the_send_has_its_kind_its_exit_code_and_its_hint() {
    let zip = ["--browser-bundle-files", "src/", "--browser-bundle-format", "zip"];
    let visitor = Faults { signed_out: Some(SignedOut::Visitor), ..Faults::default() };
    let challenge = Faults { challenge_ms: Some(600_000), ..Faults::default() };
    let empty = Faults { hydrate_ms: Some(600_000), ..Faults::default() };
    let upload = Faults { upload_fails: true, ..Faults::default() };
    expect_faults(vec![
        (faulty(visitor), &[], "signed_out", 0, "auth login"),
        (faulty(challenge), &[], "challenge", 0, "--headful"),
        (faulty(empty), &[], "page_drifted", 0, "doctor --page"),
        (Script::default(), &["--model", "GPT-9"], "model_not_offered", 0, "It offers: GPT-5,"),
        (faulty(upload), &zip, "provider_error", 0, "Nothing was sent"),
        (faulty(Faults { ignores_send: true, ..Faults::default() }), &[], "send_unclear", 0, "not sent again"),
    ]);
}

#[test]
fn each_fault_after_the_send_has_its_kind_its_exit_code_and_its_hint() {
    let refused = Reply { refused: Some("Too many requests.".into()), ..Reply::default() };
    let broken = "Something went wrong.".to_owned();
    expect_faults(vec![
        (Script { replies: vec![refused], ..Script::default() }, &[], "rate_limited", 1, "Wait a few minutes"),
        (happening(Happening::Fail { after: 60, text: broken }), &[], "provider_error", 1, "Try again later"),
        (happening(Happening::Throttle { after: 60, text: "Rate limit.".into() }), &[], "rate_limited", 1, "Wait"),
        (happening(Happening::Leave { after: 60, to: "/login".into() }), &[], "signed_out", 1, "auth login"),
    ]);
    // Nothing moves any more, but something had arrived.
    let env = TestEnv::new();
    let page = Rehearsal::start(happening(Happening::Stall { after: 60 })).unwrap();
    let ran = ask(&env, &page, &["-p", "Hello", "--json", "--stall-timeout", "3"]);
    let result = ran.json();
    assert_eq!((ran.code, &result["error"]["kind"]), (2, &json!("timed_out")), "{}", ran.shown());
    assert!(result["error"]["hint"].as_str().unwrap().contains("--stall-timeout"), "{result:#}");
    assert!(kept(&env, "response-1.md").contains("Use `split`"), "{}", kept(&env, "response-1.md"));
}

#[test]
fn nothing_is_sent_that_nobody_let_go() {
    let env = TestEnv::new();
    let page = "https://chatgpt.com/";
    let ran = env.oracle(&["ask", "--browser-url", page, "-p", "Hello", "--json"]);
    assert_eq!((ran.code, ran.json()["status"].clone()), (8, json!("approval_required")), "{}", ran.shown());
    assert!(ran.stderr.contains("hint: ") && ran.stderr.contains("chatgpt.com"), "{}", ran.stderr);
    for (args, code) in [
        (&["ask", "-p", " "][..], 129),
        (&["ask", "-p", "Hello", "--browser-url", "http://chatgpt.com/"], 129),
        (&["ask", "-p", "Hello", "--engine", "api", "--copilot"], 129),
        (&["ask", "-p", "Hello", "--engine", "api"], 10),
        (&["ask", "-p", "Hello", "--page", "no-such-page"], 1),
    ] {
        let ran = env.expect(code, args);
        assert!(ran.stderr.contains("hint: "), "{args:?}: {}", ran.shown());
    }
    let sessions = env.root().join("home/.oracle/sessions");
    assert_eq!(std::fs::read_dir(sessions).unwrap().count(), 1, "only the one that had something to say");
}

#[test]
fn a_dry_run_sends_nothing_and_leaves_nothing() {
    let env = TestEnv::new();
    let args = ["ask", "-p", "Hello", "--dry-run", "--json", "--browser-bundle-files", "src/", "--copilot"];
    let preview = env.expect(0, &args).json();
    assert_eq!((&preview["engine"], &preview["platform"]), (&json!("browser"), &json!("copilot")));
    assert_eq!(
        (&preview["destination"], &preview["approvedBy"]),
        (&json!("https://github.com/copilot/"), &Value::Null)
    );
    assert_eq!(preview["bundleFormat"], json!("text"));
    assert!(preview["bytes"].as_u64().unwrap() > 100 && preview["estimatedTokens"].as_u64().unwrap() > 25);
    assert!(!env.root().join("home/.oracle/sessions").exists());
}

const PATCH: &str = "diff --git a/src/parser.rs b/src/parser.rs\n--- a/src/parser.rs\n+++ b/src/parser.rs\n\
@@ -1 +1,2 @@\n fn parse() {}\n+fn more() {}\n";

#[test]
fn the_patch_in_an_answer_is_carried_out_where_that_is_wanted() {
    let env = TestEnv::new();
    let answer = format!("{{{{REQUEST_ID}}}}\n\nHere:\n\n```diff\n{PATCH}```\n\n{{{{REQUEST_ID}}}}");
    let page = Rehearsal::start(Script::answering([&*answer])).unwrap();
    let ran = ask(&env, &page, &["-p", "Add more.", "--emit-diff-only"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let parsed: Vec<&str> = ran.stdout.lines().filter(|line| !line.starts_with("index ")).collect();
    assert_eq!(parsed, PATCH.replace("@@ -1 +1,2 @@", "@@ -1,1 +1,2 @@").lines().collect::<Vec<_>>());
    assert_eq!(env.git(&["status", "--short"]), "");
    let ran =
        ask(&env, &page, &["-p", "Add more.", "--json", "--apply-mode", "apply", "--diff-output", "../out.patch"]);
    let result = ran.json();
    fits(&result);
    assert_eq!((ran.code, &result["status"], &result["diffApplied"]), (0, &json!("success"), &json!(true)));
    assert_eq!(env.git(&["diff", "--name-only"]), "src/parser.rs");
    assert!(std::fs::read_to_string(env.root().join("out.patch")).unwrap().contains("+fn more() {}"));
}

#[test]
fn a_patch_for_another_repository_is_found_there_later() {
    let env = TestEnv::new();
    let answer = format!("{{{{REQUEST_ID}}}}\n\n```diff\n{PATCH}```\n\n{{{{REQUEST_ID}}}}");
    let page = Rehearsal::start(Script::answering([&*answer])).unwrap();
    let elsewhere = env.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let url = page.url();
    let place = ["ask", "--page", "rehearsal", "--browser-url", &url, "-p", "Add more."];
    let terms = ["--apply-mode", "check", "--git-root", "../repo"];
    let ran = env.oracle_in(&elsewhere, &[&place[..], &terms].concat());
    assert_eq!(ran.code, 0, "{}", ran.shown());
    env.expect(0, &["apply", "--last"]);
    assert_eq!(env.git(&["diff", "--name-only"]), "src/parser.rs");
}

#[test]
fn a_missing_patch_is_asked_for_again_only_where_that_is_wanted() {
    let answer = format!("{{{{REQUEST_ID}}}}\n\n```diff\n{PATCH}```\n\n{{{{REQUEST_ID}}}}");
    let words = "{{REQUEST_ID}}\n\nThat is fine as it is.\n\n{{REQUEST_ID}}";
    for (flags, code, sends) in [
        (&["--strict-diff"][..], 2, 1),
        (&["--retry-if-no-diff"], 0, 2),
        (&["--retry-if-no-diff", "--max-retries", "0"], 2, 1),
        (&["--retry-if-no-diff", "--followup-prompt", "As a diff, please."], 0, 2),
    ] {
        let env = TestEnv::new();
        let page = Rehearsal::start(Script::answering([words, &*answer])).unwrap();
        let ran = ask(&env, &page, &[&["-p", "Add more.", "--json"], flags].concat());
        let (result, record) = (ran.json(), page.record());
        assert_eq!((ran.code, record.prompts.len()), (code, sends), "{flags:?}: {}", ran.shown());
        assert_eq!(result["retryCount"], json!(sends - 1));
        if let Some(own) = flags.iter().skip_while(|flag| **flag != "--followup-prompt").nth(1) {
            assert!(record.prompts[1].text.contains(own), "{}", record.prompts[1].text);
        }
    }
}

#[test]
fn a_run_in_the_background_is_followed_to_its_end() {
    let env = TestEnv::new();
    let late = Reply { start_ms: 1_500, ..Reply::of(ANSWER) };
    let page = Rehearsal::start(Script { replies: vec![late], ..Script::default() }).unwrap();
    let ran = ask(&env, &page, &["-p", "How do I take a line apart?", "--detach"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "under-test\n"), "{}", ran.shown());
    assert!(ran.stderr.contains("git oracle session attach under-test"), "{}", ran.shown());
    assert_eq!(env.session("under-test", "session.json")["status"], json!("running"));
    let ran = env.expect(0, &["session", "attach", "under-test"]);
    assert_eq!(ran.stdout, "Use `split`:\n\n```rust\nlet parts = line.split(',');\n```\n");
    assert_eq!(page.record().prompts.len(), 1, "sent once");
    let result = env.expect(0, &["session", "attach", "--last", "--json"]).json();
    fits(&result);
    assert_eq!((&result["status"], &result["capture"]), (&json!("success"), &json!("clipboard")));
}

#[test]
fn what_can_be_refused_is_refused_before_a_run_goes_to_the_background() {
    let env = TestEnv::new();
    let page = Rehearsal::start(Script::answering([ANSWER])).unwrap();
    let token = git_oracle::secret::fill("ghp_<alnum:30><crc62>", 7);
    let ran = ask(&env, &page, &["-p", &format!("token = {token}"), "--detach", "--json"]);
    assert_eq!((ran.code, ran.json()["status"].clone()), (3, json!("secret_detected")), "{}", ran.shown());
    let ran = env.oracle(&["ask", "--browser-url", "https://chatgpt.com/", "-p", "Hello", "--detach"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (8, ""), "{}", ran.shown());
    assert!(ran.stderr.contains("hint: "), "{}", ran.shown());
    assert!(page.record().prompts.is_empty());
    let inline = [("ORACLE_NO_DETACH", "1")];
    let url = page.url();
    let args = ["ask", "--page", "rehearsal", "--browser-url", &url, "-p", "Hello", "--detach"];
    let ran = env.oracle_with(&env.repo(), &args, &inline);
    assert!(ran.code == 0 && ran.stdout.starts_with("Use `split`"), "{}", ran.shown());
}

#[test]
fn a_run_in_the_background_that_fails_says_so_to_whoever_follows() {
    let env = TestEnv::new();
    let endless = Reply { start_ms: 3_600_000, ..Reply::of("late") };
    let page = Rehearsal::start(Script { replies: vec![endless], ..Script::default() }).unwrap();
    let ran = ask(&env, &page, &["-p", "Hello", "--timeout", "4", "--detach", "--json"]);
    assert_eq!((ran.code, ran.json()), (0, json!({"session": "under-test", "status": "running"})), "{}", ran.shown());
    let ran = env.oracle(&["session", "attach", "under-test"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""), "{}", ran.shown());
    assert!(ran.stderr.contains("error: ") && ran.stderr.contains("hint: "), "{}", ran.shown());
}
