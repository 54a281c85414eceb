//! The connection of the leadership: outside of the pool, so that a lease is renewed even if the pool is busy.

use std::sync::Arc;
use std::time::Duration;

use cts_store::StoreError;
use cts_store_sql::is_stopping;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::error::Elapsed;

use crate::connection::Target;
use crate::timeline::Timeline;

/// Time limit of a call after it has got the connection. Callers usually give up earlier.
pub(crate) const CALL_LIMIT: Duration = Duration::from_secs(10);

/// The connection is opened at its first use, and again after a call that failed or was given up, because its state
/// is unknown then. Clones share the connection; one call uses it at a time.
#[derive(Debug, Clone)]
pub(crate) struct ElectionConnection {
    target: Target,
    timeline: Timeline,
    connection: Arc<Mutex<Option<PgConnection>>>,
}

/// The permit to use the connection.
#[derive(Debug)]
pub(crate) struct ElectionPermit<'a> {
    election: &'a ElectionConnection,
    place: MutexGuard<'a, Option<PgConnection>>,
}

/// The connection in use. Dropping it closes the connection, unless it is [kept](ElectionPermit::keep).
#[derive(Debug)]
pub(crate) struct InUse {
    pub(crate) connection: PgConnection,
    was_open: bool,
}

impl ElectionConnection {
    pub(crate) fn new(target: Target, timeline: Timeline) -> Self {
        Self {
            target,
            timeline,
            connection: Arc::default(),
        }
    }

    pub(crate) async fn permit(&self) -> ElectionPermit<'_> {
        ElectionPermit {
            election: self,
            place: self.connection.lock().await,
        }
    }

    /// Closes the connection, after the call in progress.
    pub(crate) async fn close(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            // The server itself notices that the connection has ended.
            drop(connection.close().await);
        }
    }
}

impl ElectionPermit<'_> {
    pub(crate) async fn take(&mut self) -> Result<InUse, StoreError> {
        Ok(match self.place.take() {
            Some(connection) => InUse {
                connection,
                was_open: true,
            },
            None => InUse {
                connection: {
                    let ElectionConnection {
                        target, timeline, ..
                    } = self.election;
                    target.for_election(timeline).await?
                },
                was_open: false,
            },
        })
    }

    pub(crate) fn keep(&mut self, in_use: InUse) {
        *self.place = Some(in_use.connection);
    }
}

impl InUse {
    /// Whether a call failed because the connection was closed while it was idle.
    pub(crate) fn was_closed<T>(&self, answer: &Result<Result<T, StoreError>, Elapsed>) -> bool {
        self.was_open && matches!(answer, Ok(Err(error)) if is_closed(error))
    }
}

/// Whether the connection ended before or while the call reached the server.
fn is_closed(error: &StoreError) -> bool {
    let (StoreError::Database { source, .. } | StoreError::Unreachable { source, .. }) = error
    else {
        return false;
    };
    match source.downcast_ref::<sqlx::Error>() {
        Some(sqlx::Error::Io(_)) => true,
        // Ended by an administrator, a crash or a shutdown, or because it was idle.
        Some(sqlx::Error::Database(error)) => {
            let is_end = |code: &str| is_stopping(code) || code == "25P03";
            error.code().as_deref().is_some_and(is_end)
        }
        _ => false,
    }
}

/// Makes a call on the connection of the leadership.
///
/// An idle connection may have been closed, by the server or by a component in between: then the call is repeated on
/// a new connection, so it must be safe to repeat.
macro_rules! election_call {
    ($election:expr, $connection:ident => $work:expr) => {{
        let mut permit = $election.permit().await;
        loop {
            let mut in_use = permit.take().await?;
            let $connection = &mut in_use.connection;
            let answer =
                $crate::session::bounded($crate::election_connection::CALL_LIMIT, $work).await;
            if in_use.was_closed(&answer) {
                continue;
            }
            break match answer {
                Ok(Ok(answer)) => {
                    permit.keep(in_use);
                    Ok(answer)
                }
                Ok(Err(error)) => Err(error),
                Err(elapsed) => Err(cts_store_sql::unanswered(elapsed)),
            };
        }
    }};
}
pub(crate) use election_call;
