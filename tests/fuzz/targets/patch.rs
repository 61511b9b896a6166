//! A patch comes from a model or a mail.
#![no_main]

use git_oracle::patch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = patch::is_encoded_mail(bytes);
    if let Ok(patch) = patch::parse_patch(bytes) {
        let changes = patch::to_changes(&patch, &|_| None);
        assert!(!changes.set.steps[0].changes.is_empty());
    }
});
