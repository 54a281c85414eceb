//! Rows of each table as the values that move.

use cts_core::{LeaseEpoch, RunId, TaskSpec};
use cts_store::transfer::{
    BundleRow, ConfigurationRow, ContentRow, DeletedTaskRow, EventRow, InputRow, LogLineRow,
    RunRow, TaskRow,
};
use cts_store::{LogLine, StoreError};
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::inputs;
use crate::row::{self, Cell, failed_to};

pub(super) const OPERATION: &str = "read the database";

/// Tasks that are being created or deleted do not move; all runs do.
pub(super) const COUNTS: &str = "-- export: counts
    SELECT (SELECT count(*) FROM tasks WHERE phase = 'ready'), (SELECT count(*) FROM deleted_tasks),
           (SELECT count(*) FROM configuration_in_force),
           (SELECT count(*) FROM contents), (SELECT count(*) FROM inputs), (SELECT count(*) FROM runs),
           (SELECT count(*) FROM events), (SELECT count(*) FROM log_lines),
           (SELECT count(*) FROM bundles)";

pub(super) const TASKS: &str = "-- export: tasks
    SELECT name, position, incarnation, origin, revision, configured, spec, last_applied, tried_input,
           failures, skipped, created_at, updated_at
    FROM tasks WHERE phase = 'ready' ORDER BY position, name";

pub(super) const DELETED_TASKS: &str = "-- export: deleted tasks
    SELECT name, configured, deleted_at FROM deleted_tasks ORDER BY name";

pub(super) const CONFIGURATIONS: &str = "-- export: configurations
    SELECT number, fingerprint, tasks, decided_by, decided_at FROM configuration_in_force";

pub(super) const CONTENTS: &str = "-- export: contents
    SELECT hash, encoding, content, created_at FROM contents ORDER BY hash";

pub(super) const INPUTS: &str = "-- export: inputs
    SELECT hash, encoding, content, created_at,
           ARRAY(SELECT c.hash FROM input_contents p JOIN contents c ON c.id = p.content_id
                 WHERE p.input_id = i.id ORDER BY p.position) AS contents
    FROM inputs i ORDER BY hash";

/// What is running has lost its worker: back to the queue, or cancelled if it applies and a newer one
/// waits. What waits or runs of a task that does not move is cancelled.
pub(super) const RUNS: &str = "-- export: runs; index runs_one_queued
    SELECT id, task_name, incarnation, kind, no_retry, requested, input_hash, changes_present,
           plan_encoding, plan,
           CASE WHEN pointless THEN 'cancelled' WHEN lost THEN 'queued' ELSE status END AS status,
           CASE WHEN lost THEN greatest(attempts - 1, 0) ELSE attempts END AS attempts,
           CASE WHEN pointless THEN updated_at ELSE finished_at END AS finished_at,
           errors, epoch, due_at, started_at, created_at, updated_at
    FROM (SELECT r.*, r.status = 'running' AS lost,
                 r.status IN ('queued', 'running') AND t.name IS NULL
                 OR r.status = 'running' AND r.kind = 'apply' AND EXISTS (
                     SELECT FROM runs q
                     WHERE q.task_name = r.task_name AND q.status = 'queued'
                       AND q.kind = 'apply') AS pointless
          FROM runs r
          LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
                           AND t.phase = 'ready') r
    ORDER BY id";

pub(super) const EVENTS: &str = "-- export: events
    SELECT position, id, task_name, incarnation, run_id, success, start_time, end_time, error, config
    FROM events ORDER BY position";

pub(super) const LOG_LINES: &str = "-- export: log lines
    SELECT run_id, position, stream, line FROM log_lines ORDER BY run_id, position";

pub(super) const BUNDLES: &str = "-- export: bundles
    SELECT hash, content, created_at, used_at FROM bundles ORDER BY hash";

pub(super) fn task(row: &PgRow) -> Result<TaskRow, StoreError> {
    let read = failed_to(OPERATION);
    let name: &str = row.try_get("name").map_err(&read)?;
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: name,
    };
    let number = |column: &str| row.try_get::<i64, _>(column).map_err(&read);
    let spec: &str = row.try_get("spec").map_err(&read)?;
    let spec: TaskSpec = cell("spec").json(spec)?;
    if spec.name().as_str() != name {
        return Err(cell("spec").corrupt("it is of another task"));
    }
    let origin: &str = row.try_get("origin").map_err(&read)?;
    let configured: Option<&str> = row.try_get("configured").map_err(&read)?;
    let configured = configured.map(|digest| cell("configured").parse(digest));
    let last_applied: Option<&str> = row.try_get("last_applied").map_err(&read)?;
    let last_applied = last_applied.map(|hash| cell("last_applied").parse(hash));
    let tried: Option<&str> = row.try_get("tried_input").map_err(&read)?;
    let tried = tried.map(|hash| cell("tried_input").parse(hash));
    let failures: i32 = row.try_get("failures").map_err(&read)?;
    Ok(TaskRow {
        position: number("position")?,
        incarnation: cell("incarnation").number(number("incarnation")?)?,
        origin: cell("origin").origin(origin)?,
        revision: cell("revision").number(number("revision")?)?,
        configured: configured.transpose()?,
        spec,
        last_applied: last_applied.transpose()?,
        tried_input: tried.transpose()?,
        failures: cell("failures").number(failures.into())?,
        skipped: cell("skipped").number(number("skipped")?)?,
        created_at: number("created_at")?,
        updated_at: number("updated_at")?,
    })
}

pub(super) fn deleted_task(row: &PgRow) -> Result<DeletedTaskRow, StoreError> {
    let read = failed_to(OPERATION);
    let name: &str = row.try_get("name").map_err(&read)?;
    let cell = |column| Cell {
        table: "deleted_tasks",
        column,
        row: name,
    };
    let configured: &str = row.try_get("configured").map_err(&read)?;
    Ok(DeletedTaskRow {
        name: cell("name").parse(name)?,
        configured: cell("configured").parse(configured)?,
        deleted_at: row.try_get("deleted_at").map_err(&read)?,
    })
}

pub(super) fn configuration(row: &PgRow) -> Result<ConfigurationRow, StoreError> {
    let read = failed_to(OPERATION);
    let cell = |column| Cell {
        table: "configuration_in_force",
        column,
        row: "",
    };
    let number: i64 = row.try_get("number").map_err(&read)?;
    Ok(ConfigurationRow {
        number: cell("number").number(number)?,
        fingerprint: row.try_get("fingerprint").map_err(&read)?,
        tasks: row.try_get("tasks").map_err(&read)?,
        decided_by: row.try_get("decided_by").map_err(&read)?,
        decided_at: row.try_get("decided_at").map_err(&read)?,
    })
}

pub(super) fn content(row: &PgRow) -> Result<ContentRow, StoreError> {
    Ok(ContentRow {
        content: inputs::content(row)?,
        created_at: row.try_get("created_at").map_err(failed_to(OPERATION))?,
    })
}

pub(super) fn input(row: &PgRow) -> Result<InputRow, StoreError> {
    let read = failed_to(OPERATION);
    let hash: &str = row.try_get("hash").map_err(&read)?;
    let cell = Cell {
        table: "inputs",
        column: "hash",
        row: hash,
    };
    Ok(InputRow {
        hash: cell.parse(hash)?,
        input: inputs::stored(row)?,
        created_at: row.try_get("created_at").map_err(&read)?,
    })
}

pub(super) fn run(row: &PgRow) -> Result<RunRow, StoreError> {
    let read = failed_to(OPERATION);
    let id: Uuid = row.try_get("id").map_err(&read)?;
    let key = id.to_string();
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &key,
    };
    let text = |column: &str| row.try_get::<&str, _>(column).map_err(&read);
    let number = |column: &str| row.try_get::<i64, _>(column).map_err(&read);
    let attempts: i32 = row.try_get("attempts").map_err(&read)?;
    let encoding: Option<&str> = row.try_get("plan_encoding").map_err(&read)?;
    Ok(RunRow {
        id: RunId::from_uuid(id),
        task: cell("task_name").parse(text("task_name")?)?,
        incarnation: cell("incarnation").number(number("incarnation")?)?,
        kind: cell("kind").run_kind(text("kind")?)?,
        no_retry: row.try_get("no_retry").map_err(&read)?,
        requested: row.try_get("requested").map_err(&read)?,
        input: cell("input_hash").parse(text("input_hash")?)?,
        status: cell("status").run_status(text("status")?)?,
        attempts: cell("attempts").number(attempts.into())?,
        errors: cell("errors").json(text("errors")?)?,
        plan: cell("plan").plan(
            row.try_get("changes_present").map_err(&read)?,
            encoding,
            row.try_get("plan").map_err(&read)?,
        )?,
        epoch: LeaseEpoch::new(cell("epoch").number(number("epoch")?)?),
        due_at: number("due_at")?,
        started_at: row.try_get("started_at").map_err(&read)?,
        finished_at: row.try_get("finished_at").map_err(&read)?,
        created_at: number("created_at")?,
        updated_at: number("updated_at")?,
    })
}

pub(super) fn event(row: &PgRow) -> Result<EventRow, StoreError> {
    let read = failed_to(OPERATION);
    let position: i64 = row.try_get("position").map_err(&read)?;
    let key = position.to_string();
    let incarnation = Cell {
        table: "events",
        column: "incarnation",
        row: &key,
    };
    Ok(EventRow {
        position,
        event: row::event(row)?,
        incarnation: incarnation.number(row.try_get("incarnation").map_err(&read)?)?,
    })
}

pub(super) fn log_line(row: &PgRow) -> Result<LogLineRow, StoreError> {
    let read = failed_to(OPERATION);
    let run: Uuid = row.try_get("run_id").map_err(&read)?;
    let key = run.to_string();
    let cell = Cell {
        table: "log_lines",
        column: "stream",
        row: &key,
    };
    let stream: &str = row.try_get("stream").map_err(&read)?;
    Ok(LogLineRow {
        run: RunId::from_uuid(run),
        position: row.try_get("position").map_err(&read)?,
        line: LogLine {
            stream: cell.log_stream(stream)?,
            text: row.try_get("line").map_err(&read)?,
        },
    })
}

pub(super) fn bundle(row: &PgRow) -> Result<BundleRow, StoreError> {
    let read = failed_to(OPERATION);
    let hash: &str = row.try_get("hash").map_err(&read)?;
    let cell = Cell {
        table: "bundles",
        column: "hash",
        row: hash,
    };
    Ok(BundleRow {
        hash: cell.parse(hash)?,
        bytes: row.try_get("content").map_err(&read)?,
        created_at: row.try_get("created_at").map_err(&read)?,
        used_at: row.try_get("used_at").map_err(&read)?,
    })
}
