//! Asking over the API.

use std::time::Instant;

use serde_json::json;

use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::millis;
use crate::flows::ask::Ended;
use crate::flows::ask::Progress;
use crate::flows::ask::Talk;
use crate::flows::ask::engine::ApiPlace;
use crate::flows::ask::page::trouble_of;
use crate::flows::ask::record::Record;
use crate::transport::api;
use crate::transport::api::Limits;
use crate::transport::api::Retries;
use crate::transport::api::Turn;
use crate::transport::api::request_body;

/// Sends the question and brings the answer home.
pub(super) fn talk(place: &ApiPlace, talk: &Talk<'_>, outcome: &mut Outcome, record: &mut Record) -> Ended {
    let began = Instant::now();
    let fail = |trouble: Trouble| Ended { text: None, trouble: Some(trouble) };
    let body = request_body(&place.model, &[Turn::User(talk.parcel.typed.clone())]);
    let facts = json!({"requestId": talk.id.as_str(), "model": place.model});
    for step in ["intent", "sending"] {
        if let Err(error) = talk.session.record(step, facts.clone()) {
            return fail(error.into());
        }
    }
    talk.tell("asking the API");
    let limits = Limits { total: talk.clocks.answer, stall: talk.clocks.stall, retries: Retries::default() };
    let mut progress = |seen: api::Progress| {
        let (state, characters) = match seen {
            api::Progress::Sent { attempt: 1 } => ("waiting", 0),
            api::Progress::Sent { attempt } => {
                talk.session.log(&format!("asking for the time {attempt}"));
                ("asking again", 0)
            }
            api::Progress::Pausing { seconds } => {
                talk.session.log(&format!("asked to wait {seconds} s"));
                ("asked to wait", 0)
            }
            api::Progress::Received { chars } => ("answering", chars),
        };
        (talk.listener.progress)(Progress { state, characters, elapsed: began.elapsed() });
    };
    let answer = match place.api.ask(&body, &limits, &mut progress) {
        Ok(answer) => answer,
        Err(fault) => return fail(trouble_of(fault, false)),
    };
    let heard = &mut outcome.heard;
    heard.capture = Some("api".to_owned());
    heard.turns = Some(1);
    heard.retries = u64::from(answer.retries);
    heard.request_id_seen = Some(answer.text.contains(talk.id.as_str()));
    heard.first_token_ms = answer.first_text.and_then(|first| u64::try_from(first.as_millis()).ok());
    heard.stream_ms = heard.first_token_ms.map(|first| millis(began).saturating_sub(first));
    heard.prompt_bytes = Some(talk.parcel.typed.len() as u64);
    heard.response_bytes = Some(answer.text.len() as u64);
    heard.attachments = Some(0);
    record.usage = answer.usage;
    record.model = answer.model.or(record.model.take());
    if let Err(error) = talk.session.record("captured", json!({"bytes": answer.text.len(), "id": answer.id})) {
        return Ended { text: Some(answer.text), trouble: Some(error.into()) };
    }
    let trouble = answer.cut_off.map(|fault| {
        let trouble = trouble_of(fault, true);
        // What was heard is there; what is missing is not.
        let status = if trouble.status == Status::Interrupted { Status::Interrupted } else { Status::Partial };
        Trouble { status, ..trouble }
    });
    if trouble.is_none() {
        outcome.heard.completion_path = Some("all_signals".to_owned());
    }
    Ended { text: Some(answer.text), trouble }
}
