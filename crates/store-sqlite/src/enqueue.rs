//! Frozen inputs become queued runs.

use cts_core::runs::{
    Asked, EnqueueDecision, QueuedApply, RunKind, RunStatus, TaskRuns, WantedApply, decide_enqueue,
    forgets_attempts, may_enqueue,
};
use cts_core::{Digest, RunId};
use cts_store::{EncodedContents, EnqueueRequest, Enqueued, StoreError, Unchanged};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::inputs::{self, InputError};
use crate::requests;
use crate::row::{Cell, failed_to};

/// What the rules need to know of a task.
struct Situation {
    runs: TaskRuns,
    queued: Option<RunId>,
    /// When the queued run is or was due.
    queued_due: Option<i64>,
    skip_unchanged: bool,
    /// Its last runs have failed.
    has_failed: bool,
    tried: Option<Digest>,
    asked: Asked,
    /// What has become of the request's run, if it exists already.
    earlier: Option<RunStatus>,
}

/// A run to be queued.
pub(crate) struct NewRun<'a> {
    pub(crate) id: RunId,
    pub(crate) task: &'a str,
    pub(crate) kind: RunKind,
    /// It has one attempt only.
    pub(crate) requested: bool,
    pub(crate) input: Digest,
    pub(crate) due_at: i64,
}

/// Decides these requests, one after the other.
pub(crate) async fn all(
    connection: &mut SqliteConnection,
    requests: &[EnqueueRequest],
    encoded: &EncodedContents,
    now: i64,
) -> Result<Vec<Enqueued>, InputError> {
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
) -> Result<Enqueued, InputError> {
    let task = request.task.clone();
    let Some(situation) = situation(connection, request).await? else {
        return Ok(Enqueued {
            task,
            decision: None,
            queued: None,
            cancelled: None,
        });
    };
    if !request.kind.applies() {
        return enqueue_beside(connection, request, &situation, encoded, now).await;
    }
    let input = request.input.hash;
    let decision = if situation.earlier.is_some() {
        EnqueueDecision::Keep
    } else {
        let skip_unchanged = match request.unchanged {
            Unchanged::AsTaskSays => situation.skip_unchanged,
            Unchanged::Skip => true,
            Unchanged::Run => false,
        };
        let wanted = WantedApply {
            input,
            skip_unchanged,
            requested: situation.asked == Asked::Open,
        };
        let decision = decide_enqueue(situation.runs, wanted);
        if forgets_attempts(situation.tried, situation.runs, wanted, decision) {
            forget_attempts(connection, request.task.as_str()).await?;
        }
        decision
    };
    let mut queued = situation.queued;
    let mut cancelled = None;
    match decision {
        EnqueueDecision::Enqueue | EnqueueDecision::Supersede => {
            if decision == EnqueueDecision::Supersede {
                cancel(connection, situation.queued, now).await?;
                cancelled = queued.take();
            }
            insert_wanted(connection, request, &situation, encoded, now).await?;
            forget_failures(connection, &situation, request.task.as_str()).await?;
            queued = Some(request.run);
        }
        EnqueueDecision::Replace => {
            inputs::store(connection, &request.input, encoded, now).await?;
            replace(connection, situation.queued, request, now).await?;
            forget_failures(connection, &situation, request.task.as_str()).await?;
        }
        EnqueueDecision::Keep => {}
        EnqueueDecision::Skip { cancel_queued } => {
            if cancel_queued {
                cancel(connection, situation.queued, now).await?;
                cancelled = queued.take();
            }
            count_skip(connection, request.task.as_str()).await?;
        }
    }
    Ok(Enqueued {
        task,
        decision: Some(decision),
        queued,
        cancelled,
    })
}

/// What applies nothing is queued beside whatever there is.
async fn enqueue_beside(
    connection: &mut SqliteConnection,
    request: &EnqueueRequest,
    situation: &Situation,
    encoded: &EncodedContents,
    now: i64,
) -> Result<Enqueued, InputError> {
    let (decision, status) = if let Some(status) = situation.earlier {
        (EnqueueDecision::Keep, status)
    } else {
        insert_wanted(connection, request, situation, encoded, now).await?;
        (EnqueueDecision::Enqueue, RunStatus::Queued)
    };
    Ok(Enqueued {
        task: request.task.clone(),
        decision: Some(decision),
        queued: (status == RunStatus::Queued).then_some(request.run),
        cancelled: None,
    })
}

async fn insert_wanted(
    connection: &mut SqliteConnection,
    request: &EnqueueRequest,
    situation: &Situation,
    encoded: &EncodedContents,
    now: i64,
) -> Result<(), InputError> {
    inputs::store(connection, &request.input, encoded, now).await?;
    let requested = situation.asked == Asked::Open;
    if requested {
        requests::remove(connection, request.run).await?;
    }
    // Who takes the place of a queued run takes its place in the queue as well.
    let due_at = match situation.queued_due {
        Some(queued_due) if request.kind.applies() => queued_due.min(now),
        _ => now,
    };
    let run = NewRun {
        id: request.run,
        task: request.task.as_str(),
        kind: request.kind,
        requested,
        input: request.input.hash,
        due_at,
    };
    Ok(insert_run(connection, run, now).await?)
}

async fn situation(
    connection: &mut SqliteConnection,
    request: &EnqueueRequest,
) -> Result<Option<Situation>, StoreError> {
    let read = failed_to("read the runs of a task");
    let name = request.task.as_str();
    let row = sqlx::query(
        "-- enqueue: what is known; indexes runs_one_queued, runs_one_running
        SELECT t.skip_unchanged, t.failures > 0 AS has_failed, t.last_applied, t.tried_input,
               q.id AS queued_id, q.input_hash AS queued_input, q.no_retry AS queued_no_retry,
               q.due_at AS queued_due,
               r.input_hash AS running_input, t.phase, t.enabled,
               e.status AS earlier, e.requested AS earlier_requested,
               (SELECT a.refused IS NULL FROM run_requests a
                WHERE a.run_id = ?2 AND a.task_name = t.name) AS request_open
        FROM tasks t
        LEFT JOIN runs e ON e.id = ?2
        LEFT JOIN runs q ON q.task_name = t.name AND q.status = 'queued' AND q.kind = 'apply'
        LEFT JOIN runs r ON r.task_name = t.name AND r.status = 'running' AND r.kind = 'apply'
        WHERE t.name = ?1",
    )
    .bind(name)
    .bind(request.run.to_string())
    .fetch_optional(connection)
    .await
    .map_err(&read)?;
    let Some(row) = row else { return Ok(None) };
    let cell = |table, column| Cell {
        table,
        column,
        row: name,
    };
    let digest = |alias: &str, cell: Cell<'_>| -> Result<Option<Digest>, StoreError> {
        let text: Option<&str> = row.try_get(alias).map_err(&read)?;
        text.map(|text| cell.parse(text)).transpose()
    };
    let queued: Option<&str> = row.try_get("queued_id").map_err(&read)?;
    let queued = queued.map(|id| cell("runs", "id").parse(id));
    let no_retry: Option<bool> = row.try_get("queued_no_retry").map_err(&read)?;
    let input = digest("queued_input", cell("runs", "input_hash"))?;
    let earlier: Option<&str> = row.try_get("earlier").map_err(&read)?;
    let asked = asked(&row).map_err(&read)?;
    let phase = cell("tasks", "phase").phase(row.try_get("phase").map_err(&read)?)?;
    let enabled: bool = row.try_get("enabled").map_err(&read)?;
    if !may_enqueue(phase, enabled, request.kind, asked) {
        return Ok(None);
    }
    let earlier = earlier.map(|status| cell("runs", "status").run_status(status));
    Ok(Some(Situation {
        runs: TaskRuns {
            queued: input
                .zip(no_retry)
                .map(|(input, no_retry)| QueuedApply { input, no_retry }),
            running: digest("running_input", cell("runs", "input_hash"))?,
            last_applied: digest("last_applied", cell("tasks", "last_applied"))?,
        },
        queued: queued.transpose()?,
        queued_due: row.try_get("queued_due").map_err(&read)?,
        skip_unchanged: row.try_get("skip_unchanged").map_err(&read)?,
        has_failed: row.try_get("has_failed").map_err(&read)?,
        tried: digest("tried_input", cell("tasks", "tried_input"))?,
        asked,
        earlier: earlier.transpose()?,
    }))
}

fn asked(row: &SqliteRow) -> Result<Asked, sqlx::Error> {
    let queued: Option<bool> = row.try_get("earlier_requested")?;
    let open: Option<bool> = row.try_get("request_open")?;
    Ok(match (queued, open) {
        (Some(true), _) => Asked::Queued,
        (_, Some(true)) => Asked::Open,
        (_, Some(false)) => Asked::Refused,
        (_, None) => Asked::Nobody,
    })
}

pub(crate) async fn insert_run(
    connection: &mut SqliteConnection,
    run: NewRun<'_>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- insert_run
        INSERT INTO runs (id, task_name, incarnation, kind, no_retry, requested, input_hash, status,
                          due_at, created_at, updated_at)
        SELECT ?1, name, incarnation, ?3, ?4, ?4, ?5, 'queued', ?6, ?7, ?7
        FROM tasks WHERE name = ?2",
    )
    .bind(run.id.to_string())
    .bind(run.task)
    .bind(run.kind.as_str())
    .bind(run.requested)
    .bind(run.input.to_string())
    .bind(run.due_at)
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to("queue a run"))?;
    Ok(())
}

/// The queued run gets the newer input and all its attempts, at once and in its place among those that wait.
/// Errors of earlier attempts stay with it, so that the event at its end has them.
async fn replace(
    connection: &mut SqliteConnection,
    queued: Option<RunId>,
    request: &EnqueueRequest,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- enqueue: replace
        UPDATE runs
        SET input_hash = ?1, no_retry = 0, attempts = 0, due_at = min(due_at, ?2), updated_at = ?2
        WHERE id = ?3 AND status = 'queued'",
    )
    .bind(request.input.hash.to_string())
    .bind(now)
    .bind(queued.map(|run| run.to_string()))
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

/// A newer input has not failed yet.
async fn forget_failures(
    connection: &mut SqliteConnection,
    situation: &Situation,
    task: &str,
) -> Result<(), StoreError> {
    if !situation.has_failed {
        return Ok(());
    }
    sqlx::query("-- enqueue: forget failures\nUPDATE tasks SET failures = 0 WHERE name = ?")
        .bind(task)
        .execute(connection)
        .await
        .map_err(failed_to("forget failures"))?;
    Ok(())
}

/// The input that had its attempts is to have them again.
async fn forget_attempts(connection: &mut SqliteConnection, task: &str) -> Result<(), StoreError> {
    sqlx::query("-- enqueue: not tried yet\nUPDATE tasks SET tried_input = NULL WHERE name = ?")
        .bind(task)
        .execute(connection)
        .await
        .map_err(failed_to("forget attempts"))?;
    Ok(())
}

async fn count_skip(connection: &mut SqliteConnection, task: &str) -> Result<(), StoreError> {
    sqlx::query("-- enqueue: count a skip\nUPDATE tasks SET skipped = skipped + 1 WHERE name = ?")
        .bind(task)
        .execute(connection)
        .await
        .map_err(failed_to("count a skipped input"))?;
    Ok(())
}
