use super::*;

const EDIT: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

fn git(sides: &str, rest: &str) -> String {
    format!("diff --git {sides}\n{rest}")
}

/// One line for each file: kind, paths, modes, `bin` or the number of hunks
fn brief(text: &str) -> String {
    let patch = parse_patch(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let name = |path: &Option<Vec<u8>>| path.as_ref().map_or("-".into(), |path| path.escape_ascii().to_string());
    let mode = |mode: Option<u32>| mode.map_or("-".into(), |mode| format!("{mode:o}"));
    let line = |file: &FilePatch| {
        let body = if file.binary { "bin".into() } else { file.hunks.len().to_string() };
        let paths = format!("{} {}", name(&file.old_path), name(&file.new_path));
        format!("{:?} {paths} {} {} {body}", file.kind, mode(file.old_mode), mode(file.new_mode))
    };
    patch.files.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_patch_becomes_data() {
    let text = "Subject: x\n\ndiff --git a/x b/x\nindex 1..2 100755\n--- a/x\n+++ b/x\n@@ -3,3 +3,2 @@ fn x()\n a\r\n\n-b\n\\ No newline at end of file\n-- \n2.47.3\n";
    let line = |kind, text: &str, newline| Line { kind, text: text.into(), newline };
    let lines = vec![
        line(LineKind::Context, "a\r", true),
        line(LineKind::Context, "", true),
        line(LineKind::Removed, "b", false),
    ];
    let hunk = Hunk { line: 7, old_start: 3, old_lines: 3, new_start: 3, new_lines: 2, lines };
    let file = FilePatch {
        line: 3,
        kind: FileKind::Modify,
        old_path: Some(b"x".to_vec()),
        new_path: Some(b"x".to_vec()),
        old_mode: Some(0o100_755),
        new_mode: Some(0o100_755),
        binary: false,
        hunks: vec![hunk],
    };
    assert_eq!(parse_patch(text.as_bytes()), Ok(Patch { files: vec![file] }));
}

#[test]
fn good_patches() {
    let add = "@@ -0,0 +1 @@\n+a\n";
    let data = "GIT binary patch\nliteral 3\nKcmZQzWC8#H2LJ>B\n\nliteral 0\nHcmV?d00001\n\n";
    let table = [
        (EDIT.into(), "Modify x x - - 1"),
        (EDIT.replace("/x\n", "/x\t2024-01-02 03:04:05.6 +0100\n"), "Modify x x - - 1"),
        (EDIT.replace("a/x\n", "a/x\r\n").replace("b/x\n", "b/x\r\n"), "Modify x x - - 1"),
        (
            format!("prose\n--- or\n{EDIT}-- \n2.47.3\n\n{EDIT}{EDIT}"),
            "Modify x x - - 1; Modify x x - - 1; Modify x x - - 1",
        ),
        (format!("--- /dev/null\n+++ b/x\n{add}"), "Add - x - - 1"),
        (format!("--- a/x\t1970-01-01 01:00:00.000000000 +0100\n+++ b/x\n{add}"), "Add - x - - 1"),
        (format!("--- a/x\t1970-01-01 01:00:00.000000000 +0200\n+++ b/x\n{add}"), "Modify x x - - 1"),
        ("--- a/x\n+++ b/x\t1969-12-31 19:00:00 -05:00\n@@ -1 +0,0 @@\n-a\n".into(), "Delete x - - - 1"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ Kein Zeilenumbruch".into(), "Delete x - - - 1"),
        (git("a/x b/x", EDIT), "Modify x x - - 1"),
        (git("i/x w/x", &EDIT.replace("a/", "i/").replace("b/", "w/")), "Modify x x - - 1"),
        (git("a/x b/x", "index 1..2\n@@ -1 +1 @@\n-a\n+b\n"), "Modify x x - - 1"),
        (git("a/x b/x", &format!("new file mode 100644\n--- /dev/null\n+++ b/x\n{add}")), "Add - x - 100644 1"),
        (git("a/x b/x\r", "new file mode 100664\r\nindex 0..e\r\n"), "Add - x - 100644 0"),
        (git("a/x b/x", "deleted file mode 120000\nindex 1..0\n"), "Delete x - 120000 - 0"),
        (git("a/x b/x", "old mode 100644\nnew mode 100755\n\nprose\n"), "Modify x x 100644 100755 0"),
        (git("a/p q b/r b/p q b/r", "old mode 100644\nnew mode 100755\n"), "Modify p q b/r p q b/r 100644 100755 0"),
        (git(r#""a/\303\251\t\"" "b/\303\251\t\"""#, "new file mode 160000\n"), r#"Add - \xc3\xa9\t\" - 160000 0"#),
        (git(r#"a/x "b/x""#, "new file mode 100644\n"), "Add - x - 100644 0"),
        (git("a/p q b/r s", "similarity index 100%\nrename from p q\nrename to r s\n-- \n"), "Rename p q r s - - 0"),
        (git("a/y b/x", "rename old y\nrename new x\n@@ -1 +1 @@\n-a\n+b\n"), "Rename y x - - 1"),
        (git(r#"a/y "b/\001""#, "copy from y\ncopy to \"\\001\"\n"), r"Copy y \x01 - - 0"),
        (git("a/x b/x", &format!("index 1..2 100644\n{data}{EDIT}")), "Modify x x 100644 100644 bin; Modify x x - - 1"),
        (git("a/x b/x", "index 1..2\nBinary files a/x and b/x differ\n"), "Modify x x - - bin"),
        (EDIT.replace("/x", "/../x"), "Modify ../x ../x - - 1"),
        (EDIT.replace("/x", "//etc//x"), "Modify /etc//x /etc//x - - 1"),
    ];
    for (text, expected) in table {
        assert_eq!(brief(&text), expected, "{text}");
    }
}

#[test]
fn bad_patches() {
    use PatchErrorKind::*;
    let hunk = |header: &str, body: &str| format!("--- a/x\n+++ b/x\n@@ {header} @@\n{body}");
    let head = |rest: &str| git("a/x b/x", rest);
    let table = [
        (1, Empty, String::new()),
        (1, Empty, "only prose\n--- a/x\n".into()),
        (5, CutOff, EDIT.trim_end().into()),
        (1, CutOff, "diff --git a/x b/x".into()),
        (2, CutOff, head("new file mode 100644")),
        (1, Combined, "diff --cc x\nindex 1,2..3\n".into()),
        (3, Combined, "--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n".into()),
        (1, BareHeader, head("@@ -1 +1 @@\n-a\n+b\n")),
        (1, BareHeader, head("Binary files a/x and b/x differ\n")),
        (1, BareHeader, head("")),
        (3, RepeatedHeader, git("a/y b/x", "rename from y\nrename from z\nrename to x\n")),
        (3, KindsDisagree, head("new file mode 100644\nrename from x\n")),
        (1, NamesDisagree, head(&EDIT.replace("/x", "/y"))),
        (1, NamesDisagree, git("a/x b/y", EDIT)),
        (1, NamesDisagree, EDIT.replace("a/x", "a/x.orig")),
        (1, NamesDisagree, git("a/y b/x", "rename from z\nrename to x\n")),
        (1, NamesDisagree, git("a/y b/x", &format!("rename from y\nrename to x\n{EDIT}"))),
        (1, NamesDisagree, head("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")),
        (1, NamesDisagree, head(&format!("new file mode 100644\n{EDIT}"))),
        (1, KindsDisagree, "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n".into()),
        (1, ModesDisagree, head(&format!("new mode 100755\n{EDIT}"))),
        (1, ModesDisagree, head("old mode 100644\nnew mode 100755\nindex 1..2 120000\n")),
        (1, NoName, git("a/x b/y", "old mode 100644\nnew mode 100755\n")),
        (1, NoName, git("a/y b/x", "rename from y\n")),
        (1, UnclearName, EDIT.replace("/x", "/x 2024-01-02")),
        (1, UnclearName, EDIT.replace("/x", "/x\ty\t2024-01-02")),
        (1, UnclearName, EDIT.replace("/x", "/x\rsrc")),
        (1, NoComponent, EDIT.replace("a/x", "x")),
        (1, Absolute, EDIT.replace("a/x", "/etc/passwd")),
        (1, Absolute, EDIT.replace("a/x", "\"/dev/null\"")),
        (1, EmptyName, EDIT.replace("a/x", "a/")),
        (1, EmptyName, EDIT.replace("a/x", "")),
        (1, NulInName, EDIT.replace("a/x", "a/x\0y")),
        (1, NulInName, EDIT.replace("a/x", "\"a/\\000\"")),
        (1, NulInName, EDIT.replace("a/x", "\"\0a/x\"")),
        (1, NulInName, EDIT.replace("/x", "/x\ty 2024-01-02\0")),
        (1, BadQuoting, EDIT.replace("a/x", "\"a/x")),
        (1, BadQuoting, EDIT.replace("a/x", "\"a/\\400\"")),
        (1, BadQuoting, EDIT.replace("a/x", "\"a/x\" y")),
        (2, BadMode, head("new file mode 040000\n")),
        (2, BadMode, head("new file mode 0100644\n")),
        (2, BadIndex, head("index 12\n")),
        (2, HunkWithoutFile, "prose\n@@ -1 +1 @@\n-a\n+b\n".into()),
        (3, HunkExpected, "--- a/x\n+++ b/x\nprose\n".into()),
        (3, HunkExpected, "--- a/x\n+++ b/x\n".into()),
        (3, UnexpectedLine, head("new file mode 100644\nRename from y\n")),
        (3, UnexpectedLine, head("index 1..2\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")),
        (1, ChangesNothing, head("index 1..2 100644\n")),
        (3, BadHunkHeader, hunk("-1, +1", "-a\n+b\n")),
        (6, BadHunkHeader, format!("{EDIT}@@ ... @@\n-a\n+b\n")),
        (3, Overflow, hunk("-18446744073709551616 +1", "-a\n+b\n")),
        (3, Overflow, hunk("-18446744073709551615 +1", "-a\n+b\n")),
        (6, ShortHunk, hunk("-1,2 +1", "-a\n+b\n")),
        (6, LongHunk, format!("{EDIT}+c\n")),
        (6, LongHunk, format!("{EDIT}--- c\n")),
        (5, LongHunk, hunk("-1,2 +1", "+b\n+c\n-a\n")),
        (3, IdleHunk, hunk("-1 +1", " a\n")),
        (5, WrongSide, head("deleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n")),
        (5, UnknownMarker, hunk("-1 +1", "-a\nb\n")),
        (5, UnknownMarker, hunk("-1,2 +1", "-a\n\r\n+b\n")),
        (4, MisplacedMarker, hunk("-1 +1", "\\ No newline at end of file\n-a\n+b\n")),
        (6, MisplacedMarker, hunk("-0,0 +1,2", "+a\n\\ No newline at end of file\n+b\n")),
        (6, MisplacedMarker, format!("{EDIT}\\ No newline")),
        (4, BadBinary, head("index 1..2\nGIT binary patch\nlitteral 3\n")),
        (5, BadBinary, head("index 1..2\nGIT binary patch\nliteral 3\nKcmZQzWC8#H2LJ>\n\n")),
        (6, BadBinary, head("index 1..2\nGIT binary patch\nliteral 3\nKcmZQzWC8#H2LJ>B\n")),
    ];
    for (line, kind, text) in table {
        assert_eq!(parse_patch(text.as_bytes()), Err(PatchError { line, kind }), "{text}");
    }
    let error = parse_patch(b"@@ -1").unwrap_err();
    assert_eq!(error.to_string(), "parse the patch at line 1: a hunk has no file header before it");
}

#[test]
fn what_is_rendered_is_read_back() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2000 {
        let mut patch = random.patch();
        let text = render(&mut patch);
        assert_eq!(parse_patch(&text), Ok(patch), "{}", text.escape_ascii());
    }
}

#[test]
fn damage_never_panics_nor_breaks_the_data() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..20_000 {
        let mut text = render(&mut random.patch());
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(4) {
                0 => text[at] = random.byte(),
                1 => text.insert(at, random.byte()),
                2 => text.truncate(at + 1),
                _ => drop(text.drain(at..(at + random.below(30)).min(text.len()))),
            }
            if text.is_empty() {
                break;
            }
        }
        for file in parse_patch(&text).map_or(Vec::new(), |patch| patch.files) {
            assert_eq!(file.old_path.is_none(), file.kind == FileKind::Add);
            assert_eq!(file.new_path.is_none(), file.kind == FileKind::Delete);
            for hunk in file.hunks {
                let count = |kind| hunk.lines.iter().filter(|line| line.kind != kind).count() as u64;
                assert_eq!((count(LineKind::Added), count(LineKind::Removed)), (hunk.old_lines, hunk.new_lines));
            }
        }
    }
}

/// Long lines of each kind that would show if reading took more than linear time
#[test]
fn long_lines_are_read_in_linear_time() {
    let many = 200_000;
    for part in ["x ", "/", " /", "\\", "x b/", " \""] {
        for start in ["diff --git a/", "diff --git \"a/", "--- a/x\n+++ b/", "@@ -", "diff --git a/x b/x\nrename from "]
        {
            let text = format!("{start}{}\n", part.repeat(many));
            assert!(parse_patch(text.as_bytes()).is_err());
        }
    }
    let halves = format!("diff --git a/{}{}\nold mode 100644\nnew mode 100755\n", " ".repeat(many), "/".repeat(many));
    assert!(parse_patch(halves.as_bytes()).is_err());
}

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn byte(&mut self) -> u8 {
        let spiky = b"aab//  \"\\\t\r\n+-@.0128\x01\xff\xc3";
        spiky[self.below(spiky.len())]
    }

    fn bytes(&mut self, least: usize, most: usize) -> Vec<u8> {
        (0..least + self.below(most)).map(|_| self.byte()).collect()
    }

    fn line(&mut self, kind: LineKind) -> Line {
        let text = self.bytes(0, 9).into_iter().filter(|&byte| byte != b'\n').collect();
        Line { kind, text, newline: true }
    }

    fn hunk(&mut self, kind: FileKind) -> Hunk {
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..self.below(6) {
            let any = [LineKind::Context, LineKind::Added, LineKind::Removed][self.below(3)];
            lines.push(self.line(any));
        }
        lines.push(self.line(LineKind::Added));
        lines.push(self.line(LineKind::Removed));
        match kind {
            FileKind::Add => lines.retain(|line| line.kind == LineKind::Added),
            FileKind::Delete => lines.retain(|line| line.kind == LineKind::Removed),
            _ => {}
        }
        let count = |kind| lines.iter().filter(|line| line.kind != kind).count() as u64;
        let (old_lines, new_lines) = (count(LineKind::Added), count(LineKind::Removed));
        Hunk { line: 0, old_start: self.0 >> 40, old_lines, new_start: 1, new_lines, lines }
    }

    fn file(&mut self) -> FilePatch {
        use FileKind::*;
        let kind = [Modify, Add, Delete, Rename, Copy][self.below(5)];
        let old = self.bytes(1, 8);
        let new = if matches!(kind, Rename | Copy) { self.bytes(1, 8) } else { old.clone() };
        let mode = |wanted: bool, mode| wanted.then_some(mode);
        let stated = self.below(2) == 0;
        let binary = self.below(5) == 0;
        let mut hunks = Vec::new();
        if !binary && (self.below(4) > 0 || (kind == Modify && !stated)) {
            hunks = (0..=self.below(3)).map(|_| self.hunk(kind)).collect();
        }
        if let Some(last) = hunks.last_mut().and_then(|hunk: &mut Hunk| hunk.lines.last_mut()) {
            last.newline = self.below(2) == 0;
        }
        FilePatch {
            line: 0,
            kind,
            old_path: (kind != Add).then_some(old),
            new_path: (kind != Delete).then_some(new),
            old_mode: mode(kind == Delete || (stated && kind != Add), 0o100_644),
            new_mode: mode(kind == Add || (stated && kind != Delete), 0o100_755),
            binary,
            hunks,
        }
    }

    fn patch(&mut self) -> Patch {
        Patch { files: (0..=self.below(3)).map(|_| self.file()).collect() }
    }
}

/// Writes a patch as git does and fills in its line numbers
fn render(patch: &mut Patch) -> Vec<u8> {
    let mut out = b"From: someone\n\n".to_vec();
    let here = |out: &Vec<u8>| out.split(|&byte| byte == b'\n').count();
    for file in &mut patch.files {
        file.line = here(&out);
        let (old, new) = (file.old_path.as_ref(), file.new_path.as_ref());
        let (Some(first), Some(second)) = (old.or(new), new.or(old)) else { continue };
        let git_line = [b"diff --git ", &*quote(b"a/", first), b" ", &quote(b"b/", second), b"\n"].concat();
        out.extend(git_line);
        let modes = match file.kind {
            FileKind::Add => ["", "new file mode "],
            FileKind::Delete => ["deleted file mode ", ""],
            _ => ["old mode ", "new mode "],
        };
        for (word, mode) in modes.iter().zip([file.old_mode, file.new_mode]) {
            out.extend(mode.map_or(String::new(), |mode| format!("{word}{mode:o}\n")).bytes());
        }
        let verb: &[u8] = if file.kind == FileKind::Copy { b"copy" } else { b"rename" };
        if matches!(file.kind, FileKind::Rename | FileKind::Copy) {
            out.extend(
                [verb, b" from ", &quote(b"", first), b"\n", verb, b" to ", &quote(b"", second), b"\n"].concat(),
            );
        }
        out.extend(b"index 1..2\n");
        if file.binary {
            out.extend(b"GIT binary patch\ndelta 3\nKcmZQzWC8#H2LJ>B\n\nliteral 0\nHcmV?d00001\n\n");
        } else if !file.hunks.is_empty() {
            let side = |prefix: &[u8], path: Option<&Vec<u8>>| match path.map(|path| quote(prefix, path)) {
                None => b"/dev/null".to_vec(),
                Some(name) if name.starts_with(b"\"") => name,
                Some(name) => [&name[..], b"\t"].concat(),
            };
            out.extend([b"--- ", &side(b"a/", old)[..], b"\n+++ ", &side(b"b/", new), b"\n"].concat());
        }
        for hunk in &mut file.hunks {
            hunk.line = here(&out);
            let Hunk { old_start, old_lines, new_start, new_lines, .. } = hunk;
            out.extend(format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n").bytes());
            for Line { kind, text, newline } in &hunk.lines {
                out.push(match kind {
                    LineKind::Context => b' ',
                    LineKind::Added => b'+',
                    LineKind::Removed => b'-',
                });
                out.extend(text);
                out.extend(if *newline { "\n" } else { "\n\\ No newline at end of file\n" }.bytes());
            }
        }
    }
    out.extend(b"-- \n2.47.3\n");
    out
}

fn quote(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let odd = |byte: &u8| *byte < b' ' || *byte >= 0x7f || matches!(byte, b'"' | b'\\');
    let name = [prefix, path].concat();
    if !name.iter().any(odd) {
        return name;
    }
    let escape = |byte: u8| if odd(&byte) { format!("\\{byte:03o}").into_bytes() } else { vec![byte] };
    [b"\"".to_vec(), name.into_iter().flat_map(escape).collect(), b"\"".to_vec()].concat()
}
