//! Sizes in bytes, as somebody types them.

/// Returns the bytes that a text such as `4096`, `512K`, `1M` or `2G` stands for. The letters count in powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return None,
    };
    // `parse` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_typed() {
        let cases = [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("512K", Some(512 << 10)),
            ("1M", Some(1 << 20)),
            ("1MiB", Some(1 << 20)),
            ("2g", Some(2 << 30)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551615K", None),
            ("", None),
            ("K", None),
            ("-1", None),
            ("+1", None),
            ("1.5M", None),
            ("1 M", None),
            ("1MB", None),
            ("1T", None),
            ("1é", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_size(text), expected, "{text}");
        }
    }
}
