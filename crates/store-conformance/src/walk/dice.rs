//! Chance that can be repeated.

/// Xorshift: the same seed walks the same way everywhere.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    pub(crate) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let bound = u64::try_from(choices.len()).unwrap_or(u64::MAX);
        let choice = self.below(bound.max(1));
        choices.get(usize::try_from(choice).unwrap_or(usize::MAX))
    }

    pub(crate) fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}
