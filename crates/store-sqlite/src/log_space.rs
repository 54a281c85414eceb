//! The space of logs: measured once after a run has ended, and freed in small transactions.

use cts_store::{
    LINE_SPACE, LINES_PRUNED_AT_ONCE, LogStream, PRUNED_AT_ONCE, REMOVED_LOG, RemovedLogs,
    StoreError,
};

use crate::pools::Pools;
use crate::row::failed_to;
use crate::space;
use cts_store_sql::Durability;

const OPERATION: &str = "measure logs";

const REMOVE: &str = "remove logs";

/// Maximum number of logs that one statement finds.
const FOUND_AT_ONCE: u32 = 1_000;

pub(crate) async fn measure(pools: &Pools) -> Result<u64, StoreError> {
    let failed = failed_to(OPERATION);
    let unmeasured: Vec<String> = sqlx::query_scalar(
        "-- log_space: ended runs
        SELECT id FROM runs
        WHERE status IN ('succeeded', 'failed', 'cancelled')
          AND NOT EXISTS (SELECT 1 FROM log_sizes WHERE run_id = runs.id)",
    )
    .fetch_all(&pools.reader)
    .await
    .map_err(&failed)?;
    for runs in unmeasured.chunks(PRUNED_AT_ONCE) {
        measure_ended(pools, runs).await?;
    }
    let (ended, running): (i64, i64) = sqlx::query_as(
        "-- log_space; index runs_one_running
        SELECT (SELECT coalesce(sum(bytes), 0) FROM log_sizes),
               (SELECT coalesce(sum(octet_length(l.line) + ?), 0)
                FROM runs r CROSS JOIN log_lines l
                WHERE r.status = 'running' AND l.run_id = r.id)",
    )
    .bind(LINE_SPACE)
    .fetch_one(&pools.reader)
    .await
    .map_err(&failed)?;
    Ok(u64::try_from(ended.saturating_add(running)).unwrap_or_default())
}

/// Measures logs of ended runs, with a reader that does not block the writer; a run that was forgotten since has no
/// log.
async fn measure_ended(pools: &Pools, runs: &[String]) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let measured: Vec<(String, i64)> = sqlx::query_as(
        "-- log_space: logs of ended runs
        SELECT value, (SELECT coalesce(sum(octet_length(line) + ?2), 0) FROM log_lines WHERE run_id = value)
        FROM json_each(?1)",
    )
    .bind(serde_json::json!(runs).to_string())
    .bind(LINE_SPACE)
    .fetch_all(&pools.reader)
    .await
    .map_err(&failed)?;
    let mut write = pools.writer.begin(Durability::Process).await?;
    sqlx::query(
        "-- log_space: sizes
        INSERT INTO log_sizes (run_id, bytes)
        SELECT value ->> 0, value ->> 1 FROM json_each(?)
        WHERE EXISTS (SELECT 1 FROM runs WHERE id = value ->> 0)
        ON CONFLICT DO NOTHING",
    )
    .bind(serde_json::json!(measured).to_string())
    .execute(&mut *write)
    .await
    .map_err(&failed)?;
    write.commit().await
}

pub(crate) async fn remove(pools: &Pools, bytes: u64) -> Result<RemovedLogs, StoreError> {
    let mut removed = RemovedLogs::default();
    while removed.bytes < bytes {
        let found = removable(pools).await?;
        if found.is_empty() {
            break;
        }
        for (run, size) in found {
            if removed.bytes >= bytes {
                break;
            }
            remove_lines(pools, &run).await?;
            removed.runs += 1;
            removed.bytes = removed
                .bytes
                .saturating_add(u64::try_from(size).unwrap_or_default());
        }
    }
    if removed.runs > 0 {
        space::give_back(pools).await?;
    }
    Ok(removed)
}

async fn removable(pools: &Pools) -> Result<Vec<(String, i64)>, StoreError> {
    sqlx::query_as(
        "-- remove_logs: which
        SELECT s.run_id, s.bytes
        FROM log_sizes s JOIN runs r ON r.id = s.run_id
        WHERE s.bytes > 0 AND r.status IN ('succeeded', 'failed', 'cancelled')
        ORDER BY r.status <> 'succeeded', r.finished_at, r.id
        LIMIT ?",
    )
    .bind(FOUND_AT_ONCE)
    .fetch_all(&pools.reader)
    .await
    .map_err(failed_to(REMOVE))
}

/// Replaces the last line of a log by a line about the removal, so that readers that follow the log receive it, and
/// removes the other lines.
///
/// The size is noted at the end: if the process dies earlier, the next call begins again.
async fn remove_lines(pools: &Pools, run: &str) -> Result<(), StoreError> {
    let failed = failed_to(REMOVE);
    loop {
        let mut write = pools.writer.begin(Durability::Process).await?;
        let deleted = sqlx::query(
            "-- remove_logs: lines
            DELETE FROM log_lines
            WHERE run_id = ?1 AND position IN (
                SELECT position FROM log_lines
                WHERE run_id = ?1
                  AND position < (SELECT max(position) FROM log_lines WHERE run_id = ?1)
                LIMIT ?2)",
        )
        .bind(run)
        .bind(LINES_PRUNED_AT_ONCE)
        .execute(&mut *write)
        .await
        .map_err(&failed)?;
        let is_last = deleted.rows_affected() < u64::from(LINES_PRUNED_AT_ONCE);
        if is_last {
            sqlx::query("-- remove_logs: what remains\nUPDATE log_lines SET stream = ?2, line = ?3 WHERE run_id = ?1")
                .bind(run)
                .bind(LogStream::Stderr.as_str())
                .bind(REMOVED_LOG)
                .execute(&mut *write)
                .await
                .map_err(&failed)?;
            sqlx::query("-- remove_logs: size\nUPDATE log_sizes SET bytes = 0 WHERE run_id = ?")
                .bind(run)
                .execute(&mut *write)
                .await
                .map_err(&failed)?;
        }
        write.commit().await?;
        if is_last {
            return Ok(());
        }
    }
}
