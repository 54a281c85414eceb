//! Calls to the scheduler.

mod call_timeout;
pub(crate) mod heartbeat;
pub(crate) mod inputs;
pub(crate) mod requests;
pub(crate) mod scheduler;

use std::time::Duration;

use cts_core::Backoff;
use tonic::{Code, Status};

/// Pauses between calls that fail: after an outage the worker calls again within a second.
pub(crate) const RETRIES: Backoff =
    Backoff::new(Duration::from_millis(50), Duration::from_secs(1)).with_jitter(1.0);

/// Whether another try may succeed: no scheduler was reached, its database did not answer, or the outcome of
/// the call is not known.
pub(crate) fn is_worth_another_try(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Unknown
            | Code::Internal
    )
}
