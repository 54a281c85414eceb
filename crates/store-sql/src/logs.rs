//! Reads the logs of runs.

use cts_core::RunId;
use cts_store::fields::Fields;
use cts_store::{LogLine, LogPage, StoreError};
use serde_json::json;

use crate::{Connection, sql, text};

/// Reads the lines of a log after position `after`.
pub async fn read(
    c: &mut dyn Connection,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Option<LogPage>, StoreError> {
    // Read before the lines: if the run has ended at that time, no line follows.
    let status = sql(
        "read a log",
        "-- read_log: the run\nSELECT status AS value FROM runs WHERE id = $1",
    );
    let Some(status) = status.bind(run).optional(c, text).await? else {
        return Ok(None);
    };
    let lines = sql(
        "read a log",
        "-- read_log: the lines
        SELECT run_id, position, stream, line FROM log_lines
        WHERE run_id = $1 AND position > $2
        ORDER BY position LIMIT $3",
    );
    let lines = lines.bind(run).bind(after).bind(limit).all(c, |row| {
        let row = Fields::new(row, "read a log", "log_lines").keyed_by_id("run_id")?;
        let line = LogLine {
            stream: row.log_stream("stream")?,
            text: row.text("line")?.to_owned(),
        };
        Ok((row.number("position")?, line))
    });
    let lines = lines.await?;
    Ok(Some(LogPage {
        position: lines.last().map_or(after, |(position, _)| *position),
        lines: lines.into_iter().map(|(_, line)| line).collect(),
        ended: !matches!(status.as_str(), "queued" | "running"),
    }))
}

/// Finds the logs among these that have unread lines, or whose run has ended.
pub async fn moved(
    c: &mut dyn Connection,
    read: &[(RunId, u64)],
) -> Result<Vec<RunId>, StoreError> {
    let read = read.iter().map(|(run, position)| {
        let position = i64::try_from(*position).unwrap_or(i64::MAX);
        json!({"run": run.to_string(), "position": position})
    });
    // A separate look-up for each log, independent of the statistics of Postgres.
    let moved = sql(
        "look for logs that have gone on",
        c.dialect().pick(
            "-- moved_logs
        SELECT read.run FROM {rows $1 read: run TEXT, position BIGINT}
        WHERE EXISTS (SELECT 1 FROM log_lines WHERE run_id = read.run AND position > read.position)
           OR coalesce((SELECT status NOT IN ('queued', 'running') FROM runs WHERE id = read.run), TRUE)",
            "-- moved_logs
        SELECT read.run FROM {rows $1 read: run UUID, position BIGINT}
        WHERE cts_last_line(read.run) > read.position
           OR coalesce((SELECT status NOT IN ('queued', 'running') FROM runs WHERE id = read.run), TRUE)",
        ),
    );
    let moved = moved.bind(read.collect::<serde_json::Value>().to_string());
    moved
        .all(c, |row| {
            Fields::new(row, "look for logs that have gone on", "runs").id("run")
        })
        .await
}
