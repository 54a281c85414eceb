//! Refuses a target database that has rows.

use cts_store::StoreError;
use sqlx::PgConnection;

use crate::connection::{Settings, Target};

/// The target database is not empty. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not empty: it has {tasks} tasks and {runs} runs; move into a new database")]
pub struct NotEmpty {
    /// Number of its tasks.
    pub tasks: u64,
    /// Number of its runs.
    pub runs: u64,
}

/// Refuses a database with tasks or runs, whatever its schema: [`NotEmpty`] is then the source of the
/// [`StoreError::Open`]. Changes nothing.
pub async fn check_empty(settings: &Settings) -> Result<(), StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    let exists: bool = sqlx::query_scalar(
        "-- check_empty: whether there is anything
        SELECT to_regclass('tasks') IS NOT NULL AND to_regclass('runs') IS NOT NULL",
    )
    .fetch_one(&mut connection)
    .await
    .map_err(|error| target.open_error(error))?;
    if exists {
        refuse_content(&target, &mut connection).await?;
    }
    let closed = sqlx::Connection::close(connection).await;
    closed.map_err(|error| target.open_error(error))
}

pub(super) async fn refuse_content(
    target: &Target,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    let (tasks, runs): (i64, i64) = sqlx::query_as(
        "-- check_empty
        SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM runs)",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| target.open_error(error))?;
    if (tasks, runs) == (0, 0) {
        return Ok(());
    }
    Err(target.open_error(NotEmpty {
        tasks: tasks.unsigned_abs(),
        runs: runs.unsigned_abs(),
    }))
}
