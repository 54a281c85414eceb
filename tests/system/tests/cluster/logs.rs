//! Log lines and answers of the processes of a cluster during faults.

mod broken_runs_log;
mod log_marks;
mod lost_processes_log;
mod outage_log;
pub(crate) mod prompt_answers;
