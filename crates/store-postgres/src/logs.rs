//! Writes the logs of runs.

use cts_core::{LeaseEpoch, RunId, WorkerId};
use cts_store::{LeaseError, LogLine, StoreError};
use sqlx::{PgConnection, PgTransaction};

use crate::lease::stored_epoch;
use crate::row::failed_to;

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

/// Appends lines in one statement, which locks the run's row and then reads its last line.
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
