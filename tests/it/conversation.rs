//! Conversations with the rehearsal page, in a real browser.

use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use git_oracle::system::Environment;
use git_oracle::transport::Browser;
use git_oracle::transport::Capture;
use git_oracle::transport::CompletionPath;
use git_oracle::transport::Enclosure;
use git_oracle::transport::Fault;
use git_oracle::transport::FaultKind;
use git_oracle::transport::Proof;
use git_oracle::transport::RequestId;
use git_oracle::transport::conversation::Answer;
use git_oracle::transport::conversation::Broken;
use git_oracle::transport::conversation::Clocks;
use git_oracle::transport::conversation::Conversation;
use git_oracle::transport::conversation::Message;
use git_oracle::transport::conversation::Step;
use git_oracle::transport::conversation::Whereabouts;
use git_oracle::transport::driver::Configured;
use git_oracle::transport::driver::Launch;
use git_oracle::transport::driver::Machine;
use git_oracle::transport::driver::Profile;
use git_oracle::transport::profile::ProfileChoice;
use git_oracle::transport::profile::choose;
use git_oracle::transport::rehearsal::Composer;
use git_oracle::transport::rehearsal::Faults;
use git_oracle::transport::rehearsal::Happening;
use git_oracle::transport::rehearsal::Record;
use git_oracle::transport::rehearsal::Rehearsal;
use git_oracle::transport::rehearsal::Reply;
use git_oracle::transport::rehearsal::Script;
use git_oracle::transport::rehearsal::SignedOut;

const CLOCKS: Clocks = Clocks { answer: Duration::from_secs(30), stall: Duration::from_secs(10) };
const ANSWER: &str = "{{REQUEST_ID}}\n\n## Review\n\nTwo things:\n\n- read until `EOF`, not until `\"\\n\"`\n- keep the **quote** state\n\n```diff\n--- a/src/parse.py\n+++ b/src/parse.py\n@@ -1,2 +1,2 @@\n def fields(line):\n-    return line.split(\",\")[:-1]\n+    return line.split(\",\")\n```\n\n{{REQUEST_ID}}";

/// A browser on a rehearsal page.
struct Stage {
    page: Rehearsal,
    conversation: Conversation,
    steps: Vec<Step>,
    folder: tempfile::TempDir,
}

impl Stage {
    fn of(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::of(&Environment::of_process().unwrap(), &Configured::default()).unwrap();
        let machine = machine.guarded_by(Path::new(env!("CARGO_BIN_EXE_git-oracle")));
        let browser = Browser::start(&Launch::own(machine, Profile::at(&folder.path().join("profile")))).unwrap();
        let profile = choose(ProfileChoice::Named("rehearsal"), None).unwrap();
        let page = Rehearsal::start(script).unwrap();
        Stage { page, conversation: Conversation::new(browser, profile), steps: Vec::new(), folder }
    }

    fn open(&mut self, model: Option<&str>) -> Result<(), Fault> {
        let url = self.page.url();
        self.conversation.open(&url, model, &mut |step| {
            self.steps.push(step.clone());
            Ok(())
        })
    }

    fn ask(&mut self, text: &str, files: &[Enclosure<'_>], clocks: &Clocks) -> (RequestId, Result<Answer, Broken>) {
        let id = RequestId::random().unwrap();
        let text = format!("Request id: {id}\n\n{text}");
        let message = Message { request_id: &id, text: &text, files };
        let asked = self.conversation.ask(&message, clocks, &mut |step| {
            self.steps.push(step.clone());
            Ok(())
        });
        let sent: Vec<_> =
            self.page.record().prompts.into_iter().filter(|prompt| prompt.text.contains(id.as_str())).collect();
        assert!(sent.len() <= 1, "sent {} times", sent.len());
        assert!(sent.iter().all(|prompt| prompt.text == text), "not what was typed: {sent:?}");
        (id, asked)
    }

    fn record(&self) -> Record {
        self.page.record()
    }
}

const PROMPT: &str = "Review this.\n\n\tdef f(x):\n\t\treturn x  # tabs\n\n    four spaces, \"quotes\", <b>tags</b> &amp; \u{2728}\u{200d} e\u{301}  \n\n- one\n* two\n";

fn written(faults: Faults) -> Script {
    Script { faults, ..Script::answering([ANSWER]) }
}

fn happening(happenings: Vec<Happening>) -> Script {
    Script { replies: vec![Reply { happenings, chunk: 20, every_ms: 20, ..Reply::of(ANSWER) }], ..Script::default() }
}

/// Asks once and expects the whole answer.
fn whole(what: &str, script: Script) -> (Stage, Answer) {
    let mut stage = Stage::of(script);
    stage.open(None).unwrap_or_else(|fault| panic!("{what}: {fault:?}"));
    let (id, asked) = stage.ask(PROMPT, &[], &CLOCKS);
    let answer = asked.unwrap_or_else(|broken| panic!("{what}: {broken:?}\n{:?}", stage.steps));
    let expected = ANSWER.replace("{{REQUEST_ID}}", id.as_str());
    let said = answer.text.split_once("\n\n---\n\n").map_or(answer.text.as_str(), |(_, rest)| rest);
    assert_eq!(said, expected, "{what}");
    assert!(answer.sealed || what.contains("preamble"), "{what}");
    assert_eq!(stage.record().prompts.len(), 1, "{what}");
    (stage, answer)
}

#[test]
fn each_kind_of_composer_gets_the_text_exactly_and_gives_the_answer_exactly() {
    for editor in [Composer::Contenteditable, Composer::Textarea, Composer::Quill] {
        let (stage, answer) = whole(&format!("{editor:?}"), Script { editor, ..Script::answering([ANSWER]) });
        assert_eq!(
            (answer.capture, answer.path, answer.proof),
            (Capture::Clipboard, CompletionPath::AllSignals, Proof::RequestId)
        );
        let names: Vec<_> = stage
            .steps
            .iter()
            .map(|step| serde_json::to_value(step).unwrap()["step"].as_str().unwrap().to_owned())
            .collect();
        let order =
            ["opening", "ready", "typing", "typed", "sending", "sent", "committed", "address", "finished", "captured"];
        // On a busy machine a piece of the answer is seen before all of it.
        let seen: Vec<_> = names.iter().filter(|name| !["watching", "partial"].contains(&name.as_str())).collect();
        let address_at = seen.iter().position(|name| *name == "address").unwrap();
        assert!(address_at > 5, "{names:?}");
        let without =
            |list: Vec<&str>| list.into_iter().filter(|name| *name != "address").map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(without(seen.iter().map(|name| name.as_str()).collect()), without(order.to_vec()));
        assert!(stage.conversation.address().unwrap().contains("/c/0000"));
    }
}

#[test]
fn what_stands_in_the_way_on_arrival_is_cleared_away() {
    let cases = [
        ("popup", Faults { popup: true, ..Faults::default() }),
        ("draft", Faults { stale_draft: Some("half a thought\nfrom yesterday".into()), ..Faults::default() }),
        ("conversation", Faults { stale_conversation: true, ..Faults::default() }),
        ("late composer", Faults { hydrate_ms: Some(1200), ..Faults::default() }),
        ("mode", Faults { agent_mode: true, ..Faults::default() }),
        ("challenge", Faults { challenge_ms: Some(1500), ..Faults::default() }),
    ];
    for (what, faults) in cases {
        let (stage, _) = whole(what, written(faults));
        let record = stage.record();
        assert_eq!(record.prompts[0].mode, "Ask", "{what}");
        assert_ne!(record.prompts[0].conversation, "00000000-0000-4000-8000-000000000000", "{what}");
        assert_eq!(stage.steps.contains(&Step::Challenged), what == "challenge");
        assert_eq!(stage.steps.contains(&Step::DraftCleared { characters: 29 }), what == "draft", "{:?}", stage.steps);
        let left = Step::ModeLeft { was: "Agent".into(), now: "Ask".into() };
        assert_eq!(stage.steps.contains(&left), what == "mode");
    }
}

#[test]
fn a_pause_is_no_end_and_a_thought_is_no_answer() {
    let think = Happening::Think { ms: 900, summary: "Thought for 1s".into() };
    whole("thinking", happening(vec![think]));
    whole("a pause at work", happening(vec![Happening::Pause { after: 60, ms: 2200, hides_stop: false }]));
    whole(
        "a pause that looks like an end",
        happening(vec![Happening::Pause { after: 60, ms: 2200, hides_stop: true }]),
    );
    let preamble = "I will look at the parser first.\n\n---";
    let pause = Happening::Pause { after: preamble.len(), ms: 2200, hides_stop: true };
    let mut script = happening(vec![pause]);
    script.replies[0].preamble = Some(preamble.to_owned());
    whole("a preamble", script);
    whole("new elements", happening(vec![Happening::Remount { after: 90 }, Happening::Remount { after: 200 }]));
}

#[test]
fn an_end_is_seen_where_a_signal_is_wrong() {
    let (_, answer) = whole("stop never clears", written(Faults { stop_never_clears: true, ..Faults::default() }));
    assert_eq!(answer.path, CompletionPath::InactivityFallback);
    assert!(answer.signals.stop && answer.signals.ended);
    let (_, answer) = whole("late copy", written(Faults { copy_late_ms: Some(700), ..Faults::default() }));
    assert_eq!((answer.capture, answer.path), (Capture::Clipboard, CompletionPath::AllSignals));
    let (_, answer) = whole("broken copy", written(Faults { copy_broken: true, ..Faults::default() }));
    assert_eq!(answer.capture, Capture::Dom);
}

#[test]
fn a_page_that_moves_under_us_is_followed() {
    let (stage, _) = whole("passing address", {
        let faults = Faults { passing_address: true, ..Faults::default() };
        Script { faults, ..happening(Vec::new()) }
    });
    let addresses: Vec<_> = stage.steps.iter().filter(|step| matches!(step, Step::Address { .. })).collect();
    assert_eq!(addresses.len(), 1, "{addresses:?}");
    whole("reload", happening(vec![Happening::Reload { after: 90 }]));
    whole("alert", happening(vec![Happening::Alert { after: 90, text: "Hello".into() }]));
    whole("wiped text", written(Faults { wipes_after_ms: Some(400), ..Faults::default() }));
}

#[test]
fn attachments_are_there_before_anything_is_sent() {
    let cases = [
        ("plain", Faults::default()),
        ("slow", Faults { upload_ms: Some(900), ..Faults::default() }),
        ("renamed", Faults { renames_attachments: true, ..Faults::default() }),
        ("terms", Faults { upload_terms: true, ..Faults::default() }),
    ];
    for (what, faults) in cases {
        let mut stage = Stage::of(written(faults));
        stage.open(None).unwrap();
        let files = [
            Enclosure { name: "context.md", bytes: b"the context\n" },
            Enclosure { name: "notes ö.txt", bytes: b"notes\n" },
        ];
        let (_, asked) = stage.ask("Review the attached files.", &files, &CLOCKS);
        asked.unwrap_or_else(|broken| panic!("{what}: {broken:?}"));
        let sent: Vec<_> =
            stage.record().prompts[0].files.iter().map(|file| (file.name.clone(), file.content.clone())).collect();
        assert_eq!(
            sent,
            [("context.md".into(), b"the context\n".to_vec()), ("notes ö.txt".into(), b"notes\n".to_vec())],
            "{what}"
        );
        let agreed = what == "terms";
        let step = Step::Attached { files: 2, unnamed: Vec::new(), agreed };
        assert!(stage.steps.contains(&step), "{what}: {:?}", stage.steps);
    }
    let mut stage = Stage::of(written(Faults { upload_fails: true, ..Faults::default() }));
    stage.open(None).unwrap();
    let files = [Enclosure { name: "context.md", bytes: b"the context\n" }];
    let (_, asked) = stage.ask("Review the attached files.", &files, &CLOCKS);
    let broken = asked.unwrap_err();
    assert_eq!((broken.fault.kind, broken.whereabouts), (FaultKind::ProviderError, Whereabouts::Unsent));
    assert!(stage.record().prompts.is_empty());
}

#[test]
fn a_model_is_chosen_by_its_name_or_named_as_missing() {
    let mut stage = Stage::of(Script::answering([ANSWER]));
    stage.open(Some("gpt-5-pro")).unwrap();
    assert!(stage.steps.contains(&Step::ModelChosen { label: "GPT-5 Pro".into() }));
    stage.ask("Hello.", &[], &CLOCKS).1.unwrap();
    assert_eq!(stage.record().prompts[0].model, "GPT-5 Pro");

    let mut stage = Stage::of(Script::answering([ANSWER]));
    let fault = stage.open(Some("GPT-9")).unwrap_err();
    assert_eq!(
        (fault.kind, fault.hint.as_str()),
        (FaultKind::ModelNotOffered, "It offers: GPT-5, GPT-5 Pro, GPT-5 mini.")
    );
}

#[test]
fn a_page_that_cannot_be_used_is_named() {
    let cases = [
        (Faults { signed_out: Some(SignedOut::Visitor), ..Faults::default() }, FaultKind::SignedOut),
        (Faults { signed_out: Some(SignedOut::Redirect), ..Faults::default() }, FaultKind::SignedOut),
        (Faults { challenge_ms: Some(600_000), ..Faults::default() }, FaultKind::Challenge),
        (Faults { hydrate_ms: Some(600_000), ..Faults::default() }, FaultKind::PageDrifted),
    ];
    for (faults, kind) in cases {
        let mut stage = Stage::of(written(faults.clone()));
        let fault = stage.open(None).unwrap_err();
        assert_eq!(fault.kind, kind, "{faults:?}: {fault:?}");
        assert!(!fault.hint.is_empty() && stage.record().prompts.is_empty());
    }
}

#[test]
fn a_prompt_that_may_have_been_sent_is_not_sent_again() {
    let mut stage = Stage::of(written(Faults { ignores_send: true, ..Faults::default() }));
    stage.open(None).unwrap();
    let broken = stage.ask(PROMPT, &[], &CLOCKS).1.unwrap_err();
    assert_eq!((broken.fault.kind, broken.whereabouts), (FaultKind::SendUnclear, Whereabouts::Unclear));
    assert_eq!(stage.record().events, ["ignored"]);

    let refused = Reply { refused: Some("You ask too quickly. Too many requests.".into()), ..Reply::default() };
    let mut stage = Stage::of(Script { replies: vec![refused], ..Script::default() });
    stage.open(None).unwrap();
    let broken = stage.ask(PROMPT, &[], &CLOCKS).1.unwrap_err();
    assert_eq!((broken.fault.kind, broken.whereabouts), (FaultKind::RateLimited, Whereabouts::Refused));
    assert!(broken.fault.message.contains("Too many requests"), "{}", broken.fault.message);
    assert_eq!(stage.record().prompts.len(), 1);
}

#[test]
fn a_caller_who_says_no_before_the_send_is_obeyed() {
    let mut stage = Stage::of(Script::answering([ANSWER]));
    stage.open(None).unwrap();
    let id = RequestId::random().unwrap();
    let text = format!("{id} secret");
    let message = Message { request_id: &id, text: &text, files: &[] };
    let asked = stage.conversation.ask(&message, &CLOCKS, &mut |step| match step {
        Step::Sending => Err(Fault::new(FaultKind::Interrupted, "no", "Ask somebody.")),
        _ => Ok(()),
    });
    assert_eq!(asked.unwrap_err().whereabouts, Whereabouts::Unsent);
    assert!(stage.record().prompts.is_empty());
    assert!(!stage.conversation.snapshot().unwrap().contains("secret"));
}

#[test]
fn an_answer_that_breaks_off_is_kept_as_far_as_it_came() {
    let text = "Something went wrong. Network error.".to_owned();
    let cases = [
        (Happening::Fail { after: 150, text: text.clone() }, FaultKind::ProviderError),
        (Happening::Throttle { after: 150, text: "Too many requests.".into() }, FaultKind::RateLimited),
        (Happening::Stall { after: 150 }, FaultKind::TimedOut),
    ];
    for (what, kind) in cases {
        let mut stage = Stage::of(happening(vec![what.clone()]));
        stage.open(None).unwrap();
        let clocks = Clocks { stall: Duration::from_secs(3), ..CLOCKS };
        let (id, asked) = stage.ask(PROMPT, &[], &clocks);
        let broken = asked.unwrap_err();
        assert_eq!((broken.fault.kind, broken.whereabouts), (kind, Whereabouts::Sent), "{what:?}: {broken:?}");
        let partial = broken.partial.unwrap();
        assert!(
            partial.text.starts_with(&format!("{id}\n\n## Review")) && partial.text.len() < 220,
            "{what:?}: {}",
            partial.text
        );
        assert!(!partial.sealed && partial.id_seen);
        assert_eq!(partial.path, CompletionPath::TimeoutPartial);
    }
    // Elsewhere there is nothing to be kept.
    let mut stage = Stage::of(happening(vec![Happening::Leave { after: 150, to: "/login".into() }]));
    stage.open(None).unwrap();
    let broken = stage.ask(PROMPT, &[], &CLOCKS).1.unwrap_err();
    assert_eq!((broken.fault.kind, broken.whereabouts), (FaultKind::SignedOut, Whereabouts::Sent), "{broken:?}");
}

#[test]
fn time_is_up_when_it_is_up() {
    let slow = Reply { chunk: 10, every_ms: 300, ..Reply::of(ANSWER) };
    let mut stage = Stage::of(Script { replies: vec![slow], ..Script::default() });
    stage.open(None).unwrap();
    let begun = Instant::now();
    let clocks = Clocks { answer: Duration::from_secs(3), ..CLOCKS };
    let broken = stage.ask(PROMPT, &[], &clocks).1.unwrap_err();
    assert_eq!(broken.fault.kind, FaultKind::TimedOut);
    assert!(broken.partial.is_some_and(|partial| partial.id_seen && !partial.text.is_empty()));
    assert!(begun.elapsed() < Duration::from_secs(12));
}

#[test]
fn an_answer_without_the_id_is_used_and_marked() {
    let mut stage = Stage::of(Script::answering(["Just this.\n\n- one\n- two"]));
    stage.open(None).unwrap();
    let answer = stage.ask("Hello.", &[], &CLOCKS).1.unwrap();
    assert_eq!(answer.text, "Just this.\n\n- one\n- two");
    assert_eq!((answer.id_seen, answer.sealed, answer.proof), (false, false, Proof::RequestId));
}

#[test]
fn several_prompts_in_one_conversation_get_their_own_answers() {
    let mut stage = Stage::of(Script::answering([
        "{{REQUEST_ID}}\n\nfirst\n\n{{REQUEST_ID}}",
        "{{REQUEST_ID}}\n\nsecond\n\n{{REQUEST_ID}}",
    ]));
    stage.open(None).unwrap();
    for expected in ["first", "second", "second"] {
        let (id, asked) = stage.ask("And now?", &[], &CLOCKS);
        assert_eq!(asked.unwrap().text, format!("{id}\n\n{expected}\n\n{id}"));
    }
    let record = stage.record();
    assert_eq!(record.prompts.len(), 3);
    assert!(record.prompts.iter().all(|prompt| prompt.conversation == record.prompts[0].conversation));
}

#[test]
fn a_sent_prompt_is_picked_up_again_without_sending() {
    let slow = Reply { every_ms: 400, ..Reply::of(ANSWER) };
    let mut stage = Stage::of(Script { replies: vec![slow], ..Script::default() });
    stage.open(None).unwrap();
    let id = RequestId::random().unwrap();
    let text = format!("Request id: {id}");
    let message = Message { request_id: &id, text: &text, files: &[] };
    // The caller goes away as soon as the conversation has an address.
    let broken = stage.conversation.ask(&message, &CLOCKS, &mut |step| match step {
        Step::Address { .. } => Err(Fault::new(FaultKind::Interrupted, "gone", "Come back.")),
        _ => Ok(()),
    });
    assert_eq!(broken.unwrap_err().whereabouts, Whereabouts::Sent);
    let address = stage.conversation.address().unwrap().to_owned();
    let mut quiet = |_: &Step| Ok(());
    for _ in ["still running", "finished"] {
        let answer = stage.conversation.resume(&address, &id, &CLOCKS, &mut quiet).unwrap();
        assert_eq!(answer.text, ANSWER.replace("{{REQUEST_ID}}", id.as_str()));
    }
    let other = RequestId::random().unwrap();
    let broken = stage.conversation.resume(&address, &other, &CLOCKS, &mut quiet).unwrap_err();
    assert_eq!(broken.fault.kind, FaultKind::SendUnclear, "{broken:?}");
    assert_eq!(stage.record().prompts.len(), 1);
}

#[test]
fn what_the_page_shows_becomes_the_markdown_it_was_made_from() {
    let markdown = "{{REQUEST_ID}}\n\n# Title\n\nA line  \nand a second one\nwith a third.\n\nText with `code`, ``a ` tick``, **strong**, *emphasis*, ~~gone~~ and [a link](https://example.org/x).\n\n1. first\n2. second\n   - nested `one`\n   - nested two\n     - deeper\n3. third\n\n- [x] done\n- [ ] open\n\n> quoted **text**\n> on two lines\n\n| name | value |\n| --- | --- |\n| a | `1` |\n| b |  |\n\n---\n\n```rust\nfn main() {\n    println!(\"nav, header, issues, explore\");\n\n\t// aria-label=\"x\"\n}\n```\n\n````\n```\nplain\n```\n````\n\n{{REQUEST_ID}}";
    let script = Script { faults: Faults { copy_broken: true, ..Faults::default() }, ..Script::answering([markdown]) };
    let mut stage = Stage::of(script);
    stage.open(None).unwrap();
    let (id, asked) = stage.ask("Show everything.", &[], &CLOCKS);
    let answer = asked.unwrap();
    assert_eq!(answer.capture, Capture::Dom);
    // A line stays a line; spaces at the end of one would be taken for those of a patch.
    assert_eq!(answer.text, markdown.replace("{{REQUEST_ID}}", id.as_str()).replace("  \n", "\n"));
    assert!(!answer.sidebar && !answer.clipped);
}

#[test]
fn what_is_not_the_answer_is_marked() {
    let faults = Faults { sidebar_bleed: true, copy_broken: true, ..Faults::default() };
    let mut stage = Stage::of(written(faults));
    stage.open(None).unwrap();
    assert!(stage.ask(PROMPT, &[], &CLOCKS).1.unwrap().sidebar);

    // Code may say what the sidebar says.
    let code = "{{REQUEST_ID}}\n\n```text\nFix the parser\nTrip to Lisbon\nUnit tests in Rust\n```\n\n{{REQUEST_ID}}";
    let script = Script { faults: Faults { copy_broken: true, ..Faults::default() }, ..Script::answering([code]) };
    let mut stage = Stage::of(script);
    stage.open(None).unwrap();
    assert!(!stage.ask(PROMPT, &[], &CLOCKS).1.unwrap().sidebar);

    let faults = Faults { clipped_block: true, copy_broken: true, ..Faults::default() };
    let mut stage = Stage::of(written(faults));
    stage.open(None).unwrap();
    let answer = stage.ask(PROMPT, &[], &CLOCKS).1.unwrap();
    assert!(answer.clipped && !answer.text.contains("return"), "{}", answer.text);
}

#[test]
fn long_texts_are_typed_exactly() {
    for editor in [Composer::Contenteditable, Composer::Textarea, Composer::Quill] {
        let mut stage = Stage::of(Script { editor, ..Script::answering([ANSWER]) });
        stage.open(None).unwrap();
        for lines in [500, 5000] {
            let text: String =
                (0..lines).map(|line| format!("{line:06}\tforty bytes of text <&> in a line é\n")).collect();
            let answer = stage.ask(&text, &[], &CLOCKS).1.unwrap_or_else(|broken| panic!("{editor:?}: {broken:?}"));
            assert!(answer.timing.type_ms < 10_000, "{editor:?}: {} bytes in {} ms", text.len(), answer.timing.type_ms);
        }
    }
}

#[test]
fn a_profile_is_examined_on_a_page() {
    let mut stage = Stage::of(Script::default());
    let url = stage.page.url();
    let examined = stage.conversation.examine(&url).unwrap();
    assert_eq!((examined.layout.as_deref(), examined.title.as_str()), (Some("rehearsal"), "Rehearsal"));
    let of = |name: &str| examined.found.iter().find(|found| found.element.as_str() == name).unwrap().clone();
    assert_eq!((of("composer").entry, of("composer").visible, of("answer").entry), (Some(0), 1, None));
}

#[test]
fn what_had_arrived_survives_a_crash_of_the_browser() {
    let slow = Reply { every_ms: 100, chunk: 20, ..Reply::of(ANSWER) };
    let mut stage = Stage::of(Script { replies: vec![slow], ..Script::default() });
    stage.conversation.take_snapshots(Duration::from_millis(500));
    stage.open(None).unwrap();
    let id = RequestId::random().unwrap();
    let text = format!("Request id: {id}");
    let message = Message { request_id: &id, text: &text, files: &[] };
    let (mut snapshots, mut partials) = (0, 0);
    let profile = stage.folder.path().join("profile/SingletonLock");
    let asked = stage.conversation.ask(&message, &CLOCKS, &mut |step| {
        match step {
            Step::Snapshot { html, .. } => snapshots += usize::from(html.contains("data-turn")),
            Step::Partial { text, .. } => {
                assert!(text.starts_with(id.as_str()), "{text}");
                partials += 1;
                // The browser that has this profile, by the name of its lock.
                let lock = std::fs::read_link(&profile).unwrap();
                let pid = lock.to_string_lossy().rsplit('-').next().unwrap().to_owned();
                let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap();
                assert!(killed.success());
            }
            _ => {}
        }
        Ok(())
    });
    let broken = asked.unwrap_err();
    assert_eq!((broken.fault.kind, broken.whereabouts), (FaultKind::BrowserCrashed, Whereabouts::Sent), "{broken:?}");
    let partial = broken.partial.unwrap();
    assert!(partial.text.starts_with(id.as_str()) && !partial.sealed);
    assert!(snapshots > 0 && partials == 1, "{snapshots} {partials}");
}
