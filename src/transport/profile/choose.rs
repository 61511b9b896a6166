//! Which profile a page has: the one that was named, or the one for its host.

use std::path::Path;

use crate::system::FileError;
use crate::system::read_limited;
use crate::transport::profile::PageProfile;
use crate::transport::profile::ProfileError;
use crate::transport::profile::split;

const EMBEDDED: [(&str, &str); 4] = [
    ("chatgpt", include_str!("../../../policies/pages/chatgpt.toml")),
    ("copilot", include_str!("../../../policies/pages/copilot.toml")),
    ("gemini", include_str!("../../../policies/pages/gemini.toml")),
    ("rehearsal", include_str!("../../../policies/pages/rehearsal.toml")),
];
const MAX_PROFILE: u64 = 1024 * 1024;

/// How a profile is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileChoice<'a> {
    Named(&'a str),
    /// By the host of an address.
    For(&'a str),
}

/// Returns the names of all profiles: the built-in ones and those in `own`, the person's folder.
pub fn names(own: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = EMBEDDED.iter().map(|(name, _)| (*name).to_owned()).collect();
    let entries = own.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
    for entry in entries {
        if let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".toml")) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Returns the profile that is meant. A file in the person's folder comes before a built-in one.
pub fn choose(choice: ProfileChoice<'_>, own: Option<&Path>) -> Result<PageProfile, ProfileError> {
    match choice {
        ProfileChoice::Named(name) => load(name, own)?
            .ok_or_else(|| ProfileError::Unknown { name: name.to_owned(), known: names(own).join(", ") }),
        ProfileChoice::For(url) => {
            for name in names(own) {
                if let Some(profile) = load(&name, own)?.filter(|profile| profile.is_for(url)) {
                    return Ok(profile);
                }
            }
            let host = split(url).map_or(url, |(host, _)| host);
            Err(ProfileError::NoneFor { host: host.to_owned() })
        }
    }
}

fn load(name: &str, own: Option<&Path>) -> Result<Option<PageProfile>, ProfileError> {
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
        return Ok(None);
    }
    if let Some(path) = own.map(|folder| folder.join(format!("{name}.toml"))) {
        let within = |problem| ProfileError::In { path: path.display().to_string(), problem: Box::new(problem) };
        match read_limited(&path, MAX_PROFILE) {
            Ok(bytes) => {
                let text = String::from_utf8(bytes);
                let text = text.map_err(|_| within(ProfileError::Whole("it is not UTF-8".to_owned())))?;
                let profile = PageProfile::parse(&text).map_err(within)?;
                if profile.name != name {
                    let message = format!("its name is {}, not that of its file", profile.name);
                    return Err(within(ProfileError::Whole(message)));
                }
                return Ok(Some(profile));
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(ProfileError::Unreadable(with_source(&error))),
        }
    }
    match EMBEDDED.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => PageProfile::parse(text).map(Some),
        None => Ok(None),
    }
}

fn with_source(error: &FileError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
