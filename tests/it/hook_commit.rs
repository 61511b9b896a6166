//! Commits and branches through real git, with the hooks installed.

use serde_json::Value;

use crate::support::TestEnv;
use crate::support::contract;

/// Returns the refusals in the log, as `hook: path rule`.
fn refusals(env: &TestEnv) -> Vec<String> {
    let document = env.expect(0, &["events", "--json"]).json();
    let events = document["events"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let refused = events.iter().filter(|event| event["event_type"] == "policy_violation");
    refused
        .map(|event| {
            let first = &event["payload"]["violations"][0];
            format!("{}: {} {}", text(&event["payload"]["hook"]), text(&first["path"]), text(&first["rule"]))
        })
        .collect()
}

#[test]
fn a_commit_inside_is_silent_and_one_outside_is_refused() {
    let env = TestEnv::hooked(&["src/"]);
    let before = env.head();
    env.write("src/parser.rs", "changed\n");
    let ran = env.sh("git commit -q -a -m work && git commit -q --allow-empty -m empty");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{}", ran.shown());
    assert_ne!(env.head(), before);
    let before = env.head();
    env.write("docs/guide.md", "changed\n");
    let refused = env.sh("git commit -q -a -m bad");
    insta::assert_snapshot!(refused.shown(), @r"
    exit 1
    --- stdout
    --- stderr
    git-oracle: the commit is refused by the contract task-0001
      docs/guide.md: out_of_scope: changed outside the contract's allowed paths
    hint: git restore --staged docs/guide.md; git oracle contract explain docs/guide.md
    ");
    assert_eq!(env.head(), before);
    assert_eq!(refusals(&env), ["pre-commit: docs/guide.md out_of_scope"]);
}

/// Ways to get a bad commit onto a branch or HEAD. `$BAD` is a commit that no ref has.
const WAYS: [&str; 33] = [
    "echo x >>docs/guide.md; git commit -q -n -a -m x",
    "echo x >>docs/guide.md; git commit -q -a --amend -m x",
    "echo x >>docs/guide.md; git commit -q -m x -- docs/guide.md",
    "echo x >>docs/guide.md; echo y >>src/parser.rs; git add src; git commit -q -m x -i docs/guide.md",
    "cd src; echo x >>../docs/guide.md; git commit -q -a -m x",
    "git merge -q --no-ff -m m $BAD",
    "git merge -q --no-verify --no-ff -m m $BAD",
    "git merge -q --ff-only $BAD",
    "git merge -q --squash $BAD; git commit -q -m m",
    "git merge -q --no-ff --no-commit $BAD; git commit -q -m m",
    "git cherry-pick $BAD",
    "git cherry-pick -n $BAD; git commit -q -m x",
    "git rebase -q --onto main main $BAD",
    "git rebase -q --apply --onto main main $BAD",
    "git format-patch -1 --stdout $BAD >\"$TMPDIR/p\"; git am -q \"$TMPDIR/p\"",
    "git format-patch -1 --stdout $BAD >\"$TMPDIR/p\"; git am -q --no-verify \"$TMPDIR/p\"",
    "git update-ref refs/heads/main $BAD",
    "git update-ref --no-deref HEAD $BAD",
    "git update-ref refs/heads/new $BAD",
    "printf 'start\\nupdate refs/tags/x %s\\nupdate refs/heads/new %s\\nprepare\\ncommit\\n' $BAD $BAD | git update-ref --stdin",
    "git branch new $BAD",
    "git branch -f other $BAD",
    "git reset -q --hard $BAD",
    "git checkout -q -B main $BAD",
    "git checkout -q $BAD",
    "git switch -q -c new $BAD",
    "git worktree add -q -b new ../linked $BAD",
    "git tag parked $BAD && git fetch -q . refs/tags/parked:refs/heads/new",
    "git push -q . $BAD:refs/heads/new",
    "git tag parked $BAD && git bundle create -q ../b parked && git fetch -q ../b refs/tags/parked:refs/heads/new",
    "git read-tree $BAD && git commit -q -m x",
    "cd .git && git update-ref refs/heads/new $BAD",
    "d=$PWD; cd / && git --git-dir=\"$d/.git\" --work-tree=\"$d\" update-ref refs/heads/new $BAD",
];

#[test]
fn no_way_onto_a_branch_goes_past_the_hooks() {
    let env = TestEnv::hooked(&["src/"]);
    env.unhooked(&["branch", "other"]);
    let bad = env.loose_commit("docs/guide.md", "bad");
    let (head, branches) = (env.head(), env.git(&["for-each-ref", "refs/heads"]));
    for way in WAYS {
        let ran = env.sh(&format!("BAD={bad}; {way}"));
        assert!(ran.code != 0 && ran.stderr.contains("git-oracle: "), "{way}\n{}", ran.shown());
        assert!(ran.stderr.contains("docs/guide.md: out_of_scope"), "{way}\n{}", ran.shown());
        let symbolic = env.git(&["symbolic-ref", "-q", "HEAD"]);
        assert_eq!((env.head(), symbolic.as_str()), (head.clone(), "refs/heads/main"), "{way}\n{}", ran.shown());
        assert_eq!(env.git(&["for-each-ref", "refs/heads"]), branches, "{way}");
        // Whatever was begun is taken back, so that the next way starts from the same place.
        env.sh(
            "for what in merge cherry-pick rebase am; do git $what --abort; done; git reset -q --hard; git clean -qfd",
        );
        env.sh("git tag -d parked; git worktree prune; rm -rf ../linked ../b");
        assert_eq!(env.head(), head, "{way}");
    }
}

#[test]
fn everyday_work_goes_on() {
    let env = TestEnv::hooked(&["src/"]);
    let origin = env.root().join("origin.git");
    env.git(&["clone", "-q", "--bare", ".", &origin.to_string_lossy()]);
    env.git(&["remote", "add", "origin", &origin.to_string_lossy()]);
    // Somebody else's work, outside of our scope.
    let other = env.root().join("other");
    env.git(&["clone", "-q", &origin.to_string_lossy(), &other.to_string_lossy()]);
    std::fs::write(other.join("docs/guide.md"), "theirs\n").unwrap();
    env.git_in(&other, &["commit", "-q", "-a", "-m", "Theirs"]);
    env.git_in(&other, &["tag", "v1"]);
    env.git_in(&other, &["push", "-q", "origin", "main", "v1"]);
    for line in [
        "git fetch -q origin",
        "git switch -q -c feature && echo a >>src/parser.rs && git commit -q -a -m ours",
        "echo b >>src/lexer.rs && git commit -q -a --amend -m ours",
        "git rebase -q origin/main",
        "git switch -q main && git merge -q --ff-only origin/main",
        "git switch -q -c joined HEAD~1 && echo j >>src/lexer.rs && git commit -q -a -m j && git merge -q -m joined origin/main",
        "git switch -q feature && git checkout -q v1 && git checkout -q feature",
        "echo mine >>docs/guide.md && echo new >notes && git stash -q -u && git stash pop -q && git checkout -q docs && rm notes",
        "git tag -a -m t t1 && git notes add -m note && git branch -m feature renamed && git branch -d main",
        "git reset -q --hard HEAD~1 && git reset -q --hard ORIG_HEAD && git gc -q --prune=now",
        "git worktree add -q ../second -b second && git -C ../second log -1 --format= && git worktree remove ../second",
        "git checkout -q --orphan fresh && git rm -qrf . && git checkout -q -f renamed",
        "git revert --no-edit HEAD && git cherry-pick HEAD~1",
        "git push -q origin renamed && git push -q origin :renamed && git push -q --tags",
    ] {
        let ran = env.sh(line);
        assert_eq!(ran.code, 0, "{line}\n{}", ran.shown());
        assert!(!ran.stderr.contains("git-oracle"), "{line}\n{}", ran.shown());
    }
    assert_eq!(refusals(&env), [""; 0]);
}

#[test]
fn a_merge_is_judged_by_what_it_adds_itself() {
    let env = TestEnv::hooked(&["src/"]);
    env.unhooked(&["switch", "-q", "-c", "theirs"]);
    env.write("docs/guide.md", "theirs\n");
    env.unhooked(&["commit", "-q", "-a", "-m", "Theirs"]);
    env.git(&["switch", "-q", "main"]);
    env.write("src/lexer.rs", "ours\n");
    env.git(&["commit", "-q", "-a", "-m", "Ours"]);
    // Both parents are known branches: nothing in the merge is its own.
    env.git(&["merge", "-q", "-m", "Join", "theirs"]);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.git(&["merge", "-q", "--no-commit", "theirs"]);
    env.write("README.md", "slipped in\n");
    env.git(&["add", "README.md"]);
    let refused = env.sh("git commit -q -m Join");
    assert!(refused.code != 0 && refused.stderr.contains("README.md: out_of_scope"), "{}", refused.shown());
    assert!(!refused.stderr.contains("docs/guide.md"), "{}", refused.shown());
}

#[test]
fn pre_merge_commit_knows_the_heads_that_git_announces() {
    let env = TestEnv::hooked(&["src/"]);
    env.unhooked(&["switch", "-q", "-c", "theirs"]);
    env.write("docs/guide.md", "theirs\n");
    env.unhooked(&["commit", "-q", "-a", "-m", "Theirs"]);
    let theirs = env.head();
    env.unhooked(&["switch", "-q", "main"]);
    env.git(&["read-tree", &theirs]);
    let ask = |vars: &[(&str, &str)]| env.oracle_with(&env.repo(), &["hook", "pre-merge-commit"], vars);
    let announced = format!("GITHEAD_{theirs}");
    assert_eq!(ask(&[(announced.as_str(), "theirs")]).code, 0);
    assert_eq!(ask(&[]).code, 1);
    assert_eq!(ask(&[("GITHEAD_nonsense", "theirs")]).code, 1);
}

#[test]
fn without_a_contract_nothing_gets_in_but_our_own_files() {
    let env = TestEnv::new();
    env.expect(0, &["init"]);
    env.write("src/parser.rs", "changed\n");
    for command in ["git commit -q -a -m x", "git commit -q -n -a -m x"] {
        let refused = env.sh(command);
        assert!(refused.code != 0 && refused.stderr.contains("no contract is active"), "{}", refused.shown());
    }
    env.git(&["checkout", "-q", "."]);
    env.write(".oracle/config.toml", "[hooks]\nmissing_contract = \"warn\"\n");
    let shared = env.sh("git add -f .oracle/config.toml && git commit -q -m Share");
    assert_eq!((shared.code, shared.stderr.as_str()), (0, ""), "{}", shared.shown());
    env.write("src/parser.rs", "changed\n");
    let warned = env.sh("git commit -q -a -m x");
    insta::assert_snapshot!(warned.shown(), @r"
    exit 0
    --- stdout
    --- stderr
    warning: no contract is active, so this change was not judged
    ");
}

#[test]
fn a_warning_never_excuses_a_contract_that_was_pinned() {
    for tampering in [
        "rm .oracle/contract.json",
        "echo >>.oracle/contract.json",
        "rm .oracle/contract.json .git/oracle/active.json",
        "rm .git/oracle/active.json",
    ] {
        let env = TestEnv::hooked(&["src/"]);
        env.write(".oracle/config.toml", "[hooks]\nmissing_contract = \"warn\"\n");
        env.sh(tampering);
        env.write("src/parser.rs", "changed\n");
        for command in ["git commit -q -a -m x", "git commit -q -n -a -m x"] {
            let refused = env.sh(command);
            assert!(refused.code != 0 && refused.stderr.contains("contract"), "{tampering}\n{}", refused.shown());
        }
    }
}

#[test]
fn every_worktree_is_held_to_its_own_contract() {
    let env = TestEnv::hooked(&["src/"]);
    let linked = env.root().join("linked");
    env.git(&["worktree", "add", "-q", "-b", "linked", &linked.to_string_lossy()]);
    let docs = env.contract_file("docs.json", &contract(&["docs/"]));
    assert_eq!(env.oracle_in(&linked, &["contract", "activate", &docs]).code, 0);
    let commit = |script: &str| env.run_in(&linked, "sh", &["-c", script], &[]);
    let refused = commit("echo x >>src/parser.rs; git commit -q -a -m x");
    assert!(refused.code != 0 && refused.stderr.contains("src/parser.rs: out_of_scope"), "{}", refused.shown());
    let refused = commit("git commit -q -n -a -m x");
    assert!(refused.code != 0 && refused.stderr.contains("src/parser.rs: out_of_scope"), "{}", refused.shown());
    let done = commit("git checkout -q . && cd docs && echo x >>guide.md && git commit -q -a -m x");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{}", done.shown());
}

#[test]
fn a_refusal_fits_on_a_screen_and_shows_what_is_invisible() {
    let env = TestEnv::hooked(&["src/"]);
    for number in 0..40 {
        env.write(&format!("docs/{number:02}\u{1b}[31m"), "x");
    }
    env.write("docs/a\nb", "x");
    env.git(&["add", "-A"]);
    for command in ["git commit -q -m x", "git commit -q -n -m x"] {
        let refused = env.sh(command);
        let ours: Vec<&str> = refused.stderr.lines().filter(|line| !line.starts_with("fatal:")).collect();
        assert!(ours.len() <= 24, "{}", refused.shown());
        assert!(refused.stderr.contains("… and 31 more"), "{}", refused.shown());
        assert!(!refused.stderr.contains('\u{1b}'), "{}", refused.shown());
    }
}

#[test]
fn what_keeps_a_hook_from_deciding_is_a_refusal_with_a_reason() {
    let env = TestEnv::hooked(&["src/"]);
    env.write("src/parser.rs", "changed\n");
    env.git(&["add", "-A"]);
    env.write(".oracle/config.toml", "[gate]\nprotectd = []\n");
    let refused = env.sh("git commit -q -m x");
    assert_eq!(refused.code, 1, "{}", refused.shown());
    assert!(refused.stderr.contains("could not be judged") && refused.stderr.contains("hint:"), "{}", refused.shown());
    let document = env.expect(0, &["events", "--json"]).json();
    let last = document["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["event_type"], &last["payload"]["hook"]), (&"policy_violation".into(), &"pre-commit".into()));
    assert!(last["payload"]["error"].as_str().unwrap().contains("config.toml"), "{last}");
    for input in ["nonsense\n", "a b c\n"] {
        let script = format!("printf '{input}' | git oracle hook reference-transaction prepared");
        let refused = env.sh(&script);
        assert!(refused.code == 1 && refused.stderr.contains("not understood"), "{}", refused.shown());
    }
}

#[test]
fn a_refusal_stands_when_its_event_cannot_be_written() {
    let env = TestEnv::hooked(&["src/"]);
    let log = env.repo().join(".git/oracle/events.jsonl");
    std::fs::write(&log, "damaged\n").unwrap();
    env.write("docs/guide.md", "changed\n");
    let refused = env.sh("git commit -q -a -m x");
    assert!(refused.code == 1 && refused.stderr.contains("docs/guide.md: out_of_scope"), "{}", refused.shown());
    assert!(refused.stderr.contains("not in the log of events"), "{}", refused.shown());
    assert_eq!(std::fs::read(&log).unwrap(), b"damaged\n");
}

#[test]
fn only_the_prepared_state_is_judged() {
    let env = TestEnv::hooked(&["src/"]);
    let bad = env.loose_commit("docs/guide.md", "bad");
    let zero = "0".repeat(40);
    let cases = [
        ("prepared", format!("{zero} {bad} refs/heads/main"), 1),
        ("prepared", format!("{zero} {bad} HEAD"), 1),
        ("preparing", format!("{zero} {bad} refs/heads/main"), 0),
        ("committed", format!("{zero} {bad} refs/heads/main"), 0),
        ("aborted", format!("{zero} {bad} refs/heads/main"), 0),
        ("someday", format!("{zero} {bad} refs/heads/main"), 0),
        ("prepared", format!("{zero} {bad} refs/tags/x"), 0),
        ("prepared", format!("{zero} {bad} refs/stash"), 0),
        ("prepared", format!("{zero} {bad} refs/remotes/origin/x"), 0),
        ("prepared", format!("{bad} {zero} refs/heads/main"), 0),
        ("prepared", format!("{zero} ref:refs/heads/main HEAD"), 0),
        ("prepared", format!("{zero} {bad} refs/tags/x\n{zero} {bad} refs/heads/x"), 1),
        ("prepared", String::new(), 0),
    ];
    for (state, lines, code) in cases {
        // Through the installed script and straight to the program: both answer alike.
        for command in [".git/hooks/reference-transaction", "git oracle hook reference-transaction"] {
            let ran = env.sh(&format!("printf '{lines}\\n' | {command} {state}"));
            assert_eq!(ran.code, code, "{command} {state} {lines}: {}", ran.shown());
        }
    }
}

#[test]
fn a_bare_repository_with_worktrees_works_and_is_held() {
    let env = TestEnv::new();
    let bare = env.root().join("bare.git");
    env.git(&["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
    let linked = env.root().join("linked");
    env.git_in(&bare, &["worktree", "add", "-q", "-b", "linked", &linked.to_string_lossy()]);
    assert_eq!(env.oracle_in(&linked, &["init"]).code, 0);
    let file = env.contract_file("contract.json", &contract(&["src/"]));
    assert_eq!(env.oracle_in(&linked, &["contract", "activate", &file]).code, 0);
    env.run_in(&linked, "sh", &["-c", "echo x >>src/parser.rs"], &[]);
    env.git_in(&linked, &["commit", "-q", "-a", "-m", "Work"]);
    // In the bare repository itself: what is known passes, what is new is refused without a contract.
    env.git_in(&bare, &["branch", "same", "main"]);
    env.git_in(&bare, &["worktree", "add", "-q", "-b", "second", "../second"]);
    let refused = env.run_in(&env.repo(), "git", &["push", "-q", &bare.to_string_lossy(), "HEAD~0:refs/heads/x"], &[]);
    assert_eq!(refused.code, 0, "{}", refused.shown());
    let bad = env.loose_commit("docs/guide.md", "bad");
    let target = format!("{bad}:refs/heads/y");
    let refused = env.run_in(&env.repo(), "git", &["push", "-q", &bare.to_string_lossy(), &target], &[]);
    assert_ne!(refused.code, 0, "{}", refused.shown());
    assert_ne!(env.run_in(&bare, "git", &["rev-parse", "-q", "--verify", "refs/heads/y"], &[]).code, 0);
}

#[test]
fn another_name_for_a_ref_makes_nothing_known() {
    let env = TestEnv::hooked(&["src/"]);
    let bad = env.loose_commit("docs/guide.md", "bad");
    env.git(&["tag", "parked", &bad]);
    for (name, back) in [
        ("refs/heads/alias", "git symbolic-ref -d refs/heads/alias"),
        ("HEAD", "git symbolic-ref HEAD refs/heads/main"),
    ] {
        env.git(&["symbolic-ref", name, "refs/tags/parked"]);
        let refused = env.sh(&format!("git update-ref refs/heads/new {bad}"));
        assert!(
            refused.code != 0 && refused.stderr.contains("docs/guide.md: out_of_scope"),
            "{name}: {}",
            refused.shown()
        );
        assert_eq!(env.sh(back).code, 0, "{name}");
    }
}

#[test]
fn commits_of_one_second_are_known_in_any_order() {
    let env = TestEnv::new();
    let work = "for n in $(seq 30); do echo $n >docs/guide.md; git commit -q -a -m $n || exit; done";
    assert_eq!(env.sh(work).code, 0);
    env.activate(&["src/"]);
    env.expect(0, &["hooks", "install"]);
    assert_eq!(env.sh("git log --format=%ct | sort -u | wc -l").stdout.trim(), "1", "this shows nothing");
    let look = "for id in $(git rev-list main); do git checkout -q --detach $id && git checkout -q main || exit; done";
    let looked = env.sh(look);
    assert_eq!((looked.code, looked.stderr.as_str()), (0, ""), "{}", looked.shown());
}
