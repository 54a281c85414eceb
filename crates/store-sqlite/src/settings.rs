//! Settings of queued runs.

use cts_store::StoreError;
use sqlx::SqliteExecutor;

use crate::row::failed_to;

/// The settings in force for the blocks of a generation.
pub(crate) async fn in_force(
    executor: impl SqliteExecutor<'_>,
    number: Option<i64>,
) -> Result<Option<i64>, StoreError> {
    sqlx::query_scalar(
        "-- settings of a queued run
        SELECT coalesce((SELECT successor FROM settings_successors WHERE number = ?1), ?1)",
    )
    .bind(number)
    .fetch_one(executor)
    .await
    .map_err(failed_to("find the settings in force"))
}
