//! Time since which schedulers have served, so that leases could be renewed.

use std::time::Duration;

use cts_core::lease::longest_pause;

/// The part of the leadership's row that says since when the schedulers have served.
///
/// Every live replica calls, whether it leads or not, since any of them renews leases of runs. Times are
/// database time, as durations since any fixed moment.
///
/// A lease is lost for lack of a scheduler, and not because of its holder, if a gap followed its grant or
/// last renewal: while the database was away, or every scheduler was. Then the attempt does not count
/// ([`after_lost_lease`](cts_core::runs::after_lost_lease)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Service {
    /// The end of the last gap, and the time of the last call by a scheduler; `None` before the first call.
    spoken: Option<(Duration, Duration)>,
}

impl Service {
    /// Notes a call by a scheduler, for a leadership of this life.
    pub(super) fn speak(&mut self, now: Duration, leadership: Duration) {
        let since = self.spoken.and_then(|(since, last)| {
            let pause = now.saturating_sub(last);
            (pause <= longest_pause(leadership)).then_some(since)
        });
        self.spoken = Some((since.unwrap_or(now), now));
    }

    /// Whether a lease that was granted or renewed last at this moment could be renewed ever since.
    pub(super) fn covers(&self, renewed: Duration) -> bool {
        self.spoken.is_some_and(|(since, _)| since <= renewed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEADERSHIP: Duration = Duration::from_secs(15);

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn nothing_is_covered_before_the_first_word() {
        assert!(!Service::default().covers(at(1_000_000)));
    }

    #[test]
    fn words_in_time_are_one_service() {
        let mut service = Service::default();
        for word in (1_000..60_000).step_by(5_000) {
            service.speak(at(word), LEADERSHIP);
        }
        assert!(!service.covers(at(999)));
        assert!(service.covers(at(1_000)));
        service.speak(at(56_000 + 7_500), LEADERSHIP);
        assert!(service.covers(at(1_000)), "as late as a word may be");
    }

    #[test]
    fn a_gap_takes_what_was_renewed_before_its_end_out_of_account() {
        let mut service = Service::default();
        service.speak(at(1_000), LEADERSHIP);
        service.speak(at(8_501), LEADERSHIP);
        assert!(!service.covers(at(8_500)));
        assert!(service.covers(at(8_501)));
    }
}
