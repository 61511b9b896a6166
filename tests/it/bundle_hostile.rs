//! `git oracle bundle` among names, links and files that are made to break it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::support::TestEnv;
use crate::support::unzip;

fn pack(env: &TestEnv, args: &[&str]) -> (Value, Vec<(String, Vec<u8>)>) {
    let path = env.root().join("hostile.zip");
    let all = [&["bundle", "--format", "zip", "--json", "--output", path.to_str().unwrap()], args].concat();
    let report = env.expect(0, &all).json();
    (report, unzip(&std::fs::read(path).unwrap()))
}

fn reason<'a>(report: &'a Value, path: &str) -> &'a str {
    let list = report["excluded"].as_array().unwrap();
    list.iter().find(|left| left["path"] == path).and_then(|left| left["reason"].as_str()).unwrap_or("none")
}

#[test]
fn names_that_would_be_unpacked_elsewhere_stay_out() {
    let env = TestEnv::new();
    let names: [&[u8]; 9] = [
        b"a\\b",
        b"..\\up.txt",
        b"C:drive.txt",
        b"line\nbreak",
        b"esc\x1b[2J",
        b"latin\xe9",
        "bidi\u{202e}txt.exe".as_bytes(),
        b".GIT",
        b"git~1",
    ];
    for name in names {
        std::fs::write(env.repo().join(OsStr::from_bytes(name)), "hostile\n").unwrap();
    }
    std::fs::create_dir(env.repo().join("..\\..")).unwrap();
    std::fs::write(env.repo().join("..\\../x"), "hostile\n").unwrap();
    let (report, entries) = pack(&env, &[]);
    assert_eq!(entries.len(), 3 + 5);
    for (name, content) in &entries[3..] {
        assert!(name.starts_with("oracle-context-package/files/") && !name.contains(['\\', ':', '~']), "{name}");
        assert!(!content.starts_with(b"hostile"));
    }
    let list = report["excluded"].as_array().unwrap();
    assert_eq!(list.len(), 10);
    assert!(list.iter().all(|left| left["reason"] == "unsafe_name"), "{list:#?}");
    let quoted = list.iter().find(|left| left["path"] == "\"latin\\351\"").unwrap();
    assert_eq!(quoted["path_b64"], "bGF0aW7p");
    // Nothing of it reaches the terminal as it is.
    let shown = env.expect(0, &["bundle", "--dry-run"]).stdout;
    assert!(!shown.contains(['\u{1b}', '\u{202e}']) && shown.contains("\"esc\\033[2J\""), "{shown}");
}

#[test]
fn links_are_never_followed() {
    let env = TestEnv::new();
    std::fs::create_dir(env.root().join("outside")).unwrap();
    std::fs::write(env.root().join("outside/private.txt"), "private\n").unwrap();
    symlink("../outside/private.txt", env.repo().join("file-link")).unwrap();
    symlink("../outside", env.repo().join("dir-link")).unwrap();
    symlink(env.root().join("outside/private.txt"), env.repo().join("src/absolute")).unwrap();
    symlink("loop", env.repo().join("loop")).unwrap();
    symlink(".", env.repo().join("docs/here")).unwrap();
    symlink("..", env.repo().join("docs/up")).unwrap();
    let (report, entries) = pack(&env, &[]);
    for path in ["file-link", "dir-link", "src/absolute", "loop", "docs/here", "docs/up"] {
        assert_eq!(reason(&report, path), "symlink", "{path}");
    }
    assert!(entries.iter().all(|(_, content)| !content.starts_with(b"private")));
    // A tracked file in a directory that was replaced by a link is not there.
    env.git(&["checkout", "-q", "-b", "work"]);
    let ran = env.sh("rm -r docs/here docs/up && mv docs ../moved && ln -s ../moved docs");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let (report, _) = pack(&env, &[]);
    assert_eq!(reason(&report, "docs"), "symlink");
    assert!(!report["manifest"].to_string().contains("guide.md"));
}

#[test]
fn devices_and_pipes_are_not_opened_and_huge_files_not_read() {
    let env = TestEnv::new();
    let ran = env.sh("mkfifo pipe src/pipe");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let _socket = std::os::unix::net::UnixListener::bind(env.repo().join("socket")).unwrap();
    File::create(env.repo().join("sparse")).unwrap().set_len(5 << 30).unwrap();
    let (report, entries) = pack(&env, &[]);
    for (path, expected) in
        [("pipe", "special_file"), ("src/pipe", "special_file"), ("socket", "special_file"), ("sparse", "too_large")]
    {
        assert_eq!(reason(&report, path), expected, "{path}");
    }
    assert_eq!(entries.len(), 3 + 5);
    // Asked for by name and with the highest limit, it is still not read.
    let ran = env.expect(1, &["bundle", "--max-file-size", "1G", "--max-total-size", "1G", "sparse"]);
    assert!(ran.stderr.contains("(too_large)"), "{}", ran.stderr);
    // A tracked file that became a pipe.
    let ran = env.sh("rm src/lexer.rs && mkfifo src/lexer.rs");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    assert_eq!(reason(&pack(&env, &["src"]).0, "src/lexer.rs"), "special_file");
}

#[test]
fn deep_trees_end_somewhere() {
    let env = TestEnv::new();
    let ran =
        env.sh("(for i in $(seq 300); do mkdir d && cd d || exit 1; done && echo deep > file) && echo top > d/file");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let (report, entries) = pack(&env, &[]);
    let list = report["excluded"].as_array().unwrap();
    assert_eq!((list.len(), &list[0]["reason"]), (1, &Value::from("unreadable")));
    assert!(entries.iter().any(|(name, _)| name.ends_with("/files/d/file")));
}

/// Files grow, vanish, become links and come back while packages are made. Each package is a whole one, and holds nothing
/// that no file ever held.
#[test]
fn files_that_change_while_they_are_read_do_no_harm() {
    let env = TestEnv::new();
    std::fs::write(env.root().join("private.txt"), "private\n").unwrap();
    let directory = env.repo().join("busy");
    std::fs::create_dir(&directory).unwrap();
    for number in 0..40 {
        std::fs::write(directory.join(format!("{number}.txt")), "quiet\n").unwrap();
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let path = directory.join(format!("{}.txt", round % 40));
                let _ = std::fs::remove_file(&path);
                match round % 4 {
                    0 => drop(symlink("../../private.txt", &path)),
                    1 => drop(std::fs::write(&path, "x".repeat(round % 200_000))),
                    2 => {
                        let _ = std::fs::rename(&directory, env.repo().join("away"));
                        let _ = symlink("..", &directory);
                        let _ = std::fs::remove_file(&directory);
                        let _ = std::fs::rename(env.repo().join("away"), &directory);
                    }
                    _ => drop(std::fs::write(&path, "quiet\n")),
                }
            }
        });
        for _ in 0..12 {
            let ran = env.prepared("git", &["oracle", "bundle", "--format", "zip"]).output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(ran.status.success(), "{said}");
            for (name, content) in unzip(&ran.stdout).into_iter().filter(|(name, _)| name.contains("/busy/")) {
                assert!(content == b"quiet\n" || content.iter().all(|byte| *byte == b'x'), "{name}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_repository_with_many_files_is_packed_as_far_as_it_goes() {
    let env = TestEnv::new();
    let directory = env.repo().join("many");
    std::fs::create_dir(&directory).unwrap();
    for number in 0..3000 {
        std::fs::write(directory.join(format!("{number:04}.txt")), format!("{number:099}\n")).unwrap();
    }
    let (report, entries) = pack(&env, &["--max-total-size", "200K", "many"]);
    assert_eq!((entries.len(), report["excluded"].as_array().unwrap().len()), (3 + 2048, 3000 - 2048));
    assert!(report["excluded"].as_array().unwrap().iter().all(|left| left["reason"] == "total_size"));
    let text = env.expect(0, &["bundle", "--max-total-size", "200K", "many"]);
    assert!(text.stdout.contains("- … and 852 more\n"), "{}", &text.stdout[..2000]);
    assert!(text.stderr.lines().count() <= 24, "{}", text.stderr);
}
