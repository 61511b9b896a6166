//! What a value looks like: drawn at random, or written by a person.

/// Pairs of letters that make up nine tenths of English text, and of identifiers.
const PAIRS: &str = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi \
    ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so \
    rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu \
    ev ld ry mp fe bl ab gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ef cu \
    rn sc gi da yo cr cl du ga qu ue ff ba ey ls va um pp ua up lu go ok key ck at rl ud ub bs ip pt dd ob ks ug lt ls ib nv xp au ew eq ys my cs rv nf rk";

const WORDY: [u32; 26] = wordy_pairs();

/// Returns, for each first letter, a bit for each second one.
const fn wordy_pairs() -> [u32; 26] {
    let text = PAIRS.as_bytes();
    let mut table = [0; 26];
    let mut at = 0;
    while at + 1 < text.len() {
        if text[at].is_ascii_lowercase() && text[at + 1].is_ascii_lowercase() {
            table[(text[at] - b'a') as usize] |= 1 << (text[at + 1] - b'a');
        }
        at += 1;
    }
    table
}

/// What is counted in a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub len: usize,
    lower: usize,
    upper: usize,
    digits: usize,
    other: usize,
    hex: bool,
    /// Hexadecimal digits and hyphens, as in a UUID.
    hex_parts: bool,
    /// Changes between lower case, upper case and digits, inside of a word.
    turns: usize,
    /// Neighbouring letters, and those of them that words are made of.
    pairs: usize,
    wordy: usize,
    entropy: f32,
}

impl Shape {
    pub fn of(value: &[u8]) -> Self {
        let mut shape =
            Shape { len: value.len(), hex: !value.is_empty(), hex_parts: !value.is_empty(), ..Shape::default() };
        let mut counts = [0u16; 256];
        let mut before = b' ';
        for byte in value.iter().take(1024) {
            counts[usize::from(*byte)] += 1;
            let class = class_of(*byte);
            match class {
                Class::Lower => shape.lower += 1,
                Class::Upper => shape.upper += 1,
                Class::Digit => shape.digits += 1,
                Class::Other => shape.other += 1,
            }
            shape.hex &= byte.is_ascii_hexdigit();
            shape.hex_parts &= byte.is_ascii_hexdigit() || *byte == b'-';
            let previous = class_of(before);
            shape.turns += usize::from(class != previous && class != Class::Other && previous != Class::Other);
            // A capital begins a new word.
            if before.is_ascii_alphabetic()
                && (*byte).is_ascii_alphabetic()
                && (previous, class) != (Class::Lower, Class::Upper)
            {
                shape.pairs += 1;
                let second = byte.to_ascii_lowercase() - b'a';
                shape.wordy += usize::from(WORDY[usize::from(before.to_ascii_lowercase() - b'a')] >> second & 1 == 1);
            }
            before = *byte;
        }
        let total = value.len().min(1024) as f32;
        shape.entropy = counts
            .iter()
            .filter(|count| **count > 0)
            .map(|count| f32::from(*count) / total)
            .map(|share| -share * share.log2())
            .sum();
        shape
    }

    /// Tells whether the value looks as if it was drawn at random.
    pub fn is_random(&self) -> bool {
        if self.len < 16 || self.digits == 0 || self.lower + self.upper == 0 {
            return self.is_random_letters();
        }
        if self.hex {
            return self.entropy >= 2.8 && (self.lower == 0 || self.upper == 0);
        }
        let needed = if self.len < 24 { 3.1 } else { 3.4 };
        self.entropy >= needed && !self.is_wordy() && self.turns * 100 >= (self.len - self.other) * 18
    }

    /// Tells whether the value has letters only, and they say nothing.
    fn is_random_letters(&self) -> bool {
        let mixed = self.lower > 0 && self.upper > 0 && self.turns * 6 >= self.len;
        let base32 = self.lower == 0 && self.pairs >= 12;
        self.len >= 16
            && self.digits * 4 < self.len
            && self.entropy >= 3.4
            && (mixed || base32)
            && self.wordy * 100 < self.pairs * 45
    }

    /// Tells whether the value is no word and no number.
    pub fn is_unworded(&self) -> bool {
        self.lower + self.upper > 0 && self.entropy >= 2.8 && (self.hex_parts || !self.is_wordy())
    }

    /// Tells whether the letters make words.
    pub fn is_wordy(&self) -> bool {
        self.pairs >= 5 && self.wordy * 100 >= self.pairs * 67
    }

    /// Returns how many of lower case, upper case, digits and other characters there are.
    pub fn classes(&self) -> usize {
        [self.lower, self.upper, self.digits, self.other].iter().filter(|count| **count > 0).count()
    }

    /// Tells whether the value is what somebody would choose, or be given, as a password.
    pub fn is_password(&self, quoted: bool) -> bool {
        let shortest = if quoted { 8 } else { 10 };
        if self.len < shortest || self.len > 128 || self.digits == 0 || self.lower + self.upper == 0 {
            return false;
        }
        match self.classes() {
            4 => true,
            3 => !self.is_wordy() && self.len >= shortest + 2 && self.entropy >= 3.0,
            _ => self.is_random(),
        }
    }

    pub fn is_hex(&self) -> bool {
        self.hex
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

const fn class_of(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_noise() {
        let words = [
            "UpdateTokenizerFast",
            "retry-prod-db-credentials",
            "template.queue.created",
            "resolver:23731:table:en-US",
            "minimum-length-18-with-symbols",
            "library/batch/2026/03/29/part-01006.parquet",
            "text-embedding-3-large",
            "org.gradle.system.order.internal.template4",
            "bert-base-uncased-v2-finetuned",
        ];
        for text in words {
            assert!(!Shape::of(text.as_bytes()).is_random(), "{text}");
        }
        let noise = [
            "q8Zt2LwXr5VbN0mEk7",
            "9f86d081884c7d659a2feaa0",
            "o04ilub6x3ssh9qqgzv17ik2l5litrnr",
            "JBSWQ3DPFQQFO33SNRSCCX2K",
        ];
        for text in noise {
            assert!(Shape::of(text.as_bytes()).is_random(), "{text}");
        }
    }

    #[test]
    fn a_password_has_several_sorts_of_characters() {
        for (text, expected) in
            [("uw!XFZba0Nwm", true), ("password", false), ("ReaderPassword", false), ("2026-03-11", false)]
        {
            assert_eq!(Shape::of(text.as_bytes()).is_password(false), expected, "{text}");
        }
    }
}
