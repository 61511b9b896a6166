//! The timestamp after a name, in a patch that has no `diff --git` line to rely on.

/// Tells whether there is a date elsewhere than at the start
///
/// Without a `diff --git` line git looks for a date at the end of a `---` line, and takes all before it for the name,
/// tabs and spaces too.
pub(super) fn has_stray_date(text: &[u8]) -> bool {
    text.split(|&byte| byte == b' ').skip(1).any(is_date)
}

/// `72-02-05` or `1972-02-05`
fn is_date(word: &[u8]) -> bool {
    let shape = |(at, byte): (usize, &u8)| if at == 2 || at == 5 { *byte == b'-' } else { byte.is_ascii_digit() };
    matches!(word.len(), 8 | 10) && word.iter().rev().enumerate().all(shape)
}

/// Tells whether a timestamp is the start of 1970, by which GNU diff says that the file does not exist on this side
pub(super) fn is_epoch(stamp: &[u8]) -> bool {
    let (midnight, time) = match (stamp.strip_prefix(b"1970-01-01 "), stamp.strip_prefix(b"1969-12-31 ")) {
        (Some(time), _) => (0, time),
        (_, Some(time)) => (24 * 60, time),
        _ => return false,
    };
    let [h1, h2, b':', m1, m2, b':', b'0', b'0', rest @ ..] = time else { return false };
    let zeros = rest.strip_prefix(b".0").map_or(0, |more| 2 + more.iter().take_while(|&&byte| byte == b'0').count());
    let (sign, zone) = match &rest[zeros..] {
        [b' ', b'+', zone @ ..] => (1, zone),
        [b' ', b'-', zone @ ..] => (-1, zone),
        _ => return false,
    };
    let ([z1, z2, z3, z4] | [z1, z2, b':', z3, z4]) = zone else { return false };
    let minutes = |digits: [&u8; 4]| {
        let [a, b, c, d] = digits.map(|digit| i32::from(*digit) - i32::from(b'0'));
        [a, b, c, d].iter().all(|digit| (0..10).contains(digit)).then_some((a * 10 + b) * 60 + c * 10 + d)
    };
    match (minutes([h1, h2, m1, m2]), minutes([z1, z2, z3, z4])) {
        (Some(time), Some(zone)) => time - sign * zone == midnight,
        _ => false,
    }
}
