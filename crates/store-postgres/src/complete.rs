//! The end of an attempt.

mod close;

use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::{Event, EventConfig, LeaseEpoch, RunId};
use cts_store::attempt::{Attempt, AttemptEnd, AttemptWrites};
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store::{Completed, Completion, ExpiredLeases, LeaseError, StoreError, stored_serial};
use cts_store_sql::{
    checks, endings, has_open_remote, housekeeping, shrink_limits, state_is_refused, tasks,
    terraform_states, workers,
};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use self::close::{close, give_up, put_back, succeed};
use crate::call::shared;
use crate::lease::stored_epoch;
use crate::logs::{self, Columns};
use crate::row::{Cell, by, encoded_details, failed_to, span, span_micros};

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
/// The statement restates the rule of success of [`Attempt::completed`], because every change waits for it
/// (`cts-bench change-to-apply`). The scenarios and the walk of the conformance suite keep the two equal.
async fn applied(
    connection: &mut PgConnection,
    completion: &Completion,
) -> Result<Option<Completed>, LeaseError> {
    let failed = failed_to("end a run");
    let log = Columns::of(&completion.log);
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
    .bind(log.streams)
    .bind(log.lines)
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
    let Some((attempt, now)) = locked(&mut transaction, completion).await? else {
        return Err(completion.lost());
    };
    logs::append(&mut transaction, completion.run, &completion.log).await?;
    let end = attempt.completed(completion, now)?;
    let completed = write(&mut transaction, end, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(completed)
}

/// Ends an attempt whose lease has expired, like a completed attempt. The caller has locked the task and the run.
pub(crate) async fn lose(
    transaction: &mut PgTransaction<'_>,
    lease: (RunId, LeaseEpoch),
    (holder, renewable): (&str, bool),
    ids: &ExpiredLeases,
) -> Result<Completed, StoreError> {
    let completion = Completion::of_lost_lease(lease, holder, ids);
    let Some((attempt, now)) = locked(transaction, &completion).await? else {
        return Err(StoreError::Database {
            operation: "take back leases",
            source: Box::new(completion.lost()),
        });
    };
    housekeeping::note_lost(&mut shared(transaction), Some(completion.run)).await?;
    let end = attempt.lost(&completion, renewable, now)?;
    write(transaction, end, now).await
}

/// Locks the task and the run, and returns the attempt and the time; `None` if the lease is not live.
async fn locked(
    transaction: &mut PgTransaction<'_>,
    completion: &Completion,
) -> Result<Option<(Attempt, i64)>, StoreError> {
    let read = failed_to("read a leased run");
    sqlx::query(
        "-- complete: the task is locked before its run
        SELECT FROM tasks
        WHERE name = (SELECT task_name FROM runs WHERE id = $1)
        FOR NO KEY UPDATE",
    )
    .bind(completion.run.as_uuid())
    .execute(&mut **transaction)
    .await
    .map_err(&read)?;
    // A separate statement, which sees changes made during the wait for the lock.
    let row = sqlx::query(concat!(
        "-- complete: the attempt; index runs_one_queued
        SELECT r.id, r.task_name, r.kind, r.destroys, r.no_retry, r.input_hash, r.started_at, r.errors, r.attempts,
               r.waiting_for, r.withdrawn, r.cancel_requested_at IS NOT NULL AS cancelled, r.cancel_force,
               r.updated_at, r.ended_attempts,
               CASE WHEN r.leased_epoch = r.epoch THEN r.leased_at END AS leased_at,
               CASE WHEN r.leased_epoch = r.epoch THEN r.run_phase END AS run_phase, cts_now() AS now,
               t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
               t.destroy_run, t.enabled, coalesce(t.tried_input = r.input_hash, FALSE) AS tried,
               EXISTS (SELECT FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               ", state_is_refused!(), " AS state_refused,
               r.remote_run, t.remote_run AS task_remote_run, ", has_open_remote!(), " AS has_open_remote
        FROM runs r
        -- Of this run alone: old statistics could make reading all tasks in order look cheaper.
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running'
        FOR NO KEY UPDATE OF r",
    ))
    .bind(completion.run.as_uuid())
    .bind(stored_epoch(completion.epoch))
    .bind(completion.holder.as_str())
    .fetch_optional(&mut **transaction)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let now: i64 = row.try_get("now").map_err(&read)?;
    Ok(Some((by(Attempt::read)(&row)?, now)))
}

async fn write(
    transaction: &mut PgTransaction<'_>,
    end: AttemptEnd<'_>,
    now: i64,
) -> Result<Completed, StoreError> {
    match &end.writes {
        AttemptWrites::Succeed(event) => succeed(transaction, &end, event, now).await?,
        AttemptWrites::GiveUp {
            event,
            tried,
            withheld,
            retry_after,
        } => {
            let marks = (*tried, *withheld);
            give_up(transaction, &end, event, (marks, *retry_after), now).await?;
        }
        AttemptWrites::PutBack {
            attempts,
            wait,
            elsewhere,
        } => {
            let due_at = now.saturating_add(span_micros(*wait));
            put_back(transaction, &end, *attempts, (due_at, false), now).await?;
            if *elsewhere {
                let c = &mut shared(transaction);
                workers::prefer_another(c, end.completion, due_at).await?;
            }
        }
        AttemptWrites::Suspend => {
            put_back(transaction, &end, 0, (SUSPENDED_UNTIL, true), now).await?;
        }
        AttemptWrites::EndRemote { wait } => {
            one(endings::put(&mut shared(transaction), &end, *wait).await?)?;
        }
        AttemptWrites::Close { plan } => {
            close(transaction, &end, *plan, now).await?;
            if let Some(outcome) = end.check_outcome() {
                let c = &mut shared(transaction);
                checks::end(c, &end.task, end.completion.run, outcome).await?;
            }
        }
    }
    if let Some(state) = &end.completion.state {
        terraform_states::report(&mut shared(transaction), &end.task, state).await?;
    }
    tasks::apply_end(&mut shared(transaction), &end.task, end.task_after).await?;
    if !end.kind.changes_resources() {
        endings::after_other(&mut shared(transaction), end.task.as_str()).await?;
    }
    let looked = shrink_limits::reevaluate(&mut shared(transaction), end.task.as_str()).await?;
    let due: Option<i64> = sqlx::query_scalar("-- complete: next_due\nSELECT cts_queued_due($1)")
        .bind(end.task.as_str())
        .fetch_one(&mut **transaction)
        .await
        .map_err(failed_to("end an attempt"))?;
    let due = due.map(|due| span(due.saturating_sub(now)));
    Ok(end.answer(due, looked))
}

/// Checks that one row changed. The run is locked, so no other number is possible; otherwise nothing may be
/// committed.
fn one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 {
        return Ok(());
    }
    Err(StoreError::Database {
        operation: "end an attempt",
        source: format!("{rows} rows were changed instead of one").into(),
    })
}
