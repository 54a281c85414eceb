//! Calls to the scheduler.

mod call_timeout;
pub(crate) mod heartbeat;
pub(crate) mod inputs;
pub(crate) mod requests;
pub(crate) mod scheduler;

use std::time::Duration;

use cts_core::Backoff;

/// Pauses between calls that fail: after an outage the worker calls again within a second.
pub(crate) const RETRIES: Backoff =
    Backoff::new(Duration::from_millis(50), Duration::from_secs(1)).with_jitter(1.0);
