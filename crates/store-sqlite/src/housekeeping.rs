//! When housekeeping was done last.

use std::time::Duration;

use cts_store::{LastHousekeeping, LeaderError};
use sqlx::SqliteConnection;

use crate::row::failed_to;

const OPERATION: &str = "note when old runs are forgotten";

pub(crate) async fn last(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<LastHousekeeping, LeaderError> {
    let failed = failed_to(OPERATION);
    sqlx::query(
        "-- last_housekeeping: of a new store\nUPDATE housekeeping SET done_at = ? WHERE done_at IS NULL",
    )
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(&failed)?;
    let (done_at, logs_warned): (i64, bool) =
        sqlx::query_as("-- last_housekeeping\nSELECT done_at, logs_warned FROM housekeeping")
            .fetch_one(connection)
            .await
            .map_err(&failed)?;
    Ok(LastHousekeeping {
        since: u64::try_from(now.saturating_sub(done_at))
            .ok()
            .map(Duration::from_micros),
        logs_warned,
    })
}

pub(crate) async fn end(
    connection: &mut SqliteConnection,
    logs_warned: bool,
    now: i64,
) -> Result<(), LeaderError> {
    sqlx::query("-- end_housekeeping\nUPDATE housekeeping SET done_at = ?, logs_warned = ?")
        .bind(now)
        .bind(logs_warned)
        .execute(connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(())
}
