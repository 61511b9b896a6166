//! `demo`: the whole story in a scratch repository, with real git, a real browser on our own chat page, and this very
//! program.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::Kind;
use crate::system;
use crate::transport::rehearsal::Rehearsal;
use crate::transport::rehearsal::Reply;
use crate::transport::rehearsal::Script;

/// What somebody does on the stage, without a word from us.
type Act = fn(&Stage) -> Result<(), Failure>;

/// One thing the demo shows.
pub struct Scene {
    /// What happens, in a sentence.
    pub story: &'static str,
    before: Option<Act>,
    words: Vec<String>,
    expected: i32,
}

impl Scene {
    fn new(story: &'static str, expected: i32, words: &[&str]) -> Self {
        Scene { story, before: None, words: words.iter().map(|word| (*word).to_owned()).collect(), expected }
    }

    fn after(mut self, before: Act) -> Self {
        self.before = Some(before);
        self
    }

    /// Returns the command as it is typed.
    pub fn command(&self) -> String {
        let quoted = self.words.iter().map(|word| match shlex::try_quote(word) {
            Ok(word) => word.into_owned(),
            Err(_) => word.clone(),
        });
        format!("git {}", quoted.collect::<Vec<_>>().join(" "))
    }
}

/// How often whoever watches is told where a scene stands.
const TICK: Duration = Duration::from_millis(100);

/// The session of the review.
const SLUG: &str = "greet-the-world";

/// How a scene ended.
pub struct Ended {
    pub output: String,
    pub code: i32,
}

/// The demo's scratch repository, its remote and its chat page; gone when it is dropped.
pub struct Stage {
    root: PathBuf,
    program: PathBuf,
    page: Rehearsal,
    /// Where the pictures stay.
    keep: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// What the assistant answers: first with a hunk too many, then with what was asked for.
const ANSWERS: [&str; 2] = [
    "{{REQUEST_ID}}

The greeting should end like a sentence, and the manual should say so.

```diff
diff --git a/src/greet/hello.txt b/src/greet/hello.txt
--- a/src/greet/hello.txt
+++ b/src/greet/hello.txt
@@ -1 +1 @@
-Hello, world
+Hello, world!
diff --git a/docs/manual.txt b/docs/manual.txt
--- a/docs/manual.txt
+++ b/docs/manual.txt
@@ -1 +1,2 @@
 How to greet
+End with an exclamation mark.
```

{{REQUEST_ID}}",
    "{{REQUEST_ID}}

Then the rule goes where the patch may go.

```diff
diff --git a/src/greet/rules.txt b/src/greet/rules.txt
new file mode 100644
--- /dev/null
+++ b/src/greet/rules.txt
@@ -0,0 +1 @@
+End with an exclamation mark.
```

{{REQUEST_ID}}",
];

impl Stage {
    /// Builds the scratch repository, its remote and the chat page.
    pub fn build(flows: &Flows) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| Failure::new(Kind::Other, format!("failed to set the demo up: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let keep = flows.home()?.join("demo");
        system::create_private_dir(&keep)?;
        // An answer that can be watched as it comes.
        let replies = ANSWERS.map(|text| Reply { chunk: 8, every_ms: 12, ..Reply::of(text) });
        let page = Rehearsal::start(Script { replies: replies.into(), ..Script::default() }).map_err(failed)?;
        let root = std::env::temp_dir().join(format!("git-oracle-demo-{}", std::process::id()));
        system::create_new_private_dir(&root)?;
        let stage = Stage { root, program, page, keep };
        system::create_private_dir(&stage.repository())?;
        stage.write("src/greet/hello.txt", "Hello\n")?;
        stage.write("docs/manual.txt", "How to greet\n")?;
        for args in [
            &["init", "-q", "-b", "main"] as &[&str],
            &["add", "-A"],
            &["commit", "-q", "-m", "Begin"],
            &["init", "-q", "--bare", "-b", "main", "../origin.git"],
            &["remote", "add", "origin", "../origin.git"],
            &["push", "-q", "origin", "main"],
            &["switch", "-q", "-c", "feature/greet"],
        ] {
            let ended = stage.run(args)?;
            if ended.code != 0 {
                let message =
                    format!("failed to build the scratch repository, git {}: {}", args[0], ended.output.trim());
                return Err(Failure::new(Kind::Other, message).hinted("git oracle doctor"));
            }
        }
        Ok(stage)
    }

    fn scenes(&self) -> Vec<Scene> {
        let url = self.page.url();
        let page = self.keep.join("review.html").display().to_string();
        let test = "grep -q world src/greet/hello.txt";
        vec![
            Scene::new("A repository gets hooks and a place for contracts.", 0, &["oracle", "init"]),
            Scene::new(
                "A task contract says what a change may touch, and how it is accepted.",
                0,
                &[
                    "oracle",
                    "contract",
                    "new",
                    "--task",
                    "Greet the world",
                    "--allow",
                    "src/greet",
                    "--test",
                    test,
                    "--activate",
                ],
            ),
            Scene::new(
                "An assistant edits src/greet/hello.txt, and docs/manual.txt on the way. The commit is refused.",
                1,
                &["commit", "-q", "-a", "-m", "Greet the world"],
            )
            .after(|stage| {
                stage.write("src/greet/hello.txt", "Hello, world\n")?;
                stage.write("docs/manual.txt", "How to greet, and how to skip the tests\n")
            }),
            Scene::new("Why?", 0, &["oracle", "contract", "explain", "docs/manual.txt"]),
            Scene::new(
                "The second edit is taken back. The rest gets in.",
                0,
                &["commit", "-a", "-m", "Greet the world"],
            )
            .after(|stage| stage.run(&["restore", "--source=HEAD", "--staged", "--worktree", "docs"]).map(drop)),
            Scene::new("It is pushed, so that others can see it.", 0, &["push", "-q", "-u", "origin", "feature/greet"]),
            Scene::new(
                "A review: a chat page in a real browser is asked, its patch is judged hunk by hunk, tried and tested. \
                 What is agreed is committed and pushed.",
                0,
                &[
                    "oracle",
                    "review",
                    "--page",
                    "rehearsal",
                    "--browser-url",
                    &url,
                    "--slug",
                    "greet the world",
                    "--apply-mode",
                    "commit",
                ],
            ),
            Scene::new(
                "What happened? The first answer had a hunk too many, so the page was asked again.",
                0,
                &["oracle", "session", "show", "--last"],
            ),
            Scene::new(
                "The commit is on the remote, and leads back to its evidence.",
                0,
                &["-C", "../origin.git", "log", "-1", "--stat", "feature/greet"],
            ),
            Scene::new(
                "CI judges the same commits by the same contract.",
                0,
                &["oracle", "gate", "--range", "origin/main..origin/feature/greet"],
            ),
            Scene::new("Every refusal is an event.", 0, &["oracle", "events"]),
            Scene::new(
                "The whole review is a page that opens anywhere.",
                0,
                &["oracle", "session", "render", "--last", "--output", &page],
            ),
        ]
    }

    /// Plays every scene: tells `begin` before and `end` after it, and `tick` meanwhile. A scene that ends otherwise than
    /// told is a failure.
    pub fn play(
        &self,
        begin: &mut dyn FnMut(&Scene),
        tick: &mut dyn FnMut(&str),
        end: &mut dyn FnMut(&Scene, &Ended),
    ) -> Result<Vec<PathBuf>, Failure> {
        for scene in self.scenes() {
            if let Some(before) = scene.before {
                before(self)?;
            }
            begin(&scene);
            let command = self.command(&scene.words.iter().map(String::as_str).collect::<Vec<_>>());
            let running = std::thread::spawn(move || finish(command));
            while !running.is_finished() {
                if let Some(state) = self.state().filter(|_| scene.words.iter().any(|word| word == "review")) {
                    tick(&state);
                }
                std::thread::sleep(TICK);
            }
            let ended = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            end(&scene, &ended);
            if ended.code != scene.expected {
                let message = format!("the demo expected exit code {} and saw {}", scene.expected, ended.code);
                return Err(Failure::new(Kind::Other, message).hinted("git oracle doctor"));
            }
        }
        let mut kept = vec![self.keep.join("review.html")];
        let session = self.session();
        for picture in ["screenshot-002.png", "screenshot-001.png"].map(|name| session.join(name)) {
            if let Ok(bytes) = system::read_limited(&picture, 16 << 20) {
                let place = self.keep.join("screenshot.png");
                system::write_private(&place, &bytes)?;
                kept.push(place);
                break;
            }
        }
        Ok(kept)
    }

    fn repository(&self) -> PathBuf {
        self.root.join("greetings")
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.repository().join(name);
        system::create_private_dir(path.parent().unwrap_or(&self.root))?;
        Ok(system::write_shared(&path, text.as_bytes())?)
    }

    fn session(&self) -> PathBuf {
        self.root.join("home/sessions").join(SLUG)
    }

    /// Returns where the review stands, as its ledger tells.
    fn state(&self) -> Option<String> {
        let ledger = system::read_limited(&self.session().join("ledger.jsonl"), 1 << 20).ok()?;
        let lines = ledger.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let (mut turn, mut state) = (0, "");
        for line in lines {
            turn = line["facts"]["turn"].as_u64().unwrap_or(turn);
            state = match line["step"].as_str().unwrap_or_default() {
                "intent" => "opening the page",
                "typed" => "typing",
                "sending" | "sent" | "committed" | "address" => "waiting for the answer",
                "captured" | "extracted" => "judging and testing the patch",
                "judged" => "asking again",
                "agreed" => "bringing it in",
                _ => "pushing",
            };
        }
        Some(format!("turn {turn} · {state}…"))
    }

    fn run(&self, args: &[&str]) -> Result<Ended, Failure> {
        finish(self.command(args))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.repository());
        // Neither the caller's repository nor the caller's configuration has a part in the story.
        let is_ours =
            |name: &str| name.starts_with("GIT_") || name.starts_with("ORACLE_") || name.starts_with("OPENAI_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command
            .env("HOME", &self.root)
            .env("ORACLE_HOME_DIR", self.root.join("home"))
            .env_remove("CHROME_PROFILE_DIR")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("NO_COLOR", "1")
            .env("PATH", search_path(&self.program));
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Demo").env(format!("GIT_{role}_EMAIL"), "demo@example.com");
        }
        command
    }
}

fn finish(command: Command) -> Result<Ended, Failure> {
    let finished = system::run(command, b"").map_err(|error| {
        Failure::new(Kind::Other, error.to_string()).hinted("The demo needs the git program on PATH.")
    })?;
    let output = format!("{}{}", String::from_utf8_lossy(&finished.stdout), finished.stderr);
    Ok(Ended { output, code: finished.code.unwrap_or(-1) })
}

/// Returns a PATH on which git finds this very program as `git oracle`.
fn search_path(program: &Path) -> std::ffi::OsString {
    let own = program.parent().map(Path::to_owned);
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&rest))).unwrap_or(rest)
}
