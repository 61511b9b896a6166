//! One turn over the API.

use std::time::Instant;

use serde_json::json;

use crate::flows::apply::Outcome;
use crate::flows::apply::Status;
use crate::flows::apply::Trouble;
use crate::flows::apply::millis;
use crate::flows::talk::Ended;
use crate::flows::talk::Turn;
use crate::flows::talk::engine::ApiPlace;
use crate::flows::talk::page::trouble_of;
use crate::flows::talk::record::Record;
use crate::transport::api;
use crate::transport::api::Limits;
use crate::transport::api::Retries;
use crate::transport::api::Turn as Said;
use crate::transport::api::request_body;

/// Sends the question and brings the answer home.
pub(super) fn say(
    place: &ApiPlace,
    turn: &Turn<'_>,
    said: &[Said],
    outcome: &mut Outcome,
    record: &mut Record,
) -> Ended {
    let began = Instant::now();
    let body = request_body(&place.model, &[said, &[Said::User(turn.parcel.typed.clone())]].concat());
    let facts = json!({"requestId": turn.id.as_str(), "model": place.model, "turn": turn.number});
    for step in ["intent", "sending"] {
        if let Err(error) = turn.session.record(step, facts.clone()) {
            return Ended::early(error);
        }
    }
    turn.tell("asking the API");
    let limits = Limits { total: turn.clocks.answer, stall: turn.clocks.stall, retries: Retries::default() };
    let mut progress = |seen: api::Progress| {
        let (state, characters) = match seen {
            api::Progress::Sent { attempt: 1 } => ("waiting", 0),
            api::Progress::Sent { attempt } => {
                turn.session.log(&format!("asking for the time {attempt}"));
                ("asking again", 0)
            }
            api::Progress::Pausing { seconds } => {
                turn.session.log(&format!("asked to wait {seconds} s"));
                ("asked to wait", 0)
            }
            api::Progress::Received { chars } => ("answering", chars),
        };
        turn.show(state, characters, began.elapsed());
    };
    let answer = match place.api.ask(&body, &limits, &mut progress) {
        Ok(answer) => answer,
        Err(fault) => return Ended::early(trouble_of(fault, false)),
    };
    let heard = &mut outcome.heard;
    heard.capture = Some("api".to_owned());
    heard.retries += u64::from(answer.retries);
    heard.request_id_seen = Some(answer.text.contains(turn.id.as_str()));
    heard.first_token_ms = answer.first_text.and_then(|first| u64::try_from(first.as_millis()).ok());
    heard.stream_ms = heard.first_token_ms.map(|first| millis(began).saturating_sub(first));
    heard.prompt_bytes = Some(turn.parcel.typed.len() as u64);
    heard.response_bytes = Some(answer.text.len() as u64);
    heard.attachments = Some(0);
    record.add_usage(answer.usage);
    record.model = answer.model.or(record.model.take());
    if let Err(error) =
        turn.session.record("captured", json!({"bytes": answer.text.len(), "id": answer.id, "turn": turn.number}))
    {
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
