//! Writes at the end of an attempt: for a run that is closed or goes back to the queue.

use std::time::Duration;

use cts_core::Event;
use cts_core::runs::{Plan, RunCause};
use cts_store::StoreError;
use cts_store::attempt::AttemptEnd;
use cts_store::enqueue::stored_cause;
use sqlx::PgTransaction;
use uuid::Uuid;

use super::{ENCODE, one};
use crate::lease::stored_epoch;
use crate::row::{InputEncoding, encoded, encoded_details, encoded_plan, failed_to, span_micros};

/// Like `applied`, for attempts whose end needs more writes.
pub(super) async fn succeed(
    transaction: &mut PgTransaction<'_>,
    end: &AttemptEnd<'_>,
    event: &Event,
    now: i64,
) -> Result<(), StoreError> {
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let closed: i64 = sqlx::query_scalar(
        "-- complete: succeed
        WITH closed AS (
            UPDATE runs
            SET status = 'succeeded', finished_at = $3, updated_at = $3, summary = $6, findings = $7,
                ended_attempts = $8,
                holder = NULL, expires_at = NULL
            WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'
            RETURNING id, task_name, incarnation, input_hash, started_at, requested_by, cause
        ), event AS (
            INSERT INTO events (id, task_name, incarnation, run_id, success, start_time, end_time,
                                config, summary, requested_by, cause)
            SELECT $4, task_name, incarnation, id, TRUE, started_at, $3, $5, $6, requested_by, cause FROM closed
        ), last_applied AS (
            UPDATE tasks t
            SET last_applied = closed.input_hash, tried_input = closed.input_hash,
                failures = 0, active_run = NULL,
                applied_instances = coalesce(
                    (SELECT instances FROM inputs WHERE hash = closed.input_hash),
                    t.applied_instances)
            FROM closed WHERE t.name = closed.task_name
        )
        SELECT count(*) FROM closed",
    )
    .bind(end.completion.run.as_uuid())
    .bind(stored_epoch(end.completion.epoch))
    .bind(now)
    .bind(event.id.as_uuid())
    .bind(encoded(ENCODE, &event.config)?)
    .bind(summary)
    .bind(findings)
    .bind(encoded(ENCODE, &end.records)?)
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to("close a run"))?;
    one(closed.unsigned_abs())
}

/// Closes a run whose end changes nothing else.
pub(super) async fn close(
    transaction: &mut PgTransaction<'_>,
    end: &AttemptEnd<'_>,
    plan: Option<&Plan>,
    now: i64,
) -> Result<(), StoreError> {
    let content = plan.map(|plan| encoded_plan(ENCODE, plan)).transpose()?;
    let (encoding, content) = content.unzip();
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let closed = sqlx::query(
        "-- complete: close the run
        WITH free AS (UPDATE tasks SET active_run = NULL WHERE name = $9)
        UPDATE runs
        SET status = $3, errors = $4, finished_at = $5, updated_at = $5,
            changes_present = $6, plan_encoding = $7, plan = $8, summary = $10, findings = $11,
            ended_attempts = $12, holder = NULL, expires_at = NULL
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(end.completion.run.as_uuid())
    .bind(stored_epoch(end.completion.epoch))
    .bind(end.status.as_str())
    .bind(encoded(ENCODE, &end.errors)?)
    .bind(now)
    .bind(plan.map(|plan| plan.changes_present))
    .bind(encoding.map(InputEncoding::as_str))
    .bind(content)
    .bind(end.task.as_str())
    .bind(summary)
    .bind(findings)
    .bind(encoded(ENCODE, &end.records)?)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("close a run"))?;
    one(closed.rows_affected())
}

pub(super) async fn give_up(
    transaction: &mut PgTransaction<'_>,
    end: &AttemptEnd<'_>,
    event: &Event,
    ((tried, withheld), retry_after): ((bool, bool), Option<Duration>),
    now: i64,
) -> Result<(), StoreError> {
    let retry: Option<Uuid> = retry_after.map(|_| end.completion.retry_run.as_uuid());
    let due_at = now.saturating_add(span_micros(retry_after.unwrap_or_default()));
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let closed: i64 = sqlx::query_scalar(
        "-- complete: give up
        WITH closed AS (
            UPDATE runs
            SET status = 'failed', errors = $3, finished_at = $4, updated_at = $4,
                summary = $11, findings = $12,
                ended_attempts = $14, holder = NULL, expires_at = NULL
            WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'
            RETURNING id, task_name, incarnation, input_hash, started_at, settings, requested_by, cause
        ), event AS (
            INSERT INTO events (id, task_name, incarnation, run_id, success, start_time, end_time,
                                error, config, summary, requested_by, cause)
            SELECT $5, task_name, incarnation, id, FALSE, started_at, $4, $6, $7, $11, requested_by, cause
            FROM closed
        ), counted AS (
            UPDATE tasks t
            SET failures = failures + CASE WHEN $8 IS NULL THEN 0 ELSE 1 END,
                tried_input = CASE WHEN $10 THEN closed.input_hash ELSE t.tried_input END,
                cancelled_input = CASE WHEN $13 THEN coalesce(t.cancelled_input, closed.input_hash)
                                  ELSE t.cancelled_input END,
                active_run = NULL
            FROM closed WHERE t.name = closed.task_name
        ), retried AS (
            INSERT INTO runs (id, task_name, incarnation, input_hash, status, due_at, created_at,
                              updated_at, settings, cause)
            SELECT $8, task_name, incarnation, input_hash, 'queued', $9, $4, $4,
                   coalesce(
                       (SELECT s.successor FROM settings_successors s
                        WHERE s.number = closed.settings),
                       settings),
                   $15
            FROM closed
            WHERE $8::UUID IS NOT NULL
        )
        SELECT count(*) FROM closed",
    )
    .bind(end.completion.run.as_uuid())
    .bind(stored_epoch(end.completion.epoch))
    .bind(encoded(ENCODE, &end.errors)?)
    .bind(now)
    .bind(event.id.as_uuid())
    .bind(&event.error)
    .bind(encoded(ENCODE, &event.config)?)
    .bind(retry)
    .bind(due_at)
    .bind(tried)
    .bind(summary)
    .bind(findings)
    .bind(withheld)
    .bind(encoded(ENCODE, &end.records)?)
    .bind(stored_cause(Some(&RunCause::of_retry()))?)
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed_to("close a run"))?;
    one(closed.unsigned_abs())
}

pub(super) async fn put_back(
    transaction: &mut PgTransaction<'_>,
    end: &AttemptEnd<'_>,
    attempts: u32,
    (due_at, suspends): (i64, bool),
    now: i64,
) -> Result<(), StoreError> {
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let back = sqlx::query(
        "-- complete: back to the queue
        WITH free AS (
            UPDATE tasks
            SET active_run = NULL,
                destruction_suspended_at = CASE WHEN $10 THEN $6 ELSE destruction_suspended_at END
            WHERE name = $7
        )
        UPDATE runs
        SET status = 'queued', attempts = $3, errors = $4, due_at = $5, updated_at = $6,
            summary = $8, findings = $9, ended_attempts = $11,
            settings = CASE WHEN destroys = 'apply' THEN settings ELSE coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings) END,
            holder = NULL, expires_at = NULL, cancel_requested_at = NULL, cancel_force = FALSE,
            cancel_noted_at = NULL
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(end.completion.run.as_uuid())
    .bind(stored_epoch(end.completion.epoch))
    .bind(i32::try_from(attempts).unwrap_or(i32::MAX))
    .bind(encoded(ENCODE, &end.errors)?)
    .bind(due_at)
    .bind(now)
    .bind(end.task.as_str())
    .bind(summary)
    .bind(findings)
    .bind(suspends)
    .bind(encoded(ENCODE, &end.records)?)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("put a run back"))?;
    one(back.rows_affected())
}
