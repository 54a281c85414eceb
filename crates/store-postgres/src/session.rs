//! One call's use of a connection: bounded in time, and clean however it ends.

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

/// How long a call may take once it has a connection. The database ends a statement earlier; this limit is
/// for a database that does not answer at all.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long undoing a transaction may take.
const UNDO_LIMIT: Duration = Duration::from_secs(5);

/// Largest number of tries of a transaction that the database rolls back because of others.
pub(crate) const TRIES: u32 = 5;

/// Nothing uses a session after its end.
const ENDED: &str = "a session is not used after its end";

/// The connections that do the work. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct WorkPool {
    pub(crate) connections: PgPool,
    /// The end of the last call that the database has answered.
    answered: Arc<Mutex<Option<Instant>>>,
}

impl WorkPool {
    pub(crate) fn new(connections: PgPool) -> Self {
        Self {
            connections,
            answered: Arc::default(),
        }
    }

    /// The error of a caller that waited for a connection in vain. While other calls are answered, the connections
    /// are all in use; otherwise the database does not answer.
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

/// A connection in use. Unless it is [ended](Session::finish) it is closed: a caller that goes away in the middle
/// of a call leaves the connection in an unknown state.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    pool: WorkPool,
    /// The session itself has begun a transaction.
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

    /// Gives the connection back if the call has ended in time. A transaction that the call left open, as a
    /// refused call does, is rolled back before the caller gets the error: until then its locks hide rows
    /// from statements that skip locked rows. A connection on which the database has failed is closed, since
    /// the fate of its transaction is not known.
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

    /// The rollback of a transaction that a call has begun itself started when that was dropped; later
    /// statements on the connection wait for it.
    async fn is_undone(&mut self) -> bool {
        let statement = if self.in_transaction { "ROLLBACK" } else { "" };
        let undone = timeout(UNDO_LIMIT, raw_sql(statement).execute(&mut **self)).await;
        matches!(undone, Ok(Ok(_)))
    }

    /// As [`Session::finish`], with the answer of the call.
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

/// Makes a call on a connection of `pool`, and repeats it if it collided with others.
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
