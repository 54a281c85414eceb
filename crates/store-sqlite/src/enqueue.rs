//! Queues runs for frozen inputs.

use cts_core::runs::RunKind;
use cts_core::{Digest, RunId};
use cts_store::enqueue::{EnqueueContext, EnqueueError, stored_cause, stored_trace};
use cts_store::{EncodedContents, EnqueueRequest, Enqueued, StoreError};
use cts_store_sql::settings::stored;
use cts_store_sql::{checks, failed_starts, requests, shrink_limits, tick_events};
use sqlx::SqliteConnection;

use crate::call::shared;
use crate::inputs;
use crate::row::{by, failed_to};

struct NewRun<'a> {
    id: RunId,
    task: &'a str,
    kind: RunKind,
    /// The run has a single attempt.
    requested: bool,
    input: Digest,
    due_at: i64,
    /// The settings that its worker needs.
    settings: Option<i64>,
    /// Its trace in stored form; a requested run has the trace of its request.
    trace: Option<String>,
    /// Its cause in stored form.
    cause: Option<String>,
}

/// Decides these requests, one after the other.
pub(crate) async fn all(
    connection: &mut SqliteConnection,
    requests: &[EnqueueRequest],
    encoded: &EncodedContents,
    now: i64,
) -> Result<Vec<Enqueued>, EnqueueError> {
    let mut enqueued = Vec::with_capacity(requests.len());
    for request in requests {
        enqueued.push(enqueue(connection, request, encoded, now).await?);
    }
    Ok(enqueued)
}

async fn enqueue(
    connection: &mut SqliteConnection,
    request: &EnqueueRequest,
    encoded: &EncodedContents,
    now: i64,
) -> Result<Enqueued, EnqueueError> {
    let task = request.task.as_str();
    if request.guarded.is_some() {
        shrink_limits::count_known(&mut shared(connection, now), &[task]).await?;
    }
    let context = context(connection, request).await?;
    let plan = EnqueueContext::decide(context.as_ref(), request, now);
    if plan.not_tried {
        note(connection, task, FORGET_ATTEMPTS).await?;
    }
    if plan.cancels {
        cancel(connection, plan.answer.cancelled, now).await?;
    }
    if plan.inserts.is_some() || plan.replaces {
        inputs::store(connection, &request.input, encoded, now).await?;
        if let Some(guarded) = &request.guarded {
            let c = &mut shared(connection, now);
            shrink_limits::note_instances(c, request.input.hash, &guarded.counts).await?;
        }
    }
    if let Some(new) = plan.inserts {
        let run = NewRun {
            id: request.run,
            task,
            kind: request.kind,
            requested: new.requested,
            input: request.input.hash,
            due_at: new.place.map_or(now, |place| place.min(now)),
            settings: request.input.settings.map(stored),
            trace: stored_trace(plan.trace.as_ref())?,
            cause: stored_cause(plan.cause.as_ref())?,
        };
        insert_run(connection, run, now).await?;
        if new.requested {
            remove_request(connection, request.run).await?;
        }
    }
    if plan.replaces {
        let trace = stored_trace(plan.trace.as_ref())?;
        let cause = stored_cause(plan.cause.as_ref())?;
        let replaced = (plan.answer.queued, trace, cause);
        replace(connection, replaced, request, now).await?;
    }
    for (applies, statement) in [
        (plan.begins_anew, FORGET_FAILURES),
        (plan.ends_withholding, END_WITHHOLDING),
        (plan.skips, COUNT_SKIP),
    ] {
        if applies {
            note(connection, task, statement).await?;
        }
    }
    if let Some(key) = plan.check_key {
        checks::begin(
            &mut shared(connection, now),
            &request.task,
            key,
            request.run,
        )
        .await?;
    }
    if let (Some(run), Some(failed)) = (plan.fails, &request.fails) {
        failed_starts::end(&mut shared(connection, now), request, run, failed).await?;
    }
    if let Some(event) = plan.tick {
        tick_events::store(&mut shared(connection, now), &[(&request.task, event)]).await?;
    }
    if let Some(why) = &plan.answer.refused {
        requests::refuse_locked(&mut shared(connection, now), request.run, why).await?;
    }
    if let Some(change) = &plan.guard {
        shrink_limits::write(&mut shared(connection, now), task, change).await?;
    }
    Ok(plan.answer)
}

/// Removes a request whose run is queued.
async fn remove_request(connection: &mut SqliteConnection, run: RunId) -> Result<(), StoreError> {
    sqlx::query("-- enqueue: what was requested\nDELETE FROM run_requests WHERE run_id = ?")
        .bind(run.to_string())
        .execute(connection)
        .await
        .map_err(failed_to("carry out a request"))?;
    Ok(())
}

async fn context(
    connection: &mut SqliteConnection,
    request: &EnqueueRequest,
) -> Result<Option<EnqueueContext>, StoreError> {
    let row = sqlx::query(
        "-- enqueue: what is known; indexes runs_one_queued, runs_one_running
        SELECT t.name, t.failures > 0 AS has_failed, t.skip_unchanged, t.last_applied, t.tried_input,
               t.cancelled_input,
               CASE WHEN t.owes_run IS NOT NULL AND NOT EXISTS (
                   SELECT 1 FROM run_requests o
                   WHERE o.task_name = t.name AND o.kind = 'apply' AND o.refused IS NULL)
                 THEN t.owes_run END AS owes_run,
               q.id AS queued_id, q.input_hash AS queued_input, q.no_retry AS queued_no_retry,
               q.due_at AS queued_due, q.trace AS queued_trace, q.cause AS queued_cause,
               CASE WHEN r.waiting_for IS NOT NULL THEN r.due_at END AS waiting_due,
               r.input_hash AS running_input, r.withdrawn AS running_withdrawn, t.phase, t.enabled, t.held,
               t.applied_instances, t.released_instances,
               (SELECT i.instances FROM inputs i WHERE i.hash = r.input_hash) AS running_instances,
               e.status AS earlier, e.requested AS earlier_requested,
               (SELECT a.refused IS NULL FROM run_requests a
                WHERE a.run_id = ?2 AND a.task_name = t.name) AS request_open,
               (SELECT a.accompanies FROM run_requests a
                WHERE a.run_id = ?2 AND a.task_name = t.name) AS request_accompanies
        FROM tasks t
        LEFT JOIN runs e ON e.id = ?2
        LEFT JOIN runs q ON q.task_name = t.name AND q.status = 'queued' AND q.kind = 'apply'
        LEFT JOIN runs r ON r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply'
        WHERE t.name = ?1",
    )
    .bind(request.task.as_str())
    .bind(request.run.to_string())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read the runs of a task"))?;
    row.as_ref().map(by(EnqueueContext::read)).transpose()
}

async fn insert_run(
    connection: &mut SqliteConnection,
    run: NewRun<'_>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- insert_run
        INSERT INTO runs (id, task_name, incarnation, kind, no_retry, requested, input_hash, status,
                          due_at, created_at, updated_at, settings, requested_by, trace, cause)
        SELECT ?1, name, incarnation, ?3, ?4, ?4, ?5, 'queued', ?6, ?7, ?7, ?8,
               CASE WHEN ?4 THEN (SELECT requested_by FROM run_requests WHERE run_id = ?1) END,
               CASE WHEN ?4 THEN (SELECT trace FROM run_requests WHERE run_id = ?1) ELSE ?9 END, ?10
        FROM tasks WHERE name = ?2",
    )
    .bind(run.id.to_string())
    .bind(run.task)
    .bind(run.kind.as_str())
    .bind(run.requested)
    .bind(run.input.to_string())
    .bind(run.due_at)
    .bind(now)
    .bind(run.settings)
    .bind(run.trace)
    .bind(run.cause)
    .execute(connection)
    .await
    .map_err(failed_to("queue a run"))?;
    Ok(())
}

/// Gives the queued run the newer input and all its attempts, due at once and at the same position in the queue.
/// Errors of earlier attempts stay, so that the event at its end includes them.
async fn replace(
    connection: &mut SqliteConnection,
    (queued, trace, cause): (Option<RunId>, Option<String>, Option<String>),
    request: &EnqueueRequest,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- enqueue: replace
        UPDATE runs
        SET input_hash = ?1, settings = ?4, trace = ?5, cause = ?6, no_retry = 0, attempts = 0, due_at = min(due_at, ?2), updated_at = ?2,
            cancel_requested_at = NULL, cancel_force = 0, withdrawn = 0
        WHERE id = ?3 AND status = 'queued'",
    )
    .bind(request.input.hash.to_string())
    .bind(now)
    .bind(queued.map(|run| run.to_string()))
    .bind(request.input.settings.map(stored))
    .bind(trace)
    .bind(cause)
    .execute(connection)
    .await
    .map_err(failed_to("replace the input of a queued run"))?;
    Ok(())
}

async fn cancel(
    connection: &mut SqliteConnection,
    queued: Option<RunId>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- enqueue: cancel
        UPDATE runs SET status = 'cancelled', finished_at = ?1, updated_at = ?1
        WHERE id = ?2 AND status = 'queued'",
    )
    .bind(now)
    .bind(queued.map(|run| run.to_string()))
    .execute(connection)
    .await
    .map_err(failed_to("cancel a queued run"))?;
    Ok(())
}

/// Resets the failures: a newer input has not failed yet.
const FORGET_FAILURES: &str = "-- enqueue: forget failures
        UPDATE tasks SET failures = 0 WHERE name = ?";
const FORGET_ATTEMPTS: &str =
    "-- enqueue: not tried yet\nUPDATE tasks SET tried_input = NULL WHERE name = ?";
/// Ends withholding, because a newer input has come or a run was requested.
const END_WITHHOLDING: &str =
    "-- enqueue: not withheld\nUPDATE tasks SET cancelled_input = NULL WHERE name = ?";
const COUNT_SKIP: &str =
    "-- enqueue: count a skip\nUPDATE tasks SET skipped = skipped + 1 WHERE name = ?";

async fn note(
    connection: &mut SqliteConnection,
    task: &str,
    statement: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(statement)
        .bind(task)
        .execute(connection)
        .await
        .map_err(failed_to("note a decision about an input"))?;
    Ok(())
}
