//! What a shell command says about the hooks and about files.
//!
//! A first layer only. It catches what an agent does out of habit (`--no-verify`, `> file`); whoever wants to hide
//! something from a reader of text can. The tree and the branches are judged afterwards, whatever the text was.

use std::rc::Rc;

use crate::agent::Claim;
use crate::agent::Evasion;
use crate::agent::Touch;
use crate::agent::Wish;
use crate::agent::begin_patch::patch_paths;
use crate::agent::shell::MAX_DEPTH;
use crate::agent::shell::Simple;
use crate::agent::shell::Word;
use crate::agent::shell::split;

const HOOKS: &str = ".git/hooks";
const REFS: &str = ".git/refs";
const CONFIG: &str = ".git/config";

/// Programs that run another one that is named among their arguments.
const WRAPPERS: [&str; 14] = [
    "env", "command", "builtin", "exec", "nohup", "sudo", "doas", "nice", "stdbuf", "timeout", "xargs", "setsid",
    "find", "time",
];

/// Words that stand before a command.
const RESERVED: [&str; 9] = ["then", "do", "else", "elif", "if", "while", "until", "!", "{"];

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "ash"];

/// Programs that give variables to others.
const EXPORTERS: [&str; 5] = ["env", "export", "declare", "typeset", "readonly"];

/// Where programs that write files name them.
const WRITERS: [(&str, Operands); 15] = [
    ("tee", Operands::All),
    ("rm", Operands::All),
    ("rmdir", Operands::All),
    ("mv", Operands::All),
    ("touch", Operands::All),
    ("truncate", Operands::All),
    ("unlink", Operands::All),
    ("shred", Operands::All),
    ("cp", Operands::Last),
    ("ln", Operands::Last),
    ("install", Operands::Last),
    ("rsync", Operands::Last),
    ("chmod", Operands::AllButFirst),
    ("chown", Operands::AllButFirst),
    ("sed", Operands::InPlace),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    All,
    Last,
    AllButFirst,
    /// All but the script, and only with `-i`.
    InPlace,
}

/// Returns what a command would do, as far as its text tells.
pub fn look_at_command(text: &str) -> Wish {
    let mut reader = Reader::default();
    reader.script(text, 0);
    // Applied by the agent itself in ways that are no command of the shell: nothing names where it begins.
    if text.contains("*** Begin Patch") && !reader.saw_patch {
        reader.wish.touches.extend(patch_paths(text));
    }
    reader.finish()
}

/// Returns what a command would do that is given as a list of words.
pub(super) fn look_at_words(words: &[&str]) -> Wish {
    let word = |text: &&str| Word { text: (*text).to_owned(), expands: false };
    let mut reader = Reader::default();
    reader.simple(&Simple { words: words.iter().map(word).collect(), ..Simple::default() }, 0);
    reader.finish()
}

#[derive(Default)]
struct Reader {
    wish: Wish,
    /// Where `cd` has led to; the inner `None` when that is not known.
    directory: Option<Option<String>>,
    saw_patch: bool,
    commands: usize,
    oracle_commands: usize,
}

impl Reader {
    fn finish(mut self) -> Wish {
        let harmless = self.wish.evasions.is_empty() && self.wish.touches.is_empty();
        self.wish.is_way_out = harmless && self.commands == 1 && self.oracle_commands == 1;
        self.wish
    }

    fn script(&mut self, text: &str, depth: usize) {
        let script = split(text, depth);
        if script.too_deep || depth > MAX_DEPTH {
            self.evade(HOOKS, "the command is nested too deeply to be read");
            return;
        }
        script.commands.iter().for_each(|simple| self.simple(simple, depth));
    }

    fn evade(&mut self, place: &'static str, message: impl Into<String>) {
        let evasion = Evasion { place, message: message.into() };
        if !self.wish.evasions.contains(&evasion) {
            self.wish.evasions.push(evasion);
        }
    }

    fn touch(&mut self, word: &Word) {
        let from = match &self.directory {
            Some(None) if !word.text.starts_with('/') => return,
            Some(Some(directory)) => Some(directory.clone()),
            _ => None,
        };
        // What the shell puts in is not known; the tree is judged afterwards.
        if !word.expands && !word.text.is_empty() {
            self.wish.touches.push(Touch { from, ..Touch::new(&word.text, Claim::Shell) });
        }
    }

    fn simple(&mut self, simple: &Simple, depth: usize) {
        self.commands += 1;
        simple.writes.iter().for_each(|target| self.touch(target));
        let is_assignment = |word: &Word| word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
        let mut words = simple.words.as_slice();
        while let [first, rest @ ..] = words
            && (RESERVED.contains(&first.text.as_str()) || is_assignment(first))
        {
            self.variable(first);
            words = rest;
        }
        self.program(words, &simple.documents, depth);
    }

    fn variable(&mut self, word: &Word) {
        if word.text.starts_with("GIT_CONFIG_") && word.text.contains('=') {
            let name = word.text.split('=').next().unwrap_or_default();
            self.evade(CONFIG, format!("`{name}` gives git another configuration, and with it other hooks"));
        }
    }

    fn program(&mut self, words: &[Word], documents: &[Rc<str>], depth: usize) {
        let [first, rest @ ..] = words else { return };
        let name = first.text.rsplit('/').next().unwrap_or_default();
        if EXPORTERS.contains(&name) {
            rest.iter().for_each(|word| self.variable(word));
        }
        match name {
            "git" => self.git(rest),
            "git-oracle" => self.oracle(rest),
            "cd" | "pushd" => self.change_directory(rest),
            "eval" => {
                let text: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
                self.script(&text.join(" "), depth + 1);
            }
            "apply_patch" | "applypatch" => self.patch(rest, documents),
            "dd" => rest.iter().filter_map(|word| word.text.strip_prefix("of=")).for_each(|path| {
                self.touch(&Word { text: path.to_owned(), expands: false });
            }),
            _ if SHELLS.contains(&name) => self.shell(rest, documents, depth),
            _ if WRAPPERS.contains(&name) => {
                let is_program = |word: &Word| {
                    let name = word.text.rsplit('/').next().unwrap_or_default();
                    name == "git" || SHELLS.contains(&name) || WRITERS.iter().any(|(writer, _)| *writer == name)
                };
                if let Some(at) = rest.iter().position(is_program) {
                    self.program(&rest[at..], documents, depth);
                }
            }
            _ => {
                if let Some((_, operands)) = WRITERS.iter().find(|(writer, _)| *writer == name) {
                    self.written(rest, *operands);
                }
            }
        }
    }

    fn change_directory(&mut self, words: &[Word]) {
        let target = words.iter().find(|word| !word.text.starts_with('-'));
        self.directory = Some(match (target, self.directory.take()) {
            (Some(word), _) if word.expands || word.text.starts_with('~') => None,
            (Some(word), _) if word.text.starts_with('/') => Some(word.text.clone()),
            (Some(word), None) => Some(word.text.clone()),
            (Some(word), Some(Some(before))) => Some(format!("{before}/{}", word.text)),
            _ => None,
        });
    }

    fn patch(&mut self, words: &[Word], documents: &[Rc<str>]) {
        self.saw_patch = true;
        let texts = words.iter().map(|word| word.text.as_str()).chain(documents.iter().map(|document| &**document));
        let from = self.directory.clone().flatten();
        let touches: Vec<Touch> =
            texts.flat_map(patch_paths).map(|touch| Touch { from: from.clone(), ..touch }).collect();
        self.wish.touches.extend(touches);
    }

    fn shell(&mut self, words: &[Word], documents: &[Rc<str>], depth: usize) {
        let takes_script =
            |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c');
        if let Some(at) = words.iter().position(takes_script) {
            let script = words[at + 1..].iter().find(|word| !word.text.starts_with('-'));
            // Counted again inside, so that a lone `git oracle` stays a lone one only when it is typed plainly.
            if let Some(script) = script {
                self.script(&script.text, depth + 1);
            }
        } else {
            documents.iter().for_each(|document| self.script(document, depth + 1));
        }
    }

    fn written(&mut self, words: &[Word], operands: Operands) {
        let is_option = |word: &&Word| word.text.starts_with('-') && word.text.len() > 1;
        let in_place = words.iter().any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"));
        let is_script = |word: &&Word| word.text.starts_with("-e") || word.text.starts_with("--expression");
        let scripts: Vec<&Word> = words.iter().filter(is_script).collect();
        // A script that is not joined to its option stands among the operands, as it does without an option.
        let apart = scripts.iter().filter(|word| matches!(word.text.as_str(), "-e" | "--expression")).count();
        let named: Vec<&Word> = words.iter().filter(|word| !is_option(word)).collect();
        let written = match operands {
            Operands::All => named.as_slice(),
            Operands::Last => named.get(named.len().saturating_sub(1).max(1)..).unwrap_or_default(),
            Operands::AllButFirst => named.get(1..).unwrap_or_default(),
            Operands::InPlace if !in_place => &[],
            Operands::InPlace => named.get(if scripts.is_empty() { 1 } else { apart }..).unwrap_or_default(),
        };
        written.iter().for_each(|word| self.touch(word));
    }

    fn git(&mut self, words: &[Word]) {
        let mut words = words;
        while let [option, rest @ ..] = words
            && option.text.starts_with('-')
        {
            words = rest;
            match option.text.as_str() {
                "-c" | "--config-env" => {
                    if let [setting, rest @ ..] = words {
                        self.setting(&setting.text);
                        words = rest;
                    }
                }
                "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--super-prefix" | "--attr-source" => {
                    words = words.get(1..).unwrap_or_default();
                }
                text => {
                    if let Some(setting) = text.strip_prefix("--config-env=") {
                        self.setting(setting);
                    }
                }
            }
        }
        let [command, rest @ ..] = words else { return };
        match command.text.as_str() {
            "oracle" => self.oracle(rest),
            "config" => self.git_config(rest),
            "update-ref" | "commit-tree" | "fast-import" => {
                self.evade(REFS, format!("`git {}` makes commits or moves branches by hand", command.text));
            }
            "rm" | "mv" => self.written(rest, Operands::All),
            _ => {}
        }
        self.no_verify(&command.text, rest);
    }

    fn setting(&mut self, setting: &str) {
        let key = setting.split('=').next().unwrap_or_default();
        if is_hook_key(key) {
            self.evade(CONFIG, format!("`git -c {key}` takes the hooks out of use"));
        }
    }

    fn git_config(&mut self, words: &[Word]) {
        let reads =
            words.iter().any(|word| word.text.starts_with("--get") || word.text == "get" || word.text == "list");
        if let Some(key) = words.iter().find(|word| is_hook_key(&word.text)).filter(|_| !reads) {
            self.evade(CONFIG, format!("`git config {}` changes which hooks run", key.text));
        }
    }

    /// Looks for `--no-verify`, in the short forms that git takes for it too.
    fn no_verify(&mut self, command: &str, words: &[Word]) {
        let short = matches!(command, "commit" | "am");
        let mut words = words.iter().map(|word| word.text.as_str());
        while let Some(word) = words.next() {
            if word == "--" {
                return;
            }
            let is_long = word.len() >= "--no-ve".len() && "--no-verify".starts_with(word);
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            // Behind one of these letters stands a value, in the same word or in the next.
            let end = letters.find(|c| "mFCctSu".contains(c));
            if is_long || short && letters[..end.unwrap_or(letters.len())].contains('n') {
                self.evade(HOOKS, format!("`git {command} {word}` skips the hooks"));
                return;
            }
            let takes_next = end.is_some_and(|end| end + 1 == letters.len() && !letters.ends_with(['S', 'u']));
            if short && (takes_next || matches!(word, "--message" | "--file" | "--author" | "--template" | "--trailer"))
            {
                words.next();
            }
        }
    }

    fn oracle(&mut self, words: &[Word]) {
        let plain: Vec<&str> =
            words.iter().map(|word| word.text.as_str()).filter(|word| !word.starts_with('-')).collect();
        if matches!(plain.as_slice(), ["hooks", "uninstall", ..]) {
            self.evade(HOOKS, "`git oracle hooks uninstall` is for the person");
        }
        if !words.iter().any(|word| word.expands) {
            self.oracle_commands += 1;
        }
    }
}

/// Tells whether a configuration key decides which hooks run, or which further configuration is read.
fn is_hook_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key == "core.hookspath" || ["hook.", "include.", "includeif."].iter().any(|start| key.starts_with(start))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_around_the_hooks_are_seen() {
        for text in [
            "git commit --no-verify -m x",
            "git commit --no-verif -m x",
            "git commit -nm x",
            "git commit -anm x",
            "git commit -m x -n",
            "git -C sub commit -n",
            "git push --no-verify",
            "git am -n x.patch",
            "cd sub && /usr/bin/git commit -a --no-verify",
            "git -c core.hooksPath=/dev/null commit -m x",
            "git -c CORE.HOOKSPATH= commit",
            "git -c hook.x.command=true commit",
            "git --config-env=core.hooksPath=X commit",
            "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath git commit",
            "export GIT_CONFIG_GLOBAL=/tmp/x; git commit",
            "env GIT_CONFIG_COUNT=0 git commit",
            "git config core.hooksPath /tmp",
            "git config --unset core.hookspath",
            "git update-ref refs/heads/main HEAD~1",
            "x=$(git commit-tree HEAD^{tree} -m x)",
            "bash -lc 'git commit --no-verify -m x'",
            "sh -c \"sh -c 'git commit -n'\"",
            "eval \"git commit -n\"",
            "bash <<EOF\ngit commit -n\nEOF",
            "echo x | xargs git commit -n -m",
            "if true; then git commit -n; fi",
            "(git commit -n)",
            "true;git commit -n;",
            "sudo -u bob git push --no-verify",
            "git commit -m \"$(cat <<'EOF'\nDon't (yet\nEOF\n)\" && git push --no-verify",
            "git oracle hooks uninstall --agent claude",
        ] {
            assert_ne!(look_at_command(text).evasions, [], "{text}");
        }
    }

    #[test]
    fn ordinary_commands_are_let_alone() {
        for text in [
            "git commit -m 'no more --no-verify'",
            "git commit -m --no-verify",
            "git commit -am n",
            "git commit -mn",
            "git commit -S -m n",
            "git commit -- -n",
            "git push -n origin main",
            "git merge -n topic",
            "git log -n 3",
            "git config --get core.hooksPath",
            "git config user.name n",
            "git -c user.name=n commit -m x",
            "grep -rn 'git commit -n' docs",
            "echo git commit --no-verify",
            "cat <<EOF\ngit commit -n\nEOF",
            "git commit -m \"$(cat <<'EOF'\nDon't say\ngit commit -n\nEOF\n)\" && git push",
            "cargo test 2>&1 | tail -n 5",
        ] {
            assert_eq!(look_at_command(text).evasions, [], "{text}");
        }
    }

    fn touched(text: &str) -> Vec<String> {
        let shown = |touch: Touch| match touch.from {
            Some(from) => format!("{from}:{}", touch.path),
            None => touch.path,
        };
        look_at_command(text).touches.into_iter().map(shown).collect()
    }

    #[test]
    fn files_that_are_plainly_written_are_named() {
        let cases: [(&str, &[&str]); 16] = [
            ("echo x > a 2>/dev/null", &["a", "/dev/null"]),
            ("echo x | tee -a b c", &["b", "c"]),
            ("sed -i 's/a/b/' c d", &["c", "d"]),
            ("sed -i.bak -e 's/a/b/' c", &["c"]),
            ("sed 's/a/b/' c", &[]),
            ("cp a b", &["b"]),
            ("mv a b", &["a", "b"]),
            ("rm -rf \"$X\" d/*", &["d/*"]),
            ("dd if=a of=b", &["b"]),
            ("chmod +x .git/hooks/pre-commit", &[".git/hooks/pre-commit"]),
            ("cd sub && echo > a && cd deep && rm b", &["sub:a", "sub/deep:b"]),
            ("cd \"$X\" && rm a /b", &["/b"]),
            ("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF", &["a"]),
            ("cd sub && apply_patch '*** Begin Patch\n*** Delete File: a\n*** End Patch'", &["sub:a"]),
            ("weird '*** Begin Patch\n*** Add File: a\n+x\n'", &["a"]),
            ("git rm a && git mv b c", &["a", "b", "c"]),
        ];
        for (text, expected) in cases {
            assert_eq!(touched(text), expected, "{text}");
        }
    }

    #[test]
    fn the_way_out_is_one_plain_command() {
        for text in [
            "git oracle status",
            "git oracle contract new --task x --allow src/ --test 'cargo test'",
            "git-oracle doctor",
        ] {
            assert!(look_at_command(text).is_way_out, "{text}");
        }
        for text in [
            "git oracle status; rm x",
            "git oracle status > x",
            "git oracle $(rm x)",
            "git oracle \"$X\"",
            "git oracle hooks uninstall",
            "git -c core.hooksPath=x oracle status",
            "git status",
            "",
        ] {
            assert!(!look_at_command(text).is_way_out, "{text}");
        }
        assert!(look_at_words(&["git", "oracle", "status"]).is_way_out);
        assert_ne!(look_at_words(&["bash", "-lc", "git commit -n"]).evasions, []);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_looked_at(text in "(git|sh|-c|-n|commit|cd|rm|>|<<E|'|\"|\\$\\(|\\)|[ \n\\\\;é]){0,30}") {
            let _ = look_at_command(&text);
        }
    }
}
