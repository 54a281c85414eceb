//! Errors of the store.

use std::error::Error;

use cts_core::runs::CancelRefusal;
use cts_core::{LeaderEpoch, LeaseEpoch, Loss, RunId, TaskName};

/// The store could not carry out a call.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be opened, or its schema does not fit this program.
    #[error("cannot open the database {location}")]
    Open {
        /// Location of the database, without credentials.
        location: String,
        /// Reason of the failure.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database did not answer, or refused the operation; a retry may succeed.
    #[error("the database failed to {operation}")]
    Database {
        /// The operation that failed.
        operation: &'static str,
        /// Reason of the failure.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database cannot be reached, or has stopped answering; a retry may succeed. The store logs the outage
    /// itself, once, so the failing calls are not logged as errors.
    #[error("the database is unreachable, and failed to {operation}")]
    Unreachable {
        /// The operation that failed.
        operation: &'static str,
        /// Reason of the failure.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A row contains a value that this program never writes.
    #[error("the column {column} of {table} {row} is corrupt")]
    CorruptRow {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's key.
        row: String,
        /// The error in the stored value.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Tells failures during an outage of the database apart.
pub trait InOutage {
    /// Whether the call failed because the database is unreachable.
    fn is_in_outage(&self) -> bool;
}

impl InOutage for StoreError {
    fn is_in_outage(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// Errors with a variant for failures of the store.
macro_rules! in_outage {
    ($($error:ident),+) => {$(
        impl InOutage for $error {
            fn is_in_outage(&self) -> bool {
                matches!(self, Self::Store(error) if error.is_in_outage())
            }
        }
    )+};
}

in_outage!(LeaseError, LeaderError, CancelError, TaskError);

/// Logs a failed call of the store with `tracing` at this level. During an outage of the database the level is
/// `debug`, because the store has logged the outage.
#[macro_export]
macro_rules! log_store_failure {
    ($level:ident, $error:expr, $($event:tt)+) => {
        if $crate::InOutage::is_in_outage($error) {
            ::tracing::debug!($($event)+);
        } else {
            ::tracing::$level!($($event)+);
        }
    };
}

/// A call for a lease was refused.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The lease was completed, taken back or never granted, or belongs to a different worker.
    #[error("epoch {epoch} of run {run} is not a live lease")]
    Lost {
        /// The run.
        run: RunId,
        /// The epoch in the call.
        epoch: LeaseEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call of a leader was refused.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// Another replica has taken over, or the leadership was given up or has expired. Nothing was written.
    #[error("leader epoch {epoch} is over")]
    Deposed {
        /// The epoch in the call.
        epoch: LeaderEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run is not cancelled: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// No run and no request has this id.
    #[error("there is no such run")]
    Unknown,
    /// The run cannot be cancelled, or not by this kind of cancellation.
    #[error("{0}")]
    Refused(CancelRefusal),
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A task is not created, changed or deleted: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The task does not exist or is still being created.
    #[error("there is no such task")]
    Unknown,
    /// A task with this name exists; it may be in deletion.
    #[error("the task already exists")]
    Exists,
    /// A task with this name is being created, or its discarded draft was not read yet. A retry may succeed when its
    /// run has ended.
    #[error("the task is being created by run {run}")]
    BeingCreated {
        /// The run that creates the task.
        run: RunId,
    },
    /// The task is not idle.
    #[error("the task is active")]
    Busy,
    /// The task has a request with this key already, see [`Store::requested`](crate::Store::requested).
    #[error("the run is requested already")]
    Requested,
    /// The task does not have the expected revision.
    #[error("the task has revision {current}")]
    Revision {
        /// The current revision of the task.
        current: u64,
    },
    /// The task is being deleted.
    #[error("the task is being deleted")]
    Deleting,
    /// An effect cannot be approved: its inspection is not known any more, or the effect is rejected.
    #[error("the effect to be approved is not known, or is rejected")]
    NotShown,
    /// The task has no undecided conflict about its Terraform state.
    #[error("the task's state is in no conflict")]
    NoConflict,
    /// The Terraform state of the task was refused, so nothing is applied before a decision about it.
    #[error("the Terraform state of the task waits for a decision: {reason}")]
    StateRefused {
        /// Reason of the refusal.
        reason: String,
    },
    /// The task whose Terraform state is to be taken over still exists, so the state belongs to that task.
    #[error("the task {0} is still there")]
    StillThere(TaskName),
    /// The task has lost more instances than the caller of the release has seen.
    #[error("the task has lost more meanwhile")]
    LostMore {
        /// Losses that block the task now.
        losses: Vec<Loss>,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
