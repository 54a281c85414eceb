//! Runs: their queue, inputs, requests, attempts, logs and ends.

pub mod approval_decisions;
pub mod approvals;
pub mod attempt_ends;
pub(crate) mod attempts;
pub(crate) mod braked_runs;
pub mod cancel;
pub(crate) mod causes;
pub mod effects;
pub mod endings;
pub(crate) mod enqueue;
pub mod events;
pub mod failed_starts;
pub mod inputs;
pub mod logs;
pub mod plans;
pub mod queue;
pub mod remote_runs;
pub(crate) mod repeat;
pub mod requests;
pub mod shown_effects;
