//! What a profile can say the place of.

use serde::Deserialize;
use serde::Serialize;

macro_rules! elements {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A thing on a chat page. Those of a turn are looked for inside of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
        pub enum Element {
            $($(#[$doc])* #[serde(rename = $text)] $name,)*
        }

        impl Element {
            pub const ALL: &'static [Element] = &[$(Element::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Element::$name => $text,)*
                }
            }
        }
    };
}

elements! {
    /// Where a prompt is written.
    Composer = "composer",
    /// What holds the composer and everything that belongs to it.
    Form = "form",
    Send = "send",
    /// What ends an answer that is being written; there only meanwhile.
    Stop = "stop",
    /// What the user said, one for each turn.
    Question = "question",
    /// A turn of the assistant; it may hold its question, too.
    Answer = "answer",
    /// The text of an answer, inside of it.
    Body = "body",
    /// What copies an answer as markdown, inside of it.
    Copy = "copy",
    /// What else is there only when an answer is whole, inside of it.
    Finished = "finished",
    /// What is there while the assistant thinks, inside of an answer.
    Thinking = "thinking",
    /// An error in the place of an answer, or below it.
    Failure = "failure",
    FailureRetry = "failure_retry",
    SignedIn = "signed_in",
    SignedOut = "signed_out",
    /// What asks the visitor to prove to be a person.
    Challenge = "challenge",
    /// Where the page speaks to its user outside of the conversation.
    Alert = "alert",
    /// What closes an announcement.
    OverlayClose = "overlay_close",
    Sidebar = "sidebar",
    ModelButton = "model_button",
    ModeButton = "mode_button",
    /// Modes that are shown side by side, without a menu.
    ModeChoice = "mode_choice",
    /// What marks the one that is chosen.
    ModeChosen = "mode_chosen",
    MenuItem = "menu_item",
    /// The name in an item, where it has more than that.
    MenuLabel = "menu_label",
    /// What opens a further menu.
    MenuMore = "menu_more",
    /// What marks the item that is chosen, on it or inside.
    MenuChosen = "menu_chosen",
    AttachButton = "attach_button",
    AttachItem = "attach_item",
    /// What agrees to the page's terms for uploads.
    AttachAgree = "attach_agree",
    FileInput = "file_input",
    /// An attachment, one for each.
    Chip = "chip",
    /// What is there while an attachment is on its way.
    ChipBusy = "chip_busy",
    ChipRemove = "chip_remove",
    CodeBlock = "code_block",
    /// The code in a block.
    CodeText = "code_text",
    CodeLanguage = "code_language",
    /// Code in a line that is not in a `code` element.
    InlineCode = "inline_code",
    /// What stands in an answer and is not its text.
    Exclude = "exclude",
    /// What shows that the page does not hold the whole of a block.
    Clipped = "clipped",
}

impl Element {
    /// Without these no answer can be had from a page.
    pub(super) const NEEDED: [Element; 5] =
        [Element::Composer, Element::Send, Element::Question, Element::Answer, Element::Body];
}
