//! `tests/scenarios/patch/`: one folder for each reply. Adding a case means adding a folder.
//!
//! `reply.md` is the reply and `before/` the repository. Either `after/` is what the patch makes of it, by `git apply
//! --index`, or `reject` has the reason for which there is no patch. `args` has more arguments, one in each line.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use crate::support::TestEnv;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/patch");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

/// Returns the files under a directory, but for git's own.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.extend((entry.file_name() != ".git").then_some(path));
            } else {
                let content = std::fs::read(&path).unwrap().escape_ascii().to_string();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), content);
            }
        }
    }
    found
}

fn play(folder: &Path) -> Result<(), String> {
    let env = TestEnv::new();
    env.git(&["rm", "-rqf", "--ignore-unmatch", "."]);
    for path in files(&folder.join("before")).keys() {
        let to = env.repo().join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(folder.join("before").join(path), to).unwrap();
    }
    env.git(&["add", "-A", "-f"]);
    env.git(&["commit", "-q", "--allow-empty", "-m", "Before"]);
    let reply = folder.join("reply.md").to_string_lossy().into_owned();
    let more = std::fs::read_to_string(folder.join("args")).unwrap_or_default();
    let args: Vec<&str> = ["extract", &reply].into_iter().chain(more.lines()).collect();
    let ran = env.oracle(&args);
    if let Ok(reason) = std::fs::read_to_string(folder.join("reject")) {
        let told = format!("({})", reason.trim());
        let silent = ran.stdout.is_empty();
        return if ran.code == 2 && silent && ran.stderr.contains(&told) && ran.stderr.contains("hint: ") {
            Ok(())
        } else {
            Err(format!("expected {told}, found {}", ran.shown()))
        };
    }
    if ran.code != 0 {
        return Err(ran.shown());
    }
    let again = env.oracle(&args);
    if again.stdout != ran.stdout {
        return Err("the patch is another one the second time".into());
    }
    let patch = env.repo().join(".git/reply.patch");
    std::fs::write(&patch, &ran.stdout).unwrap();
    let applied = env.run_in(&env.repo(), "git", &["apply", "--index", &patch.to_string_lossy()], &[]);
    if applied.code != 0 {
        return Err(format!("{}\n{}", applied.shown(), ran.stdout));
    }
    let (found, expected) = (files(&env.repo()), files(&folder.join("after")));
    if found != expected {
        return Err(format!("expected {expected:#?}\nfound {found:#?}"));
    }
    Ok(())
}

#[test]
fn every_reply_becomes_its_patch_or_none() {
    let folders = folders();
    assert!(folders.len() > 50, "the scenarios are there");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(folder) = folders.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if let Err(failure) = play(folder) {
                        let name = folder.file_name().unwrap().to_string_lossy();
                        failures.lock().unwrap().push(format!("{name}: {failure}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
