//! How long handlers wait.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// Longest pause before a retry.
const LONGEST_PAUSE: Duration = Duration::from_mins(15);

/// How long handlers wait. Tests wait shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Shortest pause before the first retry; each further pause is twice as long.
    pub first_retry: Duration,
    /// Pause between two polls of the job of a commit.
    pub poll: Duration,
    /// Longest time for one handler as a whole.
    pub longest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_retry: Duration::from_secs(1),
            poll: Duration::from_secs(2),
            longest: Duration::from_mins(20),
        }
    }
}

impl Pace {
    /// The pauses before `retries` retries: the first one, doubled each time, with a random addition of up to
    /// half of it.
    pub(crate) fn pauses(self, retries: u32) -> impl Iterator<Item = Duration> {
        let even = ExponentialBuilder::new()
            .with_min_delay(self.first_retry)
            .with_factor(2.0)
            .with_max_delay(LONGEST_PAUSE)
            .without_max_times();
        // The library adds a random time up to the length of the pause.
        let uneven = even.with_jitter().build();
        let pauses = even.build().zip(uneven);
        let pauses = pauses.map(|(least, most)| (least + most) / 2);
        pauses.take(usize::try_from(retries).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_differ_by_half() {
        let pauses: Vec<_> = Pace::default().pauses(4).collect();
        assert_eq!(pauses.len(), 4);
        for (pause, least) in pauses.into_iter().zip([1.0, 2.0, 4.0, 8.0]) {
            let range = least..=least * 1.5;
            assert!(range.contains(&pause.as_secs_f64()), "{pause:?}");
        }
        assert_eq!(Pace::default().pauses(0).count(), 0);
    }
}
