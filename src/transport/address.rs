//! The address of a chat page, as people write it.

use url::Url;

use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;

/// Reads a full URL, or a host with or without a path, which is taken as https.
pub fn page_url(text: &str) -> Result<Url, Fault> {
    let refused = |why: &str| {
        let message = format!("{} is not the address of a page: {why}", visible(text));
        Fault::new(FaultKind::NavigationLost, message, "Write it like https://chatgpt.com/ or github.com/copilot")
    };
    let trimmed = text.trim();
    let full = match trimmed.split_once("://") {
        Some(_) => trimmed.to_owned(),
        None => format!("https://{}", trimmed.trim_start_matches('/')),
    };
    let url = Url::parse(&full).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refused("it is not http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::new(
            FaultKind::NavigationLost,
            "the address of a page must not hold a password",
            "Sign in with git oracle auth login.",
        ));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_alone_is_https() {
        for (text, expected) in [
            ("https://chatgpt.com/", "https://chatgpt.com/"),
            ("chatgpt.com", "https://chatgpt.com/"),
            ("github.com/copilot", "https://github.com/copilot"),
            ("//gemini.google.com/app", "https://gemini.google.com/app"),
            (" /chatgpt.com/c/1?x=2 ", "https://chatgpt.com/c/1?x=2"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
            ("localhost:8080/a", "https://localhost:8080/a"),
        ] {
            assert_eq!(page_url(text).unwrap().as_str(), expected, "{text}");
        }
        for text in ["", "file:///etc/passwd", "javascript://x/%0aalert(1)", "http://", "a b", "ftp://x"] {
            assert!(page_url(text).is_err(), "{text}");
        }
        let fault = page_url("https://person:hunter2@chatgpt.com/").unwrap_err();
        assert!(!format!("{fault:?}").contains("hunter2"));
    }
}
