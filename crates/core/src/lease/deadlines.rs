//! The holder's side of a lease.

use std::time::Duration;

/// Maximum time that is kept free at the end of a run's lease.
const LONGEST_MARGIN: Duration = Duration::from_secs(1);

/// Deadlines of a lease for its holder, by the holder's monotonic clock: all times are durations since any fixed
/// time.
///
/// The time to live is counted from the request, because the keeper grants no earlier than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseDeadlines {
    kind: Kind,
    renew_at: Duration,
    stop_by: Duration,
    kill_by: Duration,
}

/// Purpose of the lease; determines the fractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Run,
    Leadership,
}

impl LeaseDeadlines {
    /// The lease of a run: renewed after a third of its time to live, given up after half; its processes are gone one
    /// [margin](Self::margin) before its end.
    ///
    /// `asked` is the time when the request was sent, plus the time that the keeper reports to have waited before the
    /// grant, and so never later than the grant itself.
    pub fn run(asked: Duration, life: Duration) -> Self {
        Self::new(Kind::Run, asked, life)
    }

    /// The leadership: renewed after a third of its time to live; its writes end after two thirds. `asked` as for
    /// [`LeaseDeadlines::run`].
    pub fn leadership(asked: Duration, life: Duration) -> Self {
        Self::new(Kind::Leadership, asked, life)
    }

    fn new(kind: Kind, asked: Duration, life: Duration) -> Self {
        let after = |part: Duration| asked.saturating_add(part);
        let (stop_by, kill_by) = match kind {
            Kind::Run => (
                after(life / 2),
                after(life.saturating_sub(Self::margin(life))),
            ),
            Kind::Leadership => {
                // Not `life * 2 / 3`: a long life must not overflow.
                let end = after(life.saturating_sub(life / 3));
                (end, end)
            }
        };
        Self {
            kind,
            renew_at: after(life / 3),
            stop_by,
            kill_by,
        }
    }

    /// The time kept free at the end of a run's lease: a tenth of its life, at most a second. It covers the end of a
    /// killed process and clocks of different speeds.
    pub fn margin(life: Duration) -> Duration {
        (life / 10).min(LONGEST_MARGIN)
    }

    /// Returns the lease after a renewal was granted that was requested at `asked`.
    ///
    /// No deadline ever moves back, because the keeper never shortens a lease: the late answer of an earlier request
    /// changes nothing, and neither does a shorter life. A holder that has given up must not call this and go on.
    #[must_use]
    pub fn renewed(self, asked: Duration, life: Duration) -> Self {
        let later = Self::new(self.kind, asked, life);
        Self {
            kind: self.kind,
            renew_at: self.renew_at.max(later.renew_at),
            stop_by: self.stop_by.max(later.stop_by),
            kill_by: self.kill_by.max(later.kill_by),
        }
    }

    /// When to request a renewal.
    pub fn renew_at(&self) -> Duration {
        self.renew_at
    }

    /// When the holder gently stops its work under the lease, and reports nothing more about it.
    pub fn stop_by(&self) -> Duration {
        self.stop_by
    }

    /// When the remaining processes of the holder are killed; after this no process of the holder writes.
    pub fn kill_by(&self) -> Duration {
        self.kill_by
    }

    /// Whether the holder may go on.
    pub fn is_held(&self, now: Duration) -> bool {
        now < self.stop_by
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_fractions_of_a_run() {
        let deadlines = LeaseDeadlines::run(seconds(100), seconds(30));
        assert_eq!(deadlines.renew_at(), seconds(110));
        assert_eq!(deadlines.stop_by(), seconds(115));
        assert_eq!(deadlines.kill_by(), seconds(129));
        assert!(deadlines.is_held(Duration::from_millis(114_999)));
        assert!(!deadlines.is_held(seconds(115)));
    }

    #[test]
    fn the_margin_of_a_short_life_is_a_tenth_of_it() {
        let deadlines = LeaseDeadlines::run(Duration::ZERO, seconds(3));
        assert_eq!(deadlines.kill_by(), Duration::from_millis(2_700));
    }

    #[test]
    fn the_fractions_of_leadership() {
        let deadlines = LeaseDeadlines::leadership(seconds(100), seconds(15));
        assert_eq!(deadlines.renew_at(), seconds(105));
        assert_eq!(deadlines.stop_by(), seconds(110));
        assert_eq!(deadlines.kill_by(), seconds(110));
    }

    #[test]
    fn a_renewal_moves_every_deadline_by_the_time_between_the_requests() {
        let deadlines =
            LeaseDeadlines::run(seconds(100), seconds(30)).renewed(seconds(110), seconds(30));
        assert_eq!(deadlines, LeaseDeadlines::run(seconds(110), seconds(30)));
    }

    #[test]
    fn the_longest_life_does_not_overflow() {
        for deadlines in [
            LeaseDeadlines::run(seconds(1), Duration::MAX),
            LeaseDeadlines::leadership(seconds(1), Duration::MAX),
        ] {
            assert!(deadlines.renew_at() < deadlines.stop_by());
            assert!(deadlines.is_held(seconds(1_000_000)));
        }
    }

    /// Clocks are synchronised by changing their speed by up to 500 millionths: here the holder's clock is as slow,
    /// and the keeper's clock as fast, as that allows.
    #[test]
    fn the_margin_pays_for_clocks_of_different_speed_and_for_the_kill() {
        let kill = 0.1;
        for life in [3, 15, 30, 60, 300, 600] {
            let gone = LeaseDeadlines::run(Duration::ZERO, seconds(life)).kill_by();
            let really_gone = gone.as_secs_f64() / (1.0 - 500e-6) + kill;
            let really_ended = seconds(life).as_secs_f64() / (1.0 + 500e-6);
            assert!(
                really_gone < really_ended,
                "{life} s: {really_gone}, {really_ended}"
            );
        }
    }

    proptest! {
        #[test]
        fn answers_in_any_order_give_the_same_deadlines(
            mut grants in prop::collection::vec((0u64..1_000, 3u64..60), 1..8), seed in any::<u64>(),
            leads in any::<bool>(),
        ) {
            let first = if leads { LeaseDeadlines::leadership } else { LeaseDeadlines::run };
            let fold = |grants: &[(u64, u64)]| {
                let (asked, life) = grants[0];
                grants[1..].iter().fold(first(seconds(asked), seconds(life)), |deadlines, &(asked, life)| {
                    deadlines.renewed(seconds(asked), seconds(life))
                })
            };
            let in_order = fold(&grants);
            let turn = usize::try_from(seed % 8).unwrap() % grants.len();
            grants.rotate_left(turn);
            prop_assert_eq!(fold(&grants), in_order);
        }

        /// After every grant, the holder relies on no more than the keeper promised.
        #[test]
        fn deadlines_stand_in_order_and_before_the_end(
            grants in prop::collection::vec((0u64..1_000_000, 3_000u64..600_000), 1..8),
        ) {
            let millis = Duration::from_millis;
            let (asked, life) = grants[0];
            let mut deadlines = LeaseDeadlines::run(millis(asked), millis(life));
            let mut promised = millis(asked + life);
            for &(asked, life) in &grants[1..] {
                let before = deadlines;
                deadlines = deadlines.renewed(millis(asked), millis(life));
                promised = promised.max(millis(asked + life));
                prop_assert!(deadlines.renew_at() >= before.renew_at());
                prop_assert!(deadlines.stop_by() >= before.stop_by());
                prop_assert!(deadlines.kill_by() >= before.kill_by());
            }
            prop_assert!(deadlines.renew_at() < deadlines.stop_by());
            prop_assert!(deadlines.stop_by() < deadlines.kill_by());
            prop_assert!(deadlines.kill_by() < promised);
        }
    }
}
