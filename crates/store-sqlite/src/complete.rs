//! The end of an attempt.

use cts_core::runs::{Plan, RunCause, RunKind};
use cts_core::{LeaseEpoch, RunId};
use cts_store::attempt::{Attempt, AttemptEnd, AttemptWrites};
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store::enqueue::stored_cause;
use cts_store::{Completed, Completion, ExpiredLeases, LeaseError, StoreError};
use sqlx::SqliteConnection;

use crate::call::shared;
use crate::enqueue::{NewRun, insert_run};
use crate::lease::stored_epoch;
use crate::logs;
use crate::queue::next_due_of;
use crate::row::{by, encoded, encoded_details, encoded_plan, failed_to, span_micros};
use crate::settings;
use cts_store_sql::{
    cancel, checks, endings, events, has_open_remote, housekeeping, shrink_limits,
    state_is_refused, tasks, terraform_states, workers,
};

const ENCODE: &str = "encode the end of an attempt";

pub(crate) async fn complete(
    connection: &mut SqliteConnection,
    completion: &Completion,
    now: i64,
) -> Result<Completed, LeaseError> {
    let attempt = attempt(connection, completion).await?;
    logs::append(connection, completion.run, &completion.log).await?;
    end(connection, attempt.completed(completion, now)?, now).await
}

/// Ends an attempt whose lease has expired, like a completed attempt.
pub(crate) async fn lose(
    connection: &mut SqliteConnection,
    lease: (RunId, LeaseEpoch),
    (holder, renewable): (&str, bool),
    ids: &ExpiredLeases,
    now: i64,
) -> Result<Completed, LeaseError> {
    let completion = Completion::of_lost_lease(lease, holder, ids);
    let attempt = attempt(connection, &completion).await?;
    housekeeping::note_lost(&mut shared(connection, now), Some(completion.run)).await?;
    end(connection, attempt.lost(&completion, renewable, now)?, now).await
}

async fn attempt(
    connection: &mut SqliteConnection,
    completion: &Completion,
) -> Result<Attempt, LeaseError> {
    let row = sqlx::query(concat!(
        "-- complete: the attempt
        SELECT r.id, r.task_name, r.kind, r.destroys, r.no_retry, r.input_hash, r.started_at, r.errors,
               r.attempts, r.waiting_for, r.withdrawn, r.updated_at, r.ended_attempts,
               CASE WHEN r.leased_epoch = r.epoch THEN r.leased_at END AS leased_at,
               CASE WHEN r.leased_epoch = r.epoch THEN r.run_phase END AS run_phase,
               r.cancel_requested_at IS NOT NULL AS cancelled, r.cancel_force, t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
               t.destroy_run,
               t.enabled, coalesce(t.tried_input = r.input_hash, FALSE) AS tried,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               ", state_is_refused!(), " AS state_refused,
               r.remote_run, t.remote_run AS task_remote_run, ", has_open_remote!(), " AS has_open_remote
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = ? AND r.epoch = ? AND r.holder = ? AND r.status = 'running'",
    ))
    .bind(completion.run.to_string())
    .bind(stored_epoch(completion.epoch))
    .bind(completion.holder.as_str())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a leased run"))?;
    let row = row.ok_or_else(|| completion.lost())?;
    Ok(by(Attempt::read)(&row)?)
}

async fn end(
    connection: &mut SqliteConnection,
    end: AttemptEnd<'_>,
    now: i64,
) -> Result<Completed, LeaseError> {
    match &end.writes {
        AttemptWrites::Succeed(event) => {
            close(connection, &end, now).await?;
            events::store(&mut shared(connection, now), event).await?;
            note_input(connection, &end, SUCCEED).await?;
        }
        AttemptWrites::GiveUp {
            event,
            tried,
            withheld,
            retry_after,
        } => {
            close(connection, &end, now).await?;
            events::store(&mut shared(connection, now), event).await?;
            if *tried {
                note_input(connection, &end, NOTE_TRIED).await?;
            }
            if *withheld {
                note_input(connection, &end, WITHHOLD).await?;
            }
            if let Some(wait) = *retry_after {
                count_failure(connection, &end).await?;
                let retry = NewRun {
                    id: end.completion.retry_run,
                    task: end.task.as_str(),
                    kind: RunKind::Apply,
                    requested: false,
                    input: end.input,
                    due_at: now.saturating_add(span_micros(wait)),
                    settings: settings_of(connection, end.completion.run).await?,
                    trace: None,
                    cause: stored_cause(Some(&RunCause::of_retry()))?,
                };
                insert_run(connection, retry, now).await?;
            }
        }
        AttemptWrites::PutBack {
            attempts,
            wait,
            elsewhere,
        } => {
            let due_at = now.saturating_add(span_micros(*wait));
            put_back(connection, &end, *attempts, due_at, now).await?;
            if *elsewhere {
                let c = &mut shared(connection, now);
                workers::prefer_another(c, end.completion, due_at).await?;
            }
        }
        AttemptWrites::Suspend => {
            put_back(connection, &end, 0, SUSPENDED_UNTIL, now).await?;
            cancel::note_suspended(&mut shared(connection, now), end.task.as_str()).await?;
        }
        AttemptWrites::EndRemote { wait } => {
            let put = endings::put(&mut shared(connection, now), &end, *wait).await?;
            one_changed(put, end.completion)?;
        }
        AttemptWrites::Close { plan } => {
            if let Some(plan) = plan {
                store_plan(connection, end.completion, plan).await?;
            }
            close(connection, &end, now).await?;
            if let Some(outcome) = end.check_outcome() {
                let c = &mut shared(connection, now);
                checks::end(c, &end.task, end.completion.run, outcome).await?;
            }
        }
    }
    if let Some(state) = &end.completion.state {
        terraform_states::report(&mut shared(connection, now), &end.task, state).await?;
    }
    tasks::apply_end(&mut shared(connection, now), &end.task, end.task_after).await?;
    if !end.kind.changes_resources() {
        endings::after_other(&mut shared(connection, now), end.task.as_str()).await?;
    }
    let looked = shrink_limits::reevaluate(&mut shared(connection, now), end.task.as_str()).await?;
    let next_due = next_due_of(connection, &end.task, now).await?;
    Ok(end.answer(next_due, looked))
}

async fn close(
    connection: &mut SqliteConnection,
    end: &AttemptEnd<'_>,
    now: i64,
) -> Result<(), LeaseError> {
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let closed = sqlx::query(
        "-- complete: close the run
        UPDATE runs
        SET status = ?1, errors = ?2, finished_at = ?3, updated_at = ?3, summary = ?6, findings = ?7,
            ended_attempts = ?8, holder = NULL, expires_at = NULL
        WHERE id = ?4 AND epoch = ?5 AND status = 'running'",
    )
    .bind(end.status.as_str())
    .bind(encoded(ENCODE, &end.errors)?)
    .bind(now)
    .bind(end.completion.run.to_string())
    .bind(stored_epoch(end.completion.epoch))
    .bind(summary)
    .bind(findings)
    .bind(encoded(ENCODE, &end.records)?)
    .execute(connection)
    .await
    .map_err(failed_to("close a run"))?;
    one_changed(closed.rows_affected(), end.completion)
}

async fn put_back(
    connection: &mut SqliteConnection,
    end: &AttemptEnd<'_>,
    attempts: u32,
    due_at: i64,
    now: i64,
) -> Result<(), LeaseError> {
    let (summary, findings) = encoded_details(ENCODE, end.completion.details.as_ref())?;
    let put_back = sqlx::query(
        "-- complete: back to the queue
        UPDATE runs
        SET status = 'queued', attempts = ?1, errors = ?2, due_at = ?3, updated_at = ?4,
            summary = ?7, findings = ?8, ended_attempts = ?9,
            settings = CASE WHEN destroys = 'apply' THEN settings ELSE coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings) END,
            holder = NULL, expires_at = NULL, cancel_requested_at = NULL, cancel_force = 0, cancel_noted_at = NULL
        WHERE id = ?5 AND epoch = ?6 AND status = 'running'",
    )
    .bind(attempts)
    .bind(encoded(ENCODE, &end.errors)?)
    .bind(due_at)
    .bind(now)
    .bind(end.completion.run.to_string())
    .bind(stored_epoch(end.completion.epoch))
    .bind(summary)
    .bind(findings)
    .bind(encoded(ENCODE, &end.records)?)
    .execute(connection)
    .await
    .map_err(failed_to("put a run back"))?;
    one_changed(put_back.rows_affected(), end.completion)
}

/// The lease was read in the same transaction, so it still exists; otherwise the whole completion fails.
fn one_changed(rows: u64, completion: &Completion) -> Result<(), LeaseError> {
    if rows == 1 {
        Ok(())
    } else {
        Err(completion.lost())
    }
}

async fn store_plan(
    connection: &mut SqliteConnection,
    completion: &Completion,
    plan: &Plan,
) -> Result<(), LeaseError> {
    let (encoding, content) = encoded_plan(ENCODE, plan)?;
    let stored = sqlx::query(
        "-- complete: what the plan says
        UPDATE runs SET changes_present = ?, plan_encoding = ?, plan = ?
        WHERE id = ? AND epoch = ? AND status = 'running'",
    )
    .bind(plan.changes_present)
    .bind(encoding.as_str())
    .bind(content)
    .bind(completion.run.to_string())
    .bind(stored_epoch(completion.epoch))
    .execute(connection)
    .await
    .map_err(failed_to("store a plan"))?;
    one_changed(stored.rows_affected(), completion)
}

/// Statements about the task of a run and its input.
const SUCCEED: &str = "-- complete: succeed
        UPDATE tasks
        SET last_applied = ?1, tried_input = ?1, failures = 0,
            applied_instances = coalesce((SELECT instances FROM inputs WHERE hash = ?1),
                                         applied_instances)
        WHERE name = ?2";
const NOTE_TRIED: &str =
    "-- complete: its attempts are over\nUPDATE tasks SET tried_input = ? WHERE name = ?";
/// Withholds the input: it has no run until a newer input comes or a run is requested. A newer input that was already
/// cancelled stays withheld.
const WITHHOLD: &str = "-- complete: it was cancelled\nUPDATE tasks SET cancelled_input = coalesce(cancelled_input, ?) WHERE name = ?";

async fn note_input(
    connection: &mut SqliteConnection,
    end: &AttemptEnd<'_>,
    statement: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(statement)
        .bind(end.input.to_string())
        .bind(end.task.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("note the input of a task"))?;
    Ok(())
}

async fn count_failure(
    connection: &mut SqliteConnection,
    end: &AttemptEnd<'_>,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: count a failure\nUPDATE tasks SET failures = failures + 1 WHERE name = ?",
    )
    .bind(end.task.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("count a failure"))?;
    Ok(())
}

/// The settings that a worker of this run must have now.
async fn settings_of(
    connection: &mut SqliteConnection,
    run: RunId,
) -> Result<Option<i64>, StoreError> {
    let number =
        sqlx::query_scalar("-- complete: settings\nSELECT settings FROM runs WHERE id = ?")
            .bind(run.to_string())
            .fetch_one(&mut *connection)
            .await
            .map_err(failed_to("read a run"))?;
    settings::in_force(connection, number).await
}
