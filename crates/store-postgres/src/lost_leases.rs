//! Leases that were lost.

use cts_core::{LostLease, RunId};
use cts_store::{LOST_LEASES_SHOWN, Retention, StoreError, decode};
use sqlx::PgConnection;

use crate::row::{by, failed_to, span_micros};

/// Notes that the lease of this run, or of all running runs, is lost.
pub(crate) async fn note(
    connection: &mut PgConnection,
    run: Option<RunId>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- lost_leases: one more; index runs_one_running
        INSERT INTO lost_leases (run_id, epoch, task_name, holder, started_at, lost_at)
        SELECT id, epoch, task_name, holder, coalesce(started_at, $1), $1 FROM runs
        WHERE status = 'running' AND (kind <> 'check' OR destroys IS NOT NULL) AND ($2::UUID IS NULL OR id = $2)",
    )
    .bind(now)
    .bind(run.map(RunId::as_uuid))
    .execute(connection)
    .await
    .map_err(failed_to("note a lost lease"))?;
    Ok(())
}

pub(crate) async fn of_task(
    connection: &mut PgConnection,
    run: RunId,
) -> Result<Vec<LostLease>, StoreError> {
    let rows = sqlx::query(
        "-- lost_leases; index lost_leases_of_task
        SELECT run_id AS id, holder, started_at, lost_at FROM lost_leases
        WHERE task_name = (SELECT task_name FROM runs WHERE id = $1)
        ORDER BY lost_at DESC, run_id DESC, epoch DESC LIMIT $2",
    )
    .bind(run.as_uuid())
    .bind(i64::from(LOST_LEASES_SHOWN))
    .fetch_all(connection)
    .await
    .map_err(failed_to("read lost leases"))?;
    rows.iter().map(by(decode::lost_lease)).collect()
}

pub(crate) async fn forget(
    connection: &mut PgConnection,
    retention: Retention,
) -> Result<(), StoreError> {
    sqlx::query("-- prune: lost leases\nDELETE FROM lost_leases WHERE lost_at < cts_now() - $1")
        .bind(span_micros(retention.age))
        .execute(connection)
        .await
        .map_err(failed_to("forget lost leases"))?;
    Ok(())
}
