//! The gate over ranges, patches and odd indexes.

use crate::support::TestEnv;
use crate::support::contract;
use crate::support::raw_id;

#[test]
fn every_commit_of_a_range_counts_and_so_does_the_net_change() {
    let env = TestEnv::under_contract(&["src/"]);
    let base = env.head();
    env.write("docs/secret.md", "for a moment\n");
    let bad = env.commit_all("Add");
    std::fs::remove_file(env.repo().join("docs/secret.md")).unwrap();
    env.commit_all("Remove");
    let range = format!("{base}..HEAD");
    let ran = env.expect(7, &["gate", "--range", &range, "--json"]);
    let report = ran.json();
    assert_eq!(report["checked"], serde_json::json!({"changes": 2, "commits": 2}));
    assert_eq!(report["violations"][1]["commit"], serde_json::json!(bad));
    env.expect(0, &["gate", "--range", "HEAD..HEAD"]);
}

#[test]
fn a_merge_is_judged_by_what_it_adds_of_its_own() {
    let env = TestEnv::under_contract(&["src/"]);
    env.git(&["checkout", "-q", "-b", "upstream"]);
    env.write("docs/guide.md", "upstream\n");
    env.commit_all("Upstream");
    env.git(&["checkout", "-q", "main"]);
    env.write("src/parser.rs", "ours\n");
    env.commit_all("Ours");
    env.git(&["merge", "-q", "--no-commit", "--no-ff", "upstream"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]));
    env.write("README.md", "slipped in\n");
    env.git(&["add", "-A"]);
    assert_eq!(env.judge(&["--staged"]).1, ["README.md out_of_scope"]);
    env.git(&["commit", "-q", "-m", "Evil merge"]);
    assert_eq!(env.judge(&["--range", "upstream..HEAD"]).1, ["README.md out_of_scope"]);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.git(&["merge", "-q", "-s", "ours", "-m", "Undo upstream", "upstream"]);
    assert_eq!(env.judge(&["--range", "upstream..HEAD"]).1, ["docs/guide.md out_of_scope"]);
}

#[test]
fn a_copy_is_not_excused_by_a_later_copy_of_the_copy() {
    let env = TestEnv::under_contract(&["src/"]);
    let base = env.head();
    for (from, to) in [("docs/guide.md", "src/one.md"), ("src/one.md", "src/two.md")] {
        std::fs::copy(env.repo().join(from), env.repo().join(to)).unwrap();
        env.commit_all(to);
    }
    let found = env.judge(&["--range", &format!("{base}..HEAD")]).1;
    assert!(found.contains(&"src/one.md copy_source".to_owned()), "{found:?}");
}

#[test]
fn where_no_contract_is_active_a_range_is_judged_by_the_one_at_its_start() {
    let env = TestEnv::new();
    env.write(".oracle/contract.json", &contract(&["src/"]).to_string());
    env.git(&["add", "-f", ".oracle"]);
    let base = env.commit_all("Share the contract");
    env.write("src/parser.rs", "changed\n");
    env.commit_all("Good");
    std::fs::remove_dir_all(env.repo().join(".oracle")).unwrap();
    env.expect(0, &["gate", "--range", &format!("{base}..HEAD")]);
    env.write(".oracle/contract.json", &contract(&["src/", "docs/"]).to_string());
    env.write("docs/guide.md", "widened for myself\n");
    env.git(&["add", "-f", "-A"]);
    env.git(&["commit", "-q", "-m", "Bad"]);
    let found = env.judge(&["--range", &format!("{base}..HEAD")]).1;
    assert!(found.contains(&"docs/guide.md out_of_scope".to_owned()), "{found:?}");
    let from = format!("{base}:.oracle/contract.json");
    env.expect(7, &["gate", "--range", &format!("{base}..HEAD"), "--contract-from", &from]);
    env.expect(1, &["gate", "--range", &format!("{base}..HEAD"), "--contract-from", "HEAD:none.json"]);
}

#[test]
fn grafts_replacements_and_a_forged_shallow_file_change_nothing() {
    let env = TestEnv::under_contract(&["src/"]);
    let base = env.head();
    env.write("docs/guide.md", "bad\n");
    let bad = env.commit_all("Bad");
    env.git(&["checkout", "-q", &base, "--", "docs/guide.md"]);
    env.write("src/parser.rs", "good\n");
    let good = env.commit_all("Good");
    let range = format!("{base}..{good}");
    let expected = env.judge(&["--range", &range]);
    assert_eq!(expected.0, 7);
    env.git(&["replace", &bad, &base]);
    assert_eq!(env.judge(&["--range", &range]), expected);
    env.git(&["replace", "-d", &bad]);
    env.write(".git/info/grafts", &format!("{good} {base}\n"));
    assert_eq!(env.judge(&["--range", &range]), expected);
    std::fs::remove_file(env.repo().join(".git/info/grafts")).unwrap();
    env.write(".git/shallow", &format!("{good}\n"));
    assert_eq!(env.judge(&["--range", &range]), expected);
}

#[test]
fn a_missing_object_is_unreadable_and_nothing_is_fetched() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("src/new.rs", "fresh\n");
    env.commit_all("New");
    let blob = env.git(&["rev-parse", "HEAD:src/new.rs"]);
    let marker = env.root().join("EXECUTED");
    env.write(".git/fetcher", &format!("#!/bin/sh\necho x > '{}'\nexit 1\n", marker.display()));
    env.run_in(&env.repo(), "chmod", &["+x", ".git/fetcher"], &[]);
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ext::.git/fetcher"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ] {
        env.git(&["config", key, value]);
    }
    std::fs::remove_file(env.repo().join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    assert_eq!(env.judge(&["--range", "HEAD~1..HEAD"]).1, ["src/new.rs unreadable"]);
    assert!(!marker.exists(), "something was executed");
}

#[test]
fn a_forged_cache_tree_is_a_hidden_change() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("src/parser.rs", "changed\n");
    env.git(&["add", "src"]);
    let honest = env.git(&["write-tree"]);
    // A tree that no index entry shows, put into the index's cache in place of the honest one.
    let evil_blob = {
        env.write("evil", "evil\n");
        env.git(&["hash-object", "-w", "evil"])
    };
    std::fs::remove_file(env.repo().join("evil")).unwrap();
    let listing = env.git(&["ls-tree", &honest]);
    let listing = format!("{listing}\n100644 blob {evil_blob}\tevil\n");
    env.write("listing", &listing);
    let evil = env.run_in(&env.repo(), "sh", &["-c", "git mktree < listing"], &[]).stdout.trim().to_owned();
    std::fs::remove_file(env.repo().join("listing")).unwrap();
    let path = env.repo().join(".git/index");
    let mut index = std::fs::read(&path).unwrap();
    let at = index.windows(20).position(|window| window == raw_id(&honest)).expect("the cache holds the tree");
    index[at..at + 20].copy_from_slice(&raw_id(&evil));
    std::fs::write(&path, &index).unwrap();
    env.git(&["config", "index.skipHash", "true"]);
    let end = index.len();
    index[end - 20..].fill(0);
    std::fs::write(&path, &index).unwrap();
    assert_eq!(env.judge(&["--staged"]).1, [". hidden_change"]);
}

#[test]
fn malformed_trees_are_refused() {
    let env = TestEnv::under_contract(&["src/"]);
    let base = env.head();
    let blob = env.git(&["rev-parse", "HEAD:README.md"]);
    for (name, listing) in [
        ("dot git", format!("100644 x\t{blob}\n40000 .git\t{blob}")),
        ("twice", format!("100644 a\t{blob}\n100644 a\t{blob}")),
        ("slash", format!("100644 a/b\t{blob}")),
        ("mode", format!("100600 a\t{blob}")),
    ] {
        let mut bytes = Vec::new();
        for line in listing.lines() {
            let (head, id) = line.split_once('\t').unwrap();
            bytes.extend_from_slice(head.as_bytes());
            bytes.push(0);
            bytes.extend(raw_id(id));
        }
        env.write_bytes(".git/tree", &bytes);
        let tree = env.git(&["hash-object", "-t", "tree", "-w", "--literally", ".git/tree"]);
        let commit = env.git(&["commit-tree", &tree, "-p", &base, "-m", "x"]);
        let (code, found) = env.judge(&["--range", &format!("{base}..{commit}")]);
        assert_eq!(code, 7, "{name}");
        assert!(
            found.iter().any(|line| line.ends_with("unsafe_path") || line.ends_with("unreadable")),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn nothing_that_the_repository_configures_is_executed() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("src/parser.rs", "one\n");
    env.commit_all("One");
    env.write("src/parser.rs", "two\n");
    env.git(&["add", "src"]);
    env.write("src/lexer.rs", "three\n");
    std::fs::write(env.root().join("x.patch"), env.git(&["diff", "src/lexer.rs"]) + "\n").unwrap();
    env.write("src/.gitattributes", "*.rs filter=evil diff=evil merge=evil text=auto\n");
    let marker = env.root().join("EXECUTED");
    let program = env.root().join("program");
    std::fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", marker.display())).unwrap();
    env.run_in(env.root(), "chmod", &["+x", "program"], &[]);
    let program = program.to_string_lossy().into_owned();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "core.alternateRefsCommand",
    ] {
        env.git(&["config", key, &program]);
    }
    env.write(".git/hooks/post-index-change", "#!/bin/sh\necho hook >> \"$GIT_DIR/../EXECUTED\"\n");
    env.run_in(&env.repo(), "chmod", &["+x", ".git/hooks/post-index-change"], &[]);
    let _ = std::fs::remove_file(&marker);
    let patch = env.root().join("x.patch").to_string_lossy().into_owned();
    for args in [&["--staged"] as &[&str], &["--worktree"], &["--range", "HEAD~1..HEAD"], &["--patch", &patch]] {
        assert_eq!(env.judge(args).0, 0, "{args:?}");
    }
    env.expect(0, &["status"]);
    env.expect(0, &["doctor"]);
    assert!(!marker.exists(), "{}", std::fs::read_to_string(&marker).unwrap_or_default());
}

#[test]
fn patches_are_judged_like_any_change() {
    let env = TestEnv::under_contract(&["src/"]);
    let new_file = |path: &str, mode: &str, body: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{body}\n"
        )
    };
    let guide = std::fs::read_to_string(env.repo().join("docs/guide.md")).unwrap();
    let copied: String = guide.lines().map(|line| format!("+{line}\n")).collect();
    let cases = [
        (new_file("src/a.rs", "100644", "x"), vec![]),
        (new_file("docs/a.md", "100644", "x"), vec!["docs/a.md out_of_scope"]),
        (new_file("src/link", "120000", "../docs"), vec!["src/link symlink"]),
        (new_file("src/.env", "100644", "KEY=1"), vec!["src/.env protected_path"]),
        (new_file("src/../docs/x", "100644", "x"), vec!["src/../docs/x unsafe_path"]),
        (new_file("src/a.rs", "100644", "a\u{202e}b"), vec!["src/a.rs bidi_control"]),
        (
            "diff --git a/docs/guide.md b/src/guide.md\nsimilarity index 100%\nrename from docs/guide.md\nrename to src/guide.md\n".to_owned(),
            vec!["docs/guide.md out_of_scope", "src/guide.md rename_source"],
        ),
        (
            "diff --git a/docs/guide.md b/src/guide.md\nsimilarity index 100%\ncopy from docs/guide.md\ncopy to src/guide.md\n".to_owned(),
            vec!["src/guide.md copy_source"],
        ),
        (
            format!("--- /dev/null\n+++ b/src/g.md\n@@ -0,0 +1,{} @@\n{copied}", guide.lines().count())
                .replace("--- /dev/null", "diff --git a/src/g.md b/src/g.md\nnew file mode 100644\n--- /dev/null"),
            vec!["src/g.md copy_source"],
        ),
        ("not a patch\n".to_owned(), vec!["[ROOT]/in.patch unreadable"]),
    ];
    for (text, expected) in cases {
        let path = env.root().join("in.patch");
        std::fs::write(&path, &text).unwrap();
        let (code, found) = env.judge(&["--patch", &path.to_string_lossy()]);
        assert_eq!(
            (code, found),
            (if expected.is_empty() { 0 } else { 7 }, expected.iter().map(|s| (*s).to_owned()).collect()),
            "{text}"
        );
    }
}

#[test]
fn a_pipe_in_the_tree_does_not_hang_the_gate() {
    let env = TestEnv::under_contract(&["src/"]);
    std::fs::remove_file(env.repo().join("src/parser.rs")).unwrap();
    env.run_in(&env.repo(), "mkfifo", &["src/parser.rs", "src/pipe"], &[]);
    assert_eq!(env.judge(&["--worktree"]).1, ["src/parser.rs unreadable"]);
    env.run_in(&env.repo(), "mkfifo", &[".oracle/config.toml"], &[]);
    env.expect(1, &["gate", "--staged"]);
}

#[test]
fn a_cache_tree_that_git_reads_leniently_does_not_pass() {
    let env = TestEnv::under_contract(&["src/"]);
    env.write("src/parser.rs", "changed\n");
    env.git(&["add", "src"]);
    env.git(&["write-tree"]);
    let path = env.repo().join(".git/index");
    let index = std::fs::read(&path).unwrap();
    let at = index.windows(4).position(|window| window == b"TREE").expect("the index has a cache tree");
    let size = u32::from_be_bytes(index[at + 4..at + 8].try_into().unwrap()) as usize;
    let body = &index[at + 8..at + 8 + size];
    let deep = [b"\0-1 1\n".to_vec(), b"a\0-1 1\n".repeat(200_000), b"a\0-1 0\n".to_vec()].concat();
    for (name, forged) in
        [("space", [b"\0 ", &body[1..]].concat()), ("trailing", [body, b"xx"].concat()), ("deep", deep)]
    {
        let length = u32::try_from(forged.len()).unwrap().to_be_bytes();
        let whole = [&index[..at + 4], &length, &forged, &index[at + 8 + size..]].concat();
        std::fs::write(&path, whole).unwrap();
        let ran = env.oracle(&["gate", "--staged"]);
        assert!(ran.code == 1 || ran.code == 7, "{name}: {}", ran.shown());
    }
}

#[test]
fn a_tag_named_like_a_branch_does_not_move_the_range() {
    let env = TestEnv::under_contract(&["src/"]);
    env.git(&["branch", "base"]);
    env.write("docs/guide.md", "bad\n");
    env.commit_all("Bad");
    env.git(&["tag", "base"]);
    let ran = env.expect(1, &["gate", "--range", "base..HEAD"]);
    assert!(ran.stderr.contains("means more than one thing"), "{}", ran.shown());
    env.expect(7, &["gate", "--range", "refs/heads/base..HEAD"]);
}

#[test]
fn an_encoded_mail_is_not_judged_by_what_it_seems() {
    let env = TestEnv::under_contract(&["src/"]);
    let path = env.root().join("mail.patch");
    let diff = "diff --git a/src/a b/src/a\nnew file mode 100644\n--- /dev/null\n+++ b/src/a\n@@ -0,0 +1 @@\n+x\n";
    for (encoding, code) in [("8bit", 0), ("quoted-printable", 7)] {
        std::fs::write(&path, format!("From: a\nContent-Transfer-Encoding: {encoding}\n\n{diff}")).unwrap();
        assert_eq!(env.judge(&["--patch", &path.to_string_lossy()]).0, code, "{encoding}");
    }
}

#[test]
fn a_patch_cannot_bend_a_link_or_write_through_one() {
    let env = TestEnv::new();
    std::os::unix::fs::symlink("parser.rs", env.repo().join("src/link")).unwrap();
    std::os::unix::fs::symlink("../docs", env.repo().join("src/out")).unwrap();
    std::fs::create_dir(env.repo().join("src/deep")).unwrap();
    std::os::unix::fs::symlink("../../src/lexer.rs", env.repo().join("src/deep/link")).unwrap();
    env.commit_all("Links");
    let mut wanted = contract(&["src/"]);
    wanted["diff_policy"] = serde_json::json!({"symlink": "allow"});
    env.expect(0, &["contract", "activate", &env.contract_file("links.json", &wanted)]);
    let no_newline = "\\ No newline at end of file\n";
    for (text, expected) in [
        (format!("--- a/src/link\n+++ b/src/link\n@@ -1 +1 @@\n-parser.rs\n{no_newline}+../docs/guide.md\n{no_newline}"), "src/link symlink_escape"),
        ("diff --git a/src/deep/link b/src/moved\nsimilarity index 100%\nrename from src/deep/link\nrename to src/moved\n".to_owned(), "src/moved symlink_escape"),
        ("diff --git a/src/out/x b/src/out/x\nnew file mode 100644\n--- /dev/null\n+++ b/src/out/x\n@@ -0,0 +1 @@\n+x\n".to_owned(), "src/out/x unsafe_path"),
    ] {
        let path = env.root().join("in.patch");
        std::fs::write(&path, &text).unwrap();
        let found = env.judge(&["--patch", &path.to_string_lossy()]).1;
        assert!(found.contains(&expected.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn many_equal_files_are_judged_in_no_time() {
    let env = TestEnv::under_contract(&["src/"]);
    for number in 0..1500 {
        env.write(&format!("src/p{number}/init.py"), "# license header\n");
    }
    env.git(&["add", "-A"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]));
}

#[test]
fn histories_that_fork_twice_hide_nothing() {
    let env = TestEnv::under_contract(&["src/"]);
    let base = env.head();
    env.write("src/parser.rs", "one\n");
    let one = env.commit_all("One");
    env.git(&["checkout", "-q", "-b", "two", &base]);
    env.write("docs/guide.md", "two\n");
    let two = env.commit_all("Two");
    env.git(&["checkout", "-q", "-b", "upstream", &one]);
    env.git(&["merge", "-q", "-m", "Both", &two]);
    env.git(&["checkout", "-q", "-b", "ours", &one]);
    env.git(&["merge", "-q", "-s", "ours", "-m", "Only one", &two]);
    assert_eq!(env.judge(&["--range", "upstream..ours"]).1, ["docs/guide.md out_of_scope"]);
}

#[test]
fn a_submodule_that_vanishes_is_a_deletion() {
    let env = TestEnv::new();
    env.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.", "src/sub"]);
    env.commit_all("Add a submodule");
    env.activate(&["src/"]);
    std::fs::remove_dir_all(env.repo().join("src/sub")).unwrap();
    assert_eq!(env.judge(&["--worktree"]).1, ["src/sub submodule"]);
}

#[test]
fn inside_the_git_directory_nothing_is_taken_for_a_bare_repository() {
    let env = TestEnv::under_contract(&["src/"]);
    let file = env.contract_file("again.json", &contract(&["src/"]));
    for args in [
        &["contract", "activate", &file] as &[&str],
        &["contract", "clear"],
        &["gate", "--range", "HEAD..HEAD"],
        &["status"],
    ] {
        let ran = env.oracle_in(&env.repo().join(".git"), args);
        assert_eq!(ran.code, 1, "{args:?}: {}", ran.shown());
        assert!(ran.stderr.contains("Run this in the working tree"), "{}", ran.shown());
    }
}

#[test]
fn ids_of_the_other_hash_are_no_commits() {
    let env = TestEnv::under_contract(&["src/"]);
    env.expect(1, &["gate", "--range", &format!("{}..HEAD", "a".repeat(64))]);
    env.write(".git/MERGE_HEAD", &format!("{}\n", "b".repeat(64)));
    env.expect(1, &["gate", "--staged"]);
}

#[test]
fn a_branch_named_head_is_not_head() {
    let env = TestEnv::under_contract(&["src/"]);
    env.git(&["update-ref", "refs/heads/HEAD", "HEAD"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]));
    env.expect(0, &["status"]);
}

#[test]
fn clocks_that_went_wrong_do_not_hide_an_ancestor() {
    let env = TestEnv::new();
    let commit = |date: &str, parents: &[&str]| {
        let tree = env.git(&["rev-parse", "HEAD^{tree}"]);
        let mut args = vec!["commit-tree", &tree, "-m", date];
        parents.iter().for_each(|parent| args.extend(["-p", parent]));
        let stamp = format!("{date} +0000");
        env.run_in(&env.repo(), "git", &args, &[("GIT_COMMITTER_DATE", &stamp)]).stdout.trim().to_owned()
    };
    let root = commit("100000000", &[]);
    let p = commit("2000000000", &[&root]);
    let q = commit("1000000000", &[&p]);
    let a = commit("1001000000", &[&q]);
    let x = commit("500000000", &[&a]);
    let y = commit("2050000000", &[&p]);
    let head = commit("2060000000", &[&x, &y]);
    env.git(&["reset", "-q", "--hard", &head]);
    let mut wanted = contract(&["src/"]);
    wanted["rollback"]["baseline_ref"] = serde_json::json!(a);
    env.expect(0, &["contract", "activate", &env.contract_file("at.json", &wanted)]);
}

#[test]
fn an_ignore_file_that_is_edited_or_linked_hides_nothing() {
    let env = TestEnv::new();
    env.write("src/.gitignore", "*.log\n");
    std::os::unix::fs::symlink("../src/.gitignore", env.repo().join("docs/.gitignore")).unwrap();
    env.commit_all("Ignore");
    env.activate(&["src/"]);
    env.write("src/a.log", "ignored\n");
    env.write("src/.gitignore", "*\n");
    env.write("src/.env", "KEY=1\n");
    env.write("docs/b.log", "seen\n");
    let found = env.judge(&["--worktree"]).1;
    assert_eq!(found, ["docs/b.log out_of_scope", "src/.env protected_path"]);
}

#[test]
fn a_failure_is_a_document_for_those_who_asked_for_one() {
    let env = TestEnv::new();
    let ran = env.expect(1, &["gate", "--range", "nowhere..HEAD", "--json"]);
    assert_eq!(ran.json()["error"]["kind"], "error");
    assert!(ran.stderr.contains("nowhere"), "{}", ran.shown());
}
