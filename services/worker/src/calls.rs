//! Calls to the scheduler.

mod call_timeout;
pub(crate) mod inputs;
pub(crate) mod registered;
pub(crate) mod requests;
pub(crate) mod scheduler;

use std::error::Error as _;
use std::time::Duration;

use cts_core::Backoff;
use tonic::{Code, Status};

/// Pauses between calls that fail: after an outage the worker calls again within a second.
pub(crate) const RETRIES: Backoff =
    Backoff::new(Duration::from_millis(50), Duration::from_secs(1)).with_jitter(1.0);

/// Whether the call failed because no scheduler was reached, or because its database did not answer. The schedulers,
/// and the connections to them, log such an outage.
pub(crate) fn is_outage(status: &Status) -> bool {
    status.source().is_some()
        || matches!(
            status.code(),
            Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded
        )
}

/// Whether a retry may succeed: no scheduler was reached, its database did not answer, or the outcome of the call is
/// unknown.
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
