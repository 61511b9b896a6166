//! What is said to a WebDriver: a method, a path below the session, a body.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::Value;
use url::ParseError;
use url::Url;

/// One command. Its path is relative to the session.
#[derive(Debug)]
pub(super) struct Command {
    method: Method,
    path: String,
    body: Option<String>,
}

impl Command {
    pub(super) fn get(path: &str) -> Self {
        Command { method: Method::GET, path: path.to_owned(), body: None }
    }

    pub(super) fn delete(path: &str) -> Self {
        Command { method: Method::DELETE, path: path.to_owned(), body: None }
    }

    pub(super) fn post(path: impl Into<String>, body: &Value) -> Self {
        Command { method: Method::POST, path: path.into(), body: Some(body.to_string()) }
    }
}

impl WebDriverCompatibleCommand for Command {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        base_url.join(&format!("session/{}/{}", session_id.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _request_url: &Url) -> (Method, Option<String>) {
        (self.method.clone(), self.body.clone())
    }
}
