//! Random cases that can be repeated.
//!
//! A test runs a few sequences from a fixed seed. `ORACLE_TEST_SEQUENCES=500 ORACLE_TEST_SEED=1000` runs 500 others; a
//! failure names the one seed that repeats it with `ORACLE_TEST_SEQUENCES=1`.

/// A small generator (SplitMix64): the same seed gives the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// Tells whether something happens that happens this often in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub fn pick_text(&mut self, from: &[String]) -> String {
        from[self.below(from.len())].clone()
    }

    /// Returns a text that resembles no other.
    pub fn text(&mut self) -> String {
        (0..4).map(|_| format!("{:016x}\n", self.number())).collect()
    }
}

/// Runs `sequence` with one seed after another, `count` times unless the environment says otherwise, and returns how
/// often. What a failing one did is in its own message.
pub fn sequences(count: u64, mut sequence: impl FnMut(u64)) -> u64 {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = asked("ORACLE_TEST_SEED").unwrap_or(1);
    let count = asked("ORACLE_TEST_SEQUENCES").unwrap_or(count);
    for seed in first..first + count {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sequence(seed)));
        if let Err(panic) = ran {
            let message = panic.downcast_ref::<String>().map_or("", String::as_str);
            panic!("repeat with ORACLE_TEST_SEED={seed} ORACLE_TEST_SEQUENCES=1\n{message}");
        }
    }
    count
}
