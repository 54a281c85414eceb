//! When housekeeping was done last.

use std::time::Duration;

use cts_core::LeaderEpoch;
use cts_store::{LastHousekeeping, LeaderError};
use sqlx::{Connection as _, PgConnection};

use crate::leadership;
use crate::row::failed_to;

const OPERATION: &str = "note when old runs are forgotten";

pub(crate) async fn last(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
) -> Result<LastHousekeeping, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    sqlx::query(
        "-- last_housekeeping: of a new store\nUPDATE housekeeping SET done_at = $1 WHERE done_at IS NULL",
    )
    .bind(now)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    let (done_at, logs_warned): (i64, bool) =
        sqlx::query_as("-- last_housekeeping\nSELECT done_at, logs_warned FROM housekeeping")
            .fetch_one(&mut *transaction)
            .await
            .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(LastHousekeeping {
        since: u64::try_from(now.saturating_sub(done_at))
            .ok()
            .map(Duration::from_micros),
        logs_warned,
    })
}

pub(crate) async fn end(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    logs_warned: bool,
) -> Result<(), LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    sqlx::query("-- end_housekeeping\nUPDATE housekeeping SET done_at = $1, logs_warned = $2")
        .bind(now)
        .bind(logs_warned)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(())
}
