//! The limit of calls to the scheduler.

use std::time::Duration;

use tokio::time::timeout;
use tonic::Status;

/// Ends a call that takes too long, as when no scheduler is reachable.
pub(crate) async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match timeout(limit, call).await {
        Ok(answer) => answer,
        Err(_elapsed) => Err(Status::unavailable(format!(
            "no scheduler has answered within {} s",
            limit.as_secs()
        ))),
    }
}
