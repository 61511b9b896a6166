//! Secrets: the scan, the gate's rule, what is allowed and where that counts.

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;
use crate::support::project_file;

/// Returns a token with a right checksum, made up anew each time the tests are built.
fn token() -> String {
    git_oracle::secret::fill("ghp_<alnum:30><crc62>", 7)
}

fn scan(env: &TestEnv, code: i32, args: &[&str]) -> Value {
    let report = env.expect(code, &[&["scan", "--json"], args].concat()).json();
    let schema: Value = serde_json::from_str(&project_file("schemas/scan_report.v1.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0], "{report:#}");
    report
}

/// Returns the matches as `path:line label`.
fn places(report: &Value) -> Vec<String> {
    let matches = report["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|found| {
            format!("{}:{} {}", found["path"].as_str().unwrap(), found["line"], found["label"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn files_directories_and_stdin_are_scanned() {
    let env = TestEnv::new();
    env.write("src/a.rs", &format!("fn main() {{}}\nconst T: &str = \"{}\";\n", token()));
    env.write("ignored/b", &token());
    env.write(".gitignore", "ignored/\n");
    env.write("tracked.log", &token());
    env.git(&["add", "-f", "tracked.log"]);
    env.write(".gitignore", "ignored/\n*.log\n");
    let report = scan(&env, 3, &[]);
    assert_eq!(places(&report), ["src/a.rs:2 github_token", "tracked.log:1 github_token"]);
    assert_eq!(report["matches"][0]["column"], 18);
    assert_eq!(report["matches"][0]["preview"], "ghp_…");
    assert_eq!(places(&scan(&env, 3, &["ignored"])), ["ignored/b:1 github_token"], "what somebody names is scanned");
    assert_eq!(places(&scan(&env, 0, &["README.md"])), [] as [&str; 0]);
    let ran = env.oracle_fed(&["scan", "--json", "-"], format!("\n\nx={}", token()).as_bytes());
    assert_eq!((ran.code, places(&ran.json())), (3, vec!["-:3 github_token".to_owned()]));
    let ran = env.expect(3, &["scan", "src"]);
    assert_eq!(ran.stdout, "src/a.rs:2:18: github_token ghp_…\n");
    let sarif = env.expect(3, &["scan", "--format", "sarif", "src"]).json();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "github_pat");
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let env = TestEnv::new();
    env.sh("mkfifo pipe; ln -s loop loop; mkdir plain; mkfifo plain/pipe; mkdir outside; rm -rf outside");
    for path in ["none", "pipe", "loop", "/dev/zero"] {
        let ran = env.expect(1, &["scan", "--json", path]);
        assert!(ran.stdout.contains("\"error\""), "{path}: {}", ran.shown());
        assert!(ran.stderr.contains("not everything could be scanned"), "{path}: {}", ran.shown());
    }
    env.write("secret", &token());
    let ran = env.expect(3, &["scan", "secret", "none"]);
    assert!(ran.stderr.contains("not everything could be scanned"), "{}", ran.shown());
    env.expect(129, &["scan", "--redact", "secret"]);
    env.expect(129, &["scan", "-", "secret"]);
    env.expect(129, &["scan", "--staged", "secret"]);
}

#[test]
fn redaction_keeps_every_other_byte() {
    let env = TestEnv::empty();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let cases: [(Vec<u8>, Vec<u8>); 4] = [
        (format!("a\r\n\0\u{ff} {} \u{0}", token()).into_bytes(), "a\r\n\0\u{ff} ***REDACTED*** \0".into()),
        (format!("{0},{0}\n", token()).into_bytes(), b"***REDACTED***,***REDACTED***\n".to_vec()),
        (wide(&format!("key = {}\r\n", token())), wide("key = ***REDACTED***\r\n")),
        (b"nothing\n".to_vec(), b"nothing\n".to_vec()),
    ];
    for (input, expected) in cases {
        let path = env.root().join("input");
        std::fs::write(&path, &input).unwrap();
        let script = format!("git-oracle scan --redact < {} > output", path.display());
        let ran = env.run_in(env.root(), "sh", &["-c", &script], &[]);
        let redacted = std::fs::read(env.root().join("output")).unwrap();
        assert_eq!(redacted, expected, "{:?}", String::from_utf8_lossy(&input));
        assert_eq!(ran.code, if input == expected { 0 } else { 3 });
    }
}

#[test]
fn what_is_staged_and_what_commits_add_is_scanned() {
    let env = TestEnv::new();
    env.write("old.txt", &format!("t={}\n", token()));
    env.commit_all("with a secret");
    let start = env.head();
    env.write("old.txt", &format!("t={}\nmore\n", token()));
    env.git(&["add", "-A"]);
    assert_eq!(places(&scan(&env, 0, &["--staged"])), [] as [&str; 0], "a line that was there before");
    env.write("new.txt", &format!("\nt={}\n", token()));
    env.write(".gitattributes", "*.txt -diff binary\n");
    env.git(&["add", "-A"]);
    assert_eq!(places(&scan(&env, 3, &["--staged"])), ["new.txt:2 github_token"]);
    env.commit_all("another");
    env.git(&["rm", "-q", "new.txt"]);
    env.commit_all("taken out again");
    let report = scan(&env, 3, &["--range", &format!("{start}..HEAD")]);
    assert_eq!(places(&report), ["new.txt:2 github_token"]);
    assert_eq!(report["matches"][0]["commit"], env.git(&["rev-parse", "HEAD~1"]).trim());
    env.expect(129, &["scan", "--range", "HEAD"]);
}

#[test]
fn a_file_that_is_moved_brings_nothing_new() {
    let env = TestEnv::new();
    let lines: String = (0..40).map(|number| format!("line {number}\n")).collect();
    env.write("old.txt", &format!("{lines}t={}\n", token()));
    env.commit_all("with a secret");
    env.git(&["mv", "old.txt", "moved.txt"]);
    env.write("moved.txt", &format!("{lines}more\nt={}\n", token()));
    env.git(&["add", "-A"]);
    assert_eq!(places(&scan(&env, 0, &["--staged"])), [] as [&str; 0]);
    env.write("moved.txt", &format!("{lines}more\nt={0}\nu={0}\n", token()));
    env.git(&["add", "-A"]);
    assert_eq!(places(&scan(&env, 3, &["--staged"])), ["moved.txt:43 github_token"]);
    env.commit_all("moved");
    assert_eq!(places(&scan(&env, 3, &["--range", "HEAD~1..HEAD"])), ["moved.txt:43 github_token"]);
}

#[test]
fn an_allowed_finding_is_counted_and_does_not_count() {
    let env = TestEnv::new();
    let text = format!("t={}\n", token());
    env.write("fixtures/a.txt", &text);
    env.write("other.txt", &text);
    env.write("inline.txt", &format!("t = \"{}\" # oracle:allow-secret, a test key\n", token()));
    let report = scan(&env, 3, &["."]);
    assert_eq!((places(&report).len(), &report["allowed"]), (2, &json!(1)));
    let configure = |text: &str| env.write(".oracle/config.toml", text);
    configure("[[secrets.allow]]\nrule = \"github_token\"\npath = \"fixtures/*\"\nreason = \"test\"\n");
    let report = scan(&env, 3, &["other.txt", "fixtures"]);
    assert_eq!((places(&report), &report["allowed"]), (vec!["other.txt:1 github_token".to_owned()], &json!(1)));
    let hash = scan(&env, 3, &["--show-hashes", "other.txt"])["matches"][0]["hash"].as_str().unwrap().to_owned();
    configure(&format!("[[secrets.allow]]\nhash = \"{hash}\"\nreason = \"test\"\n"));
    assert_eq!(scan(&env, 0, &["other.txt", "fixtures", "inline.txt"])["allowed"], 3);
    for (config, problem) in [
        ("[[secrets.allow]]\nreason = \"all\"\n", "needs a rule, a path or a hash"),
        ("[[secrets.allow]]\nrule = \"x\"\n", "missing field `reason`"),
        ("[[secrets.allow]]\nhash = \"x\"\nreason = \"\"\n", "has a hash that is not a salt"),
        ("[secrets]\nallow = 1\n", "must be a list of tables"),
    ] {
        configure(config);
        let ran = env.expect(1, &["scan", "."]);
        assert!(ran.stderr.contains(problem), "{config}: {}", ran.shown());
    }
}

#[test]
fn a_repository_adds_rules_that_keep_their_promises() {
    let env = TestEnv::new();
    let rule = |examples: &str| {
        format!(
            "[[secrets.rules]]\nid = \"acme_token\"\nlabel = \"acme\"\nkeywords = [\"acme_\"]\npattern = \"acme_[a-z]{{12}}\"\nexamples = {examples}\n"
        )
    };
    env.write("a.txt", "key acme_qwmnbvcxzlkj\n");
    env.write(".oracle/config.toml", &rule("{ match = [\"acme_qwmnbvcxzlkj\"], pass = [\"acme_corp\"] }"));
    assert_eq!(places(&scan(&env, 3, &["a.txt"])), ["a.txt:1 acme"]);
    for (config, problem) in [
        (rule("{ match = [\"acme_corp\"] }"), "does not match number 1 of its examples"),
        (
            rule("{ match = [\"acme_qwmnbvcxzlkj\"], pass = [\"x acme_qwmnbvcxzlkj\"] }"),
            "matches number 1 of its examples",
        ),
        (rule("{ match = [] }"), "needs an example"),
        (rule("{ match = [\"x\"] }").replace("[a-z]{12}", "[a-z"), "is not a regular expression"),
        (rule("{ match = [\"x\"] }").replace("acme_token", "github_pat"), "has the id of another one"),
        (rule("{ match = [\"x\"] }").replace("keywords", "keyword"), "unknown field `keyword`"),
    ] {
        env.write(".oracle/config.toml", &config);
        let ran = env.expect(1, &["scan", "a.txt"]);
        assert!(ran.stderr.contains(problem), "{config}: {}", ran.shown());
    }
}

#[test]
fn no_commit_and_no_push_brings_a_secret_in() {
    let env = TestEnv::hooked(&["src/"]);
    env.write("src/a.rs", &format!("const T: &str = \"{}\";\n", token()));
    env.git(&["add", "-A"]);
    assert_eq!(env.judge(&["--staged"]), (7, vec!["src/a.rs secret".to_owned()]));
    for commit in ["git commit -q -m x", "git commit -q --no-verify -m x"] {
        let before = env.head();
        let ran = env.sh(commit);
        assert!(ran.code != 0 && ran.stderr.contains("src/a.rs: secret: line 1"), "{commit}: {}", ran.shown());
        assert_eq!(env.head(), before);
    }
    env.unhooked(&["commit", "-q", "-m", "past the hooks"]);
    assert_eq!(env.judge(&["--range", "HEAD~1..HEAD"]), (7, vec!["src/a.rs secret".to_owned()]));
    let origin = env.root().join("origin.git");
    env.git(&["init", "-q", "--bare", &origin.to_string_lossy()]);
    let ran = env.sh(&format!("git push -q {} HEAD:refs/heads/x", origin.display()));
    assert!(ran.code != 0 && ran.stderr.contains("secret"), "{}", ran.shown());
}

#[test]
fn a_secret_hides_in_nothing_that_is_committed() {
    let wide: Vec<u8> = format!("key = {}\n", token()).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let allow = json!({"binary": "allow", "symlink": "allow"});
    for (name, write) in [
        ("src/wide.txt", Box::new(|env: &TestEnv| env.write_bytes("src/wide.txt", &wide)) as Box<dyn Fn(&TestEnv)>),
        ("src/binary", Box::new(|env: &TestEnv| env.write("src/binary", &format!("\0\u{1}{}\0", token())))),
        ("src/link", Box::new(|env: &TestEnv| drop(env.sh(&format!("ln -s {} src/link", token()))))),
    ] {
        let env = TestEnv::new();
        let mut contract = crate::support::contract(&["src/"]);
        contract["diff_policy"] = allow.clone();
        let file = env.contract_file("open.json", &contract);
        env.expect(0, &["contract", "activate", &file]);
        write(&env);
        assert_eq!(env.judge(&["--worktree"]), (7, vec![format!("{name} secret")]), "{name} on disk");
        env.git(&["add", "-A"]);
        assert_eq!(env.judge(&["--staged"]), (7, vec![format!("{name} secret")]), "{name} staged");
    }
}

#[test]
fn what_is_allowed_counts_for_a_person_and_not_for_a_patch() {
    let env = TestEnv::hooked(&["src/"]);
    let line = format!("const T: &str = \"{}\"; // oracle:allow-secret\n", token());
    let patch = env.patch(&format!("printf '%s' '{line}' > src/a.rs"));
    assert_eq!(env.judge(&["--patch", &patch]), (7, vec!["src/a.rs secret".to_owned()]));
    let result = env.expect(3, &["apply", "--patch", &patch, "--json", "--slug", "one two three"]).json();
    assert_eq!(result["status"], "secret_detected");
    assert_eq!(result["secretScan"], json!({"status": "matches_detected", "matches": ["github_token"]}));
    assert_eq!((&result["error"]["kind"], &result["diffApplied"]), (&json!("secret_detected"), &json!(false)));
    env.write("src/a.rs", &line);
    env.git(&["add", "-A"]);
    let report = env.expect(0, &["gate", "--staged"]);
    assert!(report.stderr.contains("note: 1 secret let pass, as allowed"), "{}", report.shown());
    env.git(&["commit", "-q", "-m", "allowed"]);
}

#[test]
fn in_a_range_what_is_allowed_is_read_from_its_start() {
    let env = TestEnv::new();
    let start = env.head();
    env.write("a.txt", &format!("t={}\n", token()));
    env.write(".oracle/config.toml", "[[secrets.allow]]\nrule = \"github_token\"\nreason = \"mine\"\n");
    env.git(&["add", "-A", "-f"]);
    env.commit_all("excuses itself");
    assert_eq!(places(&scan(&env, 3, &["--range", &format!("{start}..HEAD")])), ["a.txt:1 github_token"]);
    let middle = env.head();
    env.write("b.txt", &format!("t={}\n", token()));
    env.commit_all("excused by an earlier one");
    assert_eq!(scan(&env, 0, &["--range", &format!("{middle}..HEAD")])["allowed"], 1);
}

#[test]
fn a_hunk_with_a_secret_is_left_out_and_the_rest_gets_in() {
    let env = TestEnv::new();
    env.write("src/parser.rs", &(1..=40).map(|number| format!("line {number}\n")).collect::<String>());
    env.commit_all("forty lines");
    let script = format!("sed -i '2s/.*/let key = \"{}\";/; 38s/.*/fine/' src/parser.rs", token());
    let patch = env.patch(&script);
    let args = ["apply", "--patch", &patch, "--accept", "agreed", "--json", "--slug", "one two three"];
    let result = env.expect(2, &args).json();
    let hunks = result["hunks"].as_array().unwrap();
    let verdicts: Vec<_> = hunks.iter().map(|hunk| hunk["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["rejected", "agreed"], "{result:#}");
    assert_eq!(hunks[0]["reasons"], json!(["secret: line 2 has a secret (github_token)"]));
    assert_eq!(result["secretScan"]["status"], "matches_detected");
    let text = std::fs::read_to_string(env.repo().join("src/parser.rs")).unwrap();
    assert!(text.contains("line 2\n") && text.contains("fine\n"), "{text}");
    let clean = env.patch("echo more >> src/parser.rs");
    let result =
        env.expect(0, &["apply", "--patch", &clean, "--json", "--apply-mode", "none", "--slug", "a b c"]).json();
    assert_eq!(result["secretScan"], json!({"status": "ok", "matches": []}));
}

#[test]
fn what_is_staged_is_found_from_wherever_git_would_find_it() {
    let env = TestEnv::new();
    let token = git_oracle::secret::fill("ghp_<alnum:30><crc62>", 9);
    env.write("src/staged.rs", &format!("let token = \"{token}\";\n"));
    env.git(&["add", "-A"]);
    // Other repositories beside it and inside of it, with nothing staged.
    env.sh("git init -q inner && git init -q --bare ../bare.git && git worktree add -q ../linked \
         && git init -q --separate-git-dir ../apart.git ../apart && git init -q ../moved \
         && git -C ../moved config core.worktree $PWD && cp .git/index ../moved/.git/index && ln -s $PWD ../link");
    env.sh("cp -R .git/objects ../moved/.git/");
    let scan = |dir: &str| env.oracle_in(&env.repo().join(dir), &["scan", "--staged", "--json"]).code;
    for (dir, expected) in [
        (".", 3),
        ("src", 3),
        ("../link/src", 3),
        ("inner", 0),
        ("../linked", 0),
        ("../linked/src", 0),
        ("../apart", 0),
        ("../moved", 3),
        (".git", 1),
        (".git/refs/heads", 1),
        ("../bare.git", 1),
        ("..", 1),
    ] {
        assert_eq!(scan(dir), expected, "{dir}");
    }
    let named = [("GIT_DIR", ".git")];
    assert_eq!(env.oracle_with(&env.repo(), &["scan", "--staged"], &named).code, 3);
}
