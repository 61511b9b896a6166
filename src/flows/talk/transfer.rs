//! What leaves the machine: looked through, approved and written down before it does.

use serde_json::Value;
use serde_json::json;

use crate::base::Sha256Hex;
use crate::base::plural;
use crate::flows::Failure;
use crate::flows::Flows;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::secrets::Guard;
use crate::flows::talk::Draft;
use crate::flows::talk::engine::Destination;
use crate::flows::talk::engine::Engine;
use crate::flows::talk::parcel::Parcel;
use crate::policy::TransferConfig;
use crate::secret::Scanner;
use crate::system;
use crate::transport::RequestId;

/// A rough figure; providers count differently.
const BYTES_PER_TOKEN: usize = 4;

/// What the scan of a parcel found.
pub(in crate::flows) struct FoundSecrets {
    /// Families, each once.
    pub labels: Vec<String>,
    /// They were taken out.
    pub redacted: bool,
}

/// Returns the rules about secrets that hold here.
pub(in crate::flows) fn rules(flows: &Flows) -> Result<Guard, Failure> {
    match flows.repository() {
        Ok(repository) => Guard::of_repository(&repository),
        // A question can be asked anywhere.
        Err(_) => Ok(Guard::built_in()),
    }
}

/// Looks through every byte that would be sent. With `sanitize` secrets are taken out, and the result is looked through.
pub(super) fn look_through(scanner: &Scanner, parcel: &mut Parcel, sanitize: bool) -> FoundSecrets {
    let mut labels = labels_of(scanner, parcel);
    let mut redacted = false;
    if sanitize && !labels.is_empty() {
        let clean = |text: &mut String| {
            let (bytes, _) = scanner.redact(text.as_bytes());
            *text = String::from_utf8_lossy(&bytes).into_owned();
        };
        clean(&mut parcel.request);
        clean(&mut parcel.typed);
        for attachment in parcel.attachments.iter_mut().filter(|attachment| !attachment.is_archive) {
            attachment.bytes = scanner.redact(&attachment.bytes).0;
        }
        // What will really be sent decides.
        let left = labels_of(scanner, parcel);
        redacted = left.is_empty();
        labels.extend(left);
        labels.sort();
        labels.dedup();
    }
    FoundSecrets { labels, redacted }
}

fn labels_of(scanner: &Scanner, parcel: &Parcel) -> Vec<String> {
    let texts = [parcel.typed.as_bytes(), parcel.request.as_bytes()].into_iter();
    let files = parcel.attachments.iter().filter(|attachment| !attachment.is_archive);
    let everything = texts.chain(files.map(|attachment| attachment.bytes.as_slice()));
    let mut labels: Vec<String> =
        everything.flat_map(|bytes| scanner.scan(bytes)).map(|finding| finding.label).collect();
    labels.sort();
    labels.dedup();
    labels
}

impl FoundSecrets {
    pub fn stops(&self) -> bool {
        !self.labels.is_empty() && !self.redacted
    }

    pub fn refusal(&self) -> Trouble {
        let message = format!("there are secrets in what would be sent: {}", self.labels.join(", "));
        Trouble::new(Status::SecretDetected, "secret_detected", message)
            .hinted("Take them out, or send the rest without them with --sanitize-prompt.")
    }
}

/// One part of what is sent.
struct Part {
    name: &'static str,
    bytes: usize,
    sha256: Sha256Hex,
}

/// What is to be sent, where, and what for.
pub(super) struct Transfer<'a> {
    purpose: &'static str,
    destination: &'a Destination,
    id: &'a RequestId,
    parts: Vec<Part>,
}

/// Who lets it go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Approval {
    /// It stays on this machine.
    Loopback,
    /// Somebody typed the command at a terminal.
    Terminal,
    /// The person's configuration names the destination.
    Configuration,
}

impl Approval {
    const fn as_str(self) -> &'static str {
        match self {
            Approval::Loopback => "loopback",
            Approval::Terminal => "terminal",
            Approval::Configuration => "configuration",
        }
    }
}

impl<'a> Transfer<'a> {
    pub fn new(purpose: &'static str, destination: &'a Destination, id: &'a RequestId, parcel: &Parcel) -> Self {
        let part = |name, bytes: &[u8]| Part { name, bytes: bytes.len(), sha256: Sha256Hex::of(bytes) };
        let typed = part("prompt", parcel.typed.as_bytes());
        let files = parcel.attachments.iter().map(|attachment| part(attachment.name, &attachment.bytes));
        Transfer { purpose, destination, id, parts: std::iter::once(typed).chain(files).collect() }
    }

    /// Adds what was said before, where it is sent again with every turn.
    pub fn after(mut self, history: &str) -> Self {
        if !history.is_empty() {
            let bytes = history.as_bytes();
            self.parts.push(Part { name: "conversation", bytes: bytes.len(), sha256: Sha256Hex::of(bytes) });
        }
        self
    }

    fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// A prompt is what somebody wrote to be sent; files may hold more than anybody remembers.
    fn risk(&self) -> &'static str {
        match () {
            () if self.destination.is_loopback => "none",
            () if self.parts.iter().all(|part| matches!(part.name, "prompt" | "conversation")) => "low",
            () => "medium",
        }
    }

    /// Decides who lets it go; nobody is no.
    pub fn approve(&self, attended: bool, config: &TransferConfig) -> Result<Approval, Trouble> {
        if self.destination.is_loopback {
            return Ok(Approval::Loopback);
        }
        if attended {
            return Ok(Approval::Terminal);
        }
        let host = &self.destination.host;
        let named = config.allow.iter().any(|allowed| allowed == host) || config.auto_low_risk && self.risk() == "low";
        let fits = config.max_bytes.is_none_or(|limit| self.bytes() as u64 <= limit);
        if named && fits {
            return Ok(Approval::Configuration);
        }
        let message = match named {
            true => format!("{} bytes are more than may be sent unattended", self.bytes()),
            false => format!("nobody is there who could approve sending anything to {host}"),
        };
        Err(Trouble::new(Status::ApprovalRequired, "approval_required", message).hinted(format!(
            "Run it at a terminal, or put `allow = [\"{host}\"]` below [transfers] in ~/.oracle/config.toml."
        )))
    }

    /// Returns `transfer-N.json`.
    pub fn to_json(&self, approval: &Approval) -> Value {
        json!({
            "at": system::now(),
            "purpose": self.purpose,
            "destination": self.destination.shown,
            "requestId": self.id.as_str(),
            "riskClass": self.risk(),
            "approvedBy": approval.as_str(),
            "bytes": self.bytes(),
            "files": self.parts.iter().map(|part| json!({
                "name": part.name,
                "bytes": part.bytes,
                "sha256": part.sha256,
            })).collect::<Vec<_>>(),
        })
    }
}

/// Returns what `--dry-run` shows: what would be sent, where, and who would let it go.
pub(in crate::flows) fn preview(
    purpose: &'static str,
    draft: &Draft,
    engine: &Engine,
    attended: bool,
    config: &TransferConfig,
) -> Value {
    let transfer = Transfer::new(purpose, engine.destination(), &draft.id, &draft.parcel);
    let approval = transfer.approve(attended, config).ok();
    let found = &draft.found;
    json!({
        "destination": transfer.destination.shown,
        "engine": engine.kind().as_str(),
        "platform": engine.platform(),
        "model": engine.model(),
        "riskClass": transfer.risk(),
        "approvedBy": approval.map(Approval::as_str),
        "bytes": transfer.bytes(),
        "estimatedTokens": transfer.bytes().div_ceil(BYTES_PER_TOKEN),
        "files": transfer.parts.iter().map(|part| json!({"name": part.name, "bytes": part.bytes})).collect::<Vec<_>>(),
        "secretScan": {
            "status": if found.labels.is_empty() { "ok" } else { "matches_detected" },
            "matches": found.labels,
            "redacted": found.redacted,
        },
        "summary": format!(
            "{} in {} to {}",
            plural(transfer.bytes() as u64, "byte"),
            plural(transfer.parts.len() as u64, "part"),
            transfer.destination.shown
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::talk::parcel::Prompt;
    use crate::flows::talk::parcel::Room;

    fn approval(host: &str, attended: bool, config: &TransferConfig) -> Result<Approval, Status> {
        let id = RequestId::parse("orc-0123456789ab").unwrap();
        let parcel =
            Parcel::make(&id, &Prompt { text: "Hello", ..Prompt::default() }, Room { text: 1000, takes_files: true })
                .unwrap();
        let destination = Destination::parse(host).unwrap();
        let transfer = Transfer::new("ask", &destination, &id, &parcel);
        transfer.approve(attended, config).map_err(|trouble| trouble.status)
    }

    #[test]
    fn nothing_is_sent_that_nobody_let_go() {
        let none = TransferConfig::default();
        let named = TransferConfig { allow: vec!["chatgpt.com".into()], ..none.clone() };
        let small = TransferConfig { max_bytes: Some(10), ..named.clone() };
        let low = TransferConfig { auto_low_risk: true, ..none.clone() };
        let page = "https://chatgpt.com/";
        assert_eq!(approval("http://127.0.0.1:9/", false, &none), Ok(Approval::Loopback));
        assert_eq!(approval(page, true, &none), Ok(Approval::Terminal));
        assert_eq!(approval(page, false, &none), Err(Status::ApprovalRequired));
        assert_eq!(approval(page, false, &named), Ok(Approval::Configuration));
        assert_eq!(approval("https://chatgpt.com.example.org/", false, &named), Err(Status::ApprovalRequired));
        assert_eq!(approval(page, false, &small), Err(Status::ApprovalRequired));
        assert_eq!(approval(page, false, &low), Ok(Approval::Configuration));
    }
}
