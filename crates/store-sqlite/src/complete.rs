//! The end of an attempt.

mod end;

use std::time::Duration;

use cts_core::runs::{AfterAttempt, AttemptContext, RunKind, RunStatus, after_attempt};
use cts_core::{
    Creation, Digest, Event, EventConfig, TaskAfterRun, TaskName, TaskPhase, task_after_run,
};
use cts_store::{Completed, Completion, LeaseError, StoreError};
use sqlx::sqlite::SqliteQueryResult;
use sqlx::{Row as _, SqliteConnection};

use crate::enqueue::{NewRun, insert_run};
use crate::lease::stored_epoch;
use crate::logs;
use crate::queue::next_due_of;
use crate::row::{Cell, encoded, failed_to, micros, span_micros};
use crate::tasks;

const ENCODE: &str = "encode the end of an attempt";

/// The leased run and its surroundings.
struct Attempt {
    task: TaskName,
    phase: TaskPhase,
    creation: Option<Creation>,
    kind: RunKind,
    single: bool,
    input: Digest,
    started_at: i64,
    errors: Vec<String>,
    config: EventConfig,
    attempts: u32,
    newer_waits: bool,
    earlier_failures: u32,
    retry_failed: bool,
}

pub(crate) async fn complete(
    connection: &mut SqliteConnection,
    completion: &Completion,
    now: i64,
) -> Result<Completed, LeaseError> {
    let Some(mut attempt) = attempt(connection, completion).await? else {
        return Err(lost(completion));
    };
    logs::append(connection, completion.run, &completion.log).await?;
    if let Some(error) = completion.outcome.error(attempt.kind) {
        attempt.errors.push(error.to_owned());
    }
    let after = after_attempt(
        &completion.outcome,
        AttemptContext {
            kind: attempt.kind,
            phase: attempt.phase,
            single: attempt.single,
            attempts: attempt.attempts,
            newer_waits: attempt.newer_waits,
            earlier_failures: attempt.earlier_failures,
            retry_failed: attempt.retry_failed,
            jitter: completion.jitter,
        },
    );
    let (status, event) = match after {
        AfterAttempt::Settle => {
            close(connection, completion, &attempt, RunStatus::Succeeded, now).await?;
            let event = event(&attempt, completion, true, now)?;
            store_event(connection, &event).await?;
            settle(connection, &attempt).await?;
            (RunStatus::Succeeded, Some(event))
        }
        AfterAttempt::GiveUp { retry_after } => {
            close(connection, completion, &attempt, RunStatus::Failed, now).await?;
            let event = event(&attempt, completion, false, now)?;
            store_event(connection, &event).await?;
            if let Some(wait) = retry_after {
                count_failure(connection, &attempt).await?;
                let retry = NewRun {
                    id: completion.retry_run,
                    task: attempt.task.as_str(),
                    kind: RunKind::Apply,
                    single: false,
                    requested: false,
                    input: attempt.input,
                    due_at: now.saturating_add(span_micros(wait)),
                };
                insert_run(connection, retry, now).await?;
            }
            (RunStatus::Failed, Some(event))
        }
        AfterAttempt::Retry(wait) => {
            put_back(
                connection,
                completion,
                &attempt,
                attempt.attempts,
                wait,
                now,
            )
            .await?;
            (RunStatus::Queued, None)
        }
        AfterAttempt::Requeue => {
            let uncounted = attempt.attempts.saturating_sub(1);
            put_back(
                connection,
                completion,
                &attempt,
                uncounted,
                Duration::ZERO,
                now,
            )
            .await?;
            (RunStatus::Queued, None)
        }
        AfterAttempt::Cancel => {
            close(connection, completion, &attempt, RunStatus::Cancelled, now).await?;
            (RunStatus::Cancelled, None)
        }
        AfterAttempt::End { succeeded } => {
            let status = end::end(connection, completion, &attempt, succeeded, now).await?;
            (status, None)
        }
    };
    let task_after = task_after_run(attempt.phase, attempt.creation, status);
    apply_to_task(connection, &attempt.task, task_after, now).await?;
    let next_due = next_due_of(connection, &attempt.task, now).await?;
    Ok(Completed {
        task: attempt.task,
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
        TaskAfterRun::Goes => tasks::remove(connection, task.as_str()).await,
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

async fn attempt(
    connection: &mut SqliteConnection,
    completion: &Completion,
) -> Result<Option<Attempt>, StoreError> {
    let read = failed_to("read a leased run");
    let id = completion.run.to_string();
    let row = sqlx::query(
        "-- complete: the attempt
        SELECT r.task_name, r.kind, r.single, r.input_hash, r.started_at, r.errors, r.attempts,
               t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = ? AND r.epoch = ? AND r.status = 'running'",
    )
    .bind(&id)
    .bind(stored_epoch(completion.epoch))
    .fetch_optional(connection)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &id,
    };
    let text = |column: &str| row.try_get::<String, _>(column).map_err(&read);
    let task = text("task_name")?;
    let task_cell = |column| Cell {
        table: "tasks",
        column,
        row: &task,
    };
    let creation: Option<&str> = row.try_get("creation").map_err(&read)?;
    let creation = creation.map(|creation| task_cell("creation").creation(creation));
    Ok(Some(Attempt {
        task: cell("task_name").parse(&task)?,
        phase: task_cell("phase").phase(&text("phase")?)?,
        creation: creation.transpose()?,
        kind: cell("kind").run_kind(&text("kind")?)?,
        single: row.try_get("single").map_err(&read)?,
        input: cell("input_hash").parse(&text("input_hash")?)?,
        started_at: row.try_get("started_at").map_err(&read)?,
        errors: cell("errors").json(&text("errors")?)?,
        config: task_cell("event_config").json(&text("event_config")?)?,
        attempts: cell("attempts").number(row.try_get("attempts").map_err(&read)?)?,
        newer_waits: row.try_get("newer_waits").map_err(&read)?,
        earlier_failures: task_cell("failures").number(row.try_get("failures").map_err(&read)?)?,
        retry_failed: row.try_get("retry_failed").map_err(&read)?,
    }))
}

fn event(
    attempt: &Attempt,
    completion: &Completion,
    success: bool,
    now: i64,
) -> Result<Event, StoreError> {
    let id = completion.run.to_string();
    let cell = |column| Cell {
        table: "runs",
        column,
        row: &id,
    };
    let newest_first: Vec<_> = attempt.errors.iter().rev().map(String::as_str).collect();
    Ok(Event {
        id: completion.event,
        task_name: attempt.task.clone(),
        run_id: completion.run,
        success,
        start_time: cell("started_at").time(attempt.started_at)?,
        end_time: cell("finished_at").time(now)?,
        error: (!success).then(|| newest_first.join("\n\n")),
        config: attempt.config.clone(),
    })
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
        INSERT INTO events (id, task_name, run_id, success, start_time, end_time, error, config)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
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

async fn settle(connection: &mut SqliteConnection, attempt: &Attempt) -> Result<(), StoreError> {
    sqlx::query(
        "-- complete: settle
        UPDATE tasks SET settled_input = ?, failures = 0 WHERE name = ?",
    )
    .bind(attempt.input.to_string())
    .bind(attempt.task.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("settle a task"))?;
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
