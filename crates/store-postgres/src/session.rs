//! One call's use of a connection: bounded in time, and clean however it ends.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use cts_store::StoreError;
use cts_store_sql::{Connection, Dialect, Failure, Outcome, Row, Value, outcome};
use sqlx::pool::PoolConnection;
use sqlx::{PgConnection, PgPool, Postgres, raw_sql};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::call::shared;
use crate::connection::{CONNECT_LIMIT, NoConnection};
use crate::row::failed_to;

/// How long a call may take once it has a connection. The database ends a statement earlier; this limit is
/// for a database that does not answer at all.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long undoing a transaction may take.
const UNDO_LIMIT: Duration = Duration::from_secs(5);

/// Largest number of tries of a transaction that the database rolls back because of others.
pub(crate) const TRIES: u32 = 5;

/// A connection in use. Unless it is [ended](Session::finish) it is closed: a caller that goes away in the middle
/// of a call leaves the connection in an unknown state.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Option<PoolConnection<Postgres>>,
    /// The session itself has begun a transaction.
    in_transaction: bool,
}

impl Session {
    pub(crate) async fn begin(pool: &PgPool) -> Result<Self, StoreError> {
        let failed = failed_to("give a connection");
        match pool.acquire().await {
            Ok(connection) => Ok(Self {
                connection: Some(connection),
                in_transaction: false,
            }),
            Err(sqlx::Error::PoolTimedOut) => Err(StoreError::Database {
                operation: "give a connection",
                source: Box::new(NoConnection(CONNECT_LIMIT)),
            }),
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) async fn begin_transaction(pool: &PgPool) -> Result<Self, StoreError> {
        let mut session = Self::begin(pool).await?;
        session.run("BEGIN", "begin a transaction").await?;
        session.in_transaction = true;
        Ok(session)
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        let connection = self.connection.as_mut();
        connection.expect("it goes with the end of the session")
    }

    async fn run(
        &mut self,
        statement: &'static str,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let done = timeout(CALL_LIMIT, raw_sql(statement).execute(self.connection())).await;
        let done = done.unwrap_or_else(|_elapsed| Err(sqlx::Error::PoolTimedOut));
        done.map(drop).map_err(failed_to(operation))
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
            drop(self.connection.take());
        }
    }

    /// The rollback of a transaction that a call has begun itself started when that was dropped; later
    /// statements on the connection wait for it.
    async fn is_undone(&mut self) -> bool {
        let statement = if self.in_transaction { "ROLLBACK" } else { "" };
        let undone = timeout(UNDO_LIMIT, raw_sql(statement).execute(self.connection())).await;
        matches!(undone, Ok(Ok(_)))
    }

    /// As [`Session::finish`], with the answer of the call.
    pub(crate) async fn release<T, E: From<StoreError> + Failure>(
        self,
        answer: Result<Result<T, E>, Elapsed>,
    ) -> Result<T, E> {
        self.finish(outcome(&answer)).await;
        answer.unwrap_or_else(|elapsed| {
            let error = StoreError::Database {
                operation: "answer in time",
                source: Box::new(elapsed),
            };
            Err(error.into())
        })
    }
}

#[async_trait]
impl Connection for Session {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn now(&self) -> Option<i64> {
        None
    }

    async fn execute(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
    ) -> Result<u64, sqlx::Error> {
        shared(self.connection()).execute(text, values).await
    }

    async fn fetch(
        &mut self,
        text: Cow<'static, str>,
        values: Vec<Value<'_>>,
        only_first: bool,
    ) -> Result<Vec<Row>, sqlx::Error> {
        shared(self.connection())
            .fetch(text, values, only_first)
            .await
    }
}

#[async_trait]
impl cts_store_sql::Session for Session {
    async fn commit(&mut self) -> Result<(), StoreError> {
        if self.in_transaction {
            self.run("COMMIT", "commit a transaction").await?;
            self.in_transaction = false;
        }
        Ok(())
    }

    async fn end(self: Box<Self>, outcome: Outcome) {
        self.finish(outcome).await;
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
            let $connection = session.connection();
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
