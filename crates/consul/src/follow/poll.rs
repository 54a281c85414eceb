//! Follows a query by repeating it while Consul holds each request (docs/runs.md#views-and-blocking-queries).
//!
//! Deliberate differences from the original (docs/compatibility.md#watching):
//!
//! * An answer is handed on before the pause that keeps requests apart, so the pause costs a change nothing
//!   unless it closely follows the change before.
//! * After every failure the next request carries no index. A Consul that restarts with a lower index would otherwise
//!   hold the query until it has passed the old index, and changes would be missed.
//! * A quiet query whose connection ends after some seconds is read at once, and goes on if nothing has changed
//!   (`hold.rs`).
//! * The loop never gives up, and never waits longer than [`MAX_RETRY_DELAY`]. When queries pause during an outage, the
//!   first answered query wakes the others.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::{Backoff, Pauses};
use tokio::time::{Instant, sleep, sleep_until};

use crate::client::ConsulClient;
use crate::error::ConsulError;
use crate::follow::blocking_read::{BlockingRead, blocking_read};
use crate::follow::followed_query::FollowedQuery;
use crate::follow::poll_event::PollEvent;
use crate::follow::query_slot::{OwnSlot, Permit, QuerySlot};
use crate::follow::read_requests::ReadRequests;
use crate::query::Query;
use crate::recovery::Listener;

/// Least time between the starts of two requests of one query.
pub const MIN_REQUEST_INTERVAL: Duration = Duration::from_millis(100);
/// Longest pause after a failure.
pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

const FIRST_RETRY_DELAY: Duration = Duration::from_millis(250);

/// Pauses after failures in a row.
const RETRIES: Backoff = Backoff::new(FIRST_RETRY_DELAY, MAX_RETRY_DELAY).with_jitter(1.0);

/// Follows a query for ever over a connection of its own. `on_event` is called between two requests and should be quick.
/// Dropping the future ends everything, the request under way included.
pub async fn poll(
    client: &ConsulClient,
    query: &Query,
    on_event: impl FnMut(PollEvent),
) -> Infallible {
    let followed = FollowedQuery::new(ReadRequests::default(), on_event);
    follow(client, query, &mut OwnSlot, &followed).await
}

/// Follows as `poll` does, and asks when `slot` has the right to.
pub(crate) async fn follow(
    client: &ConsulClient,
    query: &Query,
    slot: &mut impl QuerySlot,
    followed: &FollowedQuery<impl FnMut(PollEvent)>,
) -> Infallible {
    let mut retries = Retries::new();
    let mut polls = false;
    let mut others = client.recovery.listener();
    loop {
        let permit = slot.permit().await;
        others.begin();
        let started = Instant::now();
        // Boxed: a request under way is large, and of thousands of followers most have none.
        let held = match &permit {
            Permit::Read(_permit) => {
                let begun = followed.begin();
                BlockingRead {
                    begun,
                    answer: Box::pin(client.read_again(query, begun.index)).await,
                    cut: None,
                }
            }
            Permit::Block(wait_time) => {
                Box::pin(blocking_read(client, query, followed, *wait_time)).await
            }
        };
        let BlockingRead { begun, answer, cut } = held;
        let index = begun.index;
        match answer {
            Ok(answer) => {
                if std::mem::replace(&mut retries, Retries::new()).is_outage {
                    client.recovery.answered();
                }
                let is_whole = index == 0 || cut.is_some() || matches!(permit, Permit::Read(_));
                let is_new = answer.index.is_none_or(|at| at != index);
                slot.answered(&permit, answer.index, is_new && index > 0);
                let has_index = answer.index.is_some();
                followed.answered(answer, begun, is_whole);
                if !has_index && matches!(permit, Permit::Block(_)) {
                    if !std::mem::replace(&mut polls, true) {
                        tracing::warn!(
                            query = %query,
                            every = ?client.poll_interval,
                            "consul's answers have no index, so changes are looked for from time to time"
                        );
                    }
                    sleep_until(started + client.poll_interval).await;
                }
                if let Permit::Read(permit) = permit {
                    permit.end().await;
                }
            }
            Err(error) => {
                drop(permit);
                slot.failed();
                let retry_after = retries.next_delay(&error);
                retries.is_outage = error.is_outage();
                let failing_for = cut.map(|at| at.elapsed()).unwrap_or_default();
                followed.failed(error, retries.failures, (failing_for, retry_after));
                retries.pause(retry_after, client, &mut others).await;
            }
        }
        sleep_until(started + MIN_REQUEST_INTERVAL).await;
    }
}

/// A row of failures.
struct Retries {
    failures: u32,
    pauses: Pauses,
    /// Whether the last failure may belong to an outage whose end other queries see first.
    is_outage: bool,
    /// How often the success of another query has ended a pause.
    woken: u32,
}

impl Retries {
    fn new() -> Self {
        Self {
            failures: 0,
            pauses: RETRIES.pauses(fastrand::f64),
            is_outage: false,
            woken: 0,
        }
    }

    async fn pause(&mut self, pause: Duration, client: &ConsulClient, others: &mut Listener) {
        if !self.is_outage {
            return sleep(pause).await;
        }
        if client.recovery.wait(others, pause, self.woken).await {
            self.woken = self.woken.saturating_add(1);
        }
    }

    fn next_delay(&mut self, error: &ConsulError) -> Duration {
        self.failures = self.failures.saturating_add(1);
        if error.is_rejection() {
            // Only a change of Consul's configuration can help.
            return MAX_RETRY_DELAY;
        }
        self.pauses.next_pause()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16) -> ConsulError {
        ConsulError::Status {
            status,
            body: String::new(),
        }
    }

    #[test]
    fn delays_grow_to_the_cap_and_never_end() {
        let mut retries = Retries::new();
        let delays: Vec<_> = (0..50).map(|_| retries.next_delay(&refusal(500))).collect();
        assert!(delays[0] >= FIRST_RETRY_DELAY && delays[0] <= 2 * FIRST_RETRY_DELAY);
        assert!(delays.iter().all(|delay| *delay <= MAX_RETRY_DELAY));
        assert!(
            delays[10..]
                .iter()
                .all(|delay| *delay >= MAX_RETRY_DELAY / 2)
        );
        assert_eq!(retries.failures, 50);
    }

    #[test]
    fn a_rejected_request_is_repeated_slowly_from_the_start() {
        assert_eq!(Retries::new().next_delay(&refusal(400)), MAX_RETRY_DELAY);
    }
}
