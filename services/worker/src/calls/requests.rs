//! Calls for a run that got no answer.
//!
//! A scheduler may have granted a run to such a call, or may still do so if its database was away. The worker takes no
//! answer to the call any more. The worker's heartbeats report that, and the run goes back to the queue at once instead
//! of waiting for the end of a lease without a worker.
//!
//! The grant of a run has the name of its call, by which the scheduler finds it.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// After this time no call is at work in a scheduler or a database any more.
const KEPT: Duration = Duration::from_mins(2);

/// Most calls named in one heartbeat; the leases of the remaining calls expire.
const MOST: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    unanswered: VecDeque<(Instant, String)>,
}

impl Requests {
    /// A name for the next call.
    pub(crate) fn next(&self) -> String {
        let mut state = self.state.lock();
        state.last += 1;
        state.last.to_string()
    }

    /// The call has ended by `now` without an answer, and no later answer is taken.
    pub(crate) fn unanswered(&self, request: String, now: Instant) {
        let mut state = self.state.lock();
        state.unanswered.push_back((now, request));
        if state.unanswered.len() > MOST {
            state.unanswered.pop_front();
        }
    }

    /// The calls that the scheduler has to learn at `now`.
    pub(crate) fn to_be_named(&self, now: Instant) -> Vec<String> {
        let mut state = self.state.lock();
        state
            .unanswered
            .retain(|(at, _)| now.saturating_duration_since(*at) < KEPT);
        let requests = state.unanswered.iter();
        requests.map(|(_, request)| request.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unanswered_calls_are_named_for_a_while() {
        let requests = Requests::default();
        let (first, second) = (requests.next(), requests.next());
        assert_ne!(first, second);
        let now = Instant::now();
        assert!(requests.to_be_named(now).is_empty());
        requests.unanswered(first.clone(), now);
        requests.unanswered(second.clone(), now + KEPT / 2);
        assert_eq!(
            requests.to_be_named(now + KEPT / 2),
            [first, second.clone()]
        );
        assert_eq!(requests.to_be_named(now + KEPT), [second]);
    }

    #[test]
    fn an_outage_does_not_make_a_beat_endless() {
        let requests = Requests::default();
        let now = Instant::now();
        for _ in 0..=MOST {
            requests.unanswered(requests.next(), now);
        }
        let named = requests.to_be_named(now);
        assert_eq!((named.len(), named[0].as_str()), (MOST, "2"));
    }
}
