//! Counts for people.

/// Returns a count with its noun: `1 change`, `2 changes`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
