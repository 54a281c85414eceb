//! The end of an attempt.

use cts_core::EventConfig;
use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_store::cell::stored_stream;
use cts_store::{Completed, Completion, Event, LeaseError, stored_serial};
use cts_store_sql::attempt_ends;
use sqlx::{Connection as _, PgConnection, Row as _};

use crate::call::shared;
use crate::lease::stored_epoch;
use crate::row::{Cell, encoded_details, failed_to, span};

const ENCODE: &str = "encode the end of an attempt";

pub(crate) async fn complete(
    connection: &mut PgConnection,
    completion: &Completion,
) -> Result<Completed, LeaseError> {
    if completion.outcome == AttemptOutcome::Applied
        && let Some(completed) = applied(connection, completion).await?
    {
        return Ok(completed);
    }
    not_applied(connection, completion).await
}

/// Ends an attempt in the ordinary way, in one statement.
///
/// The task is locked before the final check of the run; the functions see what was committed during the wait for
/// that lock. `None`, without any change, if the lease does not exist or is not for a run that applies, or if its
/// task is blocked, being created or being deleted.
///
/// The statement restates the rule of success of [`Attempt::completed`](cts_store::attempt::Attempt::completed),
/// because every change waits for it (`cts-bench change-to-apply`). The scenarios and the walk of the conformance suite
/// keep the two equal.
async fn applied(
    connection: &mut PgConnection,
    completion: &Completion,
) -> Result<Option<Completed>, LeaseError> {
    let failed = failed_to("end a run");
    let streams = completion
        .log
        .iter()
        .map(|line| stored_stream(line.stream()));
    let lines = completion.log.iter().map(|line| &*line.text);
    let (summary, findings) = encoded_details(ENCODE, completion.details.as_ref())?;
    let row = sqlx::query(
        "-- complete: applied
        WITH task AS MATERIALIZED (
            SELECT name, event_config FROM tasks
            WHERE name = (SELECT task_name FROM runs WHERE id = $1) AND phase = 'ready'
              AND held IS NULL AND released_instances IS NULL
            FOR NO KEY UPDATE
        ), closed AS (
            UPDATE runs r
            SET status = 'succeeded',
                finished_at = cts_now(),
                updated_at = cts_now(),
                summary = $7,
                findings = $8,
                holder = NULL,
                expires_at = NULL
            FROM task
            WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $6 AND r.status IS NOT DISTINCT FROM 'running'
              AND r.kind = 'apply' AND r.task_name = task.name
            RETURNING r.id, r.task_name, r.incarnation, r.input_hash, r.started_at, r.finished_at,
                      r.attempts, r.requested_by, r.cause, task.event_config
        ), event AS (
            INSERT INTO events (id, task_name, incarnation, run_id, success, start_time, end_time,
                                config, summary, requested_by, cause)
            SELECT $3, task_name, incarnation, id, TRUE, started_at, finished_at, event_config, $7,
                   requested_by, cause
            FROM closed
        ), last_applied AS (
            UPDATE tasks t
            SET last_applied = closed.input_hash, tried_input = closed.input_hash,
                failures = 0, active_run = NULL,
                applied_instances = coalesce(
                    (SELECT instances FROM inputs WHERE hash = closed.input_hash),
                    t.applied_instances),
                state_serial = CASE WHEN $9 IS NULL THEN t.state_serial
                    WHEN t.state_lineage = $9 THEN greatest(t.state_serial, $10) ELSE $10 END,
                state_moved_serial = CASE WHEN $9 IS NULL OR t.state_lineage = $9
                    THEN t.state_moved_serial END,
                state_lineage = coalesce($9, t.state_lineage),
                state_recorded_at = CASE WHEN $9 IS NULL THEN t.state_recorded_at ELSE cts_now() END,
                state_conflict = CASE WHEN $9 IS NULL THEN t.state_conflict END,
                state_conflict_at = CASE WHEN $9 IS NULL THEN t.state_conflict_at END
            FROM closed WHERE t.name = closed.task_name
        ), last AS MATERIALIZED (
            SELECT id, cts_last_line(id) AS position FROM closed WHERE cardinality($4::TEXT[]) > 0
        ), logged AS (
            INSERT INTO log_lines (run_id, position, stream, line)
            SELECT last.id, last.position + added.number, added.stream, added.line
            FROM last, unnest($4::TEXT[], $5::TEXT[]) WITH ORDINALITY AS added (stream, line, number)
        )
        SELECT *, cts_queued_due(task_name) - finished_at AS next_due FROM closed",
    )
    .bind(completion.run.as_uuid())
    .bind(stored_epoch(completion.epoch))
    .bind(completion.event.as_uuid())
    .bind(streams.collect::<Vec<_>>())
    .bind(lines.collect::<Vec<_>>())
    .bind(completion.holder.as_str())
    .bind(summary)
    .bind(findings)
    .bind(completion.state.as_ref().map(|state| &state.lineage))
    .bind(completion.state.as_ref().map(|state| stored_serial(state.serial)))
    .fetch_optional(connection)
    .await
    .map_err(&failed)?;
    let Some(row) = row else { return Ok(None) };
    let key = completion.run.to_string();
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &key,
    };
    let name: &str = row.try_get("task_name").map_err(&failed)?;
    let task = cell("task_name").parse(name)?;
    let config: &str = row.try_get("event_config").map_err(&failed)?;
    let config: EventConfig = Cell {
        table: "tasks",
        column: "event_config",
        row: name,
    }
    .json(config)?;
    let time = |column| cell(column).time(row.try_get(column).map_err(&failed)?);
    let next_due: Option<i64> = row.try_get("next_due").map_err(&failed)?;
    let attempt: i32 = row.try_get("attempts").map_err(&failed)?;
    Ok(Some(Completed {
        kind: RunKind::Apply,
        event: Some(Event {
            id: completion.event,
            task_name: Clone::clone(&task),
            run_id: Some(completion.run),
            success: true,
            start_time: time("started_at")?,
            end_time: time("finished_at")?,
            error: None,
            resources: completion.resources(),
            remote_url: completion.remote_url(),
            requested_by: None,
            cause: None,
            config,
        }),
        task,
        status: RunStatus::Succeeded,
        failure: None,
        attempt: u32::try_from(attempt).unwrap_or_default(),
        given_back: false,
        next_due: next_due.map(span),
        tasks_changed: false,
    }))
}

async fn not_applied(
    connection: &mut PgConnection,
    completion: &Completion,
) -> Result<Completed, LeaseError> {
    let failed = failed_to("end an attempt");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let completed = attempt_ends::complete(&mut shared(&mut transaction), completion).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(completed)
}
