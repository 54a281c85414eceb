//! The space of logs: measured once after a run has ended, and freed in short steps.

use cts_core::RunId;
use cts_store::cell::stored_stream;
use cts_store::fields::Fields;
use cts_store::{LINE_SPACE, LogStream, REMOVED_LOG, StoreError};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::prune::{EndedRun, ended_at_once};
use crate::{Connection, integer, sql};

const OPERATION: &str = "measure logs";

const REMOVE: &str = "remove logs";

/// The position after all ended runs.
pub(crate) const LAST: EndedRun = EndedRun {
    finished_at: i64::MAX,
    run: RunId::from_uuid(Uuid::max()),
};

/// A macro, so that each statement stays one constant text.
macro_rules! ended {
    ($name:literal, $after:literal, $order:literal) => {
        concat!(
            $name,
            "; indexes runs_finished, log_sizes_pkey
        SELECT r.finished_at, r.id, r.status = 'succeeded' AS succeeded,
               (SELECT s.bytes FROM log_sizes s WHERE s.run_id = r.id) AS bytes
        FROM runs r
        WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND (r.finished_at, r.id) ",
            $after,
            " ($1, $2)
        ORDER BY r.finished_at ",
            $order,
            ", r.id ",
            $order,
            "
        LIMIT $3"
        )
    };
}

/// An ended run with its log.
pub(crate) struct EndedLog {
    pub(crate) position: EndedRun,
    pub(crate) succeeded: bool,
    /// `None` until the log is measured.
    pub(crate) bytes: Option<u64>,
}

/// The next ended runs, in the order of their ends: after this position, or before it if `newest_first`.
pub(crate) async fn ended(
    c: &mut dyn Connection,
    from: EndedRun,
    newest_first: bool,
) -> Result<Vec<EndedLog>, StoreError> {
    let text = if newest_first {
        ended!("-- log_space: newest ended runs", "<", "DESC")
    } else {
        ended!("-- remove_logs: ended runs", ">", "ASC")
    };
    let ended = sql(OPERATION, text).bind(from.finished_at).bind(from.run);
    ended
        .bind(ended_at_once(c.dialect()))
        .all(c, |row| {
            let row = Fields::new(row, OPERATION, "runs");
            Ok(EndedLog {
                position: EndedRun {
                    finished_at: row.integer("finished_at")?,
                    run: row.id("id")?,
                },
                succeeded: row.flag("succeeded")?,
                bytes: row.integer_if_any("bytes")?.map(space),
            })
        })
        .await
}

/// The space of these logs.
pub(crate) async fn sizes(
    c: &mut dyn Connection,
    runs: &[RunId],
) -> Result<Vec<(RunId, u64)>, StoreError> {
    let sizes = sql(
        OPERATION,
        "-- log_space: logs of ended or running runs; index log_lines_pkey
        SELECT n.id, CAST(coalesce((
            SELECT sum(octet_length(l.line) + $2) FROM log_lines l WHERE l.run_id = n.id), 0) AS BIGINT) AS bytes
        FROM {each $1 n.id}",
    );
    sizes
        .bind(runs)
        .bind(LINE_SPACE)
        .all(c, |row| {
            let row = Fields::new(row, OPERATION, "log_lines");
            Ok((row.id("id")?, space(row.integer("bytes")?)))
        })
        .await
}

/// Notes the space of the logs of ended runs. A run that was forgotten since has no log.
pub(crate) async fn note(c: &mut dyn Connection, sizes: &[(RunId, u64)]) -> Result<(), StoreError> {
    let noted = sql(
        OPERATION,
        c.dialect().pick(
            "-- log_space: sizes
            INSERT INTO log_sizes (run_id, bytes)
            SELECT n.id, n.bytes FROM {rows $1 n: id TEXT, bytes BIGINT}
            WHERE EXISTS (SELECT 1 FROM runs WHERE id = n.id)
            ON CONFLICT DO NOTHING",
            "-- log_space: sizes; index runs_pkey
            INSERT INTO log_sizes (run_id, bytes)
            SELECT r.id, n.bytes FROM {rows $1 n: id UUID, bytes BIGINT}
            CROSS JOIN LATERAL (SELECT id FROM runs WHERE id = n.id FOR KEY SHARE) r
            ON CONFLICT DO NOTHING",
        ),
    );
    let sizes = sizes
        .iter()
        .map(|(run, bytes)| json!({"id": run.to_string(), "bytes": bytes}));
    let noted = noted.bind(sizes.collect::<Value>().to_string());
    noted.execute(c).await?;
    Ok(())
}

/// The space of all measured logs, and the running runs.
pub(crate) async fn measured(c: &mut dyn Connection) -> Result<(u64, Vec<RunId>), StoreError> {
    let running = sql(
        OPERATION,
        "-- log_space: running runs; index runs_one_running\nSELECT id FROM runs WHERE status = 'running'",
    );
    let running = running.all(c, |row| Fields::new(row, OPERATION, "runs").id("id"));
    let running = running.await?;
    let measured = sql(
        OPERATION,
        c.dialect().pick(
            "-- log_space\nSELECT coalesce(sum(bytes), 0) AS value FROM log_sizes",
            "-- log_space\nSELECT log_bytes AS value FROM housekeeping",
        ),
    );
    Ok((space(measured.one(c, integer).await?), running))
}

/// Replaces the last line of each log by a line about the removal, so that readers that follow the log receive it.
pub(crate) async fn replace_last_lines(
    c: &mut dyn Connection,
    runs: &[RunId],
) -> Result<(), StoreError> {
    let replaced = sql(
        REMOVE,
        "-- remove_logs: what remains; index log_lines_pkey
        WITH last AS MATERIALIZED (SELECT n.id, {last line of n.id} AS line_number FROM {each $1 n.id})
        UPDATE log_lines SET stream = $2, line = $3
        FROM last WHERE run_id = last.id AND position = last.line_number",
    );
    let replaced = replaced.bind(runs).bind(stored_stream(LogStream::Stderr));
    replaced.bind(REMOVED_LOG).execute(c).await?;
    Ok(())
}

/// Notes that these logs are removed. If the process dies earlier, the next removal begins again.
pub(crate) async fn note_removed(c: &mut dyn Connection, runs: &[RunId]) -> Result<(), StoreError> {
    let removed = sql(
        REMOVE,
        "-- remove_logs: sizes\nUPDATE log_sizes SET bytes = 0 WHERE run_id {in $1}",
    );
    removed.bind(runs).execute(c).await?;
    Ok(())
}

fn space(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or_default()
}
