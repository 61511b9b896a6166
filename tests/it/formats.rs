//! What scripts and services read.

use serde_json::Value;
use serde_json::json;

use crate::support::TestEnv;

fn refused() -> TestEnv {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("docs/guide.md", "changed\n");
    env.write("docs/a,b:c\nd.md", "new\n");
    env.git(&["add", "-A"]);
    env
}

#[test]
fn text_has_a_line_for_each_violation() {
    insta::assert_snapshot!(refused().expect(7, &["gate", "--staged"]).shown(), @r#"
    exit 7
    --- stdout
    "docs/a,b:c\nd.md": out_of_scope: added outside the contract's allowed paths
    docs/guide.md: out_of_scope: changed outside the contract's allowed paths
    --- stderr
    block: 2 changes, 2 violations, contract task-0001
    hint: git restore --staged PATH; git oracle contract explain PATH
    hint: git restore --staged docs/guide.md; git oracle contract explain docs/guide.md
    "#);
}

#[test]
fn json_is_one_document() {
    let mut report = refused().expect(7, &["gate", "--staged", "--format", "json"]).json();
    report["contract"]["sha256"] = json!("[SHA256]");
    assert_eq!(
        report,
        json!({
            "verdict": "block",
            "contract": {"task_id": "task-0001", "sha256": "[SHA256]"},
            "checked": {"changes": 2, "commits": 0},
            "violations": [
                {
                    "rule": "out_of_scope",
                    "path": "docs/a,b:c\nd.md",
                    "old_mode": null,
                    "new_mode": "100644",
                    "message": "added outside the contract's allowed paths",
                    "hint": "git restore --staged PATH; git oracle contract explain PATH",
                },
                {
                    "rule": "out_of_scope",
                    "path": "docs/guide.md",
                    "old_mode": "100644",
                    "new_mode": "100644",
                    "message": "changed outside the contract's allowed paths",
                    "hint": "git restore --staged docs/guide.md; git oracle contract explain docs/guide.md",
                },
            ],
        })
    );
}

#[test]
fn sarif_names_its_rules_and_places() {
    let sarif = refused().expect(7, &["gate", "--staged", "--format", "sarif"]).json();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let rules: Vec<&str> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(result["ruleId"], rules[index]);
        assert!(!result.to_string().contains("snippet"));
    }
    let uris: Vec<&Value> = run["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        .collect();
    assert_eq!(uris, ["docs/a%2Cb%3Ac%0Ad.md", "docs/guide.md"]);
}

#[test]
fn github_gets_annotations_and_a_summary() {
    let env = refused();
    let summary = env.root().join("summary.md");
    let path = summary.to_string_lossy().into_owned();
    let ran =
        env.oracle_with(&env.repo(), &["gate", "--staged", "--format", "github"], &[("GITHUB_STEP_SUMMARY", &path)]);
    assert_eq!(ran.code, 7, "{}", ran.shown());
    assert_eq!(ran.stdout.lines().count(), 2);
    assert!(
        ran.stdout.starts_with("::error file=\"docs/a%2Cb%3Ac\\nd.md\",title=git-oracle out_of_scope::added"),
        "{}",
        ran.shown()
    );
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.starts_with("## git-oracle: block\n") && text.contains("<code>docs/guide.md</code>"), "{text}");
    assert_eq!(
        env.expect(7, &["gate", "--staged", "--format", "github"]).stdout,
        ran.stdout,
        "works outside of GitHub too"
    );
}

#[test]
fn colour_only_where_it_is_wanted() {
    let env = refused();
    let escape = '\u{1b}';
    assert!(!env.expect(7, &["gate", "--staged"]).stderr.contains(escape));
    assert!(env.expect(7, &["gate", "--staged", "--color", "always"]).stderr.contains(escape));
    let vars = |name| [(name, "1")];
    assert!(env.oracle_with(&env.repo(), &["gate", "--staged"], &vars("CLICOLOR_FORCE")).stderr.contains(escape));
    let both = [("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")];
    assert!(!env.oracle_with(&env.repo(), &["gate", "--staged", "--color", "never"], &both).stderr.contains(escape));
}

#[test]
fn quiet_leaves_the_results_and_a_reader_may_go_away() {
    let env = refused();
    let quiet = env.expect(7, &["-q", "gate", "--staged"]);
    assert_eq!((quiet.stdout.lines().count(), quiet.stderr.as_str()), (2, ""));
    let piped = env.run_in(&env.repo(), "sh", &["-c", "git oracle gate --staged --format sarif | head -c 1"], &[]);
    assert_eq!((piped.code, piped.stderr.as_str()), (0, ""), "{}", piped.shown());
}
