//! A witness between git and the hooks: it writes down what git asked, what was known then, and what the answer was.

use std::path::PathBuf;

use crate::support::TestEnv;

/// What one hook was asked and answered.
#[derive(Debug)]
pub struct Asked {
    /// `pre-commit`, `pre-merge-commit`, `reference-transaction`.
    pub hook: String,
    /// The lines that git wrote to the hook.
    pub input: Vec<String>,
    /// What branches, remote-tracking branches and a detached HEAD reached at that moment.
    pub known: Vec<String>,
    /// The tree that was about to be committed, for the hooks before a commit.
    pub tree: String,
    /// The parents that the commit was to have.
    pub parents: Vec<String>,
    pub refused: bool,
    pub said: String,
}

pub struct Witness {
    notes: PathBuf,
    read: usize,
}

/// git runs this in the place of each hook. It runs the installed one as git would, with the same name, arguments,
/// environment and input. The index is copied before a tree is made of it: writing a tree leaves a mark in the index.
const SCRIPT: &str = r#"#!/bin/sh
hook=${0##*/}
installed=@HOOKS@/$hook
if [ "$hook" = reference-transaction ] && [ "$1" != prepared ]; then exec "$installed" "$@"; fi
set -- "$@"
note=@NOTES@/$(ls @NOTES@ | wc -l)
mkdir "$note" && echo "$hook" >"$note/hook"
if [ "$hook" = reference-transaction ]; then cat >"$note/input"; else : >"$note/input"; fi
git for-each-ref --format='%(objectname) %(symref)' refs/heads refs/remotes | sed -n 's/ $//p' >"$note/known"
git symbolic-ref -q HEAD >/dev/null || git rev-parse -q --verify HEAD >>"$note/known"
if [ "$hook" != reference-transaction ]; then
    git rev-parse -q --verify HEAD >"$note/parents"
    if [ -e "$(git rev-parse --git-path MERGE_HEAD)" ]; then
        cat "$(git rev-parse --git-path MERGE_HEAD)" >>"$note/parents"
    else
        env | sed -n 's/^GITHEAD_\([0-9a-f]*\)=.*/\1/p' >>"$note/parents"
    fi
    cp "$(git rev-parse --git-path index)" "$note/index" &&
        GIT_INDEX_FILE=$note/index git write-tree >"$note/tree"
fi
"$installed" "$@" <"$note/input" 2>"$note/said"
code=$?
cat "$note/said" >&2
echo $code >"$note/code"
exit $code
"#;

impl Witness {
    /// Puts a witness before the installed hooks.
    pub fn call(env: &TestEnv) -> Self {
        let (hooks, notes) = (env.root().join("witness"), env.root().join("notes"));
        std::fs::create_dir_all(&notes).expect("a directory");
        let quoted = |path: &std::path::Path| format!("'{}'", path.display());
        let script =
            SCRIPT.replace("@HOOKS@", &quoted(&env.repo().join(".git/hooks"))).replace("@NOTES@", &quoted(&notes));
        for hook in ["pre-commit", "pre-merge-commit", "reference-transaction"] {
            env.write_executable(&hooks.join(hook), &script);
        }
        env.git(&["config", "core.hooksPath", &hooks.to_string_lossy()]);
        Witness { notes, read: 0 }
    }

    /// Returns what was asked since the last time.
    pub fn hear(&mut self) -> Vec<Asked> {
        let mut all = Vec::new();
        while let Ok(hook) = std::fs::read_to_string(self.notes.join(self.read.to_string()).join("hook")) {
            let directory = self.notes.join(self.read.to_string());
            let text = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap_or_default();
            let lines = |name: &str| text(name).lines().map(str::to_owned).collect();
            all.push(Asked {
                hook: hook.trim_end().to_owned(),
                input: lines("input"),
                known: lines("known"),
                tree: text("tree").trim_end().to_owned(),
                parents: lines("parents"),
                refused: text("code").trim_end() != "0",
                said: text("said"),
            });
            self.read += 1;
        }
        all
    }
}
