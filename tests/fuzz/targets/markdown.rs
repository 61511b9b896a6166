//! The structure of a reply.
#![no_main]

use git_oracle::patch::reply::find_fences;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(blocks) = find_fences(bytes) else { return };
    let mut end = 0;
    for fence in &blocks.fences {
        assert!(fence.range.start >= end);
        assert!(fence.lines.iter().all(|line| fence.range.start <= line.start && line.end <= fence.range.end));
        end = fence.range.end;
    }
    assert!(blocks.prose(bytes.len()).all(|range| range.end <= bytes.len()));
});
