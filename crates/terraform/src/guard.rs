//! A small process that runs with a worker and stops its Terraform when the worker cannot.
//!
//! A lease ends even if its worker is unable to react. A killed or stalled worker (SIGSTOP, a debugger) would leave a
//! Terraform at work on a run that another worker gets next. Therefore the worker reports in advance until when
//! Terraform may run in each task directory, and the guard enforces that: when the time passes without a new message,
//! or the pipe between worker and guard ends, the guard interrupts, terminates and kills in the remaining time.
//!
//! * Processes need not be registered before they start: the guard finds them in `/proc` by
//!   [`TASK_DIRECTORY_MARKER`](crate::TASK_DIRECTORY_MARKER) and [`WORKER_MARKER`](crate::WORKER_MARKER) in
//!   their environment, so no process is ever unknown. A process that was just being started when the worker
//!   died is found by a later scan.
//! * Times go over the pipe as lengths from now, so that the processes need no common clock.
//! * The guard lives in a process group of its own and lets SIGINT, SIGTERM and SIGHUP pass.
//!
//! [`Guard`] is the worker's half, [`serve`] the guard process itself. A guard does not help if the worker and its
//! guard are both stopped, or if the whole machine stands still.

mod keeper;
mod line;
mod pipe;
mod serve;
mod watch;

pub use keeper::{Guard, GuardCommand, GuardKeeper};
pub use serve::{GuardError, GuardSettings, serve};

/// Set in the environment of every guard to the id of its worker.
pub const GUARD_MARKER: &str = "CTS_GUARD";
