//! The scripts, and what each is made of.

/// Something to be done on a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transport) enum Job {
    Locate,
    Ready,
    Clear,
    Type,
    ChooseMode,
    ChooseModel,
    AttachOpen,
    AttachWait,
    Send,
    Commit,
    Watch,
    Capture,
}

const CORE: &str = include_str!("core.js");
const ANSWER: &str = include_str!("answer.js");
const COMPOSER: &str = include_str!("composer.js");
const MARKDOWN: &str = include_str!("markdown.js");
const MODE: &str = include_str!("mode.js");

const BEFORE: &str = "const [profile, input, done] = arguments;\n(async () => {\n";
const AFTER: &str = "})().then((value) => done({ value }), (error) => done({ error: String(error?.stack ?? error) }));";

impl Job {
    pub(super) const fn name(self) -> &'static str {
        self.parts().0
    }

    const fn parts(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Job::Locate => ("locate", &[include_str!("locate.js")]),
            Job::Ready => ("ready", &[include_str!("ready.js")]),
            Job::Clear => ("clear", &[COMPOSER, include_str!("clear.js")]),
            Job::Type => ("type", &[COMPOSER, include_str!("type.js")]),
            Job::ChooseMode => ("choose_mode", &[MODE, include_str!("choose_mode.js")]),
            Job::ChooseModel => ("choose_model", &[include_str!("choose_model.js")]),
            Job::AttachOpen => ("attach_open", &[include_str!("attach_open.js")]),
            Job::AttachWait => ("attach_wait", &[include_str!("attach_wait.js")]),
            Job::Send => ("send", &[COMPOSER, MODE, include_str!("send.js")]),
            Job::Commit => ("commit", &[COMPOSER, ANSWER, include_str!("commit.js")]),
            Job::Watch => ("watch", &[ANSWER, MARKDOWN, include_str!("watch.js")]),
            Job::Capture => ("capture", &[ANSWER, MARKDOWN, include_str!("capture.js")]),
        }
    }

    /// Returns the body of a function that takes the profile, the input and what to call with the answer.
    pub(super) fn script(self) -> String {
        let mut script = String::from(BEFORE);
        script.push_str(CORE);
        self.parts().1.iter().for_each(|part| script.push_str(part));
        script.push_str(AFTER);
        script
    }
}
