//! The known name that a misspelt one most likely meant.

/// Returns the candidate nearest to `word`, when one is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Words come from files; a long one is no misspelling and would cost quadratic time.
    if word.len() > 64 {
        return None;
    }
    let limit = 1 + word.chars().count() / 4;
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the number of single-character edits (insert, delete, replace, swap of neighbours) between two words.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut current = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (previous[j] + usize::from(x != y)).min(previous[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            current.push(cost);
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_word_and_nonsense_finds_none() {
        let known = ["allowed_paths", "forbidden_actions", "task_id", "binary"];
        assert_eq!(nearest("alowed_paths", known), Some("allowed_paths"));
        assert_eq!(nearest("allowedPaths", known), Some("allowed_paths"));
        assert_eq!(nearest("taks_id", known), Some("task_id"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"a".repeat(10_000), known), None);
    }
}
