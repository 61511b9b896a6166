//! The time of day.

use std::time::SystemTime;

/// Returns the present moment as RFC 3339 text in UTC with milliseconds, as events and pins carry it.
pub fn now() -> String {
    let moment = jiff::Timestamp::try_from(SystemTime::now()).unwrap_or_default();
    format!("{moment:.3}")
}

/// Returns 32 hexadecimal digits that differ each time. They are no secret.
pub fn salt() -> String {
    use std::hash::BuildHasher;
    // The standard library draws its keys at random.
    let draw = || std::collections::hash_map::RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", draw(), draw())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_moment_is_utc_with_milliseconds() {
        let text = super::now();
        assert_eq!((text.len(), &text[10..11], &text[19..20], &text[23..]), (24, "T", ".", "Z"), "{text}");
    }
}
