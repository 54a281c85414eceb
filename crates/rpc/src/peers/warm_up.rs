//! Connections of the balancing channel are begun whole.
//!
//! The channel continues with the connections that it begins only while calls come. Without calls a connection would
//! stay open without ever beginning TLS, and its server would close the connection and warn. Therefore health checks
//! are called for each peer that is healthy again, until its connection is certainly complete.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, sleep_until, timeout};
use tonic::transport::Channel;

use crate::health::serves;

/// Pause between two calls.
const EVERY: Duration = Duration::from_millis(50);

/// Number of calls: more than a connection over a slow network has round trips.
const CALLS: u32 = 40;

/// Time for a call. Its answer is of no interest.
const LIMIT: Duration = Duration::from_secs(1);

/// Calls that let the channel go on.
pub(super) struct WarmUp {
    channel: Channel,
    left: u32,
    next: Instant,
    calls: FuturesUnordered<BoxFuture<'static, ()>>,
}

impl WarmUp {
    pub(super) fn new(channel: Channel) -> Self {
        Self {
            channel,
            left: 0,
            next: Instant::now(),
            calls: FuturesUnordered::new(),
        }
    }

    /// Makes the calls from now on.
    pub(super) fn begin(&mut self) {
        self.left = CALLS;
        self.next = Instant::now();
    }

    /// Makes no further calls.
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// Begins or ends one call. May be dropped at any time.
    pub(super) async fn step(&mut self) {
        let (left, next) = (self.left, self.next);
        let due = async move {
            if left == 0 {
                std::future::pending::<()>().await;
            } else {
                sleep_until(next).await;
            }
        };
        tokio::select! {
            () = due => {
                self.left -= 1;
                self.next = Instant::now() + EVERY;
                let call = timeout(LIMIT, serves(self.channel.clone()));
                self.calls.push(call.map(drop).boxed());
            }
            Some(()) = self.calls.next() => {}
        }
    }
}
