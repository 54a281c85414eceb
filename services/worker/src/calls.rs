//! Calls to the scheduler.

mod call_timeout;
pub(crate) mod heartbeat;
pub(crate) mod inputs;
pub(crate) mod requests;
pub(crate) mod scheduler;
