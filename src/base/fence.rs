//! A fence of backticks that no content can break out of.

/// Returns a fence that is longer than any run of backticks in `content`, and three at least.
pub fn fence(content: &[u8]) -> String {
    let mut longest = 2;
    let mut rest = content;
    while let Some(start) = memchr::memchr(b'`', rest) {
        rest = &rest[start..];
        let run = rest.iter().position(|byte| *byte != b'`').unwrap_or(rest.len());
        longest = longest.max(run);
        rest = &rest[run..];
    }
    "`".repeat(longest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        for (content, expected) in [("", 3), ("a ` b", 3), ("``", 3), ("```", 4), ("x ````` ``", 6), ("`````", 6)] {
            assert_eq!(fence(content.as_bytes()).len(), expected, "{content}");
        }
    }
}
