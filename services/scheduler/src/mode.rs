//! The reasons for which a scheduler runs its tasks.

/// The reasons for which a scheduler runs its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The start, changes, retries and requests. For a process that runs until it is stopped.
    #[default]
    Daemon,
    /// Only requests, such as those of [`RunRequests`](crate::RunRequests). Changes, and queued runs of earlier
    /// processes, are not leased to the worker of this process. For a process that makes one pass over its tasks
    /// (docs/runs.md#passes).
    OnRequest,
}
