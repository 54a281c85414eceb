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
        /// Where it is, without credentials.
        location: String,
        /// Why not.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database did not answer, or refused; another try may help.
    #[error("the database failed to {operation}")]
    Database {
        /// The operation that failed.
        operation: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database cannot be reached, or has stopped answering; another try may help. The store logs the outage
    /// itself, once, so that the calls that fail need no lines of their own.
    #[error("the database is unreachable, and failed to {operation}")]
    Unreachable {
        /// The operation that failed.
        operation: &'static str,
        /// Why it failed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A row has a value that this program never writes.
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

/// Whether a failed call was a call during an outage of the database.
pub trait InOutage {
    /// Whether the database could not be reached.
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

/// Logs a failed call of the store with `tracing` at this level. During an outage of the database the line is for
/// debugging, because the store has logged the outage.
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
    /// The lease has ended, or is one of another worker: completed, taken back, or never granted.
    #[error("epoch {epoch} of run {run} is not a live lease")]
    Lost {
        /// The run.
        run: RunId,
        /// The epoch that was named.
        epoch: LeaseEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call of a leader was refused.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// Another replica has taken over, or the leadership was given up or has expired: nothing was
    /// written.
    #[error("leader epoch {epoch} is over")]
    Deposed {
        /// The epoch that was named.
        epoch: LeaderEpoch,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run is not cancelled: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// No run has this id, and none was requested with it.
    #[error("there is no such run")]
    Unknown,
    /// The run is not to be cancelled, or not in this way.
    #[error("{0}")]
    Refused(CancelRefusal),
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A task is not created, changed or deleted: nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The task does not exist, or is still being created.
    #[error("there is no such task")]
    Unknown,
    /// A task of this name exists, perhaps one that is being deleted.
    #[error("the task already exists")]
    Exists,
    /// A task of this name is being created, or its discarded draft was not read yet: worth another try when
    /// its run has ended.
    #[error("the task is being created by run {run}")]
    BeingCreated {
        /// The run of its creation.
        run: RunId,
    },
    /// The task is not idle.
    #[error("the task is active")]
    Busy,
    /// The task does not have the revision that was meant.
    #[error("the task has revision {current}")]
    Revision {
        /// The revision it has.
        current: u64,
    },
    /// The task is being deleted.
    #[error("the task is being deleted")]
    Deleting,
    /// The task has no conflict about its Terraform state to decide.
    #[error("the task's state is in no conflict")]
    NoConflict,
    /// The Terraform state of the task was refused, so nothing is applied before a decision about it.
    #[error("the Terraform state of the task waits for a decision: {reason}")]
    StateRefused {
        /// Why it was refused.
        reason: String,
    },
    /// The task from which the Terraform state is to be taken still exists, so the state is its own.
    #[error("the task {0} is still there")]
    StillThere(TaskName),
    /// The task has lost more than the caller of a release has seen.
    #[error("the task has lost more meanwhile")]
    LostMore {
        /// Losses that block the task now.
        losses: Vec<Loss>,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
