//! When the leader polls the store.

use std::time::Duration;

use tokio::time::Instant;

/// Time between two polls without a hint. The time doubles while they find nothing: hints are lost only when a
/// replica dies between a change and its hint.
const POLL: Duration = Duration::from_secs(1);

/// Longest time between two polls with other replicas: a change without a hint is found after this.
pub(super) const LONGEST_POLL: Duration = Duration::from_secs(8);

/// Shortest time between two polls, in which hints gather.
const GATHER: Duration = Duration::from_millis(5);

/// The leader spends at most this fraction of its time on polls without a hint.
const SHARE: u32 = 20;

/// When to poll the store.
#[derive(Debug)]
pub(super) struct PollSchedule {
    next: Instant,
    /// Hints do not make the next poll earlier than this.
    earliest: Instant,
    pause: Duration,
    longest: Duration,
}

impl PollSchedule {
    /// The first poll is at once. `longest` is the longest time between two polls.
    pub(super) fn begin(now: Instant, longest: Duration) -> Self {
        Self {
            next: now,
            earliest: now,
            pause: POLL,
            longest,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Something may have changed.
    pub(super) fn hint(&mut self, now: Instant) {
        self.next = self.next.min(self.earliest.max(now));
        self.pause = POLL;
    }

    pub(super) fn ended(&mut self, begun: Instant, now: Instant, found: Found) {
        let took = now.saturating_duration_since(begun);
        self.earliest = now + took.max(GATHER);
        if found == Found::Something {
            self.pause = POLL;
        }
        self.next = now + self.pause.max(took * SHARE);
        self.pause = (self.pause * 2).min(self.longest);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Something,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_gather_and_without_any_there_is_a_poll_now_and_then() {
        let begun = Instant::now();
        let at = |milliseconds| begun + Duration::from_millis(milliseconds);
        let mut poll_schedule = PollSchedule::begin(begun, LONGEST_POLL);
        assert_eq!(poll_schedule.next(), begun);
        poll_schedule.ended(begun, at(2), Found::Something);
        assert_eq!(poll_schedule.next(), at(1002));
        poll_schedule.hint(at(3));
        assert_eq!(poll_schedule.next(), at(7), "others may come");
        poll_schedule.ended(at(7), at(207), Found::Something);
        poll_schedule.hint(at(208));
        assert_eq!(
            poll_schedule.next(),
            at(407),
            "half of the time is for others"
        );
        poll_schedule.ended(at(407), at(607), Found::Something);
        assert_eq!(poll_schedule.next(), at(4607));
    }

    #[test]
    fn polls_that_find_nothing_become_rarer() {
        let now = Instant::now();
        let mut poll_schedule = PollSchedule::begin(now, LONGEST_POLL);
        let mut pauses = |found, count: usize| {
            let pause = |_| {
                poll_schedule.ended(now, now, found);
                (poll_schedule.next() - now).as_secs()
            };
            (0..count).map(pause).collect::<Vec<_>>()
        };
        assert_eq!(pauses(Found::Nothing, 6), [1, 2, 4, 8, 8, 8]);
        assert_eq!(pauses(Found::Something, 1), [1]);
        assert_eq!(pauses(Found::Nothing, 2), [2, 4]);
        poll_schedule.hint(now);
        poll_schedule.ended(now, now, Found::Nothing);
        assert_eq!(poll_schedule.next() - now, POLL);
    }
}
