//! What a stream of events says: the answer as it grows, and how it ended.

use serde_json::Value;

use crate::base::visible;

/// No answer is longer.
const MAX_TEXT_BYTES: usize = 64 << 20;
const MAX_SHOWN: usize = 300;

/// What an answer cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Complete,
    /// The answer was cut off, for this reason.
    CutOff(String),
    Failed {
        code: String,
        message: String,
    },
}

/// An answer as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) text: String,
    pub(super) chars: usize,
    pub(super) usage: Option<Usage>,
    pub(super) end: Option<End>,
}

impl Response {
    /// Takes in the data of one event. What is not known says nothing to us.
    pub(super) fn take(&mut self, data: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Value>(data) else { return };
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.append(event["delta"].as_str().unwrap_or_default());
            }
            "response.created" | "response.in_progress" => self.note(&event["response"]),
            "response.completed" | "response.incomplete" | "response.failed" => self.take_whole(&event["response"]),
            "error" => self.end = Some(failed(if event["error"].is_object() { &event["error"] } else { &event })),
            _ => {}
        }
    }

    /// Takes in a response object, as it comes at the end of a stream or alone.
    pub(super) fn take_whole(&mut self, response: &Value) {
        self.note(response);
        if let Some(text) = text_of(response) {
            self.text.clear();
            self.chars = 0;
            self.append(&text);
        }
        let end = match response["status"].as_str() {
            Some("completed") => End::Complete,
            Some("incomplete") => {
                let reason = response["incomplete_details"]["reason"].as_str().unwrap_or("no reason was given");
                End::CutOff(shown(reason))
            }
            _ => failed(&response["error"]),
        };
        self.end = Some(end);
    }

    fn note(&mut self, response: &Value) {
        for (field, name) in [(&mut self.id, "id"), (&mut self.model, "model")] {
            if let Some(value) = response[name].as_str() {
                *field = Some(shown(value));
            }
        }
        let usage = &response["usage"];
        if usage.is_object() {
            self.usage = Some(Usage {
                input_tokens: usage["input_tokens"].as_u64(),
                output_tokens: usage["output_tokens"].as_u64(),
                reasoning_tokens: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
                total_tokens: usage["total_tokens"].as_u64(),
            });
        }
    }

    fn append(&mut self, text: &str) {
        if self.text.len() + text.len() <= MAX_TEXT_BYTES {
            self.text.push_str(text);
            self.chars += text.chars().count();
        } else {
            self.end = Some(End::CutOff("it is longer than any answer".to_owned()));
        }
    }
}

/// Returns the texts of the messages; `None` when there is no message.
fn text_of(response: &Value) -> Option<String> {
    let messages = response["output"].as_array()?.iter().filter(|item| item["type"] == "message");
    let texts: Vec<String> = messages
        .map(|message| {
            let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            parts.iter().filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str())).collect()
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Reads an error object, of a stream or of an answer that is an error.
pub(super) fn failed(error: &Value) -> End {
    let field = |name: &str| error[name].as_str().map(shown);
    let code = field("code").or_else(|| field("type")).unwrap_or_default();
    End::Failed { code, message: field("message").unwrap_or_else(|| "no reason was given".to_owned()) }
}

fn shown(text: &str) -> String {
    visible(&text.chars().take(MAX_SHOWN).collect::<String>().replace(['\n', '\r'], " ")).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(events: &[Value]) -> Response {
        let mut response = Response::default();
        events.iter().for_each(|event| response.take(event.to_string().as_bytes()));
        response
    }

    #[test]
    fn an_answer_grows_and_its_end_has_the_last_word() {
        let delta = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
        let message = |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
        let partial = response(&[delta("one"), json!({"type": "unheard.of"}), delta(" two")]);
        assert_eq!((partial.text.as_str(), &partial.end), ("one two", &None));
        let usage = json!({"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 12});
        let whole = json!({"id": "resp_1", "model": "m", "status": "completed", "usage": usage,
            "output": [{"type": "reasoning"}, message("one two three")]});
        let complete = response(&[delta("one"), json!({"type": "response.completed", "response": whole})]);
        assert_eq!((complete.text.as_str(), &complete.end), ("one two three", &Some(End::Complete)));
        let expected =
            Usage { input_tokens: Some(5), output_tokens: Some(7), reasoning_tokens: Some(3), total_tokens: Some(12) };
        assert_eq!(
            (complete.usage, complete.id.as_deref(), complete.model.as_deref()),
            (Some(expected), Some("resp_1"), Some("m"))
        );
    }

    #[test]
    fn every_other_end_says_why() {
        let cut = json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}});
        assert_eq!(response(&[cut]).end, Some(End::CutOff("max_output_tokens".to_owned())));
        let failed = End::Failed { code: "server_error".to_owned(), message: "It broke.".to_owned() };
        let error = json!({"code": "server_error", "message": "It broke."});
        for event in [
            json!({"type": "response.failed", "response": {"status": "failed", "error": error}}),
            json!({"type": "error", "error": error}),
            json!({"type": "error", "code": "server_error", "message": "It broke."}),
        ] {
            assert_eq!(response(&[event]).end, Some(failed.clone()));
        }
    }

    #[test]
    fn nonsense_is_no_answer() {
        for data in ["", "[DONE]", "null", "[]", "{\"type\":1}", "{\"type\":\"response.completed\"}", "\u{0}"] {
            let mut response = Response::default();
            response.take(data.as_bytes());
            assert_eq!(response.text, "", "{data}");
            assert_ne!(response.end, Some(End::Complete), "{data}");
        }
    }
}
