//! The two formats of a patch, read loosely.
#![no_main]

use git_oracle::patch::reply::Place;
use git_oracle::patch::reply::read_begin_patch;
use git_oracle::patch::reply::read_unified;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for place in [Place::Fence, Place::Prose] {
        if let Ok(read) = read_unified(&lines, place) {
            assert!(read.taken <= lines.len());
        }
    }
    if let Ok(Some(read)) = read_begin_patch(&lines) {
        assert!(read.taken <= lines.len());
    }
});
