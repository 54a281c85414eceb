//! Runs: their queue, attempts, ends and remote runs.

pub mod accompanied;
pub mod applied_inputs;
pub mod attempts;
pub mod brake;
pub mod braked_tasks;
pub mod cancels;
pub mod causes;
pub mod complete;
pub mod details;
pub mod early_failures;
pub mod endings;
pub mod enqueue;
pub mod failed_starts;
pub mod held_run;
pub mod listing;
pub mod logs;
pub mod plans;
pub mod queue;
pub mod queued_settings;
pub mod remote_runs;
pub mod requests;
pub mod settings_walk;
pub mod swallowed;
pub mod waits;
pub mod withdrawals;
