//! The text of a shell command, cut into simple commands.
//!
//! No shell: nothing is expanded, and what cannot be cut is left out. It sees through quotes, lists, pipes, subshells,
//! substitutions and here-documents, which is as far as a text can be read without running it.

use std::rc::Rc;

/// A command with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub words: Vec<Word>,
    /// Files that output is redirected to.
    pub writes: Vec<Word>,
    /// The here-documents it reads.
    pub documents: Vec<Rc<str>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// The shell puts something in here that is not known.
    pub expands: bool,
}

/// What is found in a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub commands: Vec<Simple>,
    /// Substitutions are nested deeper than anybody writes them, so something was not read.
    pub too_deep: bool,
}

/// Substitutions and scripts in arguments are followed this deep.
pub(super) const MAX_DEPTH: usize = 8;

/// Cuts a text into simple commands, those in substitutions included.
pub(super) fn split(text: &str, depth: usize) -> Script {
    let mut script = Script::default();
    if depth > MAX_DEPTH {
        script.too_deep = true;
        return script;
    }
    let mut cutter = Cutter { text: text.chars().collect(), at: 0, depth, script, ..Cutter::default() };
    cutter.run();
    cutter.script
}

#[derive(Default)]
struct Cutter {
    text: Vec<char>,
    at: usize,
    depth: usize,
    script: Script,
    simple: Simple,
    word: Option<Word>,
    /// The next word is where output goes.
    redirect: bool,
    /// Here-documents that begin after this line: the word that ends each, and whether tabs are dropped.
    pending: Vec<(String, bool)>,
    /// How many commands there were before this line.
    line: usize,
    /// Brackets that are open.
    level: usize,
    /// It ends where a bracket closes that was opened outside.
    is_nested: bool,
}

impl Cutter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_word();
                    self.read_documents();
                    self.end_simple();
                    self.line = self.script.commands.len();
                }
                '&' if self.peek(0) == Some('>') => self.end_word(),
                ')' if self.level == 0 && self.is_nested => break,
                ';' | '&' | '|' | '(' | ')' => {
                    self.end_simple();
                    match c {
                        '(' => self.level += 1,
                        ')' => self.level = self.level.saturating_sub(1),
                        _ => {}
                    }
                }
                '#' if self.word.is_none() => self.skip_line(),
                '\'' => self.quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.peek(0) {
                    Some('\n') | None => self.at += 1,
                    Some(next) => {
                        self.at += 1;
                        self.word().text.push(next);
                    }
                },
                '$' => self.dollar(),
                '`' => self.backtick(),
                '>' => self.output(),
                '<' => self.input(),
                _ => self.word().text.push(c),
            }
        }
        self.end_simple();
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.redirect) {
            true => self.simple.writes.push(word),
            false => self.simple.words.push(word),
        }
    }

    fn end_simple(&mut self) {
        self.end_word();
        self.redirect = false;
        let simple = std::mem::take(&mut self.simple);
        if simple != Simple::default() {
            self.script.commands.push(simple);
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn quoted(&mut self) {
        self.word();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\'' => return,
                _ => self.word().text.push(c),
            }
        }
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (c, self.peek(0)) {
                ('"', _) => return,
                ('\\', Some(next @ ('"' | '\\' | '$' | '`'))) => {
                    self.at += 1;
                    self.word().text.push(next);
                }
                ('\\', Some('\n')) => self.at += 1,
                // Inside of double quotes this is no quote of its own.
                ('$', Some('\'' | '"')) => self.word().text.push(c),
                ('$', _) => self.dollar(),
                ('`', _) => self.backtick(),
                _ => self.word().text.push(c),
            }
        }
    }

    fn dollar(&mut self) {
        match self.peek(0) {
            Some('\'') => {
                self.at += 1;
                self.ansi_quoted();
            }
            Some('"') => {}
            Some('(') => {
                self.at += 1;
                self.substitution();
            }
            Some('{') => {
                self.at += 1;
                self.braces();
            }
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '@' | '*' | '#' | '?' | '-' | '!' | '$') => {
                self.word().expands = true;
            }
            _ => self.word().text.push('$'),
        }
    }

    /// Reads `$'…'`. Escapes of letters and digits are not worked out, so the word is not known.
    fn ansi_quoted(&mut self) {
        self.word();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\'' => return,
                '\\' => {
                    let next = self.peek(0);
                    self.at += 1;
                    match next {
                        Some(next @ ('\\' | '\'' | '"')) => self.word().text.push(next),
                        _ => self.word().expands = true,
                    }
                }
                _ => self.word().text.push(c),
            }
        }
    }

    /// Reads the commands up to the bracket that closes this one, here-documents and all.
    fn substitution(&mut self) {
        self.word().expands = true;
        if self.depth == MAX_DEPTH {
            self.script.too_deep = true;
            self.at = self.text.len();
            return;
        }
        let text = std::mem::take(&mut self.text);
        let mut inner = Cutter { text, at: self.at, depth: self.depth + 1, is_nested: true, ..Cutter::default() };
        inner.run();
        self.at = inner.at;
        self.text = inner.text;
        self.script.commands.extend(inner.script.commands);
        self.script.too_deep |= inner.script.too_deep;
    }

    /// Reads `${…}`, and looks at what is inside as commands of their own: substitutions may stand in it.
    fn braces(&mut self) {
        self.word().expands = true;
        let start = self.at;
        let mut level = 1_usize;
        while let Some(c) = self.peek(0).filter(|_| level > 0) {
            self.at += 1;
            match c {
                '\\' => self.at += 1,
                '{' => level += 1,
                '}' => level -= 1,
                _ => {}
            }
        }
        let end = self.at.min(self.text.len()).saturating_sub(usize::from(level == 0));
        self.inside(start, end);
    }

    fn backtick(&mut self) {
        self.word().expands = true;
        let start = self.at;
        while self.peek(0).is_some_and(|c| c != '`') {
            self.at += if self.peek(0) == Some('\\') { 2 } else { 1 };
        }
        let end = self.at.min(self.text.len());
        self.at = end + 1;
        self.inside(start, end);
    }

    fn inside(&mut self, start: usize, end: usize) {
        let text: String = self.text.get(start..end).unwrap_or_default().iter().collect();
        let found = split(&text, self.depth + 1);
        self.script.commands.extend(found.commands);
        self.script.too_deep |= found.too_deep;
    }

    fn output(&mut self) {
        // The number before it says what is redirected.
        let is_number =
            self.word.as_ref().is_some_and(|word| !word.expands && word.text.chars().all(|c| c.is_ascii_digit()));
        if is_number {
            self.word = None;
        }
        self.end_word();
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.substitution();
                return;
            }
            Some('>' | '|') => self.at += 1,
            Some('&') => {
                self.at += 1;
                // `>&2` is another number, `>&file` is a file.
                if self.peek(0).is_some_and(|c| c.is_ascii_digit() || c == '-') {
                    self.at += 1;
                    return;
                }
            }
            _ => {}
        }
        self.redirect = true;
    }

    fn input(&mut self) {
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        match (self.peek(0), self.peek(1)) {
            (Some('('), _) => {
                self.at += 1;
                self.substitution();
            }
            (Some('<'), Some('<')) => self.at += 2,
            (Some('<'), next) => {
                self.at += 1 + usize::from(next == Some('-'));
                self.delimiter(next == Some('-'));
            }
            (Some('>'), _) => {
                self.at += 1;
                self.redirect = true;
            }
            _ => {}
        }
    }

    /// Reads the word that ends a here-document.
    fn delimiter(&mut self, tabs: bool) {
        while self.peek(0).is_some_and(|c| matches!(c, ' ' | '\t')) {
            self.at += 1;
        }
        let mut end = String::new();
        while let Some(c) = self.peek(0).filter(|c| !c.is_whitespace() && !";&|()<>".contains(*c)) {
            self.at += 1;
            if !matches!(c, '\'' | '"' | '\\') {
                end.push(c);
            }
        }
        self.pending.push((end, tabs));
    }

    fn read_documents(&mut self) {
        for (end, tabs) in std::mem::take(&mut self.pending) {
            let mut document = String::new();
            while self.at < self.text.len() {
                let start = self.at;
                self.skip_line();
                let line: String = self.text[start..self.at].iter().collect();
                self.at += 1;
                let line = if tabs { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
                document.push_str(line);
                document.push('\n');
            }
            // In `cat <<EOF | sh` it is not the first that runs it: every command of the line may.
            let line = self.script.commands.iter_mut().skip(self.line);
            let document: Rc<str> = document.into();
            line.chain([&mut self.simple]).for_each(|simple| simple.documents.push(Rc::clone(&document)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the commands in a form that is easy to compare: words with `|` between them, `>` before files.
    fn shown(text: &str) -> Vec<String> {
        let word = |word: &Word| format!("{}{}", word.text, if word.expands { "…" } else { "" });
        split(text, 0)
            .commands
            .iter()
            .map(|simple| {
                let words = simple.words.iter().map(word);
                let writes = simple.writes.iter().map(|target| format!(">{}", word(target)));
                let documents = simple.documents.iter().map(|document| format!("<<{}", document.escape_debug()));
                words.chain(writes).chain(documents).collect::<Vec<_>>().join("|")
            })
            .collect()
    }

    #[test]
    fn commands_are_cut_where_a_shell_cuts_them() {
        let cases: [(&str, &[&str]); 17] = [
            ("a b;c&&d || e|f & g\nh", &["a|b", "c", "d", "e", "f", "g", "h"]),
            ("(cd x; a) # b; c", &["cd|x", "a"]),
            ("a 'b;c' \"d $e\" f\\ g", &["a|b;c|d e…|f g"]),
            ("\"gi\"t 'com'mit", &["git|commit"]),
            ("a $(b 'c)' $(d)) e", &["d", "b|c)|…", "a|…|e"]),
            ("a \"`b c`\" d", &["b|c", "a|…|d"]),
            ("a ${b:-c} $'x\\ty'", &["b:-c", "a|…|xy…"]),
            ("a >b 2>c >>d 2>&1 &>e >|f >&g", &["a|>b|>c|>d|>e|>f|>g"]),
            ("a <b <<<c", &["a|b|c"]),
            ("a <(b) >(c)", &["b", "c", "a|…|…"]),
            ("a \"$(b <<'E'\nit's (c\nE\n)\" && d", &["b|<<it\\'s (c\\n", "a|…", "d"]),
            ("a $( (b; c) ) d", &["b", "c", "a|…|d"]),
            ("a <<'E' | b\nx\ny\nE\nc", &["a|<<x\\ny\\n", "b|<<x\\ny\\n", "c"]),
            ("a <<-E\n\tx\n\tE\nc", &["a|<<x\\n", "c"]),
            ("a \\\n b", &["a|b"]),
            ("A=1 B='2 3' c", &["A=1|B=2 3|c"]),
            ("a 'never closed", &["a|never closed"]),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let text = "$(".repeat(100_000);
        assert!(split(&text, 0).too_deep);
        assert!(!split("a $(b $(c))", 0).too_deep);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_cut(text in "[ a-c$(){}`'\"\\\\<>&|;#\n-]{0,60}") {
            let _ = split(&text, 0);
        }
    }
}
