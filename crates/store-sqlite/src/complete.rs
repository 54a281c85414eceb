//! The end of an attempt.

mod attempt;
mod end;

use std::time::Duration;

use cts_core::runs::{
    AfterAttempt, AttemptOutcome, RunKind, RunStatus, after_attempt, after_lost_lease, keep_error,
};
use cts_core::{Event, LeaseEpoch, RunId, TaskAfterRun, TaskName, WorkerId, task_after_run};
use cts_store::{Completed, Completion, LeaseError, StoreError, TakeBack, lost_lease_error};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteQueryResult;

use self::attempt::Attempt;
use crate::enqueue::{NewRun, insert_run};
use crate::lease::stored_epoch;
use crate::logs;
use crate::queue::next_due_of;
use crate::row::{encoded, failed_to, micros, span_micros};
use crate::tasks;

const ENCODE: &str = "encode the end of an attempt";

pub(crate) async fn complete(
    connection: &mut SqliteConnection,
    completion: &Completion,
    now: i64,
) -> Result<Completed, LeaseError> {
    let Some(mut attempt) = Attempt::read(connection, completion).await? else {
        return Err(lost(completion));
    };
    if let Some(error) = completion.outcome.error(attempt.kind) {
        keep_error(&mut attempt.errors, error);
    }
    let after = after_attempt(&completion.outcome, attempt.context(completion.jitter));
    logs::append(connection, completion.run, &completion.log).await?;
    end_attempt(connection, completion, &attempt, after, now).await
}

/// An attempt whose lease has expired ends like one that was completed. It counts as a failed one if the lease
/// could have been renewed.
pub(crate) async fn lose(
    connection: &mut SqliteConnection,
    (run, epoch): (RunId, LeaseEpoch),
    (holder, renewable): (&str, bool),
    ids: &TakeBack,
    now: i64,
) -> Result<Completed, LeaseError> {
    let completion = Completion {
        run,
        holder: WorkerId::new(holder),
        epoch,
        outcome: AttemptOutcome::Interrupted,
        event: ids.event,
        retry_run: ids.retry_run,
        jitter: ids.jitter,
        log: Vec::new(),
    };
    let Some(mut attempt) = Attempt::read(connection, &completion).await? else {
        return Err(lost(&completion));
    };
    let after = after_lost_lease(renewable, attempt.context(ids.jitter));
    if renewable {
        keep_error(&mut attempt.errors, &lost_lease_error(holder));
    }
    end_attempt(connection, &completion, &attempt, after, now).await
}

async fn end_attempt(
    connection: &mut SqliteConnection,
    completion: &Completion,
    attempt: &Attempt,
    after: AfterAttempt,
    now: i64,
) -> Result<Completed, LeaseError> {
    let (status, event) = match after {
        AfterAttempt::Succeed => {
            close(connection, completion, attempt, RunStatus::Succeeded, now).await?;
            let event = attempt.event(completion, true, now)?;
            store_event(connection, &event).await?;
            succeed(connection, attempt).await?;
            (RunStatus::Succeeded, Some(event))
        }
        AfterAttempt::GiveUp { retry_after } => {
            close(connection, completion, attempt, RunStatus::Failed, now).await?;
            let event = attempt.event(completion, false, now)?;
            store_event(connection, &event).await?;
            if attempt.context(completion.jitter).ends_ordinary_attempts() {
                note_tried(connection, attempt).await?;
            }
            if let Some(wait) = retry_after {
                count_failure(connection, attempt).await?;
                let retry = NewRun {
                    id: completion.retry_run,
                    task: attempt.task.as_str(),
                    kind: RunKind::Apply,
                    requested: false,
                    input: attempt.input,
                    due_at: now.saturating_add(span_micros(wait)),
                };
                insert_run(connection, retry, now).await?;
            }
            (RunStatus::Failed, Some(event))
        }
        AfterAttempt::Retry(wait) => {
            put_back(connection, completion, attempt, attempt.attempts, wait, now).await?;
            (RunStatus::Queued, None)
        }
        AfterAttempt::Requeue => {
            let uncounted = attempt.attempts.saturating_sub(1);
            put_back(
                connection,
                completion,
                attempt,
                uncounted,
                Duration::ZERO,
                now,
            )
            .await?;
            (RunStatus::Queued, None)
        }
        AfterAttempt::Cancel => {
            close(connection, completion, attempt, RunStatus::Cancelled, now).await?;
            (RunStatus::Cancelled, None)
        }
        AfterAttempt::End { succeeded } => {
            let status = end::end(connection, completion, attempt, succeeded, now).await?;
            (status, None)
        }
    };
    let task_after = task_after_run(attempt.phase, attempt.creation, status);
    apply_to_task(connection, &attempt.task, task_after, now).await?;
    let next_due = next_due_of(connection, &attempt.task, now).await?;
    Ok(Completed {
        task: attempt.task.clone(),
        kind: attempt.kind,
        status,
        event,
        next_due,
        tasks_changed: task_after != TaskAfterRun::Stays,
    })
}

/// What the end of a run means for its task.
async fn apply_to_task(
    connection: &mut SqliteConnection,
    task: &TaskName,
    after: TaskAfterRun,
    now: i64,
) -> Result<(), StoreError> {
    match after {
        TaskAfterRun::Stays => Ok(()),
        TaskAfterRun::Goes => tasks::remove(connection, task.as_str(), now).await,
        TaskAfterRun::Enters(phase) => {
            sqlx::query(
                "-- complete: the end of a creation
                UPDATE tasks
                SET phase = ?1,
                    creation = CASE ?1 WHEN 'ready' THEN NULL ELSE creation END,
                    creation_run = CASE ?1 WHEN 'ready' THEN NULL ELSE creation_run END,
                    updated_at = ?2
                WHERE name = ?3",
            )
            .bind(phase.as_str())
            .bind(now)
            .bind(task.as_str())
            .execute(connection)
            .await
            .map_err(failed_to("end a creation"))?;
            Ok(())
        }
    }
}

async fn close(
    connection: &mut SqliteConnection,
    completion: &Completion,
    attempt: &Attempt,
    status: RunStatus,
    now: i64,
) -> Result<(), LeaseError> {
    let closed = sqlx::query(
        "-- complete: close the run
        UPDATE runs
        SET status = ?1, errors = ?2, finished_at = ?3, updated_at = ?3,
            holder = NULL, expires_at = NULL
        WHERE id = ?4 AND epoch = ?5 AND status = 'running'",
    )
    .bind(status.as_str())
    .bind(encoded(ENCODE, &attempt.errors)?)
    .bind(now)
    .bind(completion.run.to_string())
    .bind(stored_epoch(completion.epoch))
    .execute(connection)
    .await
    .map_err(failed_to("close a run"))?;
    one_changed(&closed, completion)
}

async fn put_back(
    connection: &mut SqliteConnection,
    completion: &Completion,
    attempt: &Attempt,
    attempts: u32,
    wait: Duration,
    now: i64,
) -> Result<(), LeaseError> {
    let put_back = sqlx::query(
        "-- complete: back to the queue
        UPDATE runs
        SET status = 'queued', attempts = ?1, errors = ?2, due_at = ?3, updated_at = ?4,
            holder = NULL, expires_at = NULL
        WHERE id = ?5 AND epoch = ?6 AND status = 'running'",
    )
    .bind(attempts)
    .bind(encoded(ENCODE, &attempt.errors)?)
    .bind(now.saturating_add(span_micros(wait)))
    .bind(now)
    .bind(completion.run.to_string())
    .bind(stored_epoch(completion.epoch))
    .execute(connection)
    .await
    .map_err(failed_to("put a run back"))?;
    one_changed(&put_back, completion)
}

/// The lease was read in the same transaction, so it is still there; if it were not, the whole completion
/// would have to fail.
fn one_changed(result: &SqliteQueryResult, completion: &Completion) -> Result<(), LeaseError> {
    if result.rows_affected() == 1 {
        Ok(())
    } else {
        Err(lost(completion))
    }
}

fn lost(completion: &Completion) -> LeaseError {
    LeaseError::Lost {
        run: completion.run,
        epoch: completion.epoch,
    }
}

async fn store_event(connection: &mut SqliteConnection, event: &Event) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: the event
        INSERT INTO events (id, task_name, run_id, success, start_time, end_time, error, config,
                            incarnation)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, (SELECT incarnation FROM runs WHERE id = ?3))",
    )
    .bind(event.id.to_string())
    .bind(event.task_name.as_str())
    .bind(event.run_id.to_string())
    .bind(event.success)
    .bind(micros(event.start_time))
    .bind(micros(event.end_time))
    .bind(&event.error)
    .bind(encoded(ENCODE, &event.config)?)
    .execute(connection)
    .await
    .map_err(failed_to("store an event"))?;
    Ok(())
}

async fn succeed(connection: &mut SqliteConnection, attempt: &Attempt) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: succeed
        UPDATE tasks SET last_applied = ?1, tried_input = ?1, failures = 0 WHERE name = ?2",
    )
    .bind(attempt.input.to_string())
    .bind(attempt.task.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("note the applied input of a task"))?;
    Ok(())
}

async fn note_tried(
    connection: &mut SqliteConnection,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: its attempts are over\nUPDATE tasks SET tried_input = ? WHERE name = ?",
    )
    .bind(attempt.input.to_string())
    .bind(attempt.task.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("note what was tried"))?;
    Ok(())
}

async fn count_failure(
    connection: &mut SqliteConnection,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: count a failure\nUPDATE tasks SET failures = failures + 1 WHERE name = ?",
    )
    .bind(attempt.task.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("count a failure"))?;
    Ok(())
}
