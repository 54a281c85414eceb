//! The space of logs: measured once after a run has ended, and freed in small transactions.

use cts_store::{
    LINE_SPACE, LINES_PRUNED_AT_ONCE, LogStream, PRUNED_AT_ONCE, REMOVED_LOG, RemovedLogs,
    StoreError,
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::row::failed_to;

const OPERATION: &str = "measure logs";

const REMOVE: &str = "remove logs";

/// Maximum number of ended runs that one statement reads.
const FOUND_AT_ONCE: i64 = 1_000;

/// Measures the logs of runs that ended since the last call, oldest first: if the process dies, the unmeasured runs
/// are still the newest. Afterwards the total is known without reading older runs.
pub(crate) async fn measure(connection: &mut PgConnection) -> Result<u64, StoreError> {
    let unmeasured = unmeasured(connection).await?;
    for runs in unmeasured.rchunks(PRUNED_AT_ONCE) {
        measure_ended(connection, runs).await?;
    }
    let running = space_of_running(connection).await?;
    let ended: i64 = sqlx::query_scalar("-- log_space\nSELECT log_bytes FROM housekeeping")
        .fetch_one(connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(space(ended).saturating_add(running))
}

/// Unmeasured ended runs, newest first. The search ends at a page of measured runs: earlier runs are measured too,
/// because an ended run is visible long before a thousand later runs have ended.
async fn unmeasured(connection: &mut PgConnection) -> Result<Vec<Uuid>, StoreError> {
    let mut unmeasured = Vec::new();
    let mut before = (i64::MAX, Uuid::max());
    loop {
        let page: Vec<(i64, Uuid, bool)> = sqlx::query_as(
            "-- log_space: newest ended runs; indexes runs_finished, log_sizes_pkey
            SELECT r.finished_at, r.id, EXISTS (SELECT FROM log_sizes s WHERE s.run_id = r.id) AS measured
            FROM runs r
            WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND (r.finished_at, r.id) < ($1, $2)
            ORDER BY r.finished_at DESC, r.id DESC
            LIMIT $3",
        )
        .bind(before.0)
        .bind(before.1)
        .bind(FOUND_AT_ONCE)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed_to(OPERATION))?;
        let known = unmeasured.len();
        unmeasured.extend(page.iter().filter(|run| !run.2).map(|run| run.1));
        match page.last() {
            Some(last) if unmeasured.len() > known => before = (last.0, last.1),
            _ => return Ok(unmeasured),
        }
    }
}

pub(crate) async fn remove(
    connection: &mut PgConnection,
    bytes: u64,
) -> Result<RemovedLogs, StoreError> {
    let mut removed = RemovedLogs::default();
    for succeeded in [true, false] {
        let mut after = Some(Ended::default());
        while let Some(before) = after
            && removed.bytes < bytes
        {
            let ended = next_ended(connection, &before).await?;
            let mut chosen = Vec::new();
            for run in &ended {
                if removed.bytes >= bytes {
                    break;
                }
                if run.succeeded == succeeded && run.space() > 0 {
                    removed.runs += 1;
                    removed.bytes = removed.bytes.saturating_add(run.space());
                    chosen.push(run.id);
                }
            }
            for runs in chosen.chunks(PRUNED_AT_ONCE) {
                remove_lines(connection, runs).await?;
            }
            after = ended.last().copied();
        }
    }
    Ok(removed)
}

/// An ended run, in the order of their ends.
#[derive(Debug, Clone, Copy, Default, sqlx::FromRow)]
struct Ended {
    finished_at: i64,
    id: Uuid,
    succeeded: bool,
    /// `None` until the log is measured.
    bytes: Option<i64>,
}

impl Ended {
    fn space(&self) -> u64 {
        space(self.bytes.unwrap_or_default())
    }
}

fn space(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}

async fn next_ended(
    connection: &mut PgConnection,
    after: &Ended,
) -> Result<Vec<Ended>, StoreError> {
    sqlx::query_as(
        "-- remove_logs: ended runs; indexes runs_finished, log_sizes_pkey
        SELECT r.finished_at, r.id, r.status = 'succeeded' AS succeeded,
               (SELECT s.bytes FROM log_sizes s WHERE s.run_id = r.id) AS bytes
        FROM runs r
        WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND (r.finished_at, r.id) > ($1, $2)
        ORDER BY r.finished_at, r.id
        LIMIT $3",
    )
    .bind(after.finished_at)
    .bind(after.id)
    .bind(FOUND_AT_ONCE)
    .fetch_all(connection)
    .await
    .map_err(failed_to(OPERATION))
}

async fn space_of_running(connection: &mut PgConnection) -> Result<u64, StoreError> {
    let failed = failed_to(OPERATION);
    let running: Vec<Uuid> = sqlx::query_scalar(
        "-- log_space: running runs; index runs_one_running\nSELECT id FROM runs WHERE status = 'running'",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(&failed)?;
    let mut total: u64 = 0;
    for runs in running.chunks(PRUNED_AT_ONCE) {
        let bytes: i64 = sqlx::query_scalar(
            "-- log_space: logs of running runs; index log_lines_pkey
            SELECT coalesce(sum((
                SELECT sum(octet_length(l.line) + $2) FROM log_lines l WHERE l.run_id = running.id)), 0)::BIGINT
            FROM unnest($1::UUID[]) AS running (id)",
        )
        .bind(runs)
        .bind(i64::from(LINE_SPACE))
        .fetch_one(&mut *connection)
        .await
        .map_err(&failed)?;
        total = total.saturating_add(space(bytes));
    }
    Ok(total)
}

/// A run that was forgotten since it was found has no log.
async fn measure_ended(connection: &mut PgConnection, runs: &[Uuid]) -> Result<(), StoreError> {
    sqlx::query(
        "-- log_space: logs of ended runs; index log_lines_pkey
        WITH ended AS MATERIALIZED (
            SELECT id FROM runs WHERE id = ANY ($1) FOR KEY SHARE
        )
        INSERT INTO log_sizes (run_id, bytes)
        SELECT ended.id, coalesce((
            SELECT sum(octet_length(l.line) + $2) FROM log_lines l WHERE l.run_id = ended.id), 0)
        FROM ended
        ON CONFLICT DO NOTHING",
    )
    .bind(runs)
    .bind(i64::from(LINE_SPACE))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Replaces the last line of each log by a line about the removal, so that readers that follow the log receive it,
/// and removes the other lines.
///
/// The sizes are noted at the end: if the process dies earlier, the next call begins again.
async fn remove_lines(connection: &mut PgConnection, runs: &[Uuid]) -> Result<(), StoreError> {
    let failed = failed_to(REMOVE);
    let kept: Vec<(Uuid, i64)> = sqlx::query_as(
        "-- remove_logs: what remains
        UPDATE log_lines l SET stream = $2, line = $3
        FROM (SELECT id, cts_last_line(id) AS position FROM unnest($1::UUID[]) AS removed (id) OFFSET 0) last
        WHERE l.run_id = last.id AND l.position = last.position
        RETURNING l.run_id, l.position",
    )
    .bind(runs)
    .bind(LogStream::Stderr.as_str())
    .bind(REMOVED_LOG)
    .fetch_all(&mut *connection)
    .await
    .map_err(&failed)?;
    let (kept_runs, positions): (Vec<_>, Vec<_>) = kept.into_iter().unzip();
    loop {
        let deleted = sqlx::query(
            "-- remove_logs: lines
            DELETE FROM log_lines
            WHERE ctid = ANY (ARRAY(
                SELECT l.ctid
                FROM unnest($1::UUID[], $2::BIGINT[]) AS kept (run, position)
                CROSS JOIN LATERAL (
                    SELECT ctid FROM log_lines
                    WHERE run_id = kept.run AND position < kept.position LIMIT $3) l
                LIMIT $3))",
        )
        .bind(&kept_runs)
        .bind(&positions)
        .bind(i64::from(LINES_PRUNED_AT_ONCE))
        .execute(&mut *connection)
        .await
        .map_err(&failed)?;
        if deleted.rows_affected() < u64::from(LINES_PRUNED_AT_ONCE) {
            break;
        }
    }
    sqlx::query("-- remove_logs: sizes\nUPDATE log_sizes SET bytes = 0 WHERE run_id = ANY ($1)")
        .bind(runs)
        .execute(connection)
        .await
        .map_err(&failed)?;
    Ok(())
}
