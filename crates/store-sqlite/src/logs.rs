//! Logs of runs.

use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, LogLine, LogPage, StoreError};
use serde_json::json;
use sqlx::{Row as _, SqliteConnection};

use crate::lease::stored_epoch;
use crate::row::{Cell, failed_to};

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

pub(crate) async fn read(
    connection: &mut SqliteConnection,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Option<LogPage>, StoreError> {
    let failed = failed_to("read a log");
    let id = run.to_string();
    // Read before the lines: if a run had ended by then, no line follows.
    let status: Option<String> =
        sqlx::query_scalar("-- read_log: the run\nSELECT status FROM runs WHERE id = ?")
            .bind(&id)
            .fetch_optional(&mut *connection)
            .await
            .map_err(&failed)?;
    let Some(status) = status else {
        return Ok(None);
    };
    let rows = sqlx::query(
        "-- read_log: the lines
        SELECT position, stream, line FROM log_lines
        WHERE run_id = ? AND position > ?
        ORDER BY position LIMIT ?",
    )
    .bind(&id)
    .bind(i64::try_from(after).unwrap_or(i64::MAX))
    .bind(limit)
    .fetch_all(connection)
    .await
    .map_err(&failed)?;
    let cell = |column| Cell {
        table: "log_lines",
        column,
        row: &id,
    };
    let mut page = LogPage {
        position: after,
        lines: Vec::with_capacity(rows.len()),
        ended: !matches!(status.as_str(), "queued" | "running"),
    };
    for row in rows {
        page.position = cell("position").number(row.try_get("position").map_err(&failed)?)?;
        let stream: &str = row.try_get("stream").map_err(&failed)?;
        page.lines.push(LogLine {
            stream: cell("stream").log_stream(stream)?,
            text: row.try_get("line").map_err(&failed)?,
        });
    }
    Ok(Some(page))
}

pub(crate) async fn moved(
    connection: &mut SqliteConnection,
    read: &[(RunId, u64)],
) -> Result<Vec<RunId>, StoreError> {
    let failed = failed_to("look for logs that have gone on");
    let read: Vec<_> = read
        .iter()
        .map(|(run, position)| {
            let position = i64::try_from(*position).unwrap_or(i64::MAX);
            json!([run.to_string(), position])
        })
        .collect();
    let rows = sqlx::query(
        "-- moved_logs
        SELECT value ->> 0 AS run FROM json_each(?) AS read
        WHERE EXISTS (
                SELECT 1 FROM log_lines
                WHERE run_id = read.value ->> 0 AND position > read.value ->> 1)
           OR coalesce((
                SELECT status NOT IN ('queued', 'running') FROM runs WHERE id = read.value ->> 0), TRUE)",
    )
    .bind(serde_json::Value::from(read).to_string())
    .fetch_all(connection)
    .await
    .map_err(&failed)?;
    rows.iter()
        .map(|row| {
            let run: &str = row.try_get("run").map_err(&failed)?;
            Cell {
                table: "runs",
                column: "id",
                row: run,
            }
            .parse(run)
        })
        .collect()
}
