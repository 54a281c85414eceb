//! Repeatable chance: the same seed gives the same documents on every machine.

/// A generator of numbers that look random (a counter whose bits are mixed).
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The chance of one document, independent of that of its neighbours.
    pub(crate) fn of_document(seed: u64, index: u64) -> Self {
        let mut chance = Self {
            state: seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ index,
        };
        chance.state = chance.number();
        chance
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(Self::STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `limit`; 0 for a limit of 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from(self.number() % limit).unwrap_or_default()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of the choices, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_the_same_chance_each_time_and_another_than_its_neighbour() {
        let numbers = |seed, index| {
            let mut chance = Chance::of_document(seed, index);
            [chance.number(), chance.number()]
        };
        assert_eq!(numbers(1, 5), numbers(1, 5));
        assert_ne!(numbers(1, 5), numbers(1, 6));
        assert_ne!(numbers(1, 5), numbers(2, 5));
    }
}
