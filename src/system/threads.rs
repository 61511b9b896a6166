//! How many hands there are.

/// Returns how many threads share this many portions of work. Finding out costs more than a small portion.
pub fn threads_for(portions: usize) -> usize {
    match portions {
        0 | 1 => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from).min(portions),
    }
}
