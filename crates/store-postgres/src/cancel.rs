//! Runs that are cancelled.

use cts_core::runs::CancelOrder;
use cts_core::{EventId, RunId};
use cts_store::cancel::{
    CancelPlan, CancelSituation, CancelWrites, REQUEST_CANCELLED, SUSPENDED_UNTIL, order,
};
use cts_store::{
    CancelError, CancelState, CancelledRun, LeaseError, Refused, RefusedCode, StoreError,
};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::lease::stored_epoch;
use crate::requests;
use crate::row::{by, encoded, failed_to};
use crate::suspended::{Held, lost};

const OPERATION: &str = "cancel a run";

pub(crate) async fn cancel(
    connection: &mut PgConnection,
    run: RunId,
    force: bool,
    event: EventId,
) -> Result<CancelledRun, CancelError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let cancelled = cancel_in(&mut transaction, run, (force, event)).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(cancelled)
}

/// In a transaction of the caller.
pub(crate) async fn cancel_in(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
    (force, event): (bool, EventId),
) -> Result<CancelledRun, CancelError> {
    sqlx::query(
        "-- cancel_run: the task is locked before its run
        SELECT FROM tasks
        WHERE name = coalesce((SELECT task_name FROM runs WHERE id = $1),
                              (SELECT task_name FROM run_requests WHERE run_id = $1))
        FOR NO KEY UPDATE",
    )
    .bind(run.as_uuid())
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    let Some((situation, now)) = situation(transaction, run).await? else {
        return refuse_request(transaction, run).await;
    };
    let plan = situation.decide(force, event, now)?;
    write(transaction, &plan, now).await?;
    Ok(plan.answer)
}

/// A statement of its own, to see changes made while the lock was waited for.
async fn situation(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
) -> Result<Option<(CancelSituation, i64)>, StoreError> {
    let failed = failed_to(OPERATION);
    let row = sqlx::query(
        "-- cancel_run
        SELECT r.id, r.task_name, r.kind, r.destroys, r.status, r.holder, r.errors, cts_now() AS now,
               cts_now() - r.cancel_requested_at AS ordered_micros, t.phase, t.event_config,
               coalesce(t.destruction_suspended_at IS NOT NULL AND t.destroy_run = r.id, FALSE) AS is_suspended
        FROM runs r
        -- Of this run alone: old statistics could make reading all tasks in order look cheaper.
        LEFT JOIN LATERAL (
            SELECT * FROM tasks WHERE name = r.task_name AND incarnation = r.incarnation LIMIT 1) t ON TRUE
        WHERE r.id = $1
        FOR NO KEY UPDATE OF r",
    )
    .bind(run.as_uuid())
    .fetch_optional(&mut **transaction)
    .await
    .map_err(&failed)?;
    let Some(row) = row else { return Ok(None) };
    let now = row.try_get("now").map_err(&failed)?;
    Ok(Some((by(CancelSituation::read)(&row)?, now)))
}

async fn refuse_request(
    transaction: &mut PgTransaction<'_>,
    run: RunId,
) -> Result<CancelledRun, CancelError> {
    let request = requests::one(transaction, run).await?;
    let request = request.filter(|request| request.refused.is_none());
    let request = request.ok_or(CancelError::Unknown)?;
    let refused = Refused {
        code: RefusedCode::Withdrawn,
        reason: REQUEST_CANCELLED.to_owned(),
    };
    requests::refuse_locked(transaction, run, &refused).await?;
    Ok(CancelledRun::of_request(request))
}

async fn write(
    transaction: &mut PgTransaction<'_>,
    CancelPlan { answer, writes }: &CancelPlan,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let run = answer.run.as_uuid();
    match writes {
        CancelWrites::Withdraw {
            errors,
            withholds,
            discards,
        } => {
            let event = answer.event.as_ref();
            let config = event.map(|event| encoded(OPERATION, &event.config));
            sqlx::query(
                "-- cancel_run: withdraw
                WITH withdrawn AS (
                    UPDATE runs SET status = 'cancelled', errors = $3, finished_at = $4, updated_at = $4
                    WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'
                    RETURNING id, task_name, incarnation, input_hash
                ), event AS (
                    INSERT INTO events (id, task_name, incarnation, run_id, success, start_time,
                                        end_time, error, config)
                    SELECT $5, task_name, incarnation, id, FALSE, $4, $4, $6, $7 FROM withdrawn
                    WHERE $5::UUID IS NOT NULL
                )
                UPDATE tasks t
                SET cancelled_input = CASE WHEN $8 THEN withdrawn.input_hash ELSE t.cancelled_input END,
                    phase = CASE WHEN $9 AND t.creation_run = $1 THEN 'discarded' ELSE t.phase END,
                    updated_at = CASE WHEN $9 THEN $4 ELSE t.updated_at END
                FROM withdrawn
                WHERE t.name = $2 AND ($8 OR $9)",
            )
            .bind(run)
            .bind(answer.task.as_str())
            .bind(encoded(OPERATION, errors)?)
            .bind(now)
            .bind(event.map(|event| event.id.as_uuid()))
            .bind(event.and_then(|event| event.error.as_deref()))
            .bind(config.transpose()?)
            .bind(withholds)
            .bind(discards)
            .execute(&mut **transaction)
            .await
            .map_err(&failed)?;
        }
        CancelWrites::Suspend => {
            sqlx::query(
                "-- cancel_run: suspend
                WITH suspended AS (
                    UPDATE runs SET due_at = $3, cancel_requested_at = NULL, updated_at = $4
                    WHERE id = $1 AND status IS NOT DISTINCT FROM 'queued'
                )
                UPDATE tasks SET destruction_suspended_at = $4, updated_at = $4 WHERE name = $2",
            )
            .bind(run)
            .bind(answer.task.as_str())
            .bind(SUSPENDED_UNTIL)
            .bind(now)
            .execute(&mut **transaction)
            .await
            .map_err(&failed)?;
        }
        CancelWrites::Order { by_force } => {
            sqlx::query(
                "-- cancel_run: order
                UPDATE runs
                SET cancel_requested_at = coalesce(cancel_requested_at, $2),
                    cancel_force = cancel_force OR $3
                WHERE id = $1 AND status IS NOT DISTINCT FROM 'running'",
            )
            .bind(run)
            .bind(now)
            .bind(by_force)
            .execute(&mut **transaction)
            .await
            .map_err(&failed)?;
        }
    }
    Ok(())
}

/// A suspended destruction is due again, with all its attempts. The caller has locked the task.
pub(crate) async fn continue_destruction(
    transaction: &mut PgTransaction<'_>,
    task: &str,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- delete_task: a suspended destruction goes on
        WITH shown AS (
            UPDATE tasks SET destruction_suspended_at = NULL, updated_at = cts_now()
            WHERE name = $1 AND destruction_suspended_at IS NOT NULL
            RETURNING destroy_run
        )
        UPDATE runs r
        SET due_at = cts_now(), attempts = 0, updated_at = cts_now(),
            settings = coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = r.settings),
                r.settings)
        FROM shown
        WHERE r.id = shown.destroy_run AND r.status IS NOT DISTINCT FROM 'queued'",
    )
    .bind(task)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("delete a task"))?;
    Ok(())
}

/// Queued runs with an order to stop, which a scheduler of an earlier version has put back.
pub(crate) async fn put_back(
    transaction: &mut PgTransaction<'_>,
    most: usize,
) -> Result<Vec<RunId>, StoreError> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "-- reap: cancelled runs; index runs_cancel_requested
        SELECT id FROM runs WHERE status = 'queued' AND cancel_requested_at IS NOT NULL
        ORDER BY id LIMIT $1",
    )
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed_to("take back leases"))?;
    Ok(ids.into_iter().map(RunId::from_uuid).collect())
}

pub(crate) async fn order_of(
    connection: &mut PgConnection,
    held: Held<'_>,
) -> Result<Option<CancelOrder>, LeaseError> {
    let read = failed_to("read a leased run");
    let (run, holder, epoch) = held;
    let row = sqlx::query(
        "-- cancel_order
        SELECT cancel_requested_at IS NOT NULL AS ordered, cancel_force,
               cancel_noted_at IS NOT NULL AS noted
        FROM runs
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .fetch_optional(&mut *connection)
    .await
    .map_err(&read)?;
    let row = row.ok_or_else(|| lost(held))?;
    let flag = |column| row.try_get::<bool, _>(column).map_err(&read);
    if !flag("ordered")? {
        return Ok(None);
    }
    if !flag("noted")? {
        note(connection, held).await?;
    }
    Ok(Some(order(flag("cancel_force")?)))
}

/// The holder of the lease has taken note.
async fn note(
    connection: &mut PgConnection,
    (run, holder, epoch): Held<'_>,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- cancel_order: noted
        UPDATE runs SET cancel_noted_at = cts_now()
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'
          AND cancel_noted_at IS NULL",
    )
    .bind(run.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

pub(crate) async fn state(
    connection: &mut PgConnection,
    run: RunId,
) -> Result<Option<CancelState>, StoreError> {
    let row = sqlx::query(
        "-- cancel_state; a running run was updated last when its lease was granted or renewed
        SELECT id, holder, cancel_force, cts_now() - cancel_requested_at AS ordered_micros,
               cancel_noted_at IS NOT NULL AS noted, updated_at > cancel_requested_at AS renewed
        FROM runs
        WHERE id = $1 AND status IS NOT DISTINCT FROM 'running' AND cancel_requested_at IS NOT NULL",
    )
    .bind(run.as_uuid())
    .fetch_optional(connection)
    .await
    .map_err(failed_to("read a run"))?;
    row.as_ref().map(by(CancelState::read)).transpose()
}
