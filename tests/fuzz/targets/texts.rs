//! Configuration, names, event logs, agents' payloads and JSON: the small texts of other people.
#![no_main]

use git_oracle::agent::look_at_command;
use git_oracle::agent::parse_call;
use git_oracle::base;
use git_oracle::change::added_bidi_lines;
use git_oracle::evidence::check_chain;
use git_oracle::policy::PersonConfig;
use git_oracle::policy::RepoConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = RepoConfig::parse(bytes);
    let _ = PersonConfig::parse(bytes);
    let _ = check_chain(bytes, "hooks");
    let _ = parse_call(bytes, None);
    let _ = look_at_command(&String::from_utf8_lossy(bytes));
    let _ = base::parse_strict(bytes, 1 << 20);
    let quoted = base::quote(bytes);
    if quoted.starts_with('"') {
        assert_eq!(base::unquote(quoted.as_bytes()), Some((bytes.to_vec(), &b""[..])));
    }
    let _ = base::unquote(bytes);
    let _ = (base::is_dotgit(bytes), base::is_dotgitmodules(bytes));
    let shown = base::visible(&String::from_utf8_lossy(bytes)).into_owned();
    assert_eq!(base::visible(&shown), shown);
    let (old, new) = bytes.split_at(bytes.len() / 2);
    let _ = added_bidi_lines(old, new);
});
