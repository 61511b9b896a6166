//! The demo tells the whole story and leaves nothing behind.

use crate::support::TestEnv;

#[test]
fn the_story_is_told_to_its_end() {
    let env = TestEnv::empty();
    let told = env.expect(0, &["demo"]);
    for part in [
        "$ git oracle contract new --task 'Greet the world'",
        "pass: 1 change",
        "docs/manual.txt: out_of_scope",
        "(exit code 7)",
        "docs/manual.txt: refused: not under any allowed path",
        "hint: git oracle contract amend --allow docs/manual.txt",
        "Now in a repository of yours: git oracle init",
    ] {
        assert!(told.stdout.contains(part), "{part} in {}", told.shown());
    }
    let left: Vec<_> = std::fs::read_dir(env.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("demo")), "{left:?}");
}
