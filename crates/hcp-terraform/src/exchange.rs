//! Requests with their permits and retries.

use std::time::Duration;

use cts_core::Backoff;
use tokio::time::{Instant, sleep};

use crate::error::ApiError;
use crate::request::{Access, Request};
use crate::server::Server;
use crate::transport::Answer;
use crate::verdict::{Verdict, judge};

/// Longest pause between two tries, unless the server names a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Added to a pause that the server names, in milliseconds, so that clients do not return all at once.
const JITTER: std::ops::RangeInclusive<u64> = 100..=400;

impl Server {
    /// Sends until the server has answered with success, or until that is of no use.
    pub(crate) async fn exchange(&self, request: &Request) -> Result<Answer, ApiError> {
        let limits = self.limits();
        let backoff = Backoff::new(limits.first_pause, LONGEST_PAUSE).with_jitter(0.3);
        let mut pauses = backoff.pauses(fastrand::f64);
        let mut failing_since = None;
        loop {
            if request.access == Access::Token {
                self.budget().permit().await;
            }
            let (error, named) = match self.send(request).await {
                Ok(answer) => return Ok(answer),
                Err(Verdict::Final(error)) => return Err(error),
                Err(Verdict::Again { error, pause }) => (error, pause),
            };
            if let (ApiError::RateLimited { pause, .. }, Access::Token) = (&*error, request.access)
            {
                self.budget().limited(*pause);
            }
            let pause = match named {
                Some(pause) => pause.saturating_add(Duration::from_millis(fastrand::u64(JITTER))),
                None => pauses.next_pause(),
            };
            let since = *failing_since.get_or_insert_with(Instant::now);
            if since.elapsed().saturating_add(pause) > limits.retry_for {
                return Err(*error);
            }
            sleep(pause).await;
        }
    }

    async fn send(&self, request: &Request) -> Result<Answer, Verdict> {
        let sent = self.transport().send(request, self.bearer()).await;
        judge(request, sent, self.token())
    }
}
