//! Numbers that are the same for the same seed on every machine.

/// `SplitMix64`: a counter and a mixing function, good enough to choose events and times.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Begins the sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number of the sequence.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// A number below `count`, which must not be 0.
    pub fn index(&mut self, count: usize) -> usize {
        let last = count.saturating_sub(1) as u64;
        usize::try_from(self.between(0, last)).unwrap_or_default()
    }

    /// One of `choices`, which must not be empty.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = choices.len() as u64 - 1;
        choices[usize::try_from(self.between(0, last)).unwrap_or_default()]
    }

    /// Whether something of so many percent happens.
    pub const fn percent(&mut self, chance: u64) -> bool {
        self.between(1, 100) <= chance
    }
}
