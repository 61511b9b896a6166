//! `git oracle session`: what runs left behind.

use crate::support::TestEnv;

/// Runs `apply` so that a session of this name is left.
fn leave_session(env: &TestEnv, words: &str) {
    let patch = env.patch("echo more >> README.md");
    env.expect(0, &["apply", "--patch", &patch, "--apply-mode", "none", "--slug", words]);
}

#[test]
fn sessions_are_listed_and_shown() {
    let env = TestEnv::new();
    assert!(env.expect(0, &["session", "list"]).stdout.is_empty());
    env.expect(1, &["session", "show", "--last"]);
    leave_session(&env, "the first one");
    leave_session(&env, "the second one");
    assert!(env.expect(0, &["status"]).stdout.ends_with("session   the-second-one (success)\n"));
    let listed = env.expect(0, &["session", "list"]).stdout;
    assert!(listed.lines().all(|line| line.ends_with("  success")), "{listed}");
    assert_eq!(env.expect(0, &["session", "list", "--json"]).json()["sessions"].as_array().unwrap().len(), 2);
    let shown = env.expect(0, &["session", "show", "--last"]).stdout;
    assert!(shown.contains("the-second-one") && shown.contains("agreed    README.md"), "{shown}");
    let shown = env.expect(0, &["session", "show", "the-first-one", "--json"]).json();
    assert_eq!(shown["session"]["id"], "the-first-one");
    assert!(shown["files"].as_array().unwrap().contains(&"diff.patch".into()));
    for args in [&["session", "show"][..], &["session", "show", "a", "--last"]] {
        env.expect(129, args);
    }
    let missing = env.expect(1, &["session", "show", "../the-first-one"]).stderr;
    assert!(missing.contains("hint: git oracle session list"), "{missing}");
}

#[test]
fn a_page_holds_everything_and_nothing_of_it_is_markup() {
    let env = TestEnv::new();
    let name = "src/<script>alert(1)<&script>.rs";
    let patch = env.root().join("p.patch");
    std::fs::write(&patch, format!("--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+</pre><img src=x>\u{1b}[31m\n"))
        .unwrap();
    env.expect(
        0,
        &["apply", "--patch", patch.to_str().unwrap(), "--apply-mode", "none", "--slug", "hostile text here"],
    );
    env.expect(0, &["session", "render", "--last"]);
    let place = env.root().join("home/.oracle/sessions/hostile-text-here/session.html");
    let page = std::fs::read_to_string(place).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("&lt;/pre&gt;&lt;img src=x&gt;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains('\u{1b}'), "{page}");
    env.expect(0, &["session", "render", "hostile-text-here", "--output", "page.html"]);
    assert!(env.repo().join("page.html").is_file());
}

#[test]
fn only_finished_sessions_of_ours_are_removed() {
    let env = TestEnv::new();
    for words in ["one", "two", "three"] {
        leave_session(&env, words);
    }
    let sessions = env.root().join("home/.oracle/sessions");
    std::fs::create_dir(sessions.join("foreign")).unwrap();
    std::fs::write(sessions.join("foreign/session.json"), "{\"createdAt\": \"2001-01-01T00:00:00Z\"}").unwrap();
    let busy = std::fs::File::open(sessions.join("one/output.log")).unwrap();
    busy.lock().unwrap();
    env.expect(129, &["session", "prune"]);
    env.expect(129, &["session", "prune", "--older-than", "a week"]);
    assert_eq!(env.expect(0, &["session", "prune", "--older-than", "1d"]).stdout, "");
    assert_eq!(env.expect(0, &["session", "prune", "--keep", "1", "--dry-run"]).stdout, "two\n");
    assert_eq!(env.expect(0, &["session", "prune", "--keep", "1"]).stdout, "two\n");
    let mut left: Vec<String> =
        std::fs::read_dir(&sessions).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["foreign", "one", "three"]);
}

#[test]
fn a_killed_run_says_so() {
    let env = TestEnv::new();
    leave_session(&env, "was killed");
    let path = env.root().join("home/.oracle/sessions/was-killed/session.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"status\": \"success\"", "\"status\": \"running\"")).unwrap();
    assert!(env.expect(0, &["session", "list"]).stdout.ends_with("  killed\n"));
}
