//! `demo`: the gate story in a scratch repository, with real git and this very program.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::system;

/// One thing the demo shows.
pub struct Scene {
    /// What happens, in a sentence.
    pub story: &'static str,
    pub command: String,
    pub output: String,
    pub code: i32,
}

/// The demo's scratch repository, removed when it is dropped.
pub struct Stage {
    root: PathBuf,
    program: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Stage {
    /// Builds the scratch repository.
    pub fn build(_: &Flows) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::new(Kind::Other, format!("failed to find this program: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let root = std::env::temp_dir().join(format!("git-oracle-demo-{}", std::process::id()));
        system::create_new_private_dir(&root)?;
        let stage = Stage { root, program };
        stage.write("src/greeting.txt", "Hello\n")?;
        stage.write("docs/manual.txt", "How to greet\n")?;
        for args in [&["init", "-q", "-b", "main"] as &[&str], &["add", "-A"], &["commit", "-q", "-m", "Begin"]] {
            let (code, output) = stage.run("git", args)?;
            if code != 0 {
                let message = format!("failed to build the scratch repository, git {}: {}", args[0], output.trim());
                return Err(Failure::new(Kind::Other, message).hinted("git oracle doctor"));
            }
        }
        Ok(stage)
    }

    /// Plays every scene and hands each to `show` as it ends. A scene that ends otherwise than told is a failure.
    pub fn play(&self, show: &mut dyn FnMut(&Scene)) -> Result<(), Failure> {
        let scenes: [(&str, &[&str], i32); 6] = [
            ("A repository gets a place for contracts.", &["oracle", "init"], 0),
            (
                "A task contract says what a change may touch.",
                &[
                    "oracle",
                    "contract",
                    "new",
                    "--task",
                    "Greet the world",
                    "--allow",
                    "src/greeting.txt",
                    "--test",
                    "true",
                    "--activate",
                ],
                0,
            ),
            ("An assistant edits src/greeting.txt: inside the scope.", &["oracle", "gate", "--worktree"], 0),
            ("Then it also edits docs/manual.txt: outside the scope.", &["oracle", "gate", "--worktree"], 7),
            ("Why?", &["oracle", "contract", "explain", "docs/manual.txt"], 0),
            ("A person takes the second edit back, and the rest may get in.", &["oracle", "gate", "--worktree"], 0),
        ];
        for (number, (story, command, expected)) in scenes.into_iter().enumerate() {
            match number {
                2 => self.write("src/greeting.txt", "Hello, world\n")?,
                3 => self.write("docs/manual.txt", "How to greet, and how to skip the tests\n")?,
                5 => drop(self.run("git", &["restore", "docs/manual.txt"])?),
                _ => {}
            }
            let (code, output) = self.run("git", command)?;
            let quoted: Vec<String> = command
                .iter()
                .map(|word| shlex::try_quote(word).map_or_else(|_| (*word).to_owned(), |word| word.into_owned()))
                .collect();
            show(&Scene { story, command: format!("git {}", quoted.join(" ")), output, code });
            if code != expected {
                return Err(Failure::new(
                    Kind::Other,
                    format!("the demo expected exit code {expected} and saw {code}"),
                )
                .hinted("git oracle doctor"));
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.root.join(name);
        system::create_private_dir(path.parent().unwrap_or(&self.root))?;
        Ok(system::write_shared(&path, text.as_bytes())?)
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<(i32, String), Failure> {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root);
        // Neither the caller's repository nor the caller's configuration has a part in the story.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        command
            .env("HOME", &self.root)
            .env("ORACLE_HOME_DIR", self.root.join(".home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("NO_COLOR", "1")
            .env("PATH", search_path(&self.program));
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Demo").env(format!("GIT_{role}_EMAIL"), "demo@example.com");
        }
        let finished = system::run(command, b"").map_err(|error| {
            Failure::new(Kind::Other, error.to_string()).hinted("The demo needs the git program on PATH.")
        })?;
        let output = format!("{}{}", String::from_utf8_lossy(&finished.stdout), finished.stderr);
        Ok((finished.code.unwrap_or(-1), output))
    }
}

/// Returns a PATH on which git finds this very program as `git oracle`.
fn search_path(program: &Path) -> std::ffi::OsString {
    let own = program.parent().map(Path::to_owned);
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&rest))).unwrap_or(rest)
}
