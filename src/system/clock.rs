//! The time of day.

use std::time::SystemTime;

/// Returns the present moment as RFC 3339 text in UTC with milliseconds, as events and pins carry it.
pub fn now() -> String {
    let moment = jiff::Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    format!("{moment:.3}")
}

/// Returns how many seconds ago a moment was, as [`now`] writes it. A moment to come is no time ago.
pub fn seconds_since(moment: &str) -> Option<u64> {
    let then: jiff::Timestamp = moment.parse().ok()?;
    let now = jiff::Timestamp::try_from(SystemTime::now()).ok()?;
    Some(u64::try_from(now.as_second() - then.as_second()).unwrap_or(0))
}

/// Returns the present moment in seconds since 1970.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_moment_is_utc_with_milliseconds() {
        let text = super::now();
        assert_eq!((text.len(), &text[10..11], &text[19..20], &text[23..]), (24, "T", ".", "Z"), "{text}");
    }
}
