//! What the processes of a cluster log and answer when something is wrong.

mod broken_runs_log;
mod log_marks;
mod lost_processes_log;
mod outage_log;
pub(crate) mod prompt_answers;
