//! Statements that read the rows of each table, as the values that move.

use cts_store::StoreError;
use cts_store::fields::{Columns, Fields};
use cts_store::transfer::{ContentRow, InputRow};

use crate::inputs;

/// Operation of all of them, for errors.
pub const OPERATION: &str = "read the database";

/// Numbers of rows. Tasks that are being created or deleted do not move; all runs do.
pub const COUNTS: &str = "-- export: counts
    SELECT (SELECT count(*) FROM tasks WHERE phase = 'ready'), (SELECT count(*) FROM deleted_tasks),
           (SELECT count(*) FROM configuration_in_force),
           (SELECT count(*) FROM contents), (SELECT count(*) FROM inputs), (SELECT count(*) FROM runs),
           (SELECT count(*) FROM events), (SELECT count(*) FROM log_lines),
           (SELECT count(*) FROM bundles)";

/// Tasks.
pub const TASKS: &str = "-- export: tasks
    SELECT name, position, incarnation, origin, revision, configured, spec, last_applied, tried_input, cancelled_input, applied_instances, released_instances, held,
           state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
           state_conflict, state_conflict_at, state_recorded_at,
           delivery, delivery_first_run, delivery_run, delivery_input, remote_run, failures, skipped, created_at, updated_at
    FROM tasks WHERE phase = 'ready' ORDER BY position, name";

/// Tasks that the API has deleted.
pub const DELETED_TASKS: &str = "-- export: deleted tasks
    SELECT name, configured, deleted_at FROM deleted_tasks ORDER BY name";

/// The configuration in force.
pub const CONFIGURATIONS: &str = "-- export: configurations
    SELECT number, fingerprint, tasks, decided_by, decided_at FROM configuration_in_force";

/// Contents of inputs.
pub const CONTENTS: &str = "-- export: contents
    SELECT hash, encoding, content, created_at FROM contents ORDER BY hash";

/// Inputs.
pub const INPUTS: &str = "-- export: inputs
    SELECT hash, encoding, content, created_at,
           (SELECT {list c.hash by p.position}
            FROM input_contents p JOIN contents c ON c.id = p.content_id
            WHERE p.input_id = i.id) AS contents
    FROM inputs i ORDER BY hash";

/// A running run has lost its worker: it goes back to the queue, or is cancelled if it applies and a newer
/// one waits. Queued and running runs of a task that does not move are cancelled.
pub const RUNS: &str = "-- export: runs; index runs_one_queued
    SELECT id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash, changes_present,
           plan_encoding, plan, summary, findings, remote_run,
           CASE WHEN pointless THEN 'cancelled' WHEN lost THEN 'queued' ELSE status END AS status,
           CASE WHEN lost THEN {greatest}(attempts - 1, 0) ELSE attempts END AS attempts,
           CASE WHEN pointless THEN updated_at ELSE finished_at END AS finished_at,
           errors, epoch, due_at, started_at, created_at, updated_at
    FROM (SELECT r.*, r.status = 'running' AS lost,
                 r.status IN ('queued', 'running') AND t.name IS NULL
                 OR r.status = 'running' AND r.withdrawn
                 OR r.status = 'running' AND r.cancel_requested_at IS NOT NULL
                 OR r.status = 'running' AND r.kind = 'apply' AND EXISTS (
                     SELECT 1 FROM runs q
                     WHERE q.task_name = r.task_name AND q.status = 'queued'
                       AND q.kind = 'apply') AS pointless
          FROM runs r
          LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
                           AND t.phase = 'ready') r
    ORDER BY id";

/// Events.
pub const EVENTS: &str = "-- export: events
    SELECT position, id, task_name, incarnation, run_id, success, start_time, end_time, error, config,
           summary
    FROM events ORDER BY position";

/// Lines of logs.
pub const LOG_LINES: &str = "-- export: log lines
    SELECT run_id, position, stream, line FROM log_lines ORDER BY run_id, position";

/// Packed modules.
pub const BUNDLES: &str = "-- export: bundles
    SELECT hash, content, created_at, used_at FROM bundles ORDER BY hash";

/// A content that moves.
pub fn content(row: &dyn Columns) -> Result<ContentRow, StoreError> {
    Ok(ContentRow {
        content: inputs::content(row)?,
        created_at: Fields::new(row, OPERATION, "contents").integer("created_at")?,
    })
}

/// An input that moves.
pub fn input(row: &dyn Columns) -> Result<InputRow, StoreError> {
    let fields = Fields::new(row, OPERATION, "inputs").keyed("hash")?;
    Ok(InputRow {
        hash: fields.parse("hash")?,
        input: inputs::stored(row)?,
        created_at: fields.integer("created_at")?,
    })
}
