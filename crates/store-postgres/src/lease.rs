//! Grants leases.

use cts_core::LeaseEpoch;
use cts_core::runs::ELSEWHERE_FOR;
use cts_store::decode;
use cts_store::{Claim, Lease, StoreError};
use cts_store_sql::{group_is_taken, waits_for_decision};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use crate::row::{by, failed_to, span_micros};

/// Leases a run in one statement, because every change waits for it. The rows of the run and of its task are locked
/// before the final check; runs that a different call is about to lease are skipped.
///
/// Runs must be read in the order of the index. Statistics about a queue are always outdated: if the planner
/// concluded from them that hardly any run is available, it would sort all waiting runs to find the first. So the
/// conditions are in a `CASE`, which the planner assumes to be true for half of the rows.
///
/// Calls may look for a run of the same concurrency group at the same time. The first call holds the lock of the
/// group until its end, and the other calls pass over the group: without the lock they would skip the row that the
/// first call locks, and lease a later run of the group.
pub(crate) async fn acquire(
    connection: &mut PgConnection,
    claim: &Claim,
) -> Result<Option<Lease>, StoreError> {
    for _ in 0..TRIES {
        match try_acquire(connection, claim).await {
            Err(error) if is_group_taken(&error) => {}
            Err(error) => return Err(failed_to("lease a run")(error)),
            Ok(rows) => return leased(connection, &rows).await,
        }
    }
    Ok(None)
}

/// First key of the advisory locks of concurrency groups. The second key is a hash of the group's name: groups with
/// the same hash briefly pass over each other.
const GROUPS_LOCK: i32 = 0x6374_7367;

/// Maximum number of searches for a run before a call waits for the next hint.
const TRIES: usize = 5;

/// Whether a different call has leased an apply of the same group since.
fn is_group_taken(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.and_then(DatabaseError::constraint) == Some("runs_one_of_group")
}

async fn leased(
    connection: &mut PgConnection,
    rows: &[PgRow],
) -> Result<Option<Lease>, StoreError> {
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let leased = by(decode::lease)(row);
    if leased.is_err() {
        give_back_unreadable(connection, row).await?;
    }
    leased.map(Some)
}

async fn try_acquire(
    connection: &mut PgConnection,
    claim: &Claim,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let engines = &claim.capabilities.engines;
    let drivers: Vec<&str> = engines.iter().map(|engine| &*engine.driver).collect();
    let versions: Vec<&str> = engines.iter().map(|engine| &*engine.version).collect();
    sqlx::query(concat!(
        "-- acquire; index runs_due
        WITH candidate AS (
            SELECT r.id, CASE coalesce(r.destroys, r.kind) WHEN 'apply' THEN t.concurrency_group END
                             AS concurrency_group,
                   coalesce(r.destroys, r.kind) = 'apply' AND cts_has_rule(t.name, t.spec) AS has_rule
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.status = 'queued' AND r.due_at BETWEEN 0 AND cts_now()
              AND CASE
                  WHEN t.active_run IS NOT NULL OR r.cancel_requested_at IS NOT NULL THEN FALSE
                  WHEN r.destroys = 'apply' AND (NOT $12 OR t.destroy_run IS DISTINCT FROM r.id)
                    OR r.destroys = 'plan' AND NOT $13 THEN FALSE
                  -- Another worker than the last one is preferred, for a moment.
                  WHEN r.leased_by = $1 AND r.elsewhere_until BETWEEN cts_now() AND cts_now() + $14 THEN FALSE
                  WHEN t.phase NOT IN ('ready', 'creating') AND r.destroys IS DISTINCT FROM 'apply' THEN FALSE
                  WHEN $8 AND NOT r.no_retry OR t.requires_bundle AND NOT $5 THEN FALSE
                  WHEN r.kind = 'plan' AND NOT $6
                    OR r.kind = 'check' AND r.destroys IS NULL AND NOT $9 THEN FALSE
                  WHEN r.kind = 'apply' AND NOT ($7 AND (t.enabled OR r.requested)) THEN FALSE
                  WHEN NOT $17 AND coalesce(r.destroys, r.kind) = 'apply' AND cts_has_rule(t.name, t.spec) THEN FALSE
                  WHEN coalesce(r.destroys, r.kind) = 'apply' AND ", group_is_taken!(), " THEN FALSE
                  WHEN ", waits_for_decision!(), "
                    AND NOT ($15 AND t.state_refused = 'unless_named') THEN FALSE
                  WHEN $11 AND CASE WHEN r.settings IS NULL THEN r.destroys IS NOT NULL
                      ELSE NOT EXISTS (
                        SELECT FROM worker_settings s
                        WHERE s.worker_id = $1 AND s.number = r.settings) END THEN FALSE
                  WHEN NOT EXISTS (
                    SELECT FROM unnest($3::TEXT[], $4::TEXT[]) AS engine (driver, version)
                    WHERE engine.driver = t.requires_driver
                      AND (t.requires_version IS NULL OR engine.version = t.requires_version)) THEN FALSE
                  ELSE t.concurrency_group IS NULL OR coalesce(r.destroys, r.kind) <> 'apply'
                    OR pg_try_advisory_xact_lock($16, hashtext(t.concurrency_group))
                  END
              AND NOT EXISTS (
                SELECT FROM workers w WHERE w.id = $1 AND (w.draining OR w.drain_requested))
            ORDER BY r.due_at, r.id
            LIMIT 1
            FOR NO KEY UPDATE OF t, r SKIP LOCKED
        ), leased AS (
            UPDATE runs r
            SET status = 'running',
                holder = $1,
                claim = $10,
                waiting_for = NULL,
                withdrawn = FALSE,
                resumed_waits = 0,
                cancel_noted_at = NULL,
                concurrency_group = candidate.concurrency_group,
                expires_at = cts_now() + $2,
                leased_epoch = r.epoch + 1,
                leased_at = cts_now(),
                leased_by = $1,
                run_phase = NULL,
                run_phase_since = NULL,
                epoch = r.epoch + 1,
                permission_epoch = CASE WHEN candidate.has_rule THEN r.epoch + 1 END,
                attempts = r.attempts + 1,
                started_at = coalesce(r.started_at, cts_now()),
                updated_at = cts_now()
            FROM candidate
            WHERE r.id = candidate.id AND r.status IS NOT DISTINCT FROM 'queued'
            RETURNING r.id, r.task_name, r.kind, r.destroys, r.holder, r.epoch, r.input_hash, r.attempts, r.trace,
                candidate.has_rule AS asks_permission
        ), busy AS (
            -- From now on Terraform may change anything, so nothing counts as applied. Plans and
            -- checks change nothing, nor does an apply whose worker asks for permission.
            UPDATE tasks t
            SET active_run = leased.id,
                last_applied = CASE WHEN leased.kind = 'apply' AND NOT leased.asks_permission THEN NULL
                                ELSE t.last_applied END,
                owes_run = CASE WHEN leased.kind = 'apply' AND NOT leased.asks_permission THEN NULL
                            ELSE t.owes_run END,
                (delivery, delivery_first_run, delivery_run, delivery_input) = (
                    -- As `cts_core::DeliveryAttempt::next` says.
                    SELECT CASE WHEN d.is_none OR d.goes_on THEN t.delivery ELSE t.delivery + 1 END,
                           CASE WHEN d.is_none OR d.goes_on THEN t.delivery_first_run ELSE leased.id END,
                           CASE WHEN d.is_none THEN t.delivery_run ELSE leased.id END,
                           CASE WHEN d.is_none THEN t.delivery_input ELSE leased.input_hash END
                    FROM (SELECT leased.kind <> 'apply' AS is_none, coalesce(
                              t.delivery_input = leased.input_hash
                              AND (t.delivery_run = leased.id OR EXISTS (
                                  SELECT FROM runs p
                                  WHERE p.id = t.delivery_run AND p.status <> 'succeeded')),
                              FALSE) AS goes_on) d)
            FROM leased WHERE t.name = leased.task_name
            RETURNING t.name, t.delivery,
                      CASE leased.kind WHEN 'apply' THEN t.delivery_first_run END AS delivery_first_run
        )
        SELECT leased.*, busy.delivery, busy.delivery_first_run,
               CASE WHEN t.spec LIKE '%\"timeouts\":{%' OR t.spec LIKE '%\"approval_ignore\":[%'
                    THEN t.spec END AS timed_spec,
               json_build_object('lineage', t.state_lineage, 'serial', t.state_serial, 'moves', t.state_moves,
                                 'moved', t.state_moved_serial, 'keep', t.state_keep, 'from', t.state_from)::TEXT
                   AS known_state
        FROM leased JOIN tasks t ON t.name = leased.task_name JOIN busy ON busy.name = leased.task_name",
    ))
    .bind(claim.worker.as_str())
    .bind(span_micros(claim.time_to_live))
    .bind(drivers)
    .bind(versions)
    .bind(claim.capabilities.bundles)
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
    .bind(GROUPS_LOCK)
    .bind(claim.asks_permission)
    .fetch_all(connection)
    .await
}

/// Undoes the lease of a row that cannot be decoded, because its worker never receives the lease: the failed call has
/// no effect.
async fn give_back_unreadable(
    connection: &mut PgConnection,
    row: &PgRow,
) -> Result<(), StoreError> {
    let failed = failed_to("give back a run");
    let id: Uuid = row.try_get("id").map_err(&failed)?;
    sqlx::query(
        "-- acquire: undo
        WITH free AS (
            UPDATE tasks SET active_run = NULL WHERE active_run = $1 RETURNING name)
        UPDATE runs
        SET status = 'queued', holder = NULL, expires_at = NULL,
            settings = CASE WHEN destroys = 'apply' THEN settings ELSE coalesce(
                (SELECT s.successor FROM settings_successors s WHERE s.number = runs.settings),
                settings) END
        FROM free
        WHERE id = $1 AND task_name = free.name AND status IS NOT DISTINCT FROM 'running'",
    )
    .bind(id)
    .execute(connection)
    .await
    .map_err(&failed)?;
    Ok(())
}

pub(crate) fn stored_epoch(epoch: LeaseEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}
