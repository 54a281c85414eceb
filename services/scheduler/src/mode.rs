//! The reasons for which a scheduler runs its tasks.

/// The reasons for which a scheduler runs its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The start, changes, retries and requests. For a process that goes on until it is stopped.
    #[default]
    Daemon,
    /// Requests only, such as those of [`RunRequests`](crate::RunRequests). Changes, and runs that earlier
    /// processes have left in the queue, are not leased to the worker of this process. For a process that makes
    /// one pass over its tasks (docs/runs.md#passes).
    OnRequest,
}
