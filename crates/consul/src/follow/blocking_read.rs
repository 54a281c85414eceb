//! A query that Consul may hold, over a connection that a server or proxy may end while it is quiet
//! (docs/runs.md#views-and-blocking-queries).
//!
//! The restart of a server ends its connections, too. Therefore the query is read at once after a cut: only an
//! unchanged answer shows that nothing but the connection has ended.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::{Answer, ConsulClient};
use crate::error::ConsulError;
use crate::follow::followed_query::{Begun, FollowedQuery};
use crate::follow::poll_event::PollEvent;
use crate::query::Query;

/// The end of a query that Consul may have held.
#[derive(Debug)]
pub(crate) struct BlockingRead {
    pub(crate) begun: Begun,
    pub(crate) answer: Result<Answer, ConsulError>,
    /// Moment at which the connection was cut. `answer` then belongs to the read after the cut.
    pub(crate) cut: Option<Instant>,
}

/// Sends a query, which Consul may hold for at most `wanted`.
pub(crate) async fn blocking_read(
    client: &ConsulClient,
    query: &Query,
    followed: &FollowedQuery<impl FnMut(PollEvent)>,
    wait_time: Duration,
) -> BlockingRead {
    let begun = followed.begin();
    let wait = (begun.index > 0).then(|| client.waits.begin(wait_time));
    let time = wait.map_or(wait_time, |wait| wait.time);
    let answer = client.read_blocking(query, begun.index, time).await;
    match (&answer, wait) {
        (Err(error), Some(wait)) if error.is_cut() && client.waits.is_quiet(wait) => {
            let cut = Instant::now();
            let (read, answer) = read_after_cut(client, query, followed).await;
            let is_same = |answer: &Answer| answer.index == Some(begun.index);
            if answer.as_ref().is_ok_and(is_same) {
                client.waits.cut(wait, cut, client.address());
            }
            return BlockingRead {
                begun: read,
                answer,
                cut: Some(cut),
            };
        }
        (Ok(_), Some(wait)) => client.waits.answered(wait),
        _ => {}
    }
    BlockingRead {
        begun,
        answer,
        cut: None,
    }
}

/// Reads the query; if the data has changed, reads it again as after a failure.
async fn read_after_cut(
    client: &ConsulClient,
    query: &Query,
    followed: &FollowedQuery<impl FnMut(PollEvent)>,
) -> (Begun, Result<Answer, ConsulError>) {
    client.recovery.spread().await;
    let begun = followed.begin();
    match client.read_plainly(query, begun.index).await {
        Ok(answer) if !followed.is_known(&answer) => {
            followed.forget();
            let begun = followed.begin();
            (begun, client.read(query, 0).await)
        }
        answer => (begun, answer),
    }
}
