//! The rules hold what their examples promise, and the scanner what all rules rely on.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::base::RepoPath;

/// Each pattern is compiled once for all tests.
static SCANNER: LazyLock<Scanner> = LazyLock::new(Scanner::built_in);

#[test]
fn every_built_in_rule_holds_what_its_examples_promise() {
    let files = Rules::built_in_files();
    let scanner = &*SCANNER;
    let mut broken = Vec::new();
    for file in &files {
        assert!(!file.examples.matches.is_empty() && !file.examples.passes.is_empty(), "{} needs both kinds", file.id);
        for seed in 1..=8 {
            for text in &file.examples.matches {
                let found = scanner.scan(fill(text, seed).as_bytes());
                if !found.iter().any(|finding| finding.rule == file.id) {
                    broken.push(format!("{} must match {text}: {found:?}", file.id));
                }
            }
            for text in &file.examples.passes {
                let found = scanner.scan(fill(text, seed).as_bytes());
                if found.iter().any(|finding| finding.rule == file.id) {
                    broken.push(format!("{} must let pass {text}", file.id));
                }
            }
        }
    }
    broken.dedup();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Texts with something of everything in them: examples, what stands around values, any bytes.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let files = Rules::built_in_files();
    let examples: Vec<String> =
        files.iter().flat_map(|file| [&file.examples.matches, &file.examples.passes]).flatten().cloned().collect();
    let pieces = prop_oneof![
        4 => (prop::sample::select(examples), 0..64u64).prop_map(|(text, seed)| fill(&text, seed).into_bytes()),
        2 => prop::sample::select(vec!["\n", "\\n", "\"", "'", " ", "=", ": ", "%3D", "\u{1b}[36m", "\0", "kind: Secret\ndata:\n", "-----BEGIN ", "token", "key", "密码：", "<", "{", "&quot;"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..24),
        1 => "[A-Za-z0-9+/=_.-]{0,48}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(pieces, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn findings_are_in_order_and_redaction_takes_out_them_and_nothing_else(text in texts()) {
        let scanner = &*SCANNER;
        let findings = scanner.scan(&text);
        prop_assert_eq!(scanner.finds(&text), !findings.is_empty());
        let mut end = 0;
        for finding in &findings {
            prop_assert!(finding.range.start >= end && finding.range.end <= text.len() && !finding.range.is_empty());
            prop_assert!(finding.line <= finding.end_line);
            end = finding.range.end;
        }
        let (redacted, found) = scanner.redact(&text);
        prop_assert_eq!(&found, &findings);
        let mut rest = redacted.as_slice();
        let mut at = 0;
        for finding in &findings {
            rest = rest.strip_prefix(&text[at..finding.range.start]).expect("what is before a secret stays");
            let marker = redact::marker(&text, finding);
            rest = rest.strip_prefix(marker.as_slice()).expect("a marker stands for it");
            at = finding.range.end;
        }
        prop_assert_eq!(rest, &text[at..]);
    }

    #[test]
    fn a_stream_finds_what_a_whole_text_has(text in texts(), size in 1..200usize) {
        let scanner = &*SCANNER;
        let path = RepoPath::from("-");
        let mut stream = Stream::new(scanner, &path, Strictness::Strict);
        let mut pieces: Vec<Piece> = text.chunks(size).map(|chunk| stream.push(chunk)).collect();
        pieces.push(stream.finish());
        let (redacted, findings) = scanner.redact(&text);
        prop_assert_eq!(pieces.iter().flat_map(|piece| piece.redacted.clone()).collect::<Vec<u8>>(), redacted);
        prop_assert_eq!(pieces.into_iter().flat_map(|piece| piece.findings).collect::<Vec<_>>(), findings);
    }
}

#[test]
fn a_stream_finds_what_lies_across_its_windows() {
    let scanner = &*SCANNER;
    let path = RepoPath::from("-");
    let filler = "a line of no interest\n".repeat(60_000);
    let token = format!("token = {}\n", fill("ghp_<alnum:30><crc62>", 1));
    let key = fill("-----BEGIN PRIVATE KEY-----\n<base64:64>\n<base64:64>\n-----END PRIVATE KEY-----\n", 1);
    let window = (1 << 20) + (64 << 10);
    for secret in [token, key] {
        for at in [1, 30, 150].into_iter().flat_map(|back| [window - back, (1 << 20) - back]) {
            let text = format!("{}{secret}{}", &filler[..at - at % 22], &filler[..1 << 19]);
            let mut stream = Stream::new(scanner, &path, Strictness::Strict);
            let mut pieces: Vec<Piece> = text.as_bytes().chunks(100_000).map(|chunk| stream.push(chunk)).collect();
            pieces.push(stream.finish());
            let found: Vec<Finding> = pieces.into_iter().flat_map(|piece| piece.findings).collect();
            assert_eq!(found, scanner.scan(text.as_bytes()), "{at}");
            assert_eq!(found.len(), 1);
        }
    }
}

#[test]
fn what_is_allowed_counts_only_where_it_may() {
    let scanner = &*SCANNER;
    let text = fill("a = \"ghp_<alnum:30><crc62>\" # oracle:allow-secret\nb = \"ghp_<alnum:30><crc62>\"\n", 5);
    let allow = |rule: &str, path: &str| Allow {
        rule: Some(rule.into()),
        path: Some(path.into()),
        hash: None,
        reason: "test".into(),
    };
    let screened = |strictness: Strictness<'_>, path: &str| {
        let mut findings = scanner.scan(text.as_bytes());
        let allowed = strictness.screen(&path.into(), text.as_bytes(), &mut findings);
        (findings.len(), allowed)
    };
    let none = Allows::default();
    let some = Allows::new(&[allow("github_token", "src/*.rs"), allow("github_pat", "docs/**")]).unwrap();
    assert_eq!(screened(Strictness::Strict, "src/a.rs"), (2, 0));
    assert_eq!(screened(Strictness::Allowing(&none), "src/a.rs"), (1, 1));
    assert_eq!(screened(Strictness::Allowing(&some), "src/a.rs"), (0, 2));
    assert_eq!(screened(Strictness::Allowing(&some), "src/deep/a.rs"), (1, 1));
    assert_eq!(screened(Strictness::Allowing(&some), "docs/deep/a.md"), (0, 2));
}

#[test]
fn public_values_and_placeholders_pass() {
    let scanner = &*SCANNER;
    for text in [
        "public_key = \"<base64:44>\"",
        "sha256: <hex:64>",
        "commit <hex:40>",
        "id: <uuid>",
        "pk_live_<alnum:24>",
        "token = ${TOKEN}",
        "token: {{ .Values.token }}",
        "token = os.environ[\"TOKEN\"]",
        "password: [REDACTED]",
        "nextPageToken: <base64:40>",
        "key = compute_key(data, 32)",
        "AC<hex:32>",
    ] {
        let text = fill(text, 2);
        assert_eq!(scanner.scan(text.as_bytes()), [], "{text}");
    }
}
