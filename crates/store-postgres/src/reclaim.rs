//! Takes back the leases of lost workers.

use cts_core::LeaderEpoch;
use cts_store::decode::{self, ExpiredLease};
use cts_store::{ExpiredLeases, LeaderError, Requeued, StoreError};
use cts_store_sql::cancel;
use cts_store_sql::leadership::fence;
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::call::shared;
use crate::row::{by, failed_to};
use crate::{complete, leadership, set_back};

const OPERATION: &str = "take back leases";

pub(crate) async fn reap(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    each: &[ExpiredLeases],
) -> Result<Vec<Requeued>, LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = fence(&mut shared(&mut transaction), leader).await?;
    set_back::bring_back(&mut transaction, now).await?;
    let mut requeued = Vec::new();
    let expired = expired(&mut transaction, each.len(), now).await?;
    for (lost, ids) in expired.iter().zip(each) {
        let lease = (lost.run, lost.epoch);
        let loss = (lost.holder.as_str(), lost.renewable);
        let completed = complete::lose(&mut transaction, lease, loss, ids).await?;
        requeued.push(Requeued {
            run: lost.run,
            task: completed.task,
            kind: completed.kind,
            status: completed.status,
            holder: lost.worker(),
        });
    }
    let left = each.get(requeued.len()..).unwrap_or_default();
    requeued.extend(cancel::end_put_back(&mut shared(&mut transaction), left).await?);
    leadership::forget_silent(&mut transaction, now).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(requeued)
}

/// Expired leases, first expired first; locks them and their tasks. The lease of an [ending](cts_store_sql::endings)
/// counts as expired only once force abandons its remote run.
async fn expired(
    transaction: &mut PgTransaction<'_>,
    most: usize,
    now: i64,
) -> Result<Vec<ExpiredLease>, StoreError> {
    let read = failed_to(OPERATION);
    let names: Vec<String> = sqlx::query_scalar(
        "-- reap: the tasks, one at a time; index runs_one_running
        SELECT t.name
        FROM tasks t
        WHERE t.name IN (
            SELECT r.task_name FROM runs r
            WHERE r.status = 'running' AND r.expires_at <= $1 AND (r.holder <> '' OR r.cancel_force)
            ORDER BY r.expires_at, r.id LIMIT $2)
        ORDER BY t.name
        FOR NO KEY UPDATE",
    )
    .bind(now)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // A separate statement, which sees changes made during the wait for the locks.
    let rows = sqlx::query(
        "-- reap; index runs_one_running; a running run was updated last when its lease was granted or renewed
        SELECT r.id, r.epoch, r.holder,
               r.holder <> '' AND coalesce(l.served_since <= r.updated_at, FALSE) AS renewable
        FROM runs r CROSS JOIN leadership l
        WHERE r.task_name = ANY ($1) AND r.status = 'running' AND r.expires_at <= $2
          AND (r.holder <> '' OR r.cancel_force)
        ORDER BY r.expires_at, r.id
        FOR NO KEY UPDATE OF r",
    )
    .bind(names)
    .bind(now)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&read)?;
    rows.iter().map(by(decode::expired_lease)).collect()
}
