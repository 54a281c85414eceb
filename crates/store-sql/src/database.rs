//! Databases: how calls get their connections, and the calls that each database implements itself.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use cts_core::LeaderEpoch;
use cts_store::enqueue::EnqueueError;
use cts_store::{
    ApprovalError, BrakeError, CancelError, Claim, Completed, Completion, Continuity, Hint,
    HintStream, LeaderError, Leadership, Lease, LeaseError, Member, SessionError, StoreError,
    TaskError,
};
use tokio::time::error::Elapsed;

use crate::Connection;
use crate::server_log::ServerLog;

/// Kind of work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Independent statements that only read.
    Read,
    /// A single statement that writes. Only SQLite needs a transaction for it.
    Statement,
    /// Statements that write all or nothing.
    Transaction,
}

/// Failures that a commit survives. Commits to Postgres survive all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process. A power cut may undo the last of these commits.
    Process,
    /// A power cut: the commit returns when it and all earlier commits are on the disk.
    PowerCut,
}

/// Expected duration of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The work is limited.
    Short,
    /// The work grows with the configuration or the history.
    Long,
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The call returned its result.
    Done,
    /// The call failed with an error that is not the database's, or collided. The connection is usable.
    Undone,
    /// The database failed, or the call timed out. The state of the connection is unknown.
    Unknown,
}

/// The connections of a database at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connections {
    /// Maximum number of open connections.
    pub most: u64,
    /// Open connections.
    pub open: u64,
    /// Open connections without a call.
    pub idle: u64,
}

/// A connection during one call. Dropping it closes the connection or rolls its transaction back.
#[async_trait]
pub trait Session: Connection {
    /// Commits, if the session is a transaction.
    async fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends the use of the connection. Afterwards an undone call holds no locks.
    async fn end(self: Box<Self>, outcome: Outcome);
}

/// A database with the schema of cts.
#[async_trait]
pub trait Database: Continuity + Clone + fmt::Debug + Send + Sync + 'static {
    /// Begins a call.
    async fn begin(
        &self,
        intent: Intent,
        durability: Durability,
    ) -> Result<Box<dyn Session>, StoreError>;

    /// Time limit of a call after it has got its connection.
    fn limit(&self, length: Length) -> Duration;

    /// The name of the kind of database in the semantic conventions of OpenTelemetry.
    fn system(&self) -> &'static str;

    /// The connections for calls.
    fn connections(&self) -> Connections;

    /// The server, as the subject of a sentence; `None` for a file of this process.
    fn server(&self) -> Option<String> {
        None
    }

    /// Passes the log in which connections outside of calls note the reachability of the server.
    fn log_outages(&self, _log: ServerLog) {}

    /// Closes the connections after the calls in progress.
    async fn close(&self);

    /// See [`Store::lead`](cts_store::Store::lead).
    async fn lead(
        &self,
        member: &Member,
        epoch: Option<LeaderEpoch>,
        time_to_live: Duration,
    ) -> Result<Leadership, StoreError>;

    /// See [`Store::resign`](cts_store::Store::resign).
    async fn resign(&self, member: &Member) -> Result<(), StoreError>;

    /// See [`Store::version`](cts_store::Store::version).
    async fn version(&self) -> Result<String, StoreError>;

    /// See [`Store::foreign_version`](cts_store::Store::foreign_version).
    async fn foreign_version(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// See [`Store::acquire`](cts_store::Store::acquire).
    async fn acquire(&self, claim: &Claim) -> Result<Option<Lease>, StoreError>;

    /// See [`Store::complete`](cts_store::Store::complete).
    async fn complete(&self, completion: Completion) -> Result<Completed, LeaseError>;

    /// Updates the statistics of a table that has grown, for the plans of later calls.
    async fn follow_growth(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the space of deleted rows to the disk, if the database does not do that by itself.
    async fn give_back_space(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// See [`Store::publish`](cts_store::Store::publish).
    async fn publish(&self, hints: &[Hint]) -> Result<(), StoreError>;

    /// See [`Store::listen`](cts_store::Store::listen).
    async fn listen(&self) -> Result<Option<HintStream>, StoreError>;
}

/// Errors that may come from the store.
pub trait Failure {
    /// The failure of the store itself, if this error is such a failure.
    fn store(&self) -> Option<&StoreError>;
}

impl Failure for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

/// Errors with a variant for failures of the store.
macro_rules! failure {
    ($($error:ident),+) => {$(
        impl Failure for $error {
            fn store(&self) -> Option<&StoreError> {
                match self {
                    Self::Store(error) => Some(error),
                    _ => None,
                }
            }
        }
    )+};
}

failure!(
    ApprovalError,
    BrakeError,
    CancelError,
    LeaderError,
    LeaseError,
    SessionError,
    TaskError
);

impl Failure for EnqueueError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Leader(error) => error.store(),
            Self::Forgotten => None,
        }
    }
}

/// Outcome of a call.
pub fn outcome<T>(answer: &Result<Result<T, impl Failure>, Elapsed>) -> Outcome {
    match answer {
        Ok(Ok(_)) => Outcome::Done,
        Ok(answer) if is_repeatable(answer) || !has_failed(answer) => Outcome::Undone,
        Ok(_) | Err(_) => Outcome::Unknown,
    }
}

/// The error of a call that timed out.
pub fn late(elapsed: Elapsed) -> StoreError {
    StoreError::Database {
        operation: "answer in time",
        source: Box::new(elapsed),
    }
}

/// [`late`] for a server, which then counts as unreachable.
pub fn unanswered(elapsed: Elapsed) -> StoreError {
    StoreError::Unreachable {
        operation: "answer in time",
        source: Box::new(elapsed),
    }
}

/// Whether the database itself failed; a refused call does not count.
fn has_failed<T>(answer: &Result<T, impl Failure>) -> bool {
    let failure = answer.as_ref().err().and_then(Failure::store);
    matches!(
        failure,
        Some(StoreError::Database { .. } | StoreError::Unreachable { .. })
    )
}

/// Whether Postgres has undone the call because it collided with a second call.
///
/// Signs are a serialization failure, a deadlock, and a violation of one of the unique indexes that are the safety
/// net. The call has had no effect, so it can be repeated.
pub fn is_repeatable<T>(answer: &Result<T, impl Failure>) -> bool {
    let Err(failure) = answer else { return false };
    let Some(StoreError::Database { source, .. }) = failure.store() else {
        return false;
    };
    let Some(sqlx::Error::Database(error)) = source.downcast_ref::<sqlx::Error>() else {
        return false;
    };
    match error.code().as_deref() {
        Some("40001" | "40P01") => true,
        Some("23505") => matches!(
            error.constraint(),
            Some("runs_one_queued" | "runs_one_running")
        ),
        _ => false,
    }
}
