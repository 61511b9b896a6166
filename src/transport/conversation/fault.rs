//! The faults of a conversation: what each says, and what to do.

use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::page::Notice;
use crate::transport::profile::Element;
use crate::transport::profile::PageProfile;

/// A page's own words, fit for a terminal.
fn said(notice: Option<&Notice>) -> String {
    notice.map(|notice| format!(": \"{}\"", visible(&notice.text))).unwrap_or_default()
}

pub(super) fn drifted(profile: &PageProfile, element: Element, message: &str) -> Fault {
    let name = &profile.name;
    let message = format!("{}: {message} ({})", profile.title, element.as_str());
    let hint = format!(
        "Run `git oracle doctor --page {name}` to see what matches; entries in ~/.oracle/pages/{name}.toml take the place of the built-in ones."
    );
    Fault::new(FaultKind::PageDrifted, message, hint)
}

pub(super) fn signed_out(profile: &PageProfile) -> Fault {
    let message = format!("nobody is signed in to {}", profile.title);
    Fault::new(
        FaultKind::SignedOut,
        message,
        "Sign in with `git oracle auth login`, then check with `git oracle auth check`.",
    )
}

pub(super) fn challenged(profile: &PageProfile) -> Fault {
    let message = format!("{} asks its visitor to prove to be a person", profile.title);
    let hint =
        "Answer it once in `git oracle auth login`, or use --headful; a browser of your own can be used with --attach.";
    Fault::new(FaultKind::Challenge, message, hint)
}

pub(super) fn rate_limited(profile: &PageProfile, notice: Option<&Notice>) -> Fault {
    let message = format!("{} limits how much it may be asked{}", profile.title, said(notice));
    Fault::new(
        FaultKind::RateLimited,
        message,
        "Wait a few minutes before you try again; trying at once makes it longer.",
    )
}

pub(super) fn refused(profile: &PageProfile, notice: Option<&Notice>) -> Fault {
    let message = format!("{} answered with an error{}", profile.title, said(notice));
    Fault::new(FaultKind::ProviderError, message, "Try again later; what had arrived is kept in the session.")
}

pub(super) fn not_attached(profile: &PageProfile, message: &str, notice: Option<&Notice>) -> Fault {
    let message = format!("{}: {message}{}", profile.title, said(notice));
    let hint = format!(
        "Nothing was sent. Try again, or leave the files out; `git oracle doctor --page {}` shows what matches.",
        profile.name
    );
    Fault::new(FaultKind::ProviderError, message, hint)
}

pub(super) fn unclear(profile: &PageProfile, why: &str) -> Fault {
    let message = format!("it is not clear whether {} took the prompt: {why}", profile.title);
    let hint =
        "It is not sent again. Look with `git oracle session attach`, or in the browser, before you start another one.";
    Fault::new(FaultKind::SendUnclear, message, hint)
}

pub(super) fn elsewhere(profile: &PageProfile, url: &str) -> Fault {
    let message = format!("{} shows another page than the conversation: {}", profile.title, visible(url));
    Fault::new(
        FaultKind::NavigationLost,
        message,
        "The prompt was sent; `git oracle session attach` looks for its answer.",
    )
}

pub(super) fn too_late(seconds: u64, why: &str) -> Fault {
    let message = format!("no whole answer in {seconds} seconds: {why}");
    let hint = "Give it more time with --timeout or --stall-timeout; `git oracle session attach` picks up an answer that comes later.";
    Fault::new(FaultKind::TimedOut, message, hint)
}

pub(super) fn not_offered(profile: &PageProfile, label: &str, offered: &[String]) -> Fault {
    let message = format!("{} does not offer the model {}", profile.title, visible(label));
    let hint = match offered {
        [] => "It shows no choice of models to this account.".to_owned(),
        _ => {
            let list: Vec<_> = offered.iter().map(|name| visible(name).into_owned()).collect();
            format!("It offers: {}.", list.join(", "))
        }
    };
    Fault::new(FaultKind::ModelNotOffered, message, hint)
}
