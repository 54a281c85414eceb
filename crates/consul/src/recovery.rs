//! The end of an outage: the first query that is answered again wakes the queries that pause after a failure.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// Time over which woken queries are spread: a second, in microseconds.
const SPREAD: u64 = 1_000_000;
/// The spread doubles at most this often while woken queries fail again.
const MOST_DOUBLINGS: u32 = 5;
/// Steps of the golden ratio divide the spread evenly, whatever their number.
const STEP: u64 = 618_034;

/// Shared by all clients of one Consul.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    /// Counts queries that were answered after failures.
    answered: watch::Sender<u64>,
    /// Counts queries that were woken or spread.
    woken: AtomicU32,
}

/// A query that is notified of the success of other queries.
#[derive(Debug)]
pub(crate) struct Listener(watch::Receiver<u64>);

impl Recovery {
    pub(crate) fn listener(&self) -> Listener {
        Listener(self.answered.subscribe())
    }

    /// A query that had failed is answered.
    pub(crate) fn answered(&self) {
        self.answered
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Waits for `pause`, or until a while after another query was answered since [`Listener::begin`]: up to a second,
    /// doubled for each time that this query was woken in vain. Returns whether the query was woken. Cancel safe.
    pub(crate) async fn wait(
        &self,
        listener: &mut Listener,
        pause: Duration,
        in_vain: u32,
    ) -> bool {
        let end = Instant::now() + pause;
        tokio::select! {
            () = sleep_until(end) => return false,
            // The sender is here.
            _ = listener.0.changed() => {}
        }
        sleep_until(end.min(Instant::now() + self.next_part(in_vain))).await;
        true
    }

    /// Waits for up to a second, so that queries that have failed at the same moment do not ask at the same moment.
    pub(crate) async fn spread(&self) {
        sleep(self.next_part(0)).await;
    }

    fn next_part(&self, in_vain: u32) -> Duration {
        part_of_spread(self.woken.fetch_add(1, Ordering::Relaxed), in_vain)
    }
}

impl Listener {
    /// Ignores answers that other queries got before this call.
    pub(crate) fn begin(&mut self) {
        self.0.mark_unchanged();
    }
}

/// Returns the delay of the woken query with this number.
fn part_of_spread(number: u32, in_vain: u32) -> Duration {
    let part = u64::from(number) * STEP % SPREAD;
    Duration::from_micros(part << in_vain.min(MOST_DOUBLINGS))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::JoinSet;

    use super::*;

    #[test]
    fn the_woken_are_spread_evenly() {
        const SECOND: Duration = Duration::from_secs(1);
        for from in [0, 7, 1_000_000] {
            let mut parts: Vec<_> = (from..from + 60).map(|n| part_of_spread(n, 0)).collect();
            parts.sort_unstable();
            assert!(parts.iter().all(|part| *part < SECOND));
            let gaps = parts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
            assert!(gaps.max() < Some(SECOND / 20));
        }
        assert!(part_of_spread(1, 2) > part_of_spread(1, 1));
        assert!(part_of_spread(u32::MAX, u32::MAX) < 32 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_wakes_all_within_a_second_and_none_waits_longer_than_its_pause() {
        let recovery = Arc::new(Recovery::default());
        let mut waits = JoinSet::new();
        let begun = Instant::now();
        for number in 0..60 {
            let recovery = Arc::clone(&recovery);
            let mut listener = recovery.listener();
            waits.spawn(async move {
                let pause = Duration::from_secs(if number == 0 { 3 } else { 30 });
                let woken = recovery.wait(&mut listener, pause, 0).await;
                (woken, begun.elapsed())
            });
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        recovery.answered();
        let (mut alone, mut last) = (0, Duration::ZERO);
        while let Some(wait) = waits.join_next().await {
            match wait.unwrap() {
                (false, after) => {
                    alone += 1;
                    assert_eq!(after.as_secs(), 3);
                }
                (true, after) => last = last.max(after),
            }
        }
        assert_eq!(alone, 1);
        assert!(last > Duration::from_millis(5500) && last <= Duration::from_millis(6010));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_during_the_own_request_counts_and_one_before_it_does_not() {
        let recovery = Recovery::default();
        let pause = Duration::from_secs(30);
        let mut listener = recovery.listener();
        recovery.answered();
        listener.begin();
        assert!(!recovery.wait(&mut listener, pause, 0).await);
        listener.begin();
        recovery.answered();
        assert!(recovery.wait(&mut listener, pause, 0).await);
    }
}
