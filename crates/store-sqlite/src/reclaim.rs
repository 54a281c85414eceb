//! Takes back the leases of lost workers.

use cts_store::decode::{self, ExpiredLease};
use cts_store::{ExpiredLeases, LeaseError, Requeued, StoreError};
use cts_store_sql::{cancel, sql};
use sqlx::SqliteConnection;

use crate::call::shared;
use crate::complete;
use crate::row::{by, failed_to};

const OPERATION: &str = "take back leases";

/// Silence after which a member or a worker is forgotten, in microseconds.
const SILENCE: i64 = 24 * 3600 * 1_000_000;

/// Takes back expired leases, at most one for each element of `each`.
pub(crate) async fn reap(
    connection: &mut SqliteConnection,
    each: &[ExpiredLeases],
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let mut requeued = Vec::new();
    let expired = expired(connection, each.len(), now).await?;
    for (lost, ids) in expired.iter().zip(each) {
        let lease = (lost.run, lost.epoch);
        let loss = (lost.holder.as_str(), lost.renewable);
        let completed = complete::lose(connection, lease, loss, ids, now).await;
        let completed = completed.map_err(|error| match error {
            LeaseError::Store(error) => error,
            // The lease was read in the same transaction.
            lost @ LeaseError::Lost { .. } => StoreError::Database {
                operation: OPERATION,
                source: Box::new(lost),
            },
        })?;
        requeued.push(Requeued {
            run: lost.run,
            task: completed.task,
            kind: completed.kind,
            status: completed.status,
            holder: lost.worker(),
        });
    }
    let left = each.get(requeued.len()..).unwrap_or_default();
    requeued.extend(cancel::end_put_back(&mut shared(connection, now), left).await?);
    Ok(requeued)
}

/// Expired leases, first expired first. The lease of an [ending](cts_store_sql::endings) counts as expired only once
/// force abandons its remote run.
async fn expired(
    connection: &mut SqliteConnection,
    most: usize,
    now: i64,
) -> Result<Vec<ExpiredLease>, StoreError> {
    let read = failed_to(OPERATION);
    let rows = sqlx::query(
        "-- reap; index runs_one_running; a running run was updated last when its lease was granted or renewed
        SELECT r.id, r.epoch, r.holder,
               r.holder <> '' AND coalesce(l.served_since <= r.updated_at, 0) AS renewable
        FROM runs r JOIN leadership l ON l.singleton = 1
        WHERE r.status = 'running' AND r.expires_at <= ?1 AND (r.holder <> '' OR r.cancel_force)
        ORDER BY r.expires_at, r.id LIMIT ?2",
    )
    .bind(now)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    rows.iter().map(by(decode::expired_lease)).collect()
}

/// Forgets members and workers that have been silent for a long time.
pub(crate) async fn forget_silent(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<(), StoreError> {
    let c = &mut shared(connection, now);
    let since = now.saturating_sub(SILENCE);
    let members = sql(
        "forget replicas",
        "-- silent members\nDELETE FROM members WHERE seen_at <= ?",
    );
    members.bind(since).execute(c).await?;
    let configurations = sql(
        "forget replicas",
        "-- silent members: their configurations
        DELETE FROM member_configurations WHERE member_id NOT IN (SELECT id FROM members)",
    );
    configurations.execute(c).await?;
    let workers = sql(
        "forget workers",
        "-- silent workers\nDELETE FROM workers WHERE seen_at <= ?",
    );
    workers.bind(since).execute(c).await?;
    Ok(())
}
