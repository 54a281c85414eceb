//! Writes the logs of runs.

use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, LogLine, StoreError};
use serde_json::json;
use sqlx::SqliteConnection;

use crate::lease::stored_epoch;
use crate::row::failed_to;

pub(crate) async fn append_leased(
    connection: &mut SqliteConnection,
    run: RunId,
    (holder, epoch): (&WorkerId, LeaseEpoch),
    lines: &[LogLine],
) -> Result<(), LeaseError> {
    let live: bool = sqlx::query_scalar(
        "-- append_log: the lease
        SELECT EXISTS (
            SELECT 1 FROM runs WHERE id = ? AND epoch = ? AND holder = ? AND status = 'running')",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .fetch_one(&mut *connection)
    .await
    .map_err(failed_to("check a lease"))?;
    if !live {
        return Err(LeaseError::Lost { run, epoch });
    }
    Ok(append(connection, run, lines).await?)
}

/// Appends all lines in one statement; the caller has checked the lease.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    run: RunId,
    lines: &[LogLine],
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = lines
        .iter()
        .map(|line| json!([line.stream.as_str(), line.text]))
        .collect();
    sqlx::query(
        "-- append_log: the lines
        INSERT INTO log_lines (run_id, position, stream, line)
        SELECT ?1,
               coalesce((SELECT max(position) FROM log_lines WHERE run_id = ?1), 0) + key + 1,
               json_extract(value, '$[0]'),
               json_extract(value, '$[1]')
        FROM json_each(?2)",
    )
    .bind(run.to_string())
    .bind(serde_json::Value::from(lines).to_string())
    .execute(connection)
    .await
    .map_err(failed_to("append to a log"))?;
    Ok(())
}
