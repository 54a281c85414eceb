//! Runs that are cancelled.

use cts_core::runs::CancelOrder;
use cts_core::{EventId, RunId};
use cts_store::cancel::{
    CancelPlan, CancelSituation, CancelWrites, REQUEST_CANCELLED, SUSPENDED_UNTIL, order,
};
use cts_store::{
    CancelError, CancelState, CancelledRun, LeaseError, Refused, RefusedCode, StoreError,
};
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::complete::store_event;
use crate::lease::stored_epoch;
use crate::requests;
use crate::row::{Cell, by, encoded, failed_to};
use crate::suspended::{Held, lost};

const OPERATION: &str = "cancel a run";

pub(crate) async fn cancel(
    connection: &mut SqliteConnection,
    run: RunId,
    (force, event): (bool, EventId),
    now: i64,
) -> Result<CancelledRun, CancelError> {
    let Some(situation) = situation(connection, run, now).await? else {
        return refuse_request(connection, run, now).await;
    };
    let plan = situation.decide(force, event, now)?;
    write(connection, &plan, now).await?;
    Ok(plan.answer)
}

async fn situation(
    connection: &mut SqliteConnection,
    run: RunId,
    now: i64,
) -> Result<Option<CancelSituation>, StoreError> {
    let row = sqlx::query(
        "-- cancel_run
        SELECT r.id, r.task_name, r.kind, r.destroys, r.status, r.holder, r.errors,
               ?2 - r.cancel_requested_at AS ordered_micros, t.phase, t.event_config,
               coalesce(t.destruction_suspended_at IS NOT NULL AND t.destroy_run = r.id, FALSE) AS is_suspended
        FROM runs r
        LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
        WHERE r.id = ?1",
    )
    .bind(run.to_string())
    .bind(now)
    .fetch_optional(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    row.as_ref().map(by(CancelSituation::read)).transpose()
}

async fn refuse_request(
    connection: &mut SqliteConnection,
    run: RunId,
    now: i64,
) -> Result<CancelledRun, CancelError> {
    let request = requests::one(&mut *connection, run).await?;
    let request = request.filter(|request| request.refused.is_none());
    let request = request.ok_or(CancelError::Unknown)?;
    let refused = Refused {
        code: RefusedCode::Withdrawn,
        reason: REQUEST_CANCELLED.to_owned(),
    };
    requests::refuse(connection, run, &refused, now).await?;
    Ok(CancelledRun::of_request(request))
}

async fn write(
    connection: &mut SqliteConnection,
    CancelPlan { answer, writes }: &CancelPlan,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let run = answer.run.to_string();
    match writes {
        CancelWrites::Withdraw {
            errors,
            withholds,
            discards,
        } => {
            sqlx::query(
                "-- cancel_run: withdraw
                UPDATE runs SET status = 'cancelled', errors = ?2, finished_at = ?3, updated_at = ?3
                WHERE id = ?1 AND status = 'queued'",
            )
            .bind(&run)
            .bind(encoded(OPERATION, errors)?)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(&failed)?;
            if let Some(event) = &answer.event {
                store_event(connection, event).await?;
            }
            sqlx::query(
                "-- cancel_run: what follows for the task
                UPDATE tasks
                SET cancelled_input = CASE WHEN ?3 THEN (SELECT input_hash FROM runs WHERE id = ?1)
                                      ELSE cancelled_input END,
                    phase = CASE WHEN ?4 AND creation_run = ?1 THEN 'discarded' ELSE phase END,
                    updated_at = CASE WHEN ?4 THEN ?5 ELSE updated_at END
                WHERE name = ?2 AND (?3 OR ?4)",
            )
            .bind(&run)
            .bind(answer.task.as_str())
            .bind(withholds)
            .bind(discards)
            .bind(now)
            .execute(connection)
            .await
            .map_err(&failed)?;
        }
        CancelWrites::Suspend => {
            sqlx::query(
                "-- cancel_run: suspend
                UPDATE runs SET due_at = ?2, cancel_requested_at = NULL, updated_at = ?3
                WHERE id = ?1 AND status = 'queued'",
            )
            .bind(&run)
            .bind(SUSPENDED_UNTIL)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(&failed)?;
            note_suspended(connection, answer.task.as_str(), now).await?;
        }
        CancelWrites::Order { by_force } => {
            sqlx::query(
                "-- cancel_run: order
                UPDATE runs
                SET cancel_requested_at = coalesce(cancel_requested_at, ?2),
                    cancel_force = cancel_force OR ?3
                WHERE id = ?1 AND status = 'running'",
            )
            .bind(&run)
            .bind(now)
            .bind(by_force)
            .execute(connection)
            .await
            .map_err(&failed)?;
        }
    }
    Ok(())
}

/// Shows that the destruction of a task is suspended.
pub(crate) async fn note_suspended(
    connection: &mut SqliteConnection,
    task: &str,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- a destruction is suspended
        UPDATE tasks SET destruction_suspended_at = ?2, updated_at = ?2 WHERE name = ?1",
    )
    .bind(task)
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// A suspended destruction is due again, with all its attempts.
pub(crate) async fn continue_destruction(
    connection: &mut SqliteConnection,
    task: &str,
    now: i64,
) -> Result<(), StoreError> {
    for statement in [
        "-- delete_task: a suspended destruction goes on
        UPDATE runs
        SET due_at = ?2, attempts = 0, updated_at = ?2,
            settings = coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings)
        WHERE status = 'queued' AND id = (
            SELECT destroy_run FROM tasks
            WHERE name = ?1 AND destruction_suspended_at IS NOT NULL)",
        "-- delete_task: it shows no more
        UPDATE tasks SET destruction_suspended_at = NULL, updated_at = ?2
        WHERE name = ?1 AND destruction_suspended_at IS NOT NULL",
    ] {
        sqlx::query(statement)
            .bind(task)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("delete a task"))?;
    }
    Ok(())
}

/// Queued runs with an order to stop, which a scheduler of an earlier version has put back.
pub(crate) async fn put_back(
    connection: &mut SqliteConnection,
    most: usize,
) -> Result<Vec<RunId>, StoreError> {
    let ids: Vec<String> = sqlx::query_scalar(
        "-- reap: cancelled runs; index runs_cancel_requested
        SELECT id FROM runs WHERE status = 'queued' AND cancel_requested_at IS NOT NULL
        ORDER BY id LIMIT ?",
    )
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await
    .map_err(failed_to("take back leases"))?;
    let cell = |id| Cell {
        table: "runs",
        column: "id",
        row: id,
    };
    ids.iter().map(|id| cell(id).parse(id)).collect()
}

/// The order to stop of a live lease, and whether its holder has taken note of it.
pub(crate) async fn order_of(
    executor: impl SqliteExecutor<'_>,
    held: Held<'_>,
) -> Result<Option<(CancelOrder, bool)>, LeaseError> {
    let read = failed_to("read a leased run");
    let (run, holder, epoch) = held;
    let row = sqlx::query(
        "-- cancel_order
        SELECT cancel_requested_at IS NOT NULL AS ordered, cancel_force,
               cancel_noted_at IS NOT NULL AS noted
        FROM runs WHERE id = ? AND epoch = ? AND holder = ? AND status = 'running'",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .fetch_optional(executor)
    .await
    .map_err(&read)?;
    let row = row.ok_or_else(|| lost(held))?;
    let flag = |column| row.try_get::<bool, _>(column).map_err(&read);
    let ordered = flag("ordered")?;
    Ok(ordered.then_some((order(flag("cancel_force")?), flag("noted")?)))
}

/// The holder of the lease has taken note.
pub(crate) async fn note(
    executor: impl SqliteExecutor<'_>,
    (run, holder, epoch): Held<'_>,
    now: i64,
) -> Result<(), LeaseError> {
    sqlx::query(
        "-- cancel_order: noted
        UPDATE runs SET cancel_noted_at = ?4
        WHERE id = ?1 AND epoch = ?2 AND holder = ?3 AND status = 'running' AND cancel_noted_at IS NULL",
    )
    .bind(run.to_string())
    .bind(stored_epoch(epoch))
    .bind(holder.as_str())
    .bind(now)
    .execute(executor)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

pub(crate) async fn state(
    executor: impl SqliteExecutor<'_>,
    run: RunId,
    now: i64,
) -> Result<Option<CancelState>, StoreError> {
    let row = sqlx::query(
        "-- cancel_state; a running run was updated last when its lease was granted or renewed
        SELECT id, holder, cancel_force, ?2 - cancel_requested_at AS ordered_micros,
               cancel_noted_at IS NOT NULL AS noted, updated_at > cancel_requested_at AS renewed
        FROM runs
        WHERE id = ?1 AND status = 'running' AND cancel_requested_at IS NOT NULL",
    )
    .bind(run.to_string())
    .bind(now)
    .fetch_optional(executor)
    .await
    .map_err(failed_to("read a run"))?;
    row.as_ref().map(by(CancelState::read)).transpose()
}
