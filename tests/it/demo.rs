//! The demo tells the whole story in a real browser and leaves nothing behind but what it says.

use crate::support::TestEnv;

#[test]
fn the_story_is_told_to_its_end() {
    let env = TestEnv::empty();
    let told = env.expect(0, &["demo"]);
    for part in [
        "$ git oracle contract new --task 'Greet the world'",
        "docs/manual.txt: out_of_scope",
        "(exit code 1)",
        "docs/manual.txt: refused: not under any allowed path",
        "agreed    src/greet/hello.txt",
        "agreed    src/greet/rules.txt",
        "passed    test test-1",
        "pushed to origin/feature/greet",
        "turn 1    1 agreed, 1 rejected",
        "Oracle-Session: greet-the-world",
        "pass: ",
        "Now in a repository of yours: git oracle init",
    ] {
        assert!(told.stdout.contains(part), "{part} in {}", told.shown());
    }
    let kept = env.root().join("home/.oracle/demo");
    let page = std::fs::read_to_string(kept.join("review.html")).unwrap();
    assert!(page.contains("End with an exclamation mark.") && page.contains("out_of_scope"), "{page}");
    assert!(std::fs::read(kept.join("screenshot.png")).unwrap().starts_with(b"\x89PNG"));
    let left: Vec<_> = std::fs::read_dir(env.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("demo")), "{left:?}");
}
