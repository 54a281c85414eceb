//! Database time as one scheduler sees it pass.

use std::collections::VecDeque;
use std::time::Duration;

/// An answer that took longer says too little about the time at which it was given.
const SLOWEST_ANSWER: Duration = Duration::from_secs(1);

/// Notices when the database's clock is set forward, and says which leases have ended all the same.
///
/// A database clock that leaps, because it is set or because a standby with another clock takes over,
/// makes leases look expired whose holders still count on them. A scheduler that has watched the clock
/// for as long as any lease lives knows the slowest it has been in that time, and takes back only what
/// has ended by that. Steps back need no care: they only make leases last longer.
///
/// Not used by the stores yet, see the [module](super).
///
/// `now`, `asked` and `answered` are readings of the scheduler's monotonic clock, as durations since any fixed
/// moment; database time likewise.
#[derive(Debug, Clone)]
pub struct KeeperClock {
    longest_life: Duration,
    watched_since: Option<Duration>,
    /// In order of time; each holds until the next.
    readings: VecDeque<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Duration,
    /// Database time minus ours, at least; in nanoseconds.
    ahead: i128,
}

impl KeeperClock {
    /// For leases that live at most `longest_life`.
    pub fn new(longest_life: Duration) -> Self {
        Self {
            longest_life,
            watched_since: None,
            readings: VecDeque::new(),
        }
    }

    /// The database has said what time it is. Worth calling as often as it does, leader or not, so that
    /// a new leader has watched for long already.
    pub fn saw(&mut self, asked: Duration, answered: Duration, database_now: Duration) {
        if answered.saturating_sub(asked) > SLOWEST_ANSWER {
            return;
        }
        self.watched_since.get_or_insert(asked);
        let ahead = signed(database_now) - signed(answered);
        self.readings.push_back(Reading {
            at: answered,
            ahead,
        });
        let from = answered.saturating_sub(self.longest_life);
        // The last one before that moment still holds then.
        while (self.readings.get(1)).is_some_and(|second| second.at <= from) {
            self.readings.pop_front();
        }
    }

    /// Leases that end at this database time or before have really ended. `None` while the clock has not
    /// been watched for a whole life: then nothing may be taken back.
    pub fn reap_until(&self, now: Duration) -> Option<Duration> {
        let since = self.watched_since?;
        if now.saturating_sub(since) < self.longest_life {
            return None;
        }
        let ahead = self.readings.iter().map(|reading| reading.ahead).min()?;
        let until = (signed(now) + ahead).max(0).unsigned_abs();
        Some(Duration::from_nanos(
            u64::try_from(until).unwrap_or(u64::MAX),
        ))
    }
}

fn signed(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// A clock that was read every five seconds up to `until`, while the database was 1000 s ahead.
    fn watched(until: u64) -> KeeperClock {
        let mut clock = KeeperClock::new(LIFE);
        for second in (0..=until).step_by(5) {
            clock.saw(at(second), at(second), at(1000 + second));
        }
        clock
    }

    #[test]
    fn nothing_is_taken_back_before_a_life_was_watched() {
        assert_eq!(KeeperClock::new(LIFE).reap_until(at(1_000)), None);
        let clock = watched(25);
        assert_eq!(clock.reap_until(at(29)), None);
        assert_eq!(clock.reap_until(at(30)), Some(at(1030)));
    }

    #[test]
    fn a_leap_forward_is_not_believed_for_a_life() {
        let mut clock = watched(100);
        clock.saw(at(105), at(105), at(5105));
        assert_eq!(clock.reap_until(at(105)), Some(at(1105)));
        for second in (110..=140).step_by(5) {
            clock.saw(at(second), at(second), at(5000 + second));
        }
        assert_eq!(
            clock.reap_until(at(140)),
            Some(at(5140)),
            "what was granted before the leap has ended long ago"
        );
    }

    #[test]
    fn a_step_back_counts_at_once() {
        let mut clock = watched(100);
        clock.saw(at(105), at(105), at(605));
        assert_eq!(clock.reap_until(at(106)), Some(at(606)));
    }

    #[test]
    fn a_leap_behind_a_long_silence_is_noticed() {
        let mut clock = watched(100);
        clock.saw(at(500), at(500), at(5500));
        assert_eq!(
            clock.reap_until(at(500)),
            Some(at(1500)),
            "a lease may have been granted just before the leap"
        );
    }

    #[test]
    fn a_slow_answer_is_no_reading_and_others_count_from_their_arrival() {
        let mut clock = watched(100);
        clock.saw(at(101), at(103), at(101));
        assert_eq!(clock.reap_until(at(103)), Some(at(1103)));
        let quick = Duration::from_millis(500);
        clock.saw(at(104), at(104) + quick, at(1104));
        assert_eq!(
            clock.reap_until(at(105)),
            Some(at(1105).saturating_sub(quick))
        );
    }
}
