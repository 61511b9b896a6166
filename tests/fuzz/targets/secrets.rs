//! The scanner, on any bytes.
#![no_main]

use std::sync::LazyLock;

use git_oracle::base::RepoPath;
use git_oracle::secret::Scanner;
use git_oracle::secret::Stream;
use git_oracle::secret::Strictness;
use libfuzzer_sys::fuzz_target;

static SCANNER: LazyLock<Scanner> = LazyLock::new(Scanner::built_in);

fuzz_target!(|bytes: &[u8]| {
    let (redacted, findings) = SCANNER.redact(bytes);
    let mut end = 0;
    for finding in &findings {
        assert!(finding.range.start >= end && finding.range.end <= bytes.len());
        end = finding.range.end;
    }
    assert_eq!(SCANNER.finds(bytes), !findings.is_empty());
    assert!(!findings.is_empty() || redacted == bytes);
    let path = RepoPath::from("-");
    let mut stream = Stream::new(&SCANNER, &path, Strictness::Strict);
    let mut streamed = Vec::new();
    for chunk in bytes.chunks(100) {
        streamed.extend(stream.push(chunk).redacted);
    }
    streamed.extend(stream.finish().redacted);
    assert_eq!(streamed, redacted);
});
