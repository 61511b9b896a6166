//! A conversation over the OpenAI Responses API.
//!
//! One question, one answer, as a stream. What was surely not taken is sent again, with growing pauses; what may have
//! been taken is not. An answer that was cut off is kept and says so.

mod response;
mod retry;
mod sse;

use std::time::Duration;
use std::time::Instant;

use http::Method;
use http::Request;
use http::Response as HttpResponse;
use http::header;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use serde_json::json;
use tokio::runtime::Runtime;
use url::Url;

use crate::base::Secret;
use crate::base::visible;
use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::http::Http;
use crate::transport::http::is_loopback;
use crate::transport::wait::Unanswered;
use crate::transport::wait::bounded;
use crate::transport::wait::runtime;

use response::End;
use response::Response;
pub use response::Usage;
use retry::Refused;
pub use retry::Retries;
use sse::Events;

const DEFAULT_BASE: &str = "https://api.openai.com/v1";
/// An answer that is an error, or that does not come as a stream, is at most so long.
const MAX_WHOLE_BYTES: usize = 64 << 20;

/// Something that was said, in the order of the conversation.
#[derive(Debug, Clone)]
pub enum Turn {
    User(String),
    Assistant(String),
}

impl Turn {
    pub fn text(&self) -> &str {
        match self {
            Turn::User(text) | Turn::Assistant(text) => text,
        }
    }
}

/// Returns the body of a request: exactly what is sent, so that it can be scanned and noted before.
pub fn request_body(model: &str, conversation: &[Turn]) -> String {
    let input: Vec<Value> = conversation
        .iter()
        .map(|turn| match turn {
            Turn::User(text) => json!({"role": "user", "content": [{"type": "input_text", "text": text}]}),
            Turn::Assistant(text) => json!({"role": "assistant", "content": [{"type": "output_text", "text": text}]}),
        })
        .collect();
    json!({"model": model, "input": input, "stream": true, "store": false}).to_string()
}

/// How long an answer may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub total: Duration,
    /// Without a sign of life.
    pub stall: Duration,
    pub retries: Retries,
}

/// What is seen of an answer while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It was sent, for the time with this number.
    Sent {
        attempt: u32,
    },
    /// The provider asks to wait, or failed in a way that passes.
    Pausing {
        seconds: u64,
    },
    Received {
        chars: usize,
    },
}

/// An answer, or the part of it that came.
#[derive(Debug, Clone)]
pub struct Answer {
    pub text: String,
    /// Why the text is not the whole answer.
    pub cut_off: Option<Fault>,
    pub id: Option<String>,
    /// The model that answered, as it calls itself.
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub retries: u32,
    /// From the last time it was sent to the first part of the text.
    pub first_text: Option<Duration>,
}

/// An API and the key to it.
pub struct Api {
    url: Url,
    key: Secret,
    http: Http,
    runtime: Runtime,
}

impl Api {
    /// Prepares for an API. The key only goes to the address that was named, and never in the clear over a network.
    pub fn new(base_url: Option<&str>, key: Secret) -> Result<Self, Fault> {
        let refused = |why: &str| {
            let hint = "Write OPENAI_BASE_URL like https://api.openai.com/v1";
            Fault::new(FaultKind::ProviderError, format!("the address of the API cannot be used, {why}"), hint)
        };
        let base = base_url.map(str::trim).filter(|base| !base.is_empty()).unwrap_or(DEFAULT_BASE);
        let mut url = Url::parse(base).map_err(|error| refused(&error.to_string()))?;
        let is_named = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_named || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(refused("it is not a plain http or https URL"));
        }
        if url.scheme() == "http" && !is_loopback(&url) {
            return Err(refused("the key would go over the network in the clear"));
        }
        if key.expose().trim().is_empty() || !key.expose().trim().bytes().all(|byte| byte.is_ascii_graphic()) {
            let hint = "Set OPENAI_API_KEY, or use --engine browser.";
            return Err(Fault::new(FaultKind::SignedOut, "there is no key for the API that can be one", hint));
        }
        let path = format!("{}/responses", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url.set_fragment(None);
        let unprepared = |error: std::io::Error| {
            let hint = "TLS needs the certificates of the system (Debian: ca-certificates), or SSL_CERT_FILE.";
            Fault::new(FaultKind::ProviderError, format!("failed to prepare for a connection: {error}"), hint)
        };
        let runtime = runtime().map_err(unprepared)?;
        let http = Http::to(&url).map_err(unprepared)?;
        Ok(Api { url, key, http, runtime })
    }

    /// Returns where questions go.
    pub fn destination(&self) -> &str {
        self.url.as_str()
    }

    /// Sends a [`request_body`] and returns the answer to it.
    pub fn ask(&self, body: &str, limits: &Limits, progress: &mut dyn FnMut(Progress)) -> Result<Answer, Fault> {
        let deadline = Instant::now() + limits.total;
        let mut attempt = 1;
        loop {
            progress(Progress::Sent { attempt });
            let refused = match self.try_once(body, limits, deadline, progress)? {
                Ok(answer) => return Ok(Answer { retries: attempt - 1, ..answer }),
                Err(refused) => refused,
            };
            let pause = refused.again.and_then(|wish| limits.retries.pause(attempt, wish));
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < deadline) else {
                return Err(refused.fault);
            };
            progress(Progress::Pausing { seconds: pause.as_secs() });
            if bounded(&self.runtime, pause, std::future::pending::<()>()) == Err(Unanswered::Interrupted) {
                return Err(Fault::interrupted());
            }
            attempt += 1;
        }
    }

    /// Asks once. `Ok(Err)` when the question was surely not taken.
    fn try_once(
        &self,
        body: &str,
        limits: &Limits,
        deadline: Instant,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Result<Answer, Refused>, Fault> {
        let sent = Instant::now();
        let left = |limit: Duration| limit.min(deadline.saturating_duration_since(Instant::now()));
        let response = match bounded(&self.runtime, left(limits.stall), self.http.send(self.request(body)?)) {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_connect() => return Ok(Err(unreachable(&self.url, &error))),
            Ok(Err(error)) => {
                let message = format!("the connection to the API ended before it answered: {}", causes(&error));
                return Err(unclear(message));
            }
            Err(Unanswered::Interrupted) => return Err(Fault::interrupted()),
            Err(Unanswered::TooLate) => return Err(unclear("the API did not answer in time".to_owned())),
        };
        if !response.status().is_success() {
            return self.read_refusal(response, left(limits.stall)).map(Err);
        }
        let is_stream = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_none_or(|kind| kind.starts_with("text/event-stream"));
        let mut body = response.into_body();
        let mut seen = Response::default();
        let mut events = Events::default();
        let mut whole = Vec::new();
        let mut first_text = None;
        let stopped = loop {
            if seen.end.is_some() {
                break None;
            }
            match bounded(&self.runtime, left(limits.stall), body.frame()) {
                Ok(Some(Ok(frame))) => {
                    let Some(bytes) = frame.data_ref() else { continue };
                    if is_stream {
                        let Ok(complete) = events.feed(bytes) else { break Some(broken("it sends without end")) };
                        complete.iter().for_each(|data| seen.take(data));
                    } else if whole.len() + bytes.len() <= MAX_WHOLE_BYTES {
                        whole.extend_from_slice(bytes);
                    } else {
                        break Some(broken("it sends without end"));
                    }
                    if !seen.text.is_empty() {
                        first_text.get_or_insert_with(|| sent.elapsed());
                        progress(Progress::Received { chars: seen.chars });
                    }
                }
                Ok(Some(Err(error))) => break Some(broken(&causes(&error))),
                Ok(None) if is_stream => break Some(broken("the stream ended before the answer did")),
                Ok(None) => {
                    serde_json::from_slice(&whole).into_iter().for_each(|response: Value| seen.take_whole(&response));
                    break seen.end.is_none().then(|| broken("what it sent is no answer"));
                }
                Err(Unanswered::Interrupted) => break Some(Fault::interrupted()),
                Err(Unanswered::TooLate) => break Some(too_late(Instant::now() >= deadline, limits)),
            }
        };
        let cut_off = match (stopped, seen.end) {
            (Some(fault), _) => Some(fault),
            (None, Some(End::Failed { code, message })) if seen.text.is_empty() => {
                return Ok(Err(retry::failed_early(&code, &self.key.strike(&message))));
            }
            (None, Some(End::Failed { message, .. })) => Some(broken(&self.key.strike(&message))),
            (None, Some(End::CutOff(reason))) => Some(Fault::new(
                FaultKind::ProviderError,
                format!("the answer was cut off: {reason}"),
                "Ask for less at once, or for the rest.",
            )),
            (None, Some(End::Complete) | None) => None,
        };
        match cut_off {
            Some(fault) if seen.text.is_empty() => Err(fault),
            cut_off => {
                let (id, model) = (seen.id, seen.model);
                Ok(Ok(Answer { text: seen.text, cut_off, id, model, usage: seen.usage, retries: 0, first_text }))
            }
        }
    }

    fn request(&self, body: &str) -> Result<Request<String>, Fault> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.url.as_str())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key.expose().trim()))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "text/event-stream")
            .header(header::USER_AGENT, concat!("git-oracle/", env!("CARGO_PKG_VERSION")));
        request.body(body.to_owned()).map_err(|_| broken("the address cannot be used"))
    }

    fn read_refusal(&self, response: HttpResponse<Incoming>, limit: Duration) -> Result<Refused, Fault> {
        let (parts, body) = response.into_parts();
        let body = http_body_util::Limited::new(body, 1 << 16);
        let bytes = match bounded(&self.runtime, limit, body.collect()) {
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(_)) | Err(Unanswered::TooLate) => Default::default(),
            Err(Unanswered::Interrupted) => return Err(Fault::interrupted()),
        };
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let mut refused = retry::refused(parts.status.as_u16(), &parts.headers, &response::failed(&document["error"]));
        refused.fault.message = self.key.strike(&refused.fault.message);
        Ok(refused)
    }
}

fn unreachable(url: &Url, error: &dyn std::error::Error) -> Refused {
    let host = url.host_str().unwrap_or_default();
    let fault = Fault::new(
        FaultKind::ProviderError,
        format!("the API at {host} cannot be reached: {}", causes(error)),
        "Check the network and OPENAI_BASE_URL.",
    );
    Refused { fault, again: Some(None) }
}

fn unclear(message: String) -> Fault {
    let hint = "It may have been taken and paid for, so it was not sent again. Start the command again to do that.";
    Fault::new(FaultKind::SendUnclear, message, hint)
}

fn broken(why: &str) -> Fault {
    Fault::new(FaultKind::ProviderError, format!("the API broke off: {why}"), "Start the command again to ask again.")
}

fn too_late(is_total: bool, limits: &Limits) -> Fault {
    let (limit, flag, what) = match is_total {
        true => (limits.total, "--timeout", "the answer was not complete after"),
        false => (limits.stall, "--stall-timeout", "nothing was heard of the answer for"),
    };
    Fault::new(
        FaultKind::TimedOut,
        format!("{what} {} seconds", limit.as_secs()),
        format!("{flag} gives it more time."),
    )
}

/// Joins an error and its causes, fit for a terminal.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    visible(&text.replace('\n', " ")).into_owned()
}
