//! The server behind the page: a few addresses, nothing stored beyond its life.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Instant;

use http::HeaderMap;
use http::HeaderValue;
use http::Method;
use http::Request;
use http::Response;
use http::StatusCode;
use http::header;
use http_body_util::BodyExt;
use http_body_util::Full;
use http_body_util::Limited;
use hyper::body::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

use crate::transport::rehearsal::ReceivedFile;
use crate::transport::rehearsal::ReceivedPrompt;
use crate::transport::rehearsal::SignedOut;
use crate::transport::rehearsal::State;
use crate::transport::rehearsal::Turn;
use crate::transport::rehearsal::answer::steps;
use crate::transport::rehearsal::lock;
use crate::transport::rehearsal::script::Reply;

const MAX_BODY: usize = 64 * 1024 * 1024;
/// As strict as the pages that it stands for.
const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      object-src 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const STATIC: [(&str, &str, &str); 5] = [
    ("chat.js", "text/javascript", include_str!("page/chat.js")),
    ("editors.js", "text/javascript", include_str!("page/editors.js")),
    ("parts.js", "text/javascript", include_str!("page/parts.js")),
    ("render.js", "text/javascript", include_str!("page/render.js")),
    ("style.css", "text/css", include_str!("page/style.css")),
];
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const OLD: &str = "00000000-0000-4000-8000-000000000000";

type Answer = Response<Full<Bytes>>;

/// Serves the page from a thread of its own until the sender is gone.
pub(super) fn start(
    listener: TcpListener,
    state: Arc<Mutex<State>>,
    stopped: oneshot::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let accept = async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let state = Arc::clone(&state);
            let service = service_fn(move |request| respond(request, Arc::clone(&state), port));
            tokio::spawn(async move {
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    };
    let serve = async move {
        tokio::spawn(accept);
        let _ = stopped.await;
    };
    std::thread::Builder::new().name("rehearsal".to_owned()).spawn(move || runtime.block_on(serve))
}

async fn respond(request: Request<Incoming>, state: Arc<Mutex<State>>, port: u16) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    if !is_from_here(&head.method, &head.headers, port) {
        return Ok(answer(StatusCode::FORBIDDEN, JSON, "{}"));
    }
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(answer(StatusCode::PAYLOAD_TOO_LARGE, JSON, "{}"));
    };
    let query = head.uri.query().and_then(|query| query.split_once('=')).map(|(_, value)| value).unwrap_or_default();
    let query = percent_decode_str(query).decode_utf8_lossy().into_owned();
    let mut state = lock(&state);
    Ok(match (head.method, head.uri.path()) {
        (Method::GET, path) => state.page(path, &query),
        (Method::POST, "/api/send") => state.send(&body.to_bytes()),
        (Method::POST, "/api/files") => {
            let file = ReceivedFile { name: query, content: body.to_bytes().to_vec() };
            state.record.files.push(file);
            let id = (state.record.files.len() - 1).to_string();
            answer(StatusCode::OK, JSON, json!({ "id": id }).to_string())
        }
        (Method::POST, "/api/event") => {
            #[derive(Deserialize)]
            struct Event {
                name: String,
            }
            if let Ok(event) = serde_json::from_slice::<Event>(&body.to_bytes()) {
                state.record.events.push(event.name);
            }
            answer(StatusCode::OK, JSON, "{}")
        }
        _ => answer(StatusCode::NOT_FOUND, JSON, "{}"),
    })
}

/// A page of another site may not use this one, by whatever name it reaches it.
fn is_from_here(method: &Method, headers: &HeaderMap, port: u16) -> bool {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let Some(host) = text(header::HOST).filter(|host| hosts.iter().any(|known| known == host)) else { return false };
    let origin = text(header::ORIGIN);
    match *method {
        Method::GET => origin.is_none_or(|origin| origin == format!("http://{host}")),
        _ => origin == Some(&format!("http://{host}")),
    }
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

fn redirect(to: &str) -> Answer {
    let mut answer = answer(StatusCode::FOUND, HTML, "");
    if let Ok(to) = HeaderValue::from_str(to) {
        answer.headers_mut().insert(header::LOCATION, to);
    }
    answer
}

/// What the page posts for a prompt.
#[derive(Deserialize)]
struct Send {
    prompt: String,
    model: String,
    mode: String,
    conversation: Option<String>,
    files: Vec<String>,
}

impl State {
    fn page(&mut self, path: &str, query: &str) -> Answer {
        if let Some(name) = path.strip_prefix("/static/") {
            return match STATIC.iter().find(|(known, ..)| *known == name) {
                Some((_, kind, text)) => answer(StatusCode::OK, kind, *text),
                None => answer(StatusCode::NOT_FOUND, JSON, "{}"),
            };
        }
        match path {
            "/login" => answer(StatusCode::OK, HTML, include_str!("page/login.html")),
            "/api/conversation" => self.conversation(query),
            "/" => self.document(true),
            path if path.starts_with("/c/") => self.document(false),
            _ => answer(StatusCode::NOT_FOUND, HTML, "<!doctype html><title>Not found</title>"),
        }
    }

    fn document(&mut self, is_home: bool) -> Answer {
        let faults = &self.script.faults;
        // Counted from the first visit: a browser may take long to come.
        let since = self.challenged;
        let lasts = |ms: &u64| since.is_none_or(|since| since.elapsed().as_millis() < u128::from(*ms));
        if let Some(ms) = faults.challenge_ms.filter(lasts) {
            self.challenged.get_or_insert_with(Instant::now);
            // One that clears looks again by itself.
            let refresh = if ms < 60_000 { "<meta http-equiv=\"refresh\" content=\"1\">" } else { "" };
            let page = include_str!("page/challenge.html").replace("{{REFRESH}}", refresh);
            return answer(StatusCode::FORBIDDEN, HTML, page);
        }
        if faults.signed_out == Some(SignedOut::Redirect) {
            return redirect("/login");
        }
        if faults.stale_conversation && is_home && !self.conversations.contains_key(OLD) {
            let turns = vec![
                Turn::User { text: "What was that?".to_owned(), files: Vec::new() },
                Turn::Assistant { steps: steps(&Reply::of("An old answer."), ""), begun: self.begun },
            ];
            self.conversations.insert(OLD.to_owned(), turns);
            return redirect(&format!("/c/{OLD}"));
        }
        let script = json!({
            "editor": self.script.editor,
            "models": self.script.models,
            "history": self.script.history,
            "faults": faults,
        });
        // Nothing in the script may end the element that holds it.
        let script = script.to_string().replace('<', "\\u003c");
        answer(StatusCode::OK, HTML, include_str!("page/index.html").replace("{{SCRIPT}}", &script))
    }

    fn conversation(&self, id: &str) -> Answer {
        let Some(turns) = self.conversations.get(id) else { return answer(StatusCode::NOT_FOUND, JSON, "{}") };
        let turns: Vec<_> = turns
            .iter()
            .map(|turn| match turn {
                Turn::User { text, files } => json!({"role": "user", "text": text, "files": files}),
                Turn::Assistant { steps, begun } => {
                    // What took the page away happens once.
                    let steps: Vec<_> = steps.iter().filter(|step| !step.is_departure()).collect();
                    json!({"role": "assistant", "steps": steps, "elapsed": begun.elapsed().as_millis() as u64})
                }
            })
            .collect();
        answer(StatusCode::OK, JSON, json!(turns).to_string())
    }

    fn send(&mut self, body: &[u8]) -> Answer {
        let Ok(sent) = serde_json::from_slice::<Send>(body) else {
            return answer(StatusCode::BAD_REQUEST, JSON, "{}");
        };
        let known = sent.conversation.filter(|id| self.conversations.contains_key(id));
        let id = known.unwrap_or_else(|| format!("{:08x}-0000-4000-8000-000000000000", self.conversations.len() + 1));
        let files = sent.files.iter().filter_map(|file| self.record.files.get(file.parse::<usize>().ok()?).cloned());
        let files: Vec<ReceivedFile> = files.collect();
        let names = files.iter().map(|file| file.name.clone()).collect();
        let turn = self.record.prompts.iter().filter(|prompt| prompt.accepted).count();
        let reply = self.script.replies.get(turn).or_else(|| self.script.replies.last()).cloned().unwrap_or_default();
        self.record.prompts.push(ReceivedPrompt {
            text: sent.prompt.clone(),
            files,
            model: sent.model,
            mode: sent.mode,
            conversation: id.clone(),
            accepted: reply.refused.is_none(),
        });
        if let Some(text) = reply.refused {
            return answer(StatusCode::TOO_MANY_REQUESTS, JSON, json!({ "text": text }).to_string());
        }
        let steps = steps(&reply, &sent.prompt);
        let reply = json!({"id": id, "steps": steps}).to_string();
        let turns = self.conversations.entry(id).or_default();
        turns.push(Turn::User { text: sent.prompt, files: names });
        turns.push(Turn::Assistant { steps, begun: Instant::now() });
        answer(StatusCode::OK, JSON, reply)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::io::Write;
    use std::net::TcpStream;

    use crate::transport::rehearsal::Rehearsal;
    use crate::transport::rehearsal::Script;

    fn status(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).unwrap();
        let request = request.replace("HERE", address);
        stream.write_all(format!("{request}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    #[test]
    fn only_this_machine_and_this_page_are_answered() {
        let page = Rehearsal::start(Script::default()).unwrap();
        let cases = [
            ("GET / HTTP/1.1\r\nHost: HERE", "200"),
            ("GET / HTTP/1.1\r\nHost: evil.example", "403"),
            ("GET / HTTP/1.1\r\nHost: HERE\r\nOrigin: http://evil.example", "403"),
            ("POST /api/event HTTP/1.1\r\nHost: HERE\r\nContent-Length: 0", "403"),
            ("POST /api/event HTTP/1.1\r\nHost: HERE\r\nOrigin: http://evil.example\r\nContent-Length: 0", "403"),
            ("POST /api/event HTTP/1.1\r\nHost: HERE\r\nOrigin: http://HERE\r\nContent-Length: 0", "200"),
            ("POST /api/send HTTP/1.1\r\nHost: HERE\r\nOrigin: http://HERE\r\nContent-Length: 0", "400"),
            ("GET /static/../mod.rs HTTP/1.1\r\nHost: HERE", "404"),
            ("GET /c/1 HTTP/1.1\r\nHost: HERE", "200"),
        ];
        for (request, expected) in cases {
            assert_eq!(status(&page.url(), request), expected, "{request}");
        }
    }
}
