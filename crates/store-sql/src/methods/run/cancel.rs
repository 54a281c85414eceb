//! Cancelled runs.
//!
//! The row of the run has the order (`runs.cancel_requested_at`, `cancel_force`), by the clock of the database. Its
//! worker receives the order by `AwaitCancel` or with a renewal, and the transaction that ends the attempt allows no
//! further attempt.
//!
//! The withheld input is in `tasks.cancelled_input`. A suspended destruction goes back to the queue, due in the year
//! 9999, and its task records the suspension (`tasks.destruction_suspended_at`).

use cts_core::runs::{CancelOrder, RunStatus};
use cts_core::{EventId, RunId};
use cts_store::cancel::{
    CancelPlan, CancelTarget, CancelWrites, REQUEST_CANCELLED, SUSPENDED_UNTIL, order,
};
use cts_store::cell::encoded;
use cts_store::fields::Fields;
use cts_store::{
    CancelError, CancelState, CancelledRun, ExpiredLeases, LeaseError, Refused, RefusedCode,
    Requeued, StoreError,
};

use crate::conditions::HAS_OPEN_REMOTE;
use crate::leases::{Held, lost, of_lease};
use crate::{Connection, effects, endings, events, requests, sql};

const OPERATION: &str = "cancel a run";

/// Withdraws a queued run or an open request, or orders the holder of a running run to stop it.
pub async fn cancel(
    c: &mut dyn Connection,
    run: RunId,
    (force, event): (bool, EventId),
) -> Result<CancelledRun, CancelError> {
    sql(
        OPERATION,
        "-- cancel_run: the task is locked before its run
        SELECT 1 FROM tasks
        WHERE name = coalesce((SELECT task_name FROM runs WHERE id = $1),
                              (SELECT task_name FROM run_requests WHERE run_id = $1))
        FOR NO KEY UPDATE",
    )
    .bind(run)
    .on_postgres(c)
    .await?;
    let Some((target, now)) = target(c, run).await? else {
        return refuse_request(c, run).await;
    };
    let mut plan = target.decide(force, event, now)?;
    write(c, &mut plan, now).await?;
    if plan.answer.kind.applies() && matches!(plan.writes, CancelWrites::Withdraw { .. }) {
        effects::withdraw_of(c, &[plan.answer.task.as_str()]).await?;
    }
    Ok(plan.answer)
}

/// Withdraws a queued run whose effect a person has rejected; consents to other effects stay. The caller has locked the
/// task.
pub(crate) async fn reject(
    c: &mut dyn Connection,
    run: RunId,
    event: EventId,
    why: &str,
) -> Result<(), StoreError> {
    let Some((target, now)) = target(c, run).await? else {
        return Ok(());
    };
    match target.because(why).decide(false, event, now) {
        Ok(mut plan) => write(c, &mut plan, now).await,
        // The run has ended meanwhile.
        Err(CancelError::Unknown | CancelError::Refused(_)) => Ok(()),
        Err(CancelError::Store(error)) => Err(error),
    }
}

async fn target(
    c: &mut dyn Connection,
    run: RunId,
) -> Result<Option<(CancelTarget, i64)>, StoreError> {
    // Only the task of this run: with outdated statistics, Postgres could prefer to read all tasks in order.
    let (task, lock) = c.dialect().pick(
        ("tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation", ""),
        (
            "LATERAL (
            SELECT * FROM tasks WHERE name = r.task_name AND incarnation = r.incarnation LIMIT 1) t ON TRUE",
            "FOR NO KEY UPDATE OF r",
        ),
    );
    let target = sql(
        OPERATION,
        format!(
            "-- cancel_run
        SELECT r.id, r.task_name, r.kind, r.destroys, r.status, r.holder, r.errors, r.remote_run, {{now}} AS now,
               t.remote_run AS task_remote_run, {HAS_OPEN_REMOTE} AS has_open_remote,
               {{now}} - r.cancel_requested_at AS ordered_micros, t.phase, t.event_config,
               coalesce(t.destruction_suspended_at IS NOT NULL AND t.destroy_run = r.id, FALSE) AS is_suspended
        FROM runs r
        LEFT JOIN {task}
        WHERE r.id = $1
        {lock}"
        ),
    );
    let target = target.bind(run).optional(c, |row| {
        let now = Fields::new(row, OPERATION, "runs").integer("now")?;
        Ok((CancelTarget::read(row)?, now))
    });
    target.await
}

async fn refuse_request(c: &mut dyn Connection, run: RunId) -> Result<CancelledRun, CancelError> {
    let request = requests::one(c, run).await?;
    let request = request.filter(|request| request.refused.is_none());
    let request = request.ok_or(CancelError::Unknown)?;
    let refused = Refused {
        code: RefusedCode::Withdrawn,
        reason: REQUEST_CANCELLED.to_owned(),
    };
    requests::refuse_locked(c, run, &refused).await?;
    Ok(CancelledRun::of_request(request))
}

async fn write(
    c: &mut dyn Connection,
    CancelPlan { answer, writes }: &mut CancelPlan,
    now: i64,
) -> Result<(), StoreError> {
    match writes {
        CancelWrites::Withdraw {
            errors,
            withholds,
            discards,
        } => {
            let withdrawn = sql(
                OPERATION,
                "-- cancel_run: withdraw
                UPDATE runs SET status = 'cancelled', errors = $2, finished_at = $3, updated_at = $3
                WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'",
            );
            let withdrawn = withdrawn.bind(answer.run).bind(encoded(OPERATION, errors)?);
            withdrawn.bind(now).execute(c).await?;
            if let Some(event) = &answer.event {
                events::store(c, event).await?;
            }
            sql(
                OPERATION,
                "-- cancel_run: consequences for the task
                UPDATE tasks
                SET cancelled_input = CASE WHEN $3 THEN (SELECT input_hash FROM runs WHERE id = $1)
                                      ELSE cancelled_input END,
                    phase = CASE WHEN $4 AND creation_run = $1 THEN 'discarded' ELSE phase END,
                    updated_at = CASE WHEN $4 THEN $5 ELSE updated_at END
                WHERE name = $2 AND ($3 OR $4)",
            )
            .bind(answer.run)
            .bind(&answer.task)
            .bind(*withholds)
            .bind(*discards)
            .bind(now)
            .execute(c)
            .await?;
        }
        CancelWrites::Suspend => {
            let suspended = sql(
                OPERATION,
                "-- cancel_run: suspend
                UPDATE runs SET due_at = $2, awaits = NULL, cancel_requested_at = NULL, updated_at = {now}
                WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'",
            );
            suspended
                .bind(answer.run)
                .bind(SUSPENDED_UNTIL)
                .execute(c)
                .await?;
            note_suspended(c, answer.task.as_str()).await?;
        }
        CancelWrites::EndRemote => {
            let reason = endings::Reason::Cancelled;
            let task = [answer.task.as_str()];
            let ending = endings::begin(c, (endings::OF_TASKS, &task), reason).await?;
            if !ending.is_empty() {
                answer.status = RunStatus::Running;
            }
        }
        CancelWrites::Order { by_force } => {
            let ordered = sql(
                OPERATION,
                "-- cancel_run: order
                UPDATE runs
                SET cancel_requested_at = coalesce(cancel_requested_at, $2),
                    cancel_force = cancel_force OR $3
                WHERE id = $1 AND status IS NOT DISTINCT FROM 'running'",
            );
            ordered
                .bind(answer.run)
                .bind(now)
                .bind(*by_force)
                .execute(c)
                .await?;
        }
    }
    Ok(())
}

/// Records that the destruction of a task is suspended.
pub async fn note_suspended(c: &mut dyn Connection, task: &str) -> Result<(), StoreError> {
    effects::forget_used(c, task, true).await?;
    let noted = sql(
        OPERATION,
        "-- a destruction is suspended
        UPDATE tasks SET destruction_suspended_at = {now}, updated_at = {now} WHERE name = $1",
    );
    noted.bind(task).execute(c).await?;
    Ok(())
}

/// Makes a suspended destruction due again, with all its attempts. The caller has locked the task.
pub(crate) async fn continue_destruction(
    c: &mut dyn Connection,
    task: &str,
) -> Result<(), StoreError> {
    effects::forget_used(c, task, false).await?;
    for statement in [
        "-- delete_task: a suspended destruction goes on
        UPDATE runs
        SET due_at = {now}, awaits = NULL, attempts = 0, updated_at = {now}
        WHERE status IS NOT DISTINCT FROM 'queued' AND id = (
            SELECT destroy_run FROM tasks
            WHERE name = $1 AND destruction_suspended_at IS NOT NULL)",
        "-- delete_task: a destruction is no longer suspended
        UPDATE tasks SET destruction_suspended_at = NULL, updated_at = {now}
        WHERE name = $1 AND destruction_suspended_at IS NOT NULL",
    ] {
        sql("delete a task", statement)
            .bind(task)
            .execute(c)
            .await?;
    }
    Ok(())
}

/// Ends queued runs with an order to stop, at most one for each element of `each`. They waited for a different run of
/// their task before their remote run is ended.
pub async fn end_put_back(
    c: &mut dyn Connection,
    each: &[ExpiredLeases],
) -> Result<Vec<Requeued>, StoreError> {
    let put_back = sql(
        "take back leases",
        "-- reap: cancelled runs; index runs_cancel_requested
        SELECT id FROM runs WHERE status = 'queued' AND cancel_requested_at IS NOT NULL
        ORDER BY id LIMIT $1",
    );
    let put_back = put_back.bind(each.len()).all(c, |row| {
        Fields::new(row, "take back leases", "runs")
            .keyed_by_id("id")?
            .id("id")
    });
    let put_back: Vec<RunId> = put_back.await?;
    let mut ended = Vec::new();
    for (run, ids) in put_back.into_iter().zip(each) {
        match cancel(c, run, (false, ids.event)).await {
            // A different run of its task goes first.
            Ok(cancelled) if cancelled.status == RunStatus::Queued && !cancelled.suspends => {}
            Ok(cancelled) => ended.push(Requeued {
                run,
                task: cancelled.task,
                kind: cancelled.kind,
                status: cancelled.status,
                holder: None,
            }),
            Err(CancelError::Store(error)) => return Err(error),
            // A different call has already ended the run.
            Err(CancelError::Unknown | CancelError::Refused(_)) => {}
        }
    }
    Ok(ended)
}

/// The order to stop of a live lease, and whether its holder has received the order.
pub async fn order_of(
    c: &mut dyn Connection,
    held: Held<'_>,
) -> Result<Option<(CancelOrder, bool)>, LeaseError> {
    let order = of_lease(
        "read a leased run",
        "-- cancel_order
        SELECT cancel_requested_at IS NOT NULL AS ordered, cancel_force,
               cancel_noted_at IS NOT NULL AS noted
        FROM runs
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
        held,
    )
    .optional(c, |row| {
        let row = Fields::new(row, "read a leased run", "runs");
        let order = (order(row.flag("cancel_force")?), row.flag("noted")?);
        Ok(row.flag("ordered")?.then_some(order))
    });
    order.await?.ok_or_else(|| lost(held))
}

/// Notes that the holder of the lease has received the order.
pub async fn note(c: &mut dyn Connection, held: Held<'_>) -> Result<(), LeaseError> {
    of_lease(
        OPERATION,
        "-- cancel_order: noted
        UPDATE runs SET cancel_noted_at = {now}
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'
          AND cancel_noted_at IS NULL",
        held,
    )
    .execute(c)
    .await?;
    Ok(())
}

/// The progress of a running run that is being cancelled.
pub async fn state(c: &mut dyn Connection, run: RunId) -> Result<Option<CancelState>, StoreError> {
    sql(
        "read a run",
        "-- cancel_state
        SELECT id, holder, cancel_force, {now} - cancel_requested_at AS ordered_micros,
               cancel_noted_at IS NOT NULL AS noted
        FROM runs
        WHERE id = $1 AND status IS NOT DISTINCT FROM 'running' AND cancel_requested_at IS NOT NULL
          AND holder <> ''",
    )
    .bind(run)
    .optional(c, CancelState::read)
    .await
}
