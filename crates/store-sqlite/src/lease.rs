//! Grants leases.

use cts_core::runs::{ELSEWHERE_FOR, RunKind};
use cts_core::{Capabilities, Delivery};
use cts_store::decode;
use cts_store::{Claim, Lease, StoreError};
use cts_store_sql::{endings, failed_to, group_is_taken, has_rule, waits_for_decision};
use serde_json::{Value, json};
use sqlx::SqliteConnection;

use crate::call::shared;
use crate::row::{Cell, by, span_micros};

/// Leases with one statement, because every change waits for it, and a second statement for an apply; the trigger
/// `runs_leased` is part of it.
///
/// A row that cannot be decoded is an error, which rolls the caller's transaction back.
pub(crate) async fn acquire(
    connection: &mut SqliteConnection,
    claim: &Claim,
    now: i64,
) -> Result<Option<Lease>, StoreError> {
    if claim.may_end_remote_runs() {
        let ending = endings::acquire(&mut shared(connection, now), claim).await?;
        if ending.is_some() {
            return Ok(ending);
        }
    }
    let rows = sqlx::query(concat!(
        "-- acquire; indexes runs_due, runs_one_running; engines are pairs of driver and version
        UPDATE runs
        SET status = 'running',
            holder = ?1,
            claim = ?10,
            waiting_for = NULL,
            withdrawn = 0,
            resumed_waits = 0,
            cancel_noted_at = NULL,
            concurrency_group = CASE coalesce(destroys, kind) WHEN 'apply' THEN (
                SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name) END,
            expires_at = ?2,
            leased_epoch = epoch + 1,
            leased_at = ?3,
            leased_by = ?1,
            run_phase = NULL,
            run_phase_since = NULL,
            epoch = epoch + 1,
            permission_epoch = CASE WHEN coalesce(destroys, kind) = 'apply' AND EXISTS (
                SELECT 1 FROM tasks t WHERE t.name = task_name AND ", has_rule!(), ") THEN epoch + 1 END,
            attempts = attempts + 1,
            started_at = coalesce(started_at, ?3),
            updated_at = ?3
        WHERE status = 'queued' AND id = (
            SELECT r.id
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.status = 'queued' AND r.due_at <= ?3 AND r.cancel_requested_at IS NULL
              AND CASE WHEN r.destroys = 'apply' THEN ?12 WHEN r.destroys = 'plan' THEN ?13
                  WHEN r.kind = 'plan' THEN ?6 WHEN r.kind = 'check' THEN ?9
                  ELSE ?7 AND (t.enabled OR r.requested) END
              AND CASE WHEN r.destroys = 'apply' THEN t.destroy_run IS r.id
                  ELSE t.phase IN ('ready', 'creating') END
              AND (r.no_retry OR NOT ?8)
              AND (?16 OR coalesce(r.destroys, r.kind) <> 'apply' OR NOT ", has_rule!(), ")
              AND NOT (r.leased_by IS ?1 AND coalesce(r.elsewhere_until, 0) BETWEEN ?3 AND ?3 + ?14)
              AND NOT EXISTS (
                SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')
              AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND ", group_is_taken!(), ")
              AND NOT (", waits_for_decision!(), "
                AND NOT (?15 AND t.state_refused = 'unless_named'))
              AND NOT EXISTS (
                SELECT 1 FROM workers w WHERE w.id = ?1 AND (w.draining OR w.drain_requested))
              AND CASE WHEN NOT ?11 THEN TRUE
                  WHEN r.settings IS NULL THEN r.destroys IS NULL
                  ELSE EXISTS (
                    SELECT 1 FROM worker_settings s
                    WHERE s.worker_id = ?1 AND s.number = r.settings) END
              AND t.requires_bundle <= ?4
              AND EXISTS (
                SELECT 1 FROM json_each(?5) e
                WHERE e.value ->> 0 = t.requires_driver
                  AND (t.requires_version IS NULL OR e.value ->> 1 = t.requires_version))
            ORDER BY r.due_at, r.id
            LIMIT 1)
        RETURNING id, task_name, kind, destroys, holder, epoch, input_hash, attempts, trace,
            NULL AS delivery, NULL AS delivery_first_run, permission_epoch IS NOT NULL AS asks_permission,
            (SELECT t.spec FROM tasks t
             WHERE t.name = task_name
               AND (t.spec LIKE '%\"timeouts\":{%' OR t.spec LIKE '%\"approval_ignore\":[%')) AS timed_spec,
            (SELECT json_object('lineage', t.state_lineage, 'serial', t.state_serial, 'moves', t.state_moves,
                         'moved', t.state_moved_serial, 'keep', t.state_keep, 'from', t.state_from)
             FROM tasks t WHERE t.name = task_name) AS known_state",
    ))
    .bind(claim.worker.as_str())
    .bind(now.saturating_add(span_micros(claim.time_to_live)))
    .bind(now)
    .bind(claim.capabilities.bundles)
    .bind(engines(&claim.capabilities))
    .bind(claim.kinds.plans)
    .bind(claim.kinds.applies)
    .bind(claim.only_requested)
    .bind(claim.kinds.checks)
    .bind(&claim.request)
    .bind(claim.checks_settings)
    .bind(claim.kinds.destroys)
    .bind(claim.kinds.destroy_plans)
    .bind(span_micros(ELSEWHERE_FOR))
    .bind(claim.names_previous_backend)
    .bind(claim.asks_permission)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to("lease a run"))?;
    let Some(mut lease) = rows.first().map(by(decode::lease)).transpose()? else {
        return Ok(None);
    };
    if lease.kind == RunKind::Apply {
        lease.delivery = Some(deliver(connection, &lease).await?);
    }
    Ok(Some(lease))
}

/// Notes that the task no longer owes a run, unless the apply needs permission, and numbers the delivery of an attempt, as
/// [`DeliveryAttempt::next`](cts_core::DeliveryAttempt::next) decides.
async fn deliver(connection: &mut SqliteConnection, lease: &Lease) -> Result<Delivery, StoreError> {
    let failed = failed_to("number a delivery");
    let (number, first_run): (i64, String) = sqlx::query_as(
        "-- acquire: the delivery; primary keys
        UPDATE tasks
        SET delivery = delivery + CASE WHEN last.goes_on THEN 0 ELSE 1 END,
            delivery_first_run = CASE WHEN last.goes_on THEN delivery_first_run ELSE ?2 END,
            delivery_run = ?2,
            delivery_input = ?3,
            owes_run = CASE WHEN ?4 THEN owes_run END
        FROM (SELECT coalesce(
                  t.delivery_input = ?3 AND (t.delivery_run = ?2 OR EXISTS (
                      SELECT 1 FROM runs r WHERE r.id = t.delivery_run AND r.status <> 'succeeded')),
                  FALSE) AS goes_on
              FROM tasks t WHERE t.name = ?1) AS last
        WHERE name = ?1
        RETURNING delivery, delivery_first_run",
    )
    .bind(lease.task.as_str())
    .bind(lease.run.to_string())
    .bind(lease.input.to_string())
    .bind(lease.asks_permission)
    .fetch_one(connection)
    .await
    .map_err(&failed)?;
    let cell = |column| Cell {
        table: "tasks",
        column,
        row: lease.task.as_str(),
    };
    Ok(Delivery {
        number: cell("delivery").number(number)?,
        first_run: cell("delivery_first_run").parse(&first_run)?,
    })
}

fn engines(capabilities: &Capabilities) -> String {
    let engines = capabilities.engines.iter();
    let pairs = engines.map(|engine| json!([engine.driver, engine.version]));
    Value::Array(pairs.collect()).to_string()
}
