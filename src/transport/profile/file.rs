//! A profile as it is written, and what makes it a valid one.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::transport::profile::Conversations;
use crate::transport::profile::Element;
use crate::transport::profile::Entries;
use crate::transport::profile::Entry;
use crate::transport::profile::Layout;
use crate::transport::profile::Methods;
use crate::transport::profile::Modes;
use crate::transport::profile::PageProfile;
use crate::transport::profile::Phrases;
use crate::transport::profile::ProfileError;
use crate::transport::profile::Quiet;
use crate::transport::profile::SessionProbe;
use crate::transport::profile::SignIn;
use crate::transport::profile::Waits;
use crate::transport::profile::selector;

/// The only form there is.
const FORMAT: u32 = 1;
const MAX_WAIT_MS: u64 = 600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageProfileFile {
    format: Spanned<u32>,
    name: Spanned<String>,
    title: String,
    checked: Spanned<String>,
    home: Spanned<String>,
    hosts: Vec<String>,
    #[serde(default)]
    conversation: Conversations,
    #[serde(default)]
    sign_in: SignIn,
    typing: Spanned<Methods>,
    quiet: Spanned<Quiet>,
    waits: Spanned<Waits>,
    session: Option<SessionProbe>,
    mode: Option<Modes>,
    phrases: Spanned<Phrases>,
    #[serde(default)]
    elements: EntriesFile,
    layouts: Vec<LayoutFile>,
}

type EntriesFile = BTreeMap<Element, Spanned<Vec<EntryFile>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryFile {
    css: Spanned<String>,
    seen: Spanned<String>,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutFile {
    name: Spanned<String>,
    when: Spanned<String>,
    elements: EntriesFile,
}

impl PageProfile {
    /// Reads a profile and says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let file: PageProfileFile = toml::from_str(text).map_err(|error| ProfileError::of_parser(text, &error))?;
        Checker { text }.check(file)
    }
}

struct Checker<'a> {
    text: &'a str,
}

impl Checker<'_> {
    fn check(&self, file: PageProfileFile) -> Result<PageProfile, ProfileError> {
        if *file.format.get_ref() != FORMAT {
            let message = format!("format {} is not known; this program reads {FORMAT}", file.format.get_ref());
            return Err(self.problem(&file.format, message));
        }
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
        };
        if !is_name(file.name.get_ref()) {
            return Err(self.problem(&file.name, "a name has small letters, digits, - and _ only"));
        }
        let home = file.home.get_ref();
        if !home.starts_with("https://") && !home.starts_with("http://127.0.0.1") {
            return Err(self.problem(&file.home, "home is an address that starts with https://"));
        }
        self.check_date(&file.checked)?;
        self.check_numbers(&file)?;
        if file.layouts.is_empty() {
            return Err(ProfileError::Whole("there is no layout".to_owned()));
        }
        let elements = self.entries(file.elements)?;
        let mut layouts = Vec::new();
        for layout in file.layouts {
            self.check_css(&layout.when)?;
            if layouts.iter().any(|other: &Layout| other.name == *layout.name.get_ref()) {
                return Err(self.problem(&layout.name, "two layouts have this name"));
            }
            let elements = self.entries(layout.elements)?;
            layouts.push(Layout { name: layout.name.into_inner(), when: layout.when.into_inner(), elements });
        }
        for element in Element::NEEDED {
            if !elements.contains_key(&element) && !layouts.iter().any(|layout| layout.elements.contains_key(&element))
            {
                return Err(ProfileError::Whole(format!("no layout says where {} is", element.as_str())));
            }
        }
        Ok(PageProfile {
            name: file.name.into_inner(),
            title: file.title,
            checked: file.checked.into_inner(),
            home: file.home.into_inner(),
            hosts: file.hosts,
            conversations: file.conversation,
            sign_in: file.sign_in,
            session: file.session,
            mode: file.mode,
            methods: file.typing.into_inner(),
            quiet: file.quiet.into_inner(),
            waits: file.waits.into_inner(),
            phrases: file.phrases.into_inner(),
            elements,
            layouts,
        })
    }

    fn check_numbers(&self, file: &PageProfileFile) -> Result<(), ProfileError> {
        let quiet = file.quiet.get_ref();
        if quiet.short_ms < 100 || quiet.long_ms < quiet.short_ms || quiet.long_ms > MAX_WAIT_MS {
            return Err(self.problem(&file.quiet, "short_ms is at least 100, and long_ms not shorter"));
        }
        let waits = file.waits.get_ref();
        let all = [
            waits.ready_ms,
            waits.challenge_ms,
            waits.send_ms,
            waits.commit_ms,
            waits.upload_ms,
            waits.menu_ms,
            waits.copy_ms,
            waits.throttled_ms,
        ];
        if all.iter().any(|wait| *wait > MAX_WAIT_MS) {
            return Err(self.problem(&file.waits, format!("a wait is at most {MAX_WAIT_MS} milliseconds")));
        }
        let methods = file.typing.get_ref();
        if [&methods.textarea, &methods.prosemirror, &methods.quill, &methods.lexical, &methods.other]
            .iter()
            .any(|list| list.is_empty())
        {
            return Err(self.problem(&file.typing, "every editor needs a method"));
        }
        let phrases = file.phrases.get_ref();
        let lists = [
            &phrases.rate_limited,
            &phrases.challenge,
            &phrases.challenge_title,
            &phrases.signed_out,
            &phrases.failed,
            &phrases.placeholder,
        ];
        // A phrase that is empty or not in lower case would match everything or nothing.
        match lists.into_iter().flatten().find(|phrase| phrase.trim().is_empty() || phrase.to_lowercase() != **phrase) {
            Some(phrase) => {
                Err(self.problem(&file.phrases, format!("phrases are in lower case and not empty: {phrase:?}")))
            }
            None => Ok(()),
        }
    }

    fn entries(&self, file: EntriesFile) -> Result<Entries, ProfileError> {
        let mut entries = Entries::new();
        for (element, list) in file {
            if list.get_ref().is_empty() {
                return Err(self.problem(&list, format!("{} has no entry", element.as_str())));
            }
            let mut checked = Vec::new();
            for entry in list.into_inner() {
                self.check_css(&entry.css)?;
                self.check_date(&entry.seen)?;
                checked.push(Entry { css: entry.css.into_inner(), seen: entry.seen.into_inner(), note: entry.note });
            }
            entries.insert(element, checked);
        }
        Ok(entries)
    }

    fn check_css(&self, css: &Spanned<String>) -> Result<(), ProfileError> {
        selector::problem(css.get_ref()).map_or(Ok(()), |problem| Err(self.problem(css, problem)))
    }

    fn check_date(&self, date: &Spanned<String>) -> Result<(), ProfileError> {
        match date.get_ref().parse::<jiff::civil::Date>() {
            Ok(_) => Ok(()),
            Err(_) => Err(self.problem(date, "a day is written as 2026-11-18")),
        }
    }

    fn problem<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> ProfileError {
        ProfileError::at(self.text, at.span().start, message)
    }
}
