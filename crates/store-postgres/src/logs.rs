//! Logs of runs.

use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, LogLine, LogPage, StoreError};
use sqlx::{PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::lease::stored_epoch;
use crate::row::{Cell, failed_to};

/// Lines as two columns of equal length.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) streams: Vec<&'static str>,
    pub(crate) lines: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(lines: &'a [LogLine]) -> Self {
        Self {
            streams: lines.iter().map(|line| line.stream.as_str()).collect(),
            lines: lines.iter().map(|line| line.text.as_str()).collect(),
        }
    }
}

/// Appends in one statement: it locks the run's row, and then reads its last line.
pub(crate) async fn append_leased(
    connection: &mut PgConnection,
    run: RunId,
    (holder, epoch): (&WorkerId, LeaseEpoch),
    lines: &[LogLine],
) -> Result<(), LeaseError> {
    let lines = Columns::of(lines);
    let live: i64 = sqlx::query_scalar(
        "-- append_log
        WITH leased AS MATERIALIZED (
            SELECT id FROM runs
            WHERE id = $1 AND epoch = $2 AND holder = $5 AND status IS NOT DISTINCT FROM 'running'
            FOR NO KEY UPDATE
        ), last AS MATERIALIZED (
            SELECT id, cts_last_line(id) AS position FROM leased
        ), logged AS (
            INSERT INTO log_lines (run_id, position, stream, line)
            SELECT last.id, last.position + added.number, added.stream, added.line
            FROM last, unnest($3::TEXT[], $4::TEXT[]) WITH ORDINALITY AS added (stream, line, number)
        )
        SELECT count(*) FROM leased",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(lines.streams)
    .bind(lines.lines)
    .bind(holder.as_str())
    .fetch_one(connection)
    .await
    .map_err(failed_to("append to a log"))?;
    if live == 1 {
        Ok(())
    } else {
        Err(LeaseError::Lost { run, epoch })
    }
}

/// Appends all lines in one statement; the caller has locked the run.
pub(crate) async fn append(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
    lines: &[LogLine],
) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines = Columns::of(lines);
    sqlx::query(
        "-- complete: the last lines
        WITH last AS MATERIALIZED (SELECT cts_last_line($1) AS position)
        INSERT INTO log_lines (run_id, position, stream, line)
        SELECT $1, last.position + added.number, added.stream, added.line
        FROM last, unnest($2::TEXT[], $3::TEXT[]) WITH ORDINALITY AS added (stream, line, number)",
    )
    .bind(run.as_uuid())
    .bind(lines.streams)
    .bind(lines.lines)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("append to a log"))?;
    Ok(())
}

pub(crate) async fn read(
    connection: &mut PgConnection,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Option<LogPage>, StoreError> {
    let failed = failed_to("read a log");
    // Read before the lines: if a run had ended by then, no line follows.
    let status: Option<String> =
        sqlx::query_scalar("-- read_log: the run\nSELECT status FROM runs WHERE id = $1")
            .bind(run.as_uuid())
            .fetch_optional(&mut *connection)
            .await
            .map_err(&failed)?;
    let Some(status) = status else {
        return Ok(None);
    };
    let rows = sqlx::query(
        "-- read_log: the lines
        SELECT position, stream, line FROM log_lines
        WHERE run_id = $1 AND position > $2
        ORDER BY position LIMIT $3",
    )
    .bind(run.as_uuid())
    .bind(i64::try_from(after).unwrap_or(i64::MAX))
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await
    .map_err(&failed)?;
    let key = run.to_string();
    let cell = |column| Cell {
        table: "log_lines",
        column,
        row: &key,
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
    connection: &mut PgConnection,
    read: &[(RunId, u64)],
) -> Result<Vec<RunId>, StoreError> {
    let (runs, positions): (Vec<_>, Vec<_>) = read
        .iter()
        .map(|(run, position)| (run.as_uuid(), i64::try_from(*position).unwrap_or(i64::MAX)))
        .unzip();
    // Each is looked up by itself, whatever the planner thinks of the tables.
    let moved: Vec<Uuid> = sqlx::query_scalar(
        "-- moved_logs
        SELECT read.run FROM unnest($1::UUID[], $2::BIGINT[]) AS read (run, position)
        WHERE cts_last_line(read.run) > read.position
           OR coalesce((SELECT status NOT IN ('queued', 'running') FROM runs WHERE id = read.run), TRUE)",
    )
    .bind(runs)
    .bind(positions)
    .fetch_all(connection)
    .await
    .map_err(failed_to("look for logs that have gone on"))?;
    Ok(moved.into_iter().map(RunId::from_uuid).collect())
}
