//! `git oracle review`, through a real browser on the rehearsal page, to a real bare remote.

use std::path::PathBuf;

use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Reply;
use git_oracle::transport::rehearsal::Script;
use serde_json::Value;
use serde_json::json;

use crate::api::Act;
use crate::api::Server;
use crate::api::completed;
use crate::api::delta;
use crate::support::Ran;
use crate::support::TestEnv;
use crate::support::contract_with_tests;
use crate::support::project_file;

/// A feature branch with a change that is on a bare remote, under a contract whose test is a program of ours.
pub struct World {
    pub env: TestEnv,
    pub remote: PathBuf,
    pub page: Rehearsal,
}

/// Passes when the parser does not say that it is broken.
const TEST: &str = "#!/bin/sh\nif grep -q broken src/*.rs; then echo 'FAILED: the parser is broken'; exit 1; fi\n";

impl World {
    pub fn new<'a>(answers: impl IntoIterator<Item = &'a str>) -> Self {
        Self::scripted(Script::answering(answers))
    }

    pub fn scripted(script: Script) -> Self {
        let env = TestEnv::new();
        let remote = env.root().join("remote.git");
        env.git(&["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
        env.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        env.git(&["push", "-q", "origin", "main"]);
        env.git(&["switch", "-q", "-c", "feature"]);
        env.write("src/parser.rs", "fn parse() {\n    one();\n    two();\n    three();\n    four();\n    five();\n}\n");
        env.commit_all("Parse more");
        env.git(&["push", "-q", "-u", "origin", "feature"]);
        std::fs::create_dir(env.root().join("bin")).unwrap();
        env.write_executable(&env.root().join("bin/make"), TEST);
        let file = env.contract_file("contract.json", &contract_with_tests(&["src/"], &["make test"]));
        env.expect(0, &["contract", "activate", &file]);
        let page = Rehearsal::start(script).unwrap();
        World { env, remote, page }
    }

    pub fn review(&self, args: &[&str]) -> Ran {
        let url = self.page.url();
        let place = ["review", "--page", "rehearsal", "--browser-url", &url, "--slug", "under review"];
        self.oracle(&[&place[..], args].concat())
    }

    pub fn oracle(&self, args: &[&str]) -> Ran {
        self.env.oracle_with(&self.env.repo(), args, &[("PATH", &self.path())])
    }

    /// Where programs are looked for: first where the contract's test lies.
    pub fn path(&self) -> String {
        format!("{}:{}", self.env.root().join("bin").display(), self.env.sh("printf %s \"$PATH\"").stdout)
    }

    /// Reviews and returns the result, which fits its schema.
    pub fn result(&self, code: i32, args: &[&str]) -> Value {
        let ran = self.review(&[&["--json"], args].concat());
        assert_eq!(ran.code, code, "{}", ran.shown());
        let schema: Value = serde_json::from_str(&project_file("schemas/result.v1.json")).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&ran.json()).map(|error| error.to_string()).collect();
        assert_eq!(errors, [] as [String; 0], "{:#}", ran.json());
        assert_eq!(self.env.session("under-review", "result.json")["status"], ran.json()["status"]);
        ran.json()
    }

    /// What was sent, in order.
    pub fn sent(&self) -> Vec<String> {
        self.page.record().prompts.into_iter().map(|prompt| prompt.text).collect()
    }

    pub fn tip(&self, branch: &str) -> String {
        let args = ["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")];
        self.env.run_in(&self.remote, "git", &args, &[]).stdout.trim().to_owned()
    }

    /// What the branch has of a file, here and on the remote.
    pub fn pushed(&self, path: &str) -> String {
        assert_eq!(self.tip("feature"), self.env.head());
        assert_eq!(self.env.git(&["status", "--short"]), "");
        self.env.git(&["show", &format!("HEAD:{path}")])
    }
}

/// Returns an answer with a patch, as it is asked for.
pub fn answer(patch: &str) -> String {
    format!("{{{{REQUEST_ID}}}}\n\nThis mends it.\n\n```diff\n{patch}```\n\n{{{{REQUEST_ID}}}}")
}

pub const ONE: &str = "diff --git a/src/parser.rs b/src/parser.rs\n--- a/src/parser.rs\n+++ b/src/parser.rs\n\
@@ -1,4 +1,4 @@\n fn parse() {\n-    one();\n+    uno();\n     two();\n     three();\n";
pub const BROKEN: &str = "diff --git a/src/parser.rs b/src/parser.rs\n--- a/src/parser.rs\n+++ b/src/parser.rs\n\
@@ -1,4 +1,4 @@\n fn parse() {\n-    one();\n+    broken();\n     two();\n     three();\n";
pub const OUTSIDE: &str = "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n\
@@ -1 +1,2 @@\n # Sample\n+More.\n";
pub const LEXER: &str = "diff --git a/src/lexer.rs b/src/lexer.rs\n--- a/src/lexer.rs\n+++ b/src/lexer.rs\n\
@@ -1 +1,2 @@\n fn lex() {}\n+fn more() {}\n";

const COMMIT: [&str; 2] = ["--apply-mode", "commit"];

#[test]
fn one_turn_is_enough_for_a_good_patch() {
    let world = World::new([&*answer(ONE)]);
    let result = world.result(0, &COMMIT);
    assert_eq!(
        (&result["status"], &result["pushed"], &result["diffApplied"]),
        (&json!("success"), &json!(true), &json!(true))
    );
    assert_eq!(result["turns"], json!({"used": 1, "limit": 3, "limitHit": false}));
    assert_eq!((&result["branch"], &result["commitSha"]), (&json!("feature"), &json!(world.env.head())));
    assert_eq!(result["tests"][0]["status"], json!("passed"));
    assert!(world.pushed("src/parser.rs").contains("uno();"));
    let message = world.env.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Apply review of ") && message.contains("Oracle-Session: under-review"), "{message}");
    let sent = world.sent();
    assert_eq!(sent.len(), 1, "{sent:#?}");
    let commit = world.env.git(&["rev-parse", "HEAD~"]);
    for part in [
        "- Branch: feature\n",
        &commit,
        "- Upstream: origin/feature",
        "+    three();",
        "make test",
        "- `src/`",
        "M `src/parser.rs`",
        "Change the parser",
    ] {
        assert!(sent[0].contains(part), "{part}: {}", sent[0]);
    }
    let home = world.env.root().display().to_string();
    assert!(!sent[0].contains(&home), "where it lies on this machine is nobody's business: {}", sent[0]);
    let session = world.env.session("under-review", "session.json");
    assert_eq!((&session["status"], &session["turns"]["used"]), (&json!("success"), &json!(1)));
    assert!(!world.env.root().join("home/.oracle/worktrees").join("repo").exists());
}

#[test]
fn check_leaves_everything_and_the_next_command_lands_it() {
    let world = World::new([&*answer(ONE)]);
    let head = world.env.head();
    let ran = world.review(&[]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stdout.starts_with("agreed    src/parser.rs"), "{}", ran.stdout);
    assert!(ran.stderr.contains("next: git oracle apply --last --apply-mode commit"), "{}", ran.stderr);
    assert_eq!((world.env.head(), world.env.git(&["status", "--short"])), (head, String::new()));
    let ran = world.oracle(&["apply", "--last", "--apply-mode", "commit", "--push"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(world.pushed("src/parser.rs").contains("uno();"));
}

#[test]
fn a_missing_patch_is_asked_for_again() {
    let world = World::new(["{{REQUEST_ID}}\n\nLooks good to me.\n\n{{REQUEST_ID}}", &*answer(ONE)]);
    let result = world.result(0, &COMMIT);
    assert_eq!((&result["turns"]["used"], &result["retryCount"]), (&json!(2), &json!(1)));
    let sent = world.sent();
    assert_eq!(sent.len(), 2);
    assert!(sent[1].contains("There is no patch in your answer"), "{}", sent[1]);
    assert!(world.pushed("src/parser.rs").contains("uno();"));
    for name in
        ["request-2.md", "transfer-2.json", "response-2.md", "diff-2.patch", "response-1.md", "screenshot-002.png"]
    {
        assert!(world.env.root().join("home/.oracle/sessions/under-review").join(name).exists(), "{name}");
    }
}

#[test]
fn what_is_out_of_scope_is_left_out_and_asked_for_again() {
    let world = World::new([&*answer(&format!("{ONE}{OUTSIDE}")), &*answer(LEXER)]);
    let result = world.result(0, &COMMIT);
    assert_eq!(result["turns"]["used"], json!(2), "{result:#}");
    let sent = world.sent();
    assert!(sent[1].contains("are agreed and kept") && sent[1].contains("- README.md @@"), "{}", sent[1]);
    assert!(world.pushed("src/parser.rs").contains("uno();"), "what was agreed first is kept");
    assert!(world.pushed("src/lexer.rs").contains("more"), "and what came then is added");
    assert_eq!(world.pushed("README.md"), "# Sample");
    assert_eq!(result["hunks"].as_array().unwrap().len(), 2, "{result:#}");
}

#[test]
fn a_patch_that_fails_its_tests_is_sent_back_with_what_they_say() {
    let world = World::new([&*answer(BROKEN), &*answer(ONE)]);
    let result = world.result(0, &COMMIT);
    assert_eq!((&result["turns"]["used"], &result["tests"][0]["status"]), (&json!(2), &json!("passed")));
    let sent = world.sent();
    assert!(sent[1].contains("FAILED: the parser is broken"), "{}", sent[1]);
    assert!(!sent[1].contains(&world.env.root().display().to_string()), "{}", sent[1]);
    let text = world.pushed("src/parser.rs");
    assert!(text.contains("uno();") && !text.contains("broken"), "{text}");
}

#[test]
fn a_mend_may_be_for_the_files_as_the_patch_before_left_them() {
    let mend = BROKEN.replace("-    one();\n+    broken();", "-    broken();\n+    mended();");
    let world = World::new([&*answer(&format!("{BROKEN}{LEXER}")), &*answer(&mend)]);
    let result = world.result(0, &COMMIT);
    assert_eq!(result["turns"]["used"], json!(2), "{result:#}");
    assert!(world.pushed("src/parser.rs").contains("    mended();\n    two();"));
    assert!(world.pushed("src/lexer.rs").contains("more"));
}

#[test]
fn questions_are_answered_once_and_with_our_own_words() {
    let questions = "{{REQUEST_ID}}\n\nWhich parser do you mean? Should the MAGIC file be kept?\n\n{{REQUEST_ID}}";
    let world = World::new([questions]);
    let result = world.result(2, &COMMIT);
    assert_eq!((&result["status"], &result["diffReason"]), (&json!("diff_missing"), &json!("questions")));
    assert_eq!(result["turns"], json!({"used": 2, "limit": 3, "limitHit": false}));
    let sent = world.sent();
    assert!(sent[1].contains("Decide by yourself") && !sent[1].contains("MAGIC"), "{}", sent[1]);
}

#[test]
fn the_limit_is_kept_and_told() {
    let world = World::new(["{{REQUEST_ID}}\n\nNo.\n\n{{REQUEST_ID}}"]);
    let before = world.env.everything();
    for (args, turns) in [(&["--max-turns", "1"][..], 1), (&["--copilot-max-turns", "4", "--max-retries", "1"], 2)] {
        let sends = world.sent().len();
        let ran = world.review(&[&["--json", "--apply-mode", "commit"], args].concat());
        let result = ran.json();
        assert_eq!((ran.code, &result["status"]), (2, &json!("diff_missing")), "{}", ran.shown());
        assert_eq!(result["turns"], json!({"used": turns, "limit": turns, "limitHit": turns > 1}));
        assert_eq!(world.sent().len() - sends, turns);
    }
    assert_eq!(world.env.everything(), before);
}

#[test]
fn what_is_agreed_gets_in_when_the_rest_never_does() {
    let world = World::new([&*answer(&format!("{ONE}{OUTSIDE}"))]);
    let result = world.result(2, &[&COMMIT[..], &["--max-turns", "2"]].concat());
    assert_eq!((&result["status"], &result["pushed"]), (&json!("partial"), &json!(true)), "{result:#}");
    assert_eq!(result["turns"], json!({"used": 2, "limit": 2, "limitHit": true}));
    assert!(world.pushed("src/parser.rs").contains("uno();"));
    let rejected: Vec<&Value> =
        result["hunks"].as_array().unwrap().iter().filter(|hunk| hunk["verdict"] == "rejected").collect();
    assert_eq!((rejected.len(), &rejected[0]["file"]), (1, &json!("README.md")));
}

#[test]
fn a_push_that_is_refused_leaves_the_commit() {
    let world = World::new([&*answer(ONE)]);
    let hook = world.remote.join("hooks/pre-receive");
    world.env.write_executable(&hook, "#!/bin/sh\necho 'not today' >&2\nexit 1\n");
    let result = world.result(9, &COMMIT);
    assert_eq!((&result["status"], &result["pushed"]), (&json!("push_failed"), &json!(false)));
    assert_eq!(result["commitSha"], json!(world.env.head()));
    assert_eq!(world.tip("feature"), world.env.git(&["rev-parse", "HEAD~"]));
}

#[test]
fn a_commit_that_a_hook_refuses_leaves_everything() {
    let world = World::new([&*answer(ONE)]);
    let head = world.env.head();
    world.env.user_hook(".git/hooks/pre-commit", "echo 'not today' >&2; exit 1");
    let result = world.result(5, &COMMIT);
    assert_eq!((&result["status"], &result["diffApplied"]), (&json!("commit_failed"), &json!(false)));
    assert!(result["gitCommitError"].as_str().unwrap().contains("not today"));
    assert_eq!((world.env.head(), world.env.git(&["status", "--short"])), (head, String::new()));
}

#[test]
fn only_a_feature_branch_that_can_be_seen_is_reviewed() {
    let world = World::new([&*answer(ONE)]);
    let refused = |script: &str, kind: &str, hint: &str| {
        assert_eq!(world.env.sh(script).code, 0, "{script}");
        let ran = world.review(&["--json"]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code, &error["kind"]), (1, &json!(kind)), "{script}: {}", ran.shown());
        assert!(error["hint"].as_str().unwrap().contains(hint), "{script}: {error}");
    };
    refused("git switch -q main", "branch_refused", "--create-branch");
    refused("echo x >> README.md", "branch_refused", "--create-branch");
    refused("git restore .", "branch_refused", "--create-branch");
    refused("git switch -q --detach", "branch_refused", "--create-branch");
    refused("git switch -q feature; echo x >> src/parser.rs", "dirty_tree", "git stash");
    refused("git restore .; echo x > new.txt", "dirty_tree", "git stash");
    refused("rm new.txt; git commit -q --allow-empty -m Unseen", "branch_refused", "--push-first");
    refused("git -C ../remote.git symbolic-ref HEAD refs/heads/feature", "branch_refused", "--create-branch");
    assert!(world.sent().is_empty(), "nothing was sent");
    let ran = world.review(&["--create-branch", "topic", "--push-first", "--apply-mode", "commit"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(
        (world.tip("topic"), world.env.git(&["branch", "--show-current"])),
        (world.env.head(), "topic".to_owned())
    );
}

#[test]
fn the_manual_way_takes_the_request_out_and_the_answer_in() {
    let world = World::new([]);
    let ran = world.review(&["--print"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(ran.stdout.starts_with("Request id: orc-") && ran.stdout.contains("+    three();"), "{}", ran.stdout);
    let next = ran.stderr.lines().find(|line| line.contains("--from-reply")).unwrap().trim().to_owned();
    std::fs::write(world.env.root().join("answer.md"), answer(ONE)).unwrap();
    let next = next.replace("answer.md", "../answer.md");
    let args: Vec<&str> = next.split(' ').skip(2).chain(COMMIT).collect();
    assert_eq!(world.oracle(&args).code, 0, "{args:?}");
    assert!(world.env.git(&["show", "HEAD:src/parser.rs"]).contains("uno();"));
    assert!(world.sent().is_empty());
}

#[test]
fn a_repository_may_have_a_template_of_its_own() {
    let world = World::new([&*answer(ONE)]);
    world.env.write(".oracle/review-request.md", "For {{branch}}: {{task}}\n{{diff}}\nThanks.\n");
    let ran = world.review(&["--print", "-p", "Look at {{diff}} twice."]);
    assert!(ran.stdout.contains("For feature: Look at {{diff}} twice.\n"), "{}", ran.shown());
    assert!(ran.stdout.contains("+    three();") && ran.stdout.contains("\nThanks.\n"), "{}", ran.stdout);
    world.env.write(".oracle/review-request.md", "{{brunch}}\n");
    let ran = world.review(&["--json"]);
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.stderr.contains("hint: Did you mean {{branch}}?"), "{}", ran.stderr);
    assert!(world.sent().is_empty());
}

#[test]
fn no_secret_of_the_branch_is_sent() {
    let world = World::new([&*answer(ONE)]);
    let token = git_oracle::secret::fill("ghp_<alnum:30><crc62>", 7);
    world.env.write("src/key.rs", &format!("const KEY: &str = \"{token}\";\n"));
    world.env.commit_all("Add a key");
    world.env.git(&["push", "-q"]);
    let result = world.result(3, &COMMIT);
    assert_eq!((&result["status"], world.sent().len()), (&json!("secret_detected"), 0));
    let ran = world.review(&["--sanitize-prompt"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(world.sent()[0].contains("***REDACTED***") && !world.sent()[0].contains(&token));
    assert_eq!(world.env.sh(&format!("grep -rl {token} $HOME/.oracle || true")).stdout, "");
}

#[test]
fn a_fault_after_the_first_turn_keeps_what_was_agreed() {
    let second = Reply { start_ms: 3_600_000, ..Reply::of("late") };
    let replies = vec![Reply::of(&answer(&format!("{ONE}{OUTSIDE}"))), second];
    let world = World::scripted(Script { replies, ..Script::default() });
    let before = world.env.everything();
    let result = world.result(6, &[&COMMIT[..], &["--timeout", "4"]].concat());
    assert_eq!((&result["status"], &result["error"]["kind"]), (&json!("timeout"), &json!("timed_out")), "{result:#}");
    assert_eq!(world.env.everything(), before);
    let ran = world.oracle(&["apply", "--last", "--apply-mode", "commit"]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert!(world.env.git(&["show", "HEAD:src/parser.rs"]).contains("uno();"));
}

#[test]
fn a_branch_is_pushed_only_with_a_review_where_that_is_required() {
    let world = World::new([&*answer(ONE)]);
    world.env.write(".oracle/config.toml", "[review]\nrequired = true\n");
    world.env.expect(0, &["hooks", "install"]);
    world.env.write("src/lexer.rs", "fn lex() { once(); }\n");
    world.env.commit_all("Lex once");
    let push = world.env.sh("git push origin feature");
    assert!(push.code != 0 && push.stderr.contains("review_missing"), "{}", push.shown());
    let range = world.oracle(&["gate", "--range", "main..HEAD", "--json"]);
    assert_eq!(
        (range.code, &range.json()["violations"][0]["rule"]),
        (7, &json!("review_missing")),
        "{}",
        range.shown()
    );
    let result = world.result(0, &COMMIT);
    assert_eq!((&result["status"], &result["pushed"]), (&json!("success"), &json!(true)), "{result:#}");
    assert_eq!(world.oracle(&["gate", "--range", "main..HEAD"]).code, 0);
    let records = "git push origin 'refs/oracle/reviews/*:refs/oracle/reviews/*'";
    assert_eq!(world.env.sh(records).code, 0, "a record can be shared");
    let forged =
        "git update-ref refs/oracle/reviews/$(git rev-parse main^{tree}) $(echo x | git hash-object -w --stdin)";
    assert_eq!(world.env.sh(forged).code, 0);
    assert!(world.env.sh(records).code != 0, "what is no record is refused");
}

#[test]
fn an_api_is_asked_in_turns_as_well() {
    let world = World::new([]);
    let answers = ["It is fine.".to_owned(), answer(ONE)];
    let acts = answers.iter().map(|text| Act::Stream(vec![delta(text), completed(text)])).collect();
    let server = Server::start(acts);
    let path = world.path();
    let vars = [("PATH", path.as_str()), ("OPENAI_API_KEY", "sk-not-a-real-key"), ("OPENAI_BASE_URL", &server.base)];
    let args = ["review", "--slug", "under review", "--apply-mode", "commit", "--json"];
    let ran = world.env.oracle_with(&world.env.repo(), &args, &vars);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let result = ran.json();
    assert_eq!((&result["platform"], &result["capture"]), (&json!("openai"), &json!("api")));
    assert_eq!(result["turns"]["used"], json!(2));
    assert!(world.pushed("src/parser.rs").contains("uno();"));
    let bodies: Vec<String> = server.seen.iter().take(2).map(|seen| seen.body).collect();
    // The second time everything that was said before goes along, and is in the manifest.
    assert!(
        bodies[1].contains("It is fine.") && bodies[1].contains("There is no patch in your answer"),
        "{}",
        bodies[1]
    );
    let transfer = world.env.session("under-review", "transfer-2.json");
    assert!(transfer["files"].as_array().unwrap().iter().any(|file| file["name"] == "conversation"), "{transfer:#}");
    let session = world.env.session("under-review", "session.json");
    assert_eq!((&session["mode"], &session["usage"]["totalTokens"]), (&json!("api"), &json!(24)));
}

#[test]
fn a_change_that_is_too_long_to_type_goes_along_as_a_file() {
    let world = World::new([&*answer(ONE)]);
    let long: String = (0..12_000).map(|number| format!("// line {number} of many\n")).collect();
    world.env.write("src/long.rs", &long);
    world.env.commit_all("Say much");
    world.env.git(&["push", "-q"]);
    let result = world.result(0, &COMMIT);
    assert_eq!((&result["status"], &result["pushed"]), (&json!("success"), &json!(true)), "{result:#}");
    let record = world.page.record();
    let sent = &record.prompts[0];
    assert!(sent.text.contains("attached file changes.diff") && !sent.text.contains("line 11 of"), "{}", sent.text);
    assert!(sent.text.contains("- A `src/long.rs`") && sent.text.contains("diff --git"), "{}", sent.text);
    let names: Vec<&str> = sent.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["changes.diff"]);
    let content = String::from_utf8_lossy(&sent.files[0].content);
    assert!(content.contains("+// line 11999 of many\n") && content.contains("+    three();"));
    let transfer = world.env.session("under-review", "transfer-1.json");
    assert!(transfer["files"].as_array().unwrap().iter().any(|file| file["name"] == "changes.diff"), "{transfer:#}");
}

#[test]
fn at_a_terminal_a_line_says_where_it_is() {
    let world = World::new([&*answer(&format!("{ONE}{OUTSIDE}")), &*answer(LEXER)]);
    let command = format!("git oracle review --page rehearsal --browser-url {}", world.page.url());
    let args = ["--quiet", "--return", "--command", &command, "/dev/null"];
    let ran = world.env.run_in(&world.env.repo(), "script", &args, &[("PATH", &world.path())]);
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let lines: Vec<&str> = ran.stdout.split(['\r', '\n']).map(|line| line.trim_start_matches("\u{1b}[K")).collect();
    for turn in ["turn 1 of 3", "turn 2 of 3"] {
        let is_told = |line: &&&str| {
            line.starts_with(&format!("{turn} · sending · ")) && line.ends_with(" characters") && line.contains(" s · ")
        };
        assert!(lines.iter().any(|line| is_told(&line)), "{turn}: {}", ran.shown());
    }
    let place = |text: &str| lines.iter().position(|line| line.starts_with(text)).unwrap_or(0);
    let order =
        [place("turn 2 of 3 · sending"), place("agreed    src/lexer.rs"), place("next: git oracle apply --last")];
    assert!(order[0] > 0 && order.is_sorted() && order[1] > order[0], "{order:?}: {}", ran.shown());
}
