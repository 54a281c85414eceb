//! The end of an attempt. Postgres ends the ordinary apply that succeeded in one statement of its own.

use std::time::Duration;

use cts_core::runs::{RunCause, RunKind, RunStatus};
use cts_core::{TaskAfterRun, TaskName};
use cts_store::attempt::{Attempt, AttemptEnd, AttemptWrites};
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store::cell::{InputEncoding, encoded, encoded_details, encoded_plan, span_micros};
use cts_store::fields::Fields;
use cts_store::{Completed, Completion, LeaseError, StoreError};

use crate::leases::{lock_task_of, of_lease};
use crate::repeat::{self, Repeat};
use crate::{
    Connection, cancel, causes, checks, destruction, effects, endings, events, has_open_remote,
    logs, shrink_limits, sql, state_is_refused, tasks, terraform_states, workers,
};

const OPERATION: &str = "end an attempt";

/// The columns of an attempt, for [`Attempt::read`], and the time. A macro, so that a statement stays one constant
/// text.
macro_rules! attempt {
    () => {
        concat!(
            "-- complete: the attempt; indexes runs_one_queued, approvals_run
        SELECT r.id, r.task_name, r.kind, r.destroys, r.no_retry, r.input_hash, r.started_at, r.errors, r.attempts,
               r.waiting_for, r.withdrawn, r.cancel_requested_at IS NOT NULL AS cancelled, r.cancel_force,
               r.due_at, r.updated_at, r.ended_attempts, {last line of r.id} AS last_line,
               CASE WHEN r.leased_epoch = r.epoch THEN r.leased_at END AS leased_at,
               CASE WHEN r.leased_epoch = r.epoch THEN r.run_phase END AS run_phase, {now} AS now,
               t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
               t.destroy_run, t.enabled, coalesce(t.tried_input = r.input_hash, FALSE) AS tried,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits,
               ",
            state_is_refused!(),
            " AS state_refused,
               coalesce(r.permission_epoch = r.epoch, FALSE) AND NOT EXISTS (
                   SELECT 1 FROM approvals a WHERE a.run_id = r.id AND a.decision = 'rejected') AS reopened,
               r.remote_run, t.remote_run AS task_remote_run, ",
            has_open_remote!(),
            " AS has_open_remote
        FROM runs r
        "
        )
    };
}

/// Locks the task and the run of an attempt, and returns the attempt and the time; `None` if the lease is not live.
pub(crate) async fn locked(
    c: &mut dyn Connection,
    completion: &Completion,
) -> Result<Option<(Attempt, i64)>, StoreError> {
    lock_task_of(c, completion.run).await?;
    // Reads the task of this run alone: with old statistics, Postgres could read all tasks in order.
    let text = c.dialect().pick(
        concat!(
            attempt!(),
            "JOIN tasks t ON t.name = r.task_name
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status = 'running'"
        ),
        concat!(
            attempt!(),
            "CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running'
        FOR NO KEY UPDATE OF r"
        ),
    );
    let held = (completion.run, &completion.holder, completion.epoch);
    let attempt = of_lease("read a leased run", text, held).optional(c, |row| {
        let now = Fields::new(row, OPERATION, "runs").integer("now")?;
        Ok((Attempt::read(row)?, now))
    });
    attempt.await
}

/// Ends an attempt with its last lines.
pub async fn complete(
    c: &mut dyn Connection,
    completion: &Completion,
) -> Result<Completed, LeaseError> {
    let Some((attempt, now)) = locked(c, completion).await? else {
        return Err(completion.lost());
    };
    if !completion.log.is_empty() {
        let held = (completion.run, &completion.holder, completion.epoch);
        logs::append(c, held, &completion.log).await?;
    }
    let end = attempt.completed(completion, now)?;
    Ok(write(c, end, now).await?)
}

/// Writes the end of an attempt that [`locked`] has read at this time.
pub(crate) async fn write(
    c: &mut dyn Connection,
    end: AttemptEnd<'_>,
    now: i64,
) -> Result<Completed, StoreError> {
    match &end.writes {
        AttemptWrites::Succeed(event) => {
            close(c, &end, now).await?;
            events::store(c, event).await?;
            let noted = sql(
                OPERATION,
                "-- complete: succeed
                UPDATE tasks
                SET last_applied = $2, tried_input = $2, failures = 0,
                    applied_instances = coalesce(
                        (SELECT instances FROM inputs WHERE hash = $2), applied_instances)
                WHERE name = $1",
            );
            noted.bind(&end.task).bind(end.input).execute(c).await?;
        }
        AttemptWrites::GiveUp {
            event,
            tried,
            withheld,
            retry_after,
        } => {
            close(c, &end, now).await?;
            events::store(c, event).await?;
            // A withheld input has no run until a newer input comes or a run is requested. A newer input that was
            // cancelled before stays withheld.
            let noted = sql(
                OPERATION,
                "-- complete: give up
                UPDATE tasks
                SET failures = failures + CASE WHEN $3 THEN 1 ELSE 0 END,
                    tried_input = CASE WHEN $4 THEN $2 ELSE tried_input END,
                    cancelled_input = CASE WHEN $5 THEN coalesce(cancelled_input, $2)
                                      ELSE cancelled_input END
                WHERE name = $1",
            );
            let noted = noted.bind(&end.task).bind(end.input);
            let noted = noted.bind(retry_after.is_some()).bind(*tried);
            noted.bind(*withheld).execute(c).await?;
            if let Some(wait) = *retry_after {
                let retry = Repeat {
                    id: end.completion.retry_run,
                    kind: RunKind::Apply,
                    due_at: Some(now.saturating_add(span_micros(wait))),
                    cause: Some(RunCause::of_retry()),
                };
                let queued = repeat::queue(c, end.completion.run, retry).await?;
                one(u64::from(queued))?;
                effects::pass_on(c, end.completion.run, end.completion.retry_run).await?;
            }
        }
        AttemptWrites::PutBack {
            attempts,
            wait,
            elsewhere,
        } => {
            let due_at = now.saturating_add(span_micros(*wait));
            put_back(c, &end, *attempts, due_at, now).await?;
            if *elsewhere {
                workers::prefer_another(c, end.completion, due_at).await?;
            }
        }
        AttemptWrites::Suspend => {
            put_back(c, &end, 0, SUSPENDED_UNTIL, now).await?;
            cancel::note_suspended(c, end.task.as_str()).await?;
            let waits = sql(
                OPERATION,
                "-- complete: it waits for nothing\nUPDATE runs SET awaits = NULL WHERE id = $1",
            );
            waits.bind(end.completion.run).execute(c).await?;
        }
        AttemptWrites::EndRemote { wait } => one(endings::put(c, &end, *wait).await?)?,
        AttemptWrites::Close { .. } => {
            close(c, &end, now).await?;
            if let Some(outcome) = end.check_outcome() {
                checks::end(c, &end.task, end.completion.run, outcome).await?;
            }
        }
    }
    let fails = matches!(end.status, RunStatus::Failed | RunStatus::Cancelled);
    if fails && end.kind == RunKind::Apply {
        causes::pass_on(c, end.completion.run).await?;
    }
    if end.cancelled {
        effects::withdraw_of(c, &[end.task.as_str()]).await?;
    }
    if let Some(state) = &end.completion.state {
        terraform_states::report(c, &end.task, state).await?;
    }
    task_after(c, &end.task, end.task_after).await?;
    if !end.kind.changes_resources() {
        endings::after_other(c, end.task.as_str()).await?;
    }
    let looked = shrink_limits::reevaluate(c, end.task.as_str()).await?;
    let next_due = next_due(c, &end.task, now).await?;
    Ok(end.answer(next_due, looked))
}

/// Closes the run, and stores its plan if it made one.
async fn close(c: &mut dyn Connection, end: &AttemptEnd<'_>, now: i64) -> Result<(), StoreError> {
    let plan = match end.writes {
        AttemptWrites::Close { plan } => plan,
        _ => None,
    };
    let content = plan.map(|plan| encoded_plan(OPERATION, plan)).transpose()?;
    let (encoding, content) = content.unzip();
    let (summary, findings) = encoded_details(OPERATION, end.completion.details.as_ref())?;
    let closed = sql(
        OPERATION,
        "-- complete: close the run
        UPDATE runs
        SET status = $3, errors = $4, finished_at = $5, updated_at = $5, summary = $6, findings = $7,
            ended_attempts = $8, changes_present = CASE WHEN $10 IS NOT NULL THEN $9 END,
            plan_encoding = $10, plan = $11, holder = NULL, expires_at = NULL
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    );
    let closed = closed
        .bind(end.completion.run)
        .bind(end.completion.epoch)
        .bind(end.status.as_str())
        .bind(encoded(OPERATION, &end.errors)?)
        .bind(now)
        .bind(summary)
        .bind(findings)
        .bind(encoded(OPERATION, &end.records)?)
        .bind(plan.is_some_and(|plan| plan.changes_present))
        .bind(encoding.map(InputEncoding::as_str))
        .bind(content);
    one(closed.execute(c).await?)?;
    free(c, &end.task).await
}

async fn put_back(
    c: &mut dyn Connection,
    end: &AttemptEnd<'_>,
    attempts: u32,
    due_at: i64,
    now: i64,
) -> Result<(), StoreError> {
    let (summary, findings) = encoded_details(OPERATION, end.completion.details.as_ref())?;
    let back = sql(
        OPERATION,
        "-- complete: back to the queue
        UPDATE runs
        SET status = 'queued', attempts = $3, errors = $4, due_at = $5, updated_at = $6,
            summary = $7, findings = $8, ended_attempts = $9,
            settings = CASE WHEN destroys = 'apply' THEN settings ELSE coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings) END,
            holder = NULL, expires_at = NULL, cancel_requested_at = NULL, cancel_force = FALSE,
            cancel_noted_at = NULL
        WHERE id = $1 AND epoch = $2 AND status IS NOT DISTINCT FROM 'running'",
    );
    let back = back
        .bind(end.completion.run)
        .bind(end.completion.epoch)
        .bind(attempts)
        .bind(encoded(OPERATION, &end.errors)?)
        .bind(due_at)
        .bind(now)
        .bind(summary)
        .bind(findings)
        .bind(encoded(OPERATION, &end.records)?);
    one(back.execute(c).await?)?;
    free(c, &end.task).await
}

/// Checks that one row changed. The run is locked, so no other number is possible; otherwise nothing may be
/// committed.
fn one(rows: u64) -> Result<(), StoreError> {
    if rows == 1 {
        return Ok(());
    }
    Err(StoreError::Database {
        operation: OPERATION,
        source: format!("{rows} rows were changed instead of one").into(),
    })
}

/// Lets the next run of a task be leased.
async fn free(c: &mut dyn Connection, task: &TaskName) -> Result<(), StoreError> {
    let freed = sql(
        OPERATION,
        "-- complete: no run of the task is running\nUPDATE tasks SET active_run = NULL WHERE name = $1",
    );
    freed.bind(task).on_postgres(c).await
}

/// Applies the end of a run to its task.
async fn task_after(
    c: &mut dyn Connection,
    task: &TaskName,
    after: TaskAfterRun,
) -> Result<(), StoreError> {
    let goes = matches!(after, TaskAfterRun::Goes | TaskAfterRun::Destroys(_));
    if goes && endings::after_other(c, task.as_str()).await? {
        return Ok(());
    }
    match after {
        TaskAfterRun::Stays => Ok(()),
        TaskAfterRun::Goes => tasks::remove(c, &[task.as_str()]).await,
        TaskAfterRun::Destroys(run) => destruction::begin(c, task.as_str(), run).await.map(drop),
        TaskAfterRun::Enters(phase) => {
            let entered = sql(
                "end a creation",
                "-- complete: the end of a creation
                UPDATE tasks
                SET phase = $1,
                    creation = CASE $1 WHEN 'ready' THEN NULL ELSE creation END,
                    creation_run = CASE $1 WHEN 'ready' THEN NULL ELSE creation_run END,
                    updated_at = {now}
                WHERE name = $2",
            );
            entered.bind(phase.as_str()).bind(task).execute(c).await?;
            Ok(())
        }
    }
}

/// Time until the next queued run of the task is due.
async fn next_due(
    c: &mut dyn Connection,
    task: &TaskName,
    now: i64,
) -> Result<Option<Duration>, StoreError> {
    let text = c.dialect().pick(
        "-- complete: next_due; index runs_waiting
        SELECT min(due_at) - $2 AS due FROM runs WHERE task_name = $1 AND status = 'queued'",
        "-- complete: next_due\nSELECT cts_queued_due($1) - $2 AS due",
    );
    let due = sql(OPERATION, text).bind(task).bind(now);
    due.one(c, |row| {
        Fields::new(row, OPERATION, "runs").span_if_any("due")
    })
    .await
}
