//! How long requests for the leadership may fail.

use std::time::Duration;

use tokio::time::Instant;

/// Requests that fit between the due time of a renewal and the moment at which the leader gives up.
const TRIES: u32 = 3;

/// Longest time for one request.
const LONGEST: Duration = Duration::from_secs(5);

/// Longest pause after a failed request.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct RequestTimeouts {
    life: Duration,
    /// When the last request was made that was answered.
    answered: Instant,
    /// Requests since then.
    failures: u32,
    over: bool,
}

impl RequestTimeouts {
    /// A request made at `asked` was answered.
    pub(super) fn new(life: Duration, asked: Instant) -> Self {
        Self {
            life,
            answered: asked,
            failures: 0,
            over: false,
        }
    }

    /// Longest time for a request that is made now. A request without an answer must leave time for others
    /// before `give_up`.
    pub(super) fn limit(&self, now: Instant, give_up: Option<Instant>) -> Duration {
        let left = give_up.map_or(self.life, |at| at.saturating_duration_since(now));
        let tries = TRIES.saturating_sub(self.failures).max(1);
        (left / tries).min(LONGEST)
    }

    /// A request made at `asked` was answered.
    pub(super) fn answered(&mut self, asked: Instant) {
        *self = Self::new(self.life, asked);
    }

    /// Counts a failed request, and returns the pause before the next.
    pub(super) fn failed(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        (self.life / 30).min(LONGEST_PAUSE)
    }

    /// When this replica stops serving unless a request is answered; `None` if it has. The leader gives up at the same
    /// time.
    pub(super) fn over_at(&self) -> Option<Instant> {
        let long = self.life.saturating_sub(self.life / 3);
        let at = self.answered.checked_add(long)?;
        (!self.over).then_some(at)
    }

    /// The time is over.
    pub(super) fn end(&mut self) {
        self.over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// The shortest life that can be configured, the default, and a long one.
    #[test]
    fn two_requests_without_an_answer_leave_time_for_a_third() {
        for life in [1.0, 15.0, 3600.0] {
            let life = seconds(life);
            let begun = Instant::now();
            let mut timeouts = RequestTimeouts::new(life, begun);
            let give_up = begun + life - life / 3;
            let mut now = begun + life / 3;
            for _ in 0..2 {
                now += timeouts.limit(now, Some(give_up));
                now += timeouts.failed();
            }
            let left = give_up.saturating_duration_since(now);
            assert!(left >= (life / 30).min(LONGEST_PAUSE), "{life:?}: {left:?}");
            assert!(timeouts.limit(now, Some(give_up)) <= left);
            assert_eq!(timeouts.over_at(), Some(give_up));
        }
    }

    #[test]
    fn an_answer_begins_the_time_anew() {
        let life = seconds(15.0);
        let begun = Instant::now();
        let mut timeouts = RequestTimeouts::new(life, begun);
        timeouts.failed();
        timeouts.end();
        assert_eq!(timeouts.over_at(), None);
        timeouts.answered(begun + life);
        assert_eq!(timeouts.over_at(), Some(begun + life + seconds(10.0)));
        assert_eq!(timeouts.limit(begun + life, None), seconds(5.0));
    }
}
