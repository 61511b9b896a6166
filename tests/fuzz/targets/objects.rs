//! Trees and commits come with a fetch, unchecked; an index can be written by anybody.
#![no_main]

use git_oracle::base::HashKind;
use git_oracle::change::parse_commit;
use git_oracle::change::parse_tree;
use git_oracle::change::write_tree;
use git_oracle::git::read_extensions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for hash in [HashKind::Sha1, HashKind::Sha256] {
        if let Ok(entries) = parse_tree(bytes, hash) {
            let again = write_tree(&entries);
            assert_eq!(parse_tree(&again, hash).as_deref(), Ok(entries.as_slice()));
        }
        let _ = parse_commit(bytes, hash);
        let _ = read_extensions(bytes, hash);
    }
});
