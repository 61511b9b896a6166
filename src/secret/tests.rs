//! The rules hold what their examples promise, and the scanner what all rules rely on.

use super::*;

#[test]
fn every_built_in_rule_holds_what_its_examples_promise() {
    let files = Rules::built_in_files();
    let scanner = Scanner::built_in();
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
