//! A reply comes from a page that anybody may have written on.
#![no_main]

use std::sync::Arc;

use git_oracle::base::RepoPath;
use git_oracle::change::Mode;
use git_oracle::patch;
use git_oracle::patch::place;
use git_oracle::patch::place::Files;
use git_oracle::patch::place::Found;
use git_oracle::patch::reply;
use libfuzzer_sys::fuzz_target;

struct OneFile(Arc<Vec<u8>>);

impl Files for OneFile {
    fn look(&self, path: &RepoPath) -> Result<Found, String> {
        Ok(if path.as_bytes() == b"f" { Found::File(Mode::Regular, self.0.clone()) } else { Found::Absent })
    }

    fn old_content(&self, _: &str) -> Option<Vec<u8>> {
        Some(b"a\nb\nc\nd\ne\n".to_vec())
    }

    fn base(&self, _: &RepoPath) -> Option<Vec<u8>> {
        None
    }
}

// What stands before the first nul is the file, the rest is the reply.
fuzz_target!(|bytes: &[u8]| {
    let (file, text) = match bytes.iter().position(|byte| *byte == 0) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (&b"a\nb\n\n\tc\nd\n"[..], bytes),
    };
    let found = reply::extract(text);
    assert_eq!(found.blocks.is_empty(), found.refusal.is_some());
    let Ok(plan) = place::plan(&found, &OneFile(Arc::new(file.to_vec()))) else { return };
    if plan.trouble().is_some() || plan.files.iter().any(|file| !file.special.is_empty()) {
        return;
    }
    let text = plan.canonical(&|_, _| true);
    let read = patch::parse_patch(&text).expect("what is written can be read by the gate");
    assert_eq!(read.files.len(), plan.files.len());
});
