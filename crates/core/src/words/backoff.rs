//! Pauses between attempts.

use std::time::Duration;

/// Growth of the pauses between attempts: doubled after each attempt, up to a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    jitter: f64,
}

impl Backoff {
    /// A backoff with this first pause and this limit of all pauses.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            jitter: 0.0,
        }
    }

    /// Lengthens each pause at random by up to this share of it. The limit stays the same.
    #[must_use]
    pub const fn with_jitter(self, share: f64) -> Self {
        Self {
            jitter: share,
            ..self
        }
    }

    /// The pauses of consecutive failures. `random` returns numbers from 0 to 1.
    pub fn pauses(self, random: fn() -> f64) -> Pauses {
        Pauses {
            backoff: self,
            step: self.first,
            random,
        }
    }
}

/// Pauses between failed attempts.
#[derive(Debug, Clone)]
pub struct Pauses {
    backoff: Backoff,
    step: Duration,
    random: fn() -> f64,
}

impl Pauses {
    /// The pause before the next attempt.
    pub fn next_pause(&mut self) -> Duration {
        let Backoff {
            longest, jitter, ..
        } = self.backoff;
        // The jitter may add its share without exceeding the limit, so that pauses at the limit vary too.
        let most = Duration::try_from_secs_f64(longest.as_secs_f64() / (1.0 + jitter));
        let step = self.step.min(most.unwrap_or(longest));
        self.step = step.saturating_mul(2);
        let more = Duration::try_from_secs_f64(step.as_secs_f64() * jitter * (self.random)());
        step.saturating_add(more.unwrap_or_default())
    }

    /// Notes a success: the next pause is the first pause again.
    pub fn reset(&mut self) {
        self.step = self.backoff.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn in_milliseconds(pauses: &mut Pauses, count: usize) -> Vec<u128> {
        let pauses = (0..count).map(|_| pauses.next_pause().as_millis());
        pauses.collect()
    }

    #[test]
    fn pauses_double_up_to_the_limit_and_begin_anew_after_a_success() {
        let mut pauses = Backoff::new(SECOND, 6 * SECOND).pauses(|| 1.0);
        assert_eq!(
            in_milliseconds(&mut pauses, 5),
            [1000, 2000, 4000, 6000, 6000]
        );
        pauses.reset();
        assert_eq!(in_milliseconds(&mut pauses, 2), [1000, 2000]);
    }

    #[test]
    fn jitter_lengthens_pauses_within_the_limit() {
        let backoff = Backoff::new(SECOND, 6 * SECOND).with_jitter(0.5);
        let mut least = backoff.pauses(|| 0.0);
        assert_eq!(in_milliseconds(&mut least, 4), [1000, 2000, 4000, 4000]);
        let mut most = backoff.pauses(|| 1.0);
        assert_eq!(in_milliseconds(&mut most, 4), [1500, 3000, 6000, 6000]);
    }

    #[test]
    fn pauses_never_end() {
        let mut pauses = Backoff::new(SECOND, Duration::MAX).pauses(|| 0.0);
        for _ in 0..200 {
            assert!(pauses.next_pause() >= SECOND);
        }
    }
}
