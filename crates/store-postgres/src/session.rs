//! Use of a connection by one call: bounded in time, and clean after any outcome.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_store::StoreError;
use cts_store_sql::{Failure, Outcome, outcome, unanswered};
use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres, raw_sql};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout};

use crate::call::Call;
use crate::connection::{CONNECT_LIMIT, NoConnection};
use crate::row::failed_to;

/// Time limit of a call after it has got a connection. The database ends a statement earlier; this limit is for a
/// database that does not answer at all.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for undoing a transaction.
const UNDO_LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of attempts at a transaction that the database rolls back because of concurrent transactions.
pub(crate) const TRIES: u32 = 5;

/// Panic message for the use of a session after its end.
const ENDED: &str = "a session is not used after its end";

/// The connections that do the work. Cheap to clone; clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct WorkPool {
    pub(crate) connections: PgPool,
    /// The end of the last call that the database answered.
    answered: Arc<Mutex<Option<Instant>>>,
}

impl WorkPool {
    pub(crate) fn new(connections: PgPool) -> Self {
        Self {
            connections,
            answered: Arc::default(),
        }
    }

    /// The error of a caller that waited for a connection in vain. If other calls are answered, all connections are
    /// in use; otherwise the database does not answer.
    fn no_connection(&self) -> StoreError {
        let operation = "give a connection";
        let source = Box::new(NoConnection(CONNECT_LIMIT));
        let answered = *self.answered.lock();
        if answered.is_some_and(|at| at.elapsed() < CONNECT_LIMIT) {
            StoreError::Database { operation, source }
        } else {
            StoreError::Unreachable { operation, source }
        }
    }
}

/// A connection in use. Closed unless it is [ended](Session::finish), because a call that is given up leaves the
/// connection in an unknown state.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    pool: WorkPool,
    /// Whether the session itself began a transaction.
    in_transaction: bool,
}

impl Session {
    pub(crate) async fn begin(pool: &WorkPool) -> Result<Self, StoreError> {
        let failed = failed_to("give a connection");
        match pool.connections.acquire().await {
            Ok(connection) => Ok(Self {
                connection: Some(connection),
                pool: pool.clone(),
                in_transaction: false,
            }),
            Err(sqlx::Error::PoolTimedOut) => Err(pool.no_connection()),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) async fn begin_transaction(pool: &WorkPool) -> Result<Self, StoreError> {
        let mut session = Self::begin(pool).await?;
        session.run("BEGIN", "begin a transaction").await?;
        session.in_transaction = true;
        Ok(session)
    }

    async fn run(
        &mut self,
        statement: &'static str,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let done = timeout(CALL_LIMIT, raw_sql(statement).execute(&mut **self)).await;
        done.map_err(unanswered)?
            .map(drop)
            .map_err(failed_to(operation))
    }

    /// Returns the connection to the pool if the call ended in time.
    ///
    /// A transaction that the call left open, such as that of a refused call, is rolled back before the caller gets
    /// the error: until then its locks hide rows from statements that skip locked rows. A connection on which the
    /// database failed is closed, because the fate of its transaction is unknown.
    async fn finish(mut self, outcome: Outcome) {
        let usable = match outcome {
            Outcome::Done => true,
            Outcome::Undone => self.is_undone().await,
            Outcome::Unknown => false,
        };
        if usable {
            *self.pool.answered.lock() = Some(Instant::now());
            drop(self.connection.take());
        }
    }

    /// The rollback of a transaction that the call itself began started when the transaction was dropped; later
    /// statements on the connection wait for the rollback.
    async fn is_undone(&mut self) -> bool {
        let statement = if self.in_transaction { "ROLLBACK" } else { "" };
        let undone = timeout(UNDO_LIMIT, raw_sql(statement).execute(&mut **self)).await;
        matches!(undone, Ok(Ok(_)))
    }

    /// [`Session::finish`] with the result of the call.
    pub(crate) async fn release<T, E: From<StoreError> + Failure>(
        self,
        answer: Result<Result<T, E>, Elapsed>,
    ) -> Result<T, E> {
        self.finish(outcome(&answer)).await;
        answer.unwrap_or_else(|elapsed| Err(unanswered(elapsed).into()))
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.connection.as_ref().expect(ENDED)
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.connection.as_mut().expect(ENDED)
    }
}

#[async_trait]
impl cts_store_sql::Session for Call<Session> {
    async fn commit(&mut self) -> Result<(), StoreError> {
        if self.0.in_transaction {
            self.0.run("COMMIT", "commit a transaction").await?;
            self.0.in_transaction = false;
        }
        Ok(())
    }

    async fn end(self: Box<Self>, outcome: Outcome) {
        self.0.finish(outcome).await;
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

/// Makes a call on a connection of `pool`, and repeats the call if it collided with a different call.
macro_rules! call {
    ($pool:expr, $limit:expr, $connection:ident => $work:expr) => {{
        let mut tries = 0;
        loop {
            let mut session = $crate::session::Session::begin($pool).await?;
            let $connection = &mut *session;
            let answer = $crate::session::bounded($limit, $work).await;
            let answer = session.release(answer).await;
            tries += 1;
            if tries == $crate::session::TRIES || !cts_store_sql::is_repeatable(&answer) {
                break answer;
            }
        }
    }};
    ($pool:expr, $connection:ident => $work:expr) => {
        $crate::session::call!($pool, $crate::session::CALL_LIMIT, $connection => $work)
    };
}
pub(crate) use call;
