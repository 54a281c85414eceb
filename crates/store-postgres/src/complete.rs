//! The end of an attempt.

mod attempt;
mod close;
mod end;

use std::time::Duration;

use cts_core::runs::{
    AfterAttempt, AttemptOutcome, RunKind, RunStatus, after_attempt, after_lost_lease, keep_error,
};
use cts_core::{
    Event, EventConfig, LeaseEpoch, RunId, TaskAfterRun, TaskName, WorkerId, task_after_run,
};
use cts_store::{Completed, Completion, LeaseError, StoreError, TakeBack, lost_lease_error};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use self::attempt::Attempt;
use self::close::{cancel, give_up, put_back, succeed};
use crate::lease::stored_epoch;
use crate::logs::{self, Columns};
use crate::row::{Cell, failed_to, span};
use crate::tasks;

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

fn lost(completion: &Completion) -> LeaseError {
    LeaseError::Lost {
        run: completion.run,
        epoch: completion.epoch,
    }
}

/// The ordinary end, in one statement. The task is locked before the run is looked at for good; the
/// functions see what was committed while that lock was waited for. `None` if there is no such lease of a
/// run that is to be applied, of a task that neither comes nor goes; nothing has happened then.
async fn applied(
    connection: &mut PgConnection,
    completion: &Completion,
) -> Result<Option<Completed>, LeaseError> {
    let failed = failed_to("end a run");
    let log = Columns::of(&completion.log);
    let row = sqlx::query(
        "-- complete: applied
        WITH task AS MATERIALIZED (
            SELECT name, event_config FROM tasks
            WHERE name = (SELECT task_name FROM runs WHERE id = $1) AND phase = 'ready'
            FOR NO KEY UPDATE
        ), closed AS (
            UPDATE runs r
            SET status = 'succeeded',
                finished_at = cts_now(),
                updated_at = cts_now(),
                holder = NULL,
                expires_at = NULL
            FROM task
            WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $6 AND r.status IS NOT DISTINCT FROM 'running'
              AND r.kind = 'apply' AND r.task_name = task.name
            RETURNING r.id, r.task_name, r.incarnation, r.input_hash, r.started_at, r.finished_at,
                      task.event_config
        ), event AS (
            INSERT INTO events (id, task_name, incarnation, run_id, success, start_time, end_time,
                                config)
            SELECT $3, task_name, incarnation, id, TRUE, started_at, finished_at, event_config FROM closed
        ), last_applied AS (
            UPDATE tasks t
            SET last_applied = closed.input_hash, tried_input = closed.input_hash,
                failures = 0, active_run = NULL
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
    Ok(Some(Completed {
        kind: RunKind::Apply,
        event: Some(Event {
            id: completion.event,
            task_name: Clone::clone(&task),
            run_id: completion.run,
            success: true,
            start_time: time("started_at")?,
            end_time: time("finished_at")?,
            error: None,
            config,
        }),
        task,
        status: RunStatus::Succeeded,
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
    let Some(mut attempt) = Attempt::locked(&mut transaction, completion).await? else {
        return Err(lost(completion));
    };
    if let Some(error) = completion.outcome.error(attempt.kind) {
        keep_error(&mut attempt.errors, error);
    }
    let after = after_attempt(&completion.outcome, attempt.context(completion.jitter));
    logs::append(&mut transaction, completion.run, &completion.log).await?;
    let completed = end_attempt(&mut transaction, completion, &attempt, after).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(completed)
}

/// An attempt whose lease has expired ends like one that was completed. It counts as a failed one if the lease
/// could have been renewed. The caller has locked the task and the run.
pub(crate) async fn lose(
    transaction: &mut PgTransaction<'_>,
    (run, epoch): (RunId, LeaseEpoch),
    (holder, renewable): (&str, bool),
    ids: &TakeBack,
) -> Result<Completed, StoreError> {
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
    let Some(mut attempt) = Attempt::locked(transaction, &completion).await? else {
        return Err(StoreError::Database {
            operation: "take back leases",
            source: Box::new(lost(&completion)),
        });
    };
    let after = after_lost_lease(renewable, attempt.context(ids.jitter));
    if renewable {
        keep_error(&mut attempt.errors, &lost_lease_error(holder));
    }
    end_attempt(transaction, &completion, &attempt, after).await
}

async fn end_attempt(
    transaction: &mut PgTransaction<'_>,
    completion: &Completion,
    attempt: &Attempt,
    after: AfterAttempt,
) -> Result<Completed, StoreError> {
    let (status, event) = match after {
        AfterAttempt::Succeed => {
            let event = attempt.event(completion, true)?;
            succeed(transaction, completion, attempt, &event).await?;
            (RunStatus::Succeeded, Some(event))
        }
        AfterAttempt::Cancel => {
            cancel(transaction, completion, attempt).await?;
            (RunStatus::Cancelled, None)
        }
        AfterAttempt::End { succeeded } => {
            let status = end::end(transaction, completion, attempt, succeeded).await?;
            (status, None)
        }
        AfterAttempt::GiveUp { retry_after } => {
            let event = attempt.event(completion, false)?;
            give_up(transaction, completion, attempt, &event, retry_after).await?;
            (RunStatus::Failed, Some(event))
        }
        AfterAttempt::Retry(wait) => {
            let attempts = attempt.attempts;
            put_back(transaction, completion, attempt, attempts, wait).await?;
            (RunStatus::Queued, None)
        }
        AfterAttempt::Requeue => {
            let uncounted = attempt.attempts.saturating_sub(1);
            put_back(transaction, completion, attempt, uncounted, Duration::ZERO).await?;
            (RunStatus::Queued, None)
        }
    };
    let task_after = task_after_run(attempt.phase, attempt.creation, status);
    apply_to_task(transaction, &attempt.task, task_after).await?;
    let due: Option<i64> = sqlx::query_scalar("-- complete: next_due\nSELECT cts_queued_due($1)")
        .bind(attempt.task.as_str())
        .fetch_one(&mut **transaction)
        .await
        .map_err(failed_to("end an attempt"))?;
    Ok(Completed {
        task: attempt.task.clone(),
        kind: attempt.kind,
        status,
        event,
        next_due: due.map(|due| span(due.saturating_sub(attempt.now))),
        tasks_changed: task_after != TaskAfterRun::Stays,
    })
}

/// What the end of a run means for its task.
async fn apply_to_task(
    transaction: &mut PgTransaction<'_>,
    task: &TaskName,
    after: TaskAfterRun,
) -> Result<(), StoreError> {
    match after {
        TaskAfterRun::Stays => Ok(()),
        TaskAfterRun::Goes => tasks::remove(transaction, task.as_str()).await,
        TaskAfterRun::Enters(phase) => {
            sqlx::query(
                "-- complete: the end of a creation
                UPDATE tasks
                SET phase = $1,
                    creation = CASE $1 WHEN 'ready' THEN NULL ELSE creation END,
                    creation_run = CASE $1 WHEN 'ready' THEN NULL ELSE creation_run END,
                    updated_at = cts_now()
                WHERE name = $2",
            )
            .bind(phase.as_str())
            .bind(task.as_str())
            .execute(&mut **transaction)
            .await
            .map_err(failed_to("end a creation"))?;
            Ok(())
        }
    }
}

/// The run is locked, so that nothing else can be; if it is, nothing may be committed.
fn one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 {
        return Ok(());
    }
    Err(StoreError::Database {
        operation: "end an attempt",
        source: format!("{rows} rows were changed instead of one").into(),
    })
}
