//! Forgets what is old.

use cts_store::{DRAFTS_KEPT, PLANS_KEPT, StoreError};
use sqlx::{Connection as _, PgConnection};

use crate::row::{failed_to, span_micros};

/// Key of the advisory lock of inputs: shared by whoever is about to refer to one, alone by whoever
/// removes those that nobody refers to.
pub(crate) const INPUTS_LOCK: i64 = 0x6374_735f_696e_7075;

/// Bundles that were not in use for so long are forgotten, in microseconds: a week.
const BUNDLE_LIFE: i64 = 7 * 24 * 3600 * 1_000_000;

pub(crate) async fn prune(connection: &mut PgConnection, keep: u32) -> Result<u64, StoreError> {
    let write = failed_to("forget old runs");
    forget_drafts(connection).await?;
    let mut transaction = connection.begin().await.map_err(&write)?;
    sqlx::query("-- prune: it may take long\nSET LOCAL statement_timeout = '5min'")
        .execute(&mut *transaction)
        .await
        .map_err(&write)?;
    let runs = sqlx::query(
        "-- prune: runs, and with them their events and log lines; earlier tasks of a name count together
        DELETE FROM runs
        WHERE id IN (
            SELECT id
            FROM (SELECT r.id, r.kind, row_number() OVER (
                      PARTITION BY r.task_name, t.name IS NULL, r.kind, r.status = 'cancelled'
                      ORDER BY r.created_at DESC, r.id DESC) AS place
                  FROM runs r
                  LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
                  WHERE r.status IN ('succeeded', 'failed', 'cancelled')) ended
            WHERE place > CASE kind WHEN 'apply' THEN $1 ELSE $2 END)",
    )
    .bind(i64::from(keep))
    .bind(i64::from(keep.min(PLANS_KEPT)))
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    sqlx::query(
        "-- prune: bundles
        DELETE FROM bundles WHERE used_at <= cts_now() - $1",
    )
    .bind(BUNDLE_LIFE)
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    sqlx::query("-- prune: nobody is about to refer to an input\nSELECT pg_advisory_xact_lock($1)")
        .bind(INPUTS_LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(&write)?;
    // A statement of its own: runs that came while the lock was waited for are seen.
    sqlx::query(
        "-- prune: inputs; index runs_input
        DELETE FROM inputs i
        WHERE NOT EXISTS (SELECT FROM runs r WHERE r.input_hash = i.hash)",
    )
    .execute(&mut *transaction)
    .await
    .map_err(&write)?;
    transaction.commit().await.map_err(&write)?;
    Ok(runs.rows_affected())
}

/// Of what nobody waits for any more. On its own, because tasks are locked after inputs.
async fn forget_drafts(connection: &mut PgConnection) -> Result<(), StoreError> {
    for statement in [
        "-- prune: drafts
        DELETE FROM tasks WHERE phase = 'discarded' AND updated_at <= cts_now() - $1",
        "-- prune: refused requests
        DELETE FROM run_requests WHERE refused_at <= cts_now() - $1",
    ] {
        sqlx::query(statement)
            .bind(span_micros(DRAFTS_KEPT))
            .execute(&mut *connection)
            .await
            .map_err(failed_to("forget drafts"))?;
    }
    Ok(())
}
