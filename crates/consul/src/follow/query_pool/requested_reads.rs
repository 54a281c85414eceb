//! Requested reads of a followed query, in parallel with the request that Consul may hold.
//!
//! Requested reads use the connections for reading, ahead of the queries that are due by themselves. Any answer to a
//! request that began after the read was requested counts, also the answer of a held query. If two requests for one
//! query are under way, the answer with the higher index stays (`known.rs`).

use std::convert::Infallible;
use std::time::Duration;

use cts_core::Backoff;
use tokio::time::Instant;

use super::members::Members;
use super::slot_allocator::MemberId;
use crate::error::ConsulError;
use crate::follow::followed_query::FollowedQuery;
use crate::follow::poll_event::PollEvent;
use crate::follow::read_requests::GATHER;
use crate::query::Query;

/// Pauses after failures in a row. The follower of the query reports them.
const RETRIES: Backoff =
    Backoff::new(Duration::from_millis(100), Duration::from_secs(5)).with_jitter(1.0);

/// Reads for the requests, over the connections for reading, until it is dropped.
pub(super) async fn read_on_request(
    members: &Members,
    id: MemberId,
    query: &Query,
    followed: &FollowedQuery<impl FnMut(PollEvent)>,
) -> Infallible {
    let mut pauses = RETRIES.pauses(fastrand::f64);
    let mut not_before = Instant::now();
    loop {
        followed.requests.due(|| followed.read(), not_before).await;
        // Boxed: a read is large, and of thousands of followers most have none.
        let read = Box::pin(async {
            let permit = members.read_permit(id).await;
            let begun = followed.begin_requested();
            let earliest = Instant::now() + GATHER;
            let answer = members.client.read_again(query, begun.index).await?;
            followed.answered(answer, begun, true);
            permit.end().await;
            Ok::<_, ConsulError>(earliest)
        });
        not_before = match read.await {
            Ok(earliest) => {
                pauses.reset();
                earliest
            }
            Err(error) => {
                let pause = pauses.next_pause();
                tracing::debug!(query = %query, error = error.report(), retry_after = ?pause, "a requested read has failed");
                Instant::now() + pause
            }
        };
    }
}
