//! Whether a request that failed is sent again, and when.

use std::time::Duration;
use std::time::SystemTime;

use http::HeaderMap;

use crate::transport::Fault;
use crate::transport::FaultKind;
use crate::transport::api::response::End;

/// Nobody is kept waiting longer between two attempts.
const LONGEST: Duration = Duration::from_secs(60);

/// How often, and how soon.
#[derive(Debug, Clone, Copy)]
pub struct Retries {
    pub attempts: u32,
    /// The pause before the second attempt. Each further one is twice as long.
    pub first_pause: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { attempts: 5, first_pause: Duration::from_secs(1) }
    }
}

/// Why there is no answer, and whether asking again may help.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) fault: Fault,
    /// `Some` when it may help; the pause is the provider's wish, if it has one.
    pub(super) again: Option<Option<Duration>>,
}

impl Retries {
    /// Returns how long to wait before the attempt after this one, counted from 1. `None`: there is none.
    pub(super) fn pause(&self, attempt: u32, wish: Option<Duration>) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let own = self.first_pause.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(LONGEST);
        // Those who were turned away together do not come back together.
        let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        let spread = own.mul_f64(0.25 * f64::from(nanos % 1000) / 1000.0);
        Some(wish.unwrap_or(own + spread))
    }
}

/// Returns what an answer that is an error means.
pub(super) fn refused(status: u16, headers: &HeaderMap, error: &End) -> Refused {
    let (code, message) = match error {
        End::Failed { code, message } => (code.as_str(), message.as_str()),
        _ => ("", "no reason was given"),
    };
    let wish = wished_pause(headers);
    let fault = |kind, hint: &str| Fault::new(kind, format!("the API answered {status}: {message}"), hint);
    match status {
        // What it says may repeat a part of the key.
        401 | 403 => Refused {
            fault: Fault::new(
                FaultKind::SignedOut,
                format!("the API answered {status}: it does not accept the key"),
                "Check OPENAI_API_KEY and what it may be used for.",
            ),
            again: None,
        },
        404 if code.is_empty() || code == "model_not_found" => {
            Refused { fault: fault(FaultKind::ModelNotOffered, "Name another model with --model."), again: None }
        }
        400 if code == "model_not_found" => {
            Refused { fault: fault(FaultKind::ModelNotOffered, "Name another model with --model."), again: None }
        }
        // Waiting does not fill a purse.
        429 if code == "insufficient_quota" => Refused {
            fault: fault(FaultKind::RateLimited, "Check the plan and the billing of the account."),
            again: None,
        },
        429 => Refused { fault: fault(FaultKind::RateLimited, "Try again later."), again: Some(wish) },
        408 | 409 | 500..=599 => {
            Refused { fault: fault(FaultKind::ProviderError, "Try again later."), again: Some(wish) }
        }
        _ => Refused {
            fault: fault(FaultKind::ProviderError, "Check the model, the size of the request and OPENAI_BASE_URL."),
            again: None,
        },
    }
}

/// Returns what a stream that failed before it said anything means.
pub(super) fn failed_early(code: &str, message: &str) -> Refused {
    let kind = if code.contains("rate_limit") { FaultKind::RateLimited } else { FaultKind::ProviderError };
    let again = matches!(code, "server_error" | "rate_limit_exceeded" | "overloaded" | "server_overloaded");
    Refused {
        fault: Fault::new(kind, format!("the API failed: {message}"), "Try again later."),
        again: again.then_some(None),
    }
}

/// Reads `retry-after-ms` and `retry-after` in seconds. A date would need our clock to be right.
fn wished_pause(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_help_is_tried_again() {
        let error = |code: &str| End::Failed { code: code.to_owned(), message: "No.".to_owned() };
        let cases = [
            (400, "", FaultKind::ProviderError, false),
            (400, "model_not_found", FaultKind::ModelNotOffered, false),
            (401, "invalid_api_key", FaultKind::SignedOut, false),
            (404, "model_not_found", FaultKind::ModelNotOffered, false),
            (413, "", FaultKind::ProviderError, false),
            (429, "rate_limit_exceeded", FaultKind::RateLimited, true),
            (429, "insufficient_quota", FaultKind::RateLimited, false),
            (500, "server_error", FaultKind::ProviderError, true),
            (503, "", FaultKind::ProviderError, true),
        ];
        for (status, code, kind, again) in cases {
            let refused = refused(status, &HeaderMap::new(), &error(code));
            assert_eq!((refused.fault.kind, refused.again.is_some()), (kind, again), "{status} {code}");
        }
    }

    #[test]
    fn pauses_grow_and_the_providers_wish_counts() {
        let retries = Retries { attempts: 4, first_pause: Duration::from_secs(1) };
        let pauses: Vec<_> = (1..=4).map(|attempt| retries.pause(attempt, None)).collect();
        for (pause, seconds) in pauses.iter().zip([1.0, 2.0, 4.0]) {
            let pause = pause.unwrap().as_secs_f64();
            assert!(pause >= seconds && pause <= seconds * 1.25, "{pauses:?}");
        }
        assert_eq!(pauses[3], None);
        assert_eq!(retries.pause(1, Some(Duration::from_secs(7))), Some(Duration::from_secs(7)));
        assert!(Retries { attempts: 1000, ..retries }.pause(900, None).unwrap() <= LONGEST.mul_f64(1.25));
        for (value, expected) in [("2", Some(2.0)), ("0.5", Some(0.5)), ("-1", None), ("1e99", None), ("soon", None)] {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value.parse().unwrap());
            assert_eq!(wished_pause(&headers).map(|wish| wish.as_secs_f64()), expected, "{value}");
        }
    }
}
