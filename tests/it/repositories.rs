//! Every kind of repository that git makes.

use std::path::Path;

use crate::support::TestEnv;
use crate::support::contract;
use crate::support::raw_id;
use crate::support::violations;

/// Judges a good and a bad change on disk, staged and committed.
fn good_then_bad(env: &TestEnv, name: &str) {
    env.write("src/parser.rs", "good\n");
    assert_eq!(env.judge(&["--worktree"]), (0, vec![]), "{name}");
    env.git(&["add", "src"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]), "{name}");
    env.git(&["commit", "-q", "-m", "Good"]);
    assert_eq!(env.judge(&["--range", "HEAD~1..HEAD"]), (0, vec![]), "{name}");
    env.write("docs/guide.md", "bad\n");
    let bad = vec!["docs/guide.md out_of_scope".to_owned()];
    assert_eq!(env.judge(&["--worktree"]), (7, bad.clone()), "{name}");
    env.git(&["add", "docs"]);
    assert_eq!(env.judge(&["--staged"]), (7, bad.clone()), "{name}");
    env.git(&["commit", "-q", "-m", "Bad"]);
    assert_eq!(env.judge(&["--range", "HEAD~1..HEAD"]), (7, bad), "{name}");
}

#[test]
fn index_formats() {
    let prepare: [(&str, &[&[&str]]); 6] = [
        ("plain", &[]),
        ("version 4", &[&["update-index", "--index-version=4"]]),
        ("split", &[&["update-index", "--split-index"]]),
        ("untracked cache", &[&["update-index", "--force-untracked-cache"]]),
        ("no checksum", &[&["config", "index.skipHash", "true"]]),
        ("sparse", &[&["sparse-checkout", "set", "--cone", "--sparse-index", "src", "docs"]]),
    ];
    for (name, commands) in prepare {
        let env = TestEnv::new();
        commands.iter().for_each(|command| drop(env.git(command)));
        env.activate(&["src/"]);
        good_then_bad(&env, name);
    }
}

#[test]
fn object_and_ref_formats() {
    for (name, option) in [("sha256", "--object-format=sha256"), ("reftable", "--ref-format=reftable")] {
        let env = TestEnv::empty();
        env.git(&["init", "-q", "-b", "main", option]);
        for path in ["src/parser.rs", "docs/guide.md", "README.md"] {
            env.write(path, &format!("{path}\n"));
        }
        env.commit_all("Begin");
        env.activate(&["src/"]);
        good_then_bad(&env, name);
    }
}

#[test]
fn a_collapsed_directory_with_another_tree_is_seen() {
    let env = TestEnv::new();
    env.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "src"]);
    env.activate(&["src/"]);
    assert!(env.git(&["ls-files", "--sparse"]).lines().any(|line| line == "docs/"), "the index is sparse");
    assert_eq!(env.judge(&["--staged"]).0, 0);
    let old = env.git(&["rev-parse", "HEAD:docs"]);
    let blob = env.git(&["rev-parse", "HEAD:README.md"]);
    env.write(".git/listing", &format!("100644 blob {blob}\tguide.md\n"));
    let new = env.run_in(&env.repo(), "sh", &["-c", "git mktree < .git/listing"], &[]).stdout.trim().to_owned();
    let path = env.repo().join(".git/index");
    let mut index = std::fs::read(&path).unwrap();
    let at = index.windows(20).position(|window| window == raw_id(&old)).expect("the collapsed entry");
    index[at..at + 20].copy_from_slice(&raw_id(&new));
    // git checks this sum when it reads the index, unless it is all zeros.
    let end = index.len();
    index[end - 20..].fill(0);
    std::fs::write(&path, index).unwrap();
    assert!(env.git(&["ls-files", "--sparse"]).lines().any(|line| line == "docs/"), "still collapsed");
    let found = env.judge(&["--staged"]).1;
    assert!(found.contains(&"docs/guide.md out_of_scope".to_owned()), "{found:?}");
}

#[test]
fn before_the_first_commit() {
    let env = TestEnv::empty();
    env.git(&["init", "-q", "-b", "main"]);
    env.activate(&["src/"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]));
    env.write("src/a", "x\n");
    env.git(&["add", "-A"]);
    assert_eq!(env.judge(&["--staged"]), (0, vec![]));
    assert_eq!(env.judge(&["--worktree"]), (0, vec![]));
    env.write("b", "x\n");
    env.git(&["add", "-A"]);
    assert_eq!(env.judge(&["--staged"]).1, ["b out_of_scope"]);
}

#[test]
fn a_detached_head() {
    let env = TestEnv::new();
    env.git(&["checkout", "-q", "--detach"]);
    env.activate(&["src/"]);
    good_then_bad(&env, "detached");
}

#[test]
fn linked_worktrees_have_contracts_of_their_own() {
    let env = TestEnv::under_contract(&["src/"]);
    let linked = env.root().join("linked");
    env.git(&["worktree", "add", "-q", "-b", "linked", &linked.to_string_lossy()]);
    std::fs::write(linked.join("docs/guide.md"), "x\n").unwrap();
    let ran = env.oracle_in(&linked, &["gate", "--worktree", "--json"]);
    assert_eq!(violations(&ran), [".oracle/contract.json contract_missing"]);
    let file = env.contract_file("docs.json", &contract(&["docs/"]));
    assert_eq!(env.oracle_in(&linked, &["contract", "activate", &file]).code, 0);
    assert_eq!(env.oracle_in(&linked, &["gate", "--worktree", "--json"]).code, 0);
    assert_eq!(env.judge(&["--worktree"]).0, 0);
    env.write("docs/guide.md", "x\n");
    assert_eq!(env.judge(&["--worktree"]).1, ["docs/guide.md out_of_scope"]);
}

#[test]
fn submodules_are_seen_by_their_commit() {
    let env = TestEnv::new();
    env.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.", "src/sub"]);
    env.commit_all("Add a submodule");
    env.activate(&["src/"]);
    assert_eq!(env.judge(&["--worktree"]), (0, vec![]));
    let sub = env.repo().join("src/sub");
    // The submodule is a repository of its own, with a contract of its own.
    let file = env.contract_file("sub.json", &contract(&["src/"]));
    assert_eq!(env.oracle_in(&sub, &["contract", "activate", &file]).code, 0);
    assert_eq!(env.oracle_in(&sub, &["gate", "--staged"]).code, 0);
    env.git_in(&sub, &["commit", "-q", "--allow-empty", "-m", "Move on"]);
    assert_eq!(env.judge(&["--worktree"]).1, ["src/sub submodule"]);
    env.git(&["submodule", "--quiet", "deinit", "-f", "src/sub"]);
    assert_eq!(env.judge(&["--worktree"]), (0, vec![]), "not populated is how a submodule begins");
}

#[test]
fn bare_repositories_judge_ranges_and_bind_contracts() {
    let env = TestEnv::new();
    env.write("docs/guide.md", "bad\n");
    env.commit_all("Bad");
    let bare = env.root().join("bare.git");
    env.git(&["clone", "-q", "--mirror", ".", &bare.to_string_lossy()]);
    let file = env.contract_file("contract.json", &contract(&["src/"]));
    let gate = |args: &[&str]| env.oracle_in(&bare, &[&["gate"], args, &["--json"]].concat());
    assert_eq!(violations(&gate(&["--range", "main~1..main", "--contract", &file])), ["docs/guide.md out_of_scope"]);
    assert_eq!(gate(&["--worktree", "--contract", &file]).code, 1);
    assert_eq!(gate(&["--staged", "--contract", &file]).code, 1);
    assert_eq!(env.oracle_in(&bare, &["contract", "activate", &file]).code, 0);
    assert_eq!(violations(&gate(&["--range", "main~1..main"])), ["docs/guide.md out_of_scope"]);
    assert!(bare.join("oracle/contract.json").exists());
    let bound = env.oracle_in(&bare, &["contract", "activate", &file, "--ref", "refs/heads/agent/*"]);
    assert_eq!(bound.code, 0, "{}", bound.shown());
    let wider = env.contract_file("wider.json", &contract(&["src/", "docs/"]));
    assert_eq!(env.oracle_in(&bare, &["contract", "activate", &wider, "--ref", "refs/heads/agent/*"]).code, 8);
    assert_eq!(env.expect(129, &["contract", "activate", &file, "--ref", "x"]).code, 129);
}

#[test]
fn shallow_and_partial_clones_block_where_something_is_missing() {
    let env = TestEnv::new();
    for number in 0..3 {
        env.write("src/parser.rs", &format!("{number}\n"));
        env.commit_all("Edit");
    }
    let file = env.contract_file("contract.json", &contract(&["src/"]));
    let url = format!("file://{}", env.repo().display());
    let clone = |name: &str, option: &str| {
        let place = env.root().join(name);
        env.git(&["-c", "uploadpack.allowFilter=true", "clone", "-q", option, &url, &place.to_string_lossy()]);
        place
    };
    env.git(&["config", "uploadpack.allowFilter", "true"]);
    let judge =
        |place: &Path, range: &str| env.oracle_in(place, &["gate", "--range", range, "--contract", &file, "--json"]);
    let shallow = clone("shallow", "--depth=2");
    assert_eq!(judge(&shallow, "HEAD~1..HEAD").code, 0, "what is there is judged");
    let first = env.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(judge(&shallow, &format!("{first}..HEAD")).code, 1, "the start of the range is not there");
    let root = env.git_in(&shallow, &["commit-tree", "HEAD^{tree}", "-m", "root"]);
    assert_eq!(violations(&judge(&shallow, &format!("{root}..HEAD")))[0], ". unreadable");
    let partial = clone("partial", "--filter=blob:none");
    assert_eq!(violations(&judge(&partial, "HEAD~1..HEAD")), ["src/parser.rs unreadable"]);
}

#[test]
fn the_environment_names_repository_and_index() {
    let env = TestEnv::under_contract(&["src/"]);
    let (git_dir, work_tree) = (env.repo().join(".git"), env.repo());
    let vars = [("GIT_DIR", git_dir.to_string_lossy()), ("GIT_WORK_TREE", work_tree.to_string_lossy())];
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    env.write("docs/guide.md", "bad\n");
    let ran = env.oracle_with(env.root(), &["gate", "--worktree", "--json"], &vars);
    assert_eq!(violations(&ran), ["docs/guide.md out_of_scope"]);
    let other = env.root().join("other-index");
    std::fs::copy(env.repo().join(".git/index"), &other).unwrap();
    let index = other.to_string_lossy().into_owned();
    assert_eq!(env.run_in(&env.repo(), "git", &["add", "docs"], &[("GIT_INDEX_FILE", &index)]).code, 0);
    assert_eq!(env.judge(&["--staged"]).0, 0);
    let ran = env.oracle_with(&env.repo(), &["gate", "--staged", "--json"], &[("GIT_INDEX_FILE", &index)]);
    assert_eq!(violations(&ran), ["docs/guide.md out_of_scope"]);
    assert_eq!(env.run_in(env.root(), "git-oracle", &["-C", "repo", "gate", "--staged"], &[]).code, 0);
}

#[test]
fn line_endings_that_git_converts_are_no_change() {
    for (name, attributes, config, converted) in [
        ("autocrlf", "", "true", true),
        ("attribute", "*.md text eol=crlf\n", "false", true),
        ("none", "", "false", false),
        ("binary", "*.md -text\n", "true", false),
    ] {
        let env = TestEnv::new();
        if !attributes.is_empty() {
            env.write(".gitattributes", attributes);
            env.commit_all("Attributes");
        }
        env.git(&["config", "core.autocrlf", config]);
        env.activate(&["src/"]);
        let text = std::fs::read_to_string(env.repo().join("docs/guide.md")).unwrap();
        env.write("docs/guide.md", &text.replace('\n', "\r\n"));
        let expected = if converted { (0, vec![]) } else { (7, vec!["docs/guide.md out_of_scope".to_owned()]) };
        assert_eq!(env.judge(&["--worktree"]), expected, "{name}");
    }
}

#[test]
fn a_name_that_is_not_utf8_is_quoted_and_kept() {
    use std::os::unix::ffi::OsStrExt;
    let env = TestEnv::under_contract(&["src/"]);
    let name = std::ffi::OsStr::from_bytes(b"docs/\xff\xfe.md");
    std::fs::write(env.repo().join(name), "x\n").unwrap();
    let report = env.expect(7, &["gate", "--worktree", "--json"]).json();
    assert_eq!(report["violations"][0]["path"], "\"docs/\\377\\376.md\"");
    assert_eq!(report["violations"][0]["path_b64"], "ZG9jcy///i5tZA==");
    let sarif = env.expect(7, &["gate", "--worktree", "--format", "sarif"]).json();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(location["uri"], "docs/%FF%FE.md");
}
