//! The API, as a server on loopback speaks it.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

use git_oracle::base::Secret;
use git_oracle::transport::Fault;
use git_oracle::transport::FaultKind;
use git_oracle::transport::api::Answer;
use git_oracle::transport::api::Api;
use git_oracle::transport::api::Limits;
use git_oracle::transport::api::Progress;
use git_oracle::transport::api::Retries;
use git_oracle::transport::api::Turn;
use git_oracle::transport::api::Usage;
use git_oracle::transport::api::request_body;
use serde_json::Value;
use serde_json::json;

const KEY: &str = "sk-test-0123456789";

/// What the server does with one request.
pub enum Act {
    /// Answers with this status, these header lines and this body.
    Answer(u16, &'static str, String),
    /// Streams these events and ends the connection.
    Stream(Vec<Value>),
    /// Streams these events and says no more.
    Hang(Vec<Value>),
    /// Takes the request and ends the connection.
    Drop,
}

/// A request as it arrived.
pub struct Seen {
    pub head: String,
    pub body: String,
}

pub struct Server {
    pub base: String,
    pub seen: mpsc::Receiver<Seen>,
}

impl Server {
    pub fn start(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sender, seen) = mpsc::channel();
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for act in acts {
                let Ok((stream, _)) = listener.accept() else { return };
                let request = read(&stream);
                let _ = sender.send(request);
                held.extend(act.perform(stream));
            }
            // Whoever comes now is one too many.
            drop(listener);
            std::thread::park();
        });
        Server { base, seen }
    }
}

fn read(stream: &TcpStream) -> Seen {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    Seen { head, body: String::from_utf8(body).unwrap() }
}

impl Act {
    /// Returns the connection when it stays open.
    fn perform(self, mut stream: TcpStream) -> Option<TcpStream> {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";
        match self {
            Act::Answer(status, headers, body) => {
                let head =
                    format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}");
                write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
                None
            }
            Act::Stream(events) | Act::Hang(events) if events.is_empty() => {
                write!(stream, "{head}").unwrap();
                Some(stream)
            }
            Act::Stream(events) => {
                stream.write_all(streamed(head, &events).as_bytes()).unwrap();
                None
            }
            Act::Hang(events) => {
                stream.write_all(streamed(head, &events).as_bytes()).unwrap();
                Some(stream)
            }
            Act::Drop => None,
        }
    }
}

fn streamed(head: &str, events: &[Value]) -> String {
    let events = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    std::iter::once(head.to_owned()).chain(events).collect()
}

pub fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "delta": text})
}

fn whole(text: &str) -> Value {
    json!({"id": "resp_1", "model": "model-1", "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
        "usage": {"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 12}})
}

pub fn completed(text: &str) -> Value {
    json!({"type": "response.completed", "response": whole(text)})
}

fn error(code: &str, message: &str) -> String {
    json!({"error": {"code": code, "message": message}}).to_string()
}

fn limits() -> Limits {
    let retries = Retries { attempts: 3, first_pause: Duration::from_millis(5) };
    Limits { total: Duration::from_secs(20), stall: Duration::from_secs(10), retries }
}

fn ask(server: &Server, limits: &Limits) -> Result<Answer, Fault> {
    let api = Api::new(Some(&server.base), Secret::new(KEY.to_owned())).unwrap();
    api.ask(&request_body("model-1", &[Turn::User("Why?".to_owned())]), limits, &mut |_| {})
}

#[test]
fn an_answer_is_streamed_and_what_was_sent_is_what_was_asked() {
    let text = "Because é 🙂.\n\n```rust\nfn main() {}\n```";
    let (first, rest) = text.split_at(8);
    let server = Server::start(vec![Act::Stream(vec![delta(first), delta(rest), completed(text)])]);
    let api = Api::new(Some(&format!("{}/", server.base)), Secret::new(KEY.to_owned())).unwrap();
    assert_eq!(api.destination(), format!("{}/responses", server.base));
    let turns = [Turn::User("One".to_owned()), Turn::Assistant("Two".to_owned()), Turn::User("Three".to_owned())];
    let body = request_body("model-1", &turns);
    let mut progress = Vec::new();
    let answer = api.ask(&body, &limits(), &mut |step| progress.push(step)).unwrap();
    assert_eq!((answer.text.as_str(), &answer.cut_off, answer.retries), (text, &None, 0));
    let usage =
        Usage { input_tokens: Some(5), output_tokens: Some(7), reasoning_tokens: Some(3), total_tokens: Some(12) };
    assert_eq!(
        (answer.usage, answer.model.as_deref(), answer.id.as_deref()),
        (Some(usage), Some("model-1"), Some("resp_1"))
    );
    assert!(answer.first_text.is_some());
    assert_eq!(progress.first(), Some(&Progress::Sent { attempt: 1 }));
    assert_eq!(progress.last(), Some(&Progress::Received { chars: text.chars().count() }));
    let seen = server.seen.recv().unwrap();
    assert_eq!(seen.body, body);
    assert!(seen.head.starts_with("POST /v1/responses HTTP/1.1\r\n"), "{}", seen.head);
    assert!(seen.head.contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", seen.head);
    let sent: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&sent["stream"], &sent["store"], sent["input"].as_array().unwrap().len()),
        (&json!(true), &json!(false), 3)
    );
}

#[test]
fn what_passes_is_waited_for() {
    let answered = || Act::Stream(vec![completed("At last.")]);
    let failed = json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": "x"}}});
    for first in [
        Act::Answer(429, "Retry-After: 0\r\n", error("rate_limit_exceeded", "Slow down.")),
        Act::Answer(500, "", error("server_error", "It broke.")),
        Act::Answer(503, "retry-after-ms: 1\r\n", "<html>busy</html>".to_owned()),
        Act::Stream(vec![failed]),
    ] {
        let server = Server::start(vec![first, answered()]);
        let answer = ask(&server, &limits()).unwrap();
        assert_eq!((answer.text.as_str(), answer.retries), ("At last.", 1));
    }
}

#[test]
fn what_does_not_pass_is_named_at_once() {
    let quoted = format!("Incorrect API key provided: {KEY}");
    for (status, code, message, kind) in [
        (401, "invalid_api_key", quoted.as_str(), FaultKind::SignedOut),
        (400, "bad_request", quoted.as_str(), FaultKind::ProviderError),
        (404, "model_not_found", "No such model.", FaultKind::ModelNotOffered),
        (429, "insufficient_quota", "Pay first.", FaultKind::RateLimited),
    ] {
        let server = Server::start(vec![Act::Answer(status, "", error(code, message))]);
        let fault = ask(&server, &limits()).unwrap_err();
        assert_eq!(fault.kind, kind, "{fault:?}");
        assert!(!format!("{fault:?}").contains(KEY), "{fault:?}");
    }
    // A wish that is longer than the time there is does not keep anybody waiting.
    let started = Instant::now();
    let server = Server::start(vec![Act::Answer(429, "Retry-After: 3600\r\n", error("", "Later."))]);
    assert_eq!(ask(&server, &limits()).unwrap_err().kind, FaultKind::RateLimited);
    assert!(started.elapsed() < Duration::from_secs(5));
    // Three attempts, then it is said.
    let broken = || Act::Answer(500, "", error("server_error", "It broke."));
    let server = Server::start(vec![broken(), broken(), broken()]);
    assert_eq!(ask(&server, &limits()).unwrap_err().kind, FaultKind::ProviderError);
    assert_eq!(server.seen.try_iter().count(), 3);
    // A redirect would take the key elsewhere.
    let server = Server::start(vec![Act::Answer(307, "Location: http://127.0.0.1:1/\r\n", String::new())]);
    assert_eq!(ask(&server, &limits()).unwrap_err().kind, FaultKind::ProviderError);
}

#[test]
fn what_may_have_been_taken_is_not_sent_again() {
    let server = Server::start(vec![Act::Drop, Act::Stream(vec![completed("Twice.")])]);
    let fault = ask(&server, &limits()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::SendUnclear, "{fault:?}");
    assert_eq!(server.seen.try_iter().count(), 1);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { base: format!("http://{nobody}/v1"), seen: mpsc::channel().1 };
    let fault = ask(&server, &limits()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::ProviderError, "{fault:?}");
}

#[test]
fn what_came_before_the_end_is_kept() {
    let short = Limits { stall: Duration::from_millis(300), ..limits() };
    let cut = json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
    for (act, kind, word) in [
        (Act::Stream(vec![delta("Half")]), FaultKind::ProviderError, "stream ended"),
        (Act::Hang(vec![delta("Half")]), FaultKind::TimedOut, "nothing was heard"),
        (Act::Stream(vec![delta("Half"), cut]), FaultKind::ProviderError, "max_output_tokens"),
    ] {
        let answer = ask(&Server::start(vec![act]), &short).unwrap();
        let fault = answer.cut_off.unwrap();
        assert_eq!((answer.text.as_str(), fault.kind), ("Half", kind));
        assert!(fault.message.contains(word), "{fault}");
    }
    let total = Limits { total: Duration::from_millis(300), ..limits() };
    let answer = ask(&Server::start(vec![Act::Hang(vec![delta("Half")])]), &total).unwrap();
    assert!(answer.cut_off.unwrap().message.contains("not complete after"));
    let fault = ask(&Server::start(vec![Act::Hang(vec![])]), &short).unwrap_err();
    assert_eq!(fault.kind, FaultKind::TimedOut);
}

#[test]
fn an_answer_that_is_no_stream_is_an_answer_too() {
    let server = Server::start(vec![Act::Answer(200, "", whole("All at once.").to_string())]);
    assert_eq!(ask(&server, &limits()).unwrap().text, "All at once.");
    let server = Server::start(vec![Act::Answer(200, "", "{}".to_owned())]);
    assert_eq!(ask(&server, &limits()).unwrap_err().kind, FaultKind::ProviderError);
}

#[test]
fn a_key_is_not_sent_in_the_clear_over_a_network() {
    let key = || Secret::new(KEY.to_owned());
    for base in ["http://api.example.com/v1", "ftp://127.0.0.1/", "https://person:secret@example.com/", "nonsense"] {
        let fault = Api::new(Some(base), key()).err().unwrap();
        assert_eq!(fault.kind, FaultKind::ProviderError, "{base}");
        assert!(!format!("{fault:?}").contains("secret"), "{fault:?}");
    }
    for wrong in ["", " ", "two\nlines"] {
        let fault = Api::new(Some("http://127.0.0.1:1/v1"), Secret::new(wrong.to_owned())).err().unwrap();
        assert_eq!(fault.kind, FaultKind::SignedOut);
    }
}
