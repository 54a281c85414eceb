//! The space of logs: measured once after a run has ended, and freed in small transactions.

use cts_core::RunId;
use cts_store::fields::Fields;
use cts_store::{
    LINE_SPACE, LINES_PRUNED_AT_ONCE, LogStream, PRUNED_AT_ONCE, REMOVED_LOG, RemovedLogs,
    StoreError,
};
use serde_json::json;
use uuid::Uuid;

use crate::database::Database;
use crate::store::{SqlStore, read, transaction};
use crate::{Connection, integer, sql};

const MEASURE: &str = "measure logs";

const REMOVE: &str = "remove logs";

/// Ended runs that one statement looks at.
const FOUND_AT_ONCE: u32 = 1_000;

/// An ended run, in the order of their ends.
#[derive(Debug, Clone, Copy)]
struct Ended {
    finished_at: i64,
    id: RunId,
    succeeded: bool,
    /// `None`: not measured yet.
    bytes: Option<u64>,
}

impl Ended {
    fn space(&self) -> u64 {
        self.bytes.unwrap_or_default()
    }
}

/// Measures all logs: those of running runs each time, those of ended runs once.
pub(crate) async fn measure<D: Database>(store: &SqlStore<D>) -> Result<u64, StoreError> {
    let mut total = space_of_running(store).await?;
    let mut after = None;
    loop {
        let ended = next_ended(store, after).await?;
        total = ended
            .iter()
            .fold(total, |total, run| total.saturating_add(run.space()));
        let unmeasured = ended
            .iter()
            .filter(|run| run.bytes.is_none())
            .map(|run| run.id);
        for runs in unmeasured.collect::<Vec<_>>().chunks(PRUNED_AT_ONCE) {
            total = total.saturating_add(measure_ended(store, runs).await?);
        }
        after = ended.last().copied();
        if after.is_none() {
            return Ok(total);
        }
    }
}

/// Removes logs of at least so many bytes: of successful runs first.
pub(crate) async fn remove<D: Database>(
    store: &SqlStore<D>,
    bytes: u64,
) -> Result<RemovedLogs, StoreError> {
    let mut removed = RemovedLogs::default();
    for succeeded in [true, false] {
        let mut after = None;
        while removed.bytes < bytes {
            let ended = next_ended(store, after).await?;
            for run in ended
                .iter()
                .filter(|run| run.succeeded == succeeded && run.space() > 0)
            {
                if removed.bytes >= bytes {
                    break;
                }
                while !remove_lines(store, run.id).await? {}
                removed.runs += 1;
                removed.bytes = removed.bytes.saturating_add(run.space());
            }
            after = ended.last().copied();
            if after.is_none() {
                break;
            }
        }
    }
    Ok(removed)
}

async fn next_ended<D: Database>(
    store: &SqlStore<D>,
    after: Option<Ended>,
) -> Result<Vec<Ended>, StoreError> {
    let (finished_at, id) =
        after.map_or((0, Uuid::nil()), |run| (run.finished_at, run.id.as_uuid()));
    let ended = || {
        sql(
            MEASURE,
            "-- log_space: ended runs; indexes runs_finished, log_sizes_pkey
        SELECT r.finished_at, r.id, r.status = 'succeeded' AS succeeded,
               (SELECT s.bytes FROM log_sizes s WHERE s.run_id = r.id) AS bytes
        FROM runs r
        WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND (r.finished_at, r.id) > ($1, $2)
        ORDER BY r.finished_at, r.id
        LIMIT $3",
        )
        .bind(finished_at)
        .bind(id)
        .bind(FOUND_AT_ONCE)
    };
    read!(store, c => ended().all(c, |row| {
        let row = Fields::new(row, MEASURE, "runs").keyed_by_id("id")?;
        Ok(Ended {
            finished_at: row.integer("finished_at")?,
            id: row.id("id")?,
            succeeded: row.flag("succeeded")?,
            bytes: row.integer_if_any("bytes")?.map(space),
        })
    }))
}

fn space(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}

async fn space_of_running<D: Database>(store: &SqlStore<D>) -> Result<u64, StoreError> {
    let running = || {
        sql(
            MEASURE,
            "-- log_space: running runs; index runs_one_running\nSELECT id FROM runs WHERE status = 'running'",
        )
    };
    let running: Result<Vec<RunId>, StoreError> = read!(store, c => running().all(c, |row| {
        Fields::new(row, MEASURE, "runs").id("id")
    }));
    let mut total: u64 = 0;
    for runs in running?.chunks(PRUNED_AT_ONCE) {
        total = total.saturating_add(
            sizes(store, runs)
                .await?
                .iter()
                .map(|(_, bytes)| bytes)
                .sum(),
        );
    }
    Ok(total)
}

/// Sizes of the logs of these runs. Reading them keeps no writer waiting.
async fn sizes<D: Database>(
    store: &SqlStore<D>,
    runs: &[RunId],
) -> Result<Vec<(RunId, u64)>, StoreError> {
    let sizes = || {
        sql(
            MEASURE,
            "-- log_space: logs of runs; indexes runs_pkey, log_lines_pkey
        SELECT r.id, CAST(coalesce((
            SELECT sum(octet_length(l.line) + $2) FROM log_lines l WHERE l.run_id = r.id), 0) AS BIGINT) AS bytes
        FROM runs r WHERE r.id {in $1}",
        )
        .bind(runs)
        .bind(LINE_SPACE)
    };
    read!(store, c => sizes().all(c, |row| {
        let row = Fields::new(row, MEASURE, "runs").keyed_by_id("id")?;
        Ok((row.id("id")?, space(row.integer("bytes")?)))
    }))
}

/// Stores the sizes of logs of ended runs; a run that was forgotten since has no log.
async fn measure_ended<D: Database>(
    store: &SqlStore<D>,
    runs: &[RunId],
) -> Result<u64, StoreError> {
    let sizes = sizes(store, runs).await?;
    let rows = sizes
        .iter()
        .map(|(run, bytes)| json!({"id": run.to_string(), "bytes": bytes}));
    let rows = rows.collect::<serde_json::Value>().to_string();
    let noted: Result<(), StoreError> =
        transaction!(store, Process, c => note_sizes(c, runs, &rows));
    noted?;
    Ok(sizes.iter().map(|(_, bytes)| bytes).sum())
}

async fn note_sizes(c: &mut dyn Connection, runs: &[RunId], rows: &str) -> Result<(), StoreError> {
    sql(
        MEASURE,
        "-- log_space: the runs stay\nSELECT 1 FROM runs WHERE id = ANY ($1) FOR KEY SHARE",
    )
    .bind(runs)
    .on_postgres(c)
    .await?;
    let noted = sql(
        MEASURE,
        "-- log_space: sizes
        INSERT INTO log_sizes (run_id, bytes)
        SELECT n.id, n.bytes FROM {rows $1 n: id UUID, bytes BIGINT}
        WHERE EXISTS (SELECT 1 FROM runs r WHERE r.id = n.id)
        ON CONFLICT DO NOTHING",
    );
    noted.bind(rows).execute(c).await?;
    Ok(())
}

/// Removes the next lines of a log but the last one, which then says that the log was removed: readers that follow
/// the log get it. Returns whether it is done. The size is noted at the end: if the process dies before, the next
/// one begins again.
async fn remove_lines<D: Database>(store: &SqlStore<D>, run: RunId) -> Result<bool, StoreError> {
    transaction!(store, Process, c => remove_lines_in(c, run))
}

async fn remove_lines_in(c: &mut dyn Connection, run: RunId) -> Result<bool, StoreError> {
    let last = sql(
        REMOVE,
        "-- remove_logs: the last line; index log_lines_pkey
        SELECT coalesce(max(position), 0) AS value FROM log_lines WHERE run_id = $1",
    );
    let last = last.bind(run).one(c, integer).await?;
    let deleted = sql(
        REMOVE,
        "-- remove_logs: lines; index log_lines_pkey
        DELETE FROM log_lines
        WHERE run_id = $1 AND position IN (
            SELECT position FROM log_lines WHERE run_id = $1 AND position < $2 LIMIT $3)",
    );
    let deleted = deleted
        .bind(run)
        .bind(last)
        .bind(LINES_PRUNED_AT_ONCE)
        .execute(c)
        .await?;
    if deleted == u64::from(LINES_PRUNED_AT_ONCE) {
        return Ok(false);
    }
    let replaced = sql(
        REMOVE,
        "-- remove_logs: what remains
        UPDATE log_lines SET stream = $3, line = $4 WHERE run_id = $1 AND position = $2",
    );
    let replaced = replaced
        .bind(run)
        .bind(last)
        .bind(LogStream::Stderr.as_str());
    replaced.bind(REMOVED_LOG).execute(c).await?;
    let noted = sql(
        REMOVE,
        "-- remove_logs: size\nUPDATE log_sizes SET bytes = 0 WHERE run_id = $1",
    );
    noted.bind(run).execute(c).await?;
    Ok(true)
}
