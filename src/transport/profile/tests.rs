use super::*;
use crate::transport::profile::choose::choose;

fn embedded(name: &str) -> PageProfile {
    choose(ProfileChoice::Named(name), None).unwrap()
}

const LITTLE: &str = r#"
format = 1
name = "little"
title = "Little"
checked = "2026-11-18"
home = "https://little.example/"
hosts = ["little.example", "other.example/chat"]
[typing]
textarea = ["value_setter"]
prosemirror = ["html_paste"]
quill = ["replace_children"]
lexical = ["devtools"]
other = ["insert_text"]
inline_bytes = 1000
[quiet]
short_ms = 300
long_ms = 1500
[waits]
ready_ms = 1
challenge_ms = 1
send_ms = 1
commit_ms = 1
upload_ms = 1
menu_ms = 1
copy_ms = 1
throttled_ms = 1
[phrases]
failed = ["went wrong"]
[[layouts]]
name = "one"
when = "main"
[layouts.elements]
composer = [{ css = "textarea", seen = "2026-11-18" }]
send = [{ css = "button", seen = "2026-11-18" }]
question = [{ css = ".q", seen = "2026-11-18" }]
answer = [{ css = ".a", seen = "2026-11-18" }]
body = [{ css = ".b", seen = "2026-11-18" }]
"#;

#[test]
fn the_built_in_profiles_are_valid_and_say_where_everything_needed_is() {
    for name in names(None) {
        let profile = embedded(&name);
        assert_eq!(profile.name, name);
        let talking: Vec<_> =
            profile.layouts.iter().filter(|layout| layout.elements.contains_key(&Element::Composer)).collect();
        assert!(!talking.is_empty(), "{name}");
        for layout in talking {
            for element in
                Element::NEEDED.into_iter().chain([Element::Stop, Element::Copy, Element::SignedIn, Element::Chip])
            {
                assert!(
                    !profile.entries(Some(&layout.name), element).is_empty(),
                    "{name}: {}: {element:?}",
                    layout.name
                );
            }
        }
    }
}

#[test]
fn a_page_is_known_by_its_host() {
    let cases = [
        ("https://chatgpt.com/", Some("chatgpt")),
        ("https://www.chatgpt.com/c/1?x=y#z", Some("chatgpt")),
        ("https://github.com/copilot", Some("copilot")),
        ("https://github.com/copilot/c/1", Some("copilot")),
        ("https://github.com/copilots/repo", None),
        ("https://gemini.google.com/app", Some("gemini")),
        ("https://chatgpt.com.example.org/", None),
        ("https://example.org/chatgpt.com", None),
        ("ftp://chatgpt.com/", None),
        ("", None),
    ];
    for (url, expected) in cases {
        let found = choose(ProfileChoice::For(url), None).ok().map(|profile| profile.name);
        assert_eq!(found.as_deref(), expected, "{url}");
    }
}

#[test]
fn an_address_is_a_conversations_only_when_it_stays() {
    let chatgpt = embedded("chatgpt");
    for (url, expected) in [
        ("https://chatgpt.com/c/6bc0530b-6cbb", true),
        ("https://chatgpt.com/g/g-p-1/c/6bc0530b?model=x", true),
        ("https://chatgpt.com/", false),
        ("https://chatgpt.com/c/", false),
        ("https://chatgpt.com/c/WEB:6bc0530b", false),
        ("https://chatgpt.com/c/local-chatgpt%3A6bc0530b", false),
    ] {
        assert_eq!(chatgpt.is_conversation(url), expected, "{url}");
    }
    assert!(embedded("copilot").is_conversation("https://github.com/copilot/c/1"));
    assert!(embedded("gemini").is_conversation("https://gemini.google.com/u/1/app/abc"));
}

#[test]
fn a_mistake_is_named_with_its_line() {
    let cases = [
        ("title", "titel", "line 4: titel is not known, did you mean title?"),
        ("composer", "compozer", "line 33: compozer is not known, did you mean composer?"),
        ("html_paste", "html_past", "line 10: html_past is not known, did you mean html_paste?"),
        ("\"textarea\"", "\"textarea[x\"", "line 33: a [ is not closed"),
        ("format = 1", "format = 2", "line 2: format 2 is not known; this program reads 1"),
        ("\"little\"", "\"Little One\"", "line 3: a name has small letters, digits, - and _ only"),
        ("https://little", "http://little", "line 6: home is an address that starts with https://"),
        ("checked = \"2026-11-18\"", "checked = \"lately\"", "line 5: a day is written as 2026-11-18"),
        ("short_ms = 300", "short_ms = 3", "line 15: short_ms is at least 100, and long_ms not shorter"),
        ("went wrong", "Went wrong", "line 27: phrases are in lower case and not empty: \"Went wrong\""),
        ("quill = [\"replace_children\"]", "quill = []", "line 8: every editor needs a method"),
        ("send =", "stop =", "no layout says where send is"),
        ("[quiet]", "[quiet", "line 15: "),
    ];
    assert!(PageProfile::parse(LITTLE).is_ok());
    for (right, wrong, expected) in cases {
        let text = LITTLE.replacen(right, wrong, 1);
        assert_ne!(text, LITTLE);
        let error = PageProfile::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{wrong}: {error}");
    }
}

#[test]
fn the_persons_file_comes_first_and_a_broken_one_is_never_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let own = Some(folder.path());
    std::fs::write(folder.path().join("little.toml"), LITTLE).unwrap();
    assert_eq!(choose(ProfileChoice::For("https://other.example/chat/1"), own).unwrap().name, "little");
    assert!(names(own).contains(&"little".to_owned()));

    let path = folder.path().join("gemini.toml");
    std::fs::write(&path, include_str!("../../../policies/pages/gemini.toml").replace("\"Gemini\"", "\"Mine\""))
        .unwrap();
    assert_eq!(choose(ProfileChoice::Named("gemini"), own).unwrap().title, "Mine");
    std::fs::write(&path, "format = ").unwrap();
    let error = choose(ProfileChoice::Named("gemini"), own).unwrap_err().to_string();
    assert!(error.contains("gemini.toml: line 1"), "{error}");
    std::fs::write(&path, LITTLE).unwrap();
    let error = choose(ProfileChoice::Named("gemini"), own).unwrap_err().to_string();
    assert!(error.ends_with("its name is little, not that of its file"), "{error}");

    for name in ["nothing", "../little", "", ".hidden"] {
        assert!(matches!(choose(ProfileChoice::Named(name), own), Err(ProfileError::Unknown { .. })), "{name}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*", at in 0usize..1500) {
        let _ = PageProfile::parse(&text);
        let mut cut = LITTLE.to_owned();
        cut.insert_str(at.min(cut.len()), &text);
        let _ = PageProfile::parse(&cut);
    }
}
