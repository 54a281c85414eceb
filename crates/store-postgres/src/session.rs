//! One call's use of a connection: bounded in time, and clean however it ends.

use std::time::Duration;

use cts_store::{CancelError, LeaderError, LeaseError, StoreError, TaskError};
use sqlx::pool::PoolConnection;
use sqlx::{Connection as _, PgConnection, PgPool, Postgres};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::connection::{CONNECT_LIMIT, NoConnection};
use crate::row::failed_to;

/// How long a call may take once it has a connection. The database ends a statement earlier; this limit is
/// for a database that does not answer at all.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long undoing a transaction may take.
const UNDO_LIMIT: Duration = Duration::from_secs(5);

/// Largest number of tries of a transaction that the database rolls back because of others.
pub(crate) const TRIES: u32 = 5;

/// A connection in use. Unless it is [released](Session::release) it is closed: a caller that goes away in
/// the middle of a call leaves the connection in an unknown state.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Option<PoolConnection<Postgres>>,
}

impl Session {
    pub(crate) async fn begin(pool: &PgPool) -> Result<Self, StoreError> {
        let failed = failed_to("give a connection");
        match pool.acquire().await {
            Ok(connection) => Ok(Self {
                connection: Some(connection),
            }),
            Err(sqlx::Error::PoolTimedOut) => Err(StoreError::Database {
                operation: "give a connection",
                source: Box::new(NoConnection(CONNECT_LIMIT)),
            }),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        let connection = self.connection.as_mut();
        connection.expect("it goes with release, which takes the session")
    }

    /// Gives the connection back if the call has ended in time. A transaction that the call left open, as a
    /// refused call does, is rolled back before the caller gets the error: until then its locks hide rows
    /// from statements that skip locked rows. A connection on which the database has failed is closed, since
    /// the fate of its transaction is not known.
    pub(crate) async fn release<T, E: From<StoreError> + Failure>(
        mut self,
        answer: Result<Result<T, E>, Elapsed>,
    ) -> Result<T, E> {
        match answer {
            Ok(answer) => {
                // The rollback began when the transaction was dropped; later statements on the connection
                // have to wait for it. A connection that does not answer is closed.
                let usable = !has_failed(&answer) || is_repeatable(&answer);
                if answer.is_ok() || usable && self.answers().await {
                    drop(self.connection.take());
                }
                answer
            }
            Err(elapsed) => Err(StoreError::Database {
                operation: "answer in time",
                source: Box::new(elapsed),
            }
            .into()),
        }
    }
}

impl Session {
    async fn answers(&mut self) -> bool {
        matches!(
            timeout(UNDO_LIMIT, self.connection().ping()).await,
            Ok(Ok(()))
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            connection.close_on_drop();
        }
    }
}

pub(crate) async fn bounded<T>(
    limit: Duration,
    call: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    timeout(limit, call).await
}

/// Errors that may come from the store.
pub(crate) trait Failure {
    fn store(&self) -> Option<&StoreError>;
}

impl Failure for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

impl Failure for LeaseError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Lost { .. } => None,
        }
    }
}

impl Failure for LeaderError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Deposed { .. } => None,
        }
    }
}

impl Failure for CancelError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Unknown | Self::Refused(_) => None,
        }
    }
}

impl Failure for TaskError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Unknown
            | Self::Exists
            | Self::BeingCreated { .. }
            | Self::Busy
            | Self::Revision { .. }
            | Self::Deleting
            | Self::LostMore { .. }
            | Self::NoConflict
            | Self::StillThere(_) => None,
        }
    }
}

/// Whether the database itself has failed; a refused call is not such a failure.
fn has_failed<T>(answer: &Result<T, impl Failure>) -> bool {
    let failure = answer.as_ref().err().and_then(Failure::store);
    matches!(failure, Some(StoreError::Database { .. }))
}

/// Whether the database has undone the call because it collided with a second call: a serialization failure, a
/// deadlock, or one of the unique indexes that are the safety net. Nothing of the call has happened, so it
/// can be repeated.
pub(crate) fn is_repeatable<T>(answer: &Result<T, impl Failure>) -> bool {
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

/// Makes a call on a connection of `pool`, and repeats it if it collided with others.
macro_rules! call {
    ($pool:expr, $limit:expr, $connection:ident => $work:expr) => {{
        let mut tries = 0;
        loop {
            let mut session = $crate::session::Session::begin($pool).await?;
            let $connection = session.connection();
            let answer = $crate::session::bounded($limit, $work).await;
            let answer = session.release(answer).await;
            tries += 1;
            if tries == $crate::session::TRIES || !$crate::session::is_repeatable(&answer) {
                break answer;
            }
        }
    }};
    ($pool:expr, $connection:ident => $work:expr) => {
        $crate::session::call!($pool, $crate::session::CALL_LIMIT, $connection => $work)
    };
}
pub(crate) use call;
