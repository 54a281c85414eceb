//! Takes back the leases of lost workers.

use cts_core::LeaderEpoch;
use cts_store::decode::{self, ExpiredLease};
use cts_store::{Completion, ExpiredLeases, LeaderError, Requeued, StoreError};

use crate::leadership::{FORGOTTEN_AFTER, fence};
use crate::{Connection, attempt_ends, cancel, housekeeping, set_back, sql, text};

const OPERATION: &str = "take back leases";

/// Takes back expired leases, at most one for each element of `each`, and corrects times of a clock that was ahead.
/// An attempt whose lease has expired ends like a completed attempt. Forgets silent members and workers.
pub(crate) async fn reclaim(
    c: &mut dyn Connection,
    leader: LeaderEpoch,
    each: &[ExpiredLeases],
) -> Result<Vec<Requeued>, LeaderError> {
    let now = fence(c, leader).await?;
    set_back::bring_back(c, now).await?;
    let requeued = reclaim_expired(c, each, now).await?;
    forget_silent(c, now).await?;
    Ok(requeued)
}

async fn reclaim_expired(
    c: &mut dyn Connection,
    each: &[ExpiredLeases],
    now: i64,
) -> Result<Vec<Requeued>, StoreError> {
    let mut requeued = Vec::new();
    let expired = expired(c, each.len(), now).await?;
    for (lost, ids) in expired.iter().zip(each) {
        let lease = (lost.run, lost.epoch);
        let completion = Completion::of_lost_lease(lease, &lost.holder, ids);
        let Some((attempt, now)) = attempt_ends::locked(c, &completion).await? else {
            return Err(StoreError::Database {
                operation: OPERATION,
                source: Box::new(completion.lost()),
            });
        };
        housekeeping::note_lost(c, Some(completion.run)).await?;
        let end = attempt.lost(&completion, lost.renewable, now)?;
        let completed = attempt_ends::write(c, end, now).await?;
        requeued.push(Requeued {
            run: lost.run,
            task: completed.task,
            kind: completed.kind,
            status: completed.status,
            holder: lost.worker(),
        });
    }
    let left = each.get(requeued.len()..).unwrap_or_default();
    requeued.extend(cancel::end_put_back(c, left).await?);
    Ok(requeued)
}

/// Expired leases, first expired first; locks them and their tasks. The lease of an [ending](crate::endings) counts
/// as expired only once force abandons its remote run.
async fn expired(
    c: &mut dyn Connection,
    most: usize,
    now: i64,
) -> Result<Vec<ExpiredLease>, StoreError> {
    let names = c.dialect().pick(
        "-- reap: the tasks; index runs_one_running
        SELECT r.task_name AS value FROM runs r
        WHERE r.status = 'running' AND r.expires_at <= $1 AND (r.holder <> '' OR r.cancel_force)
        ORDER BY r.expires_at, r.id LIMIT $2",
        "-- reap: the tasks, one at a time; index runs_one_running
        SELECT t.name AS value
        FROM tasks t
        WHERE t.name IN (
            SELECT r.task_name FROM runs r
            WHERE r.status = 'running' AND r.expires_at <= $1 AND (r.holder <> '' OR r.cancel_force)
            ORDER BY r.expires_at, r.id LIMIT $2)
        ORDER BY t.name
        FOR NO KEY UPDATE",
    );
    let names = sql(OPERATION, names).bind(now).bind(most);
    let names: Vec<String> = names.all(c, text).await?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // A separate statement, which sees changes made during the wait for the locks.
    let lock = c.dialect().pick("", "FOR NO KEY UPDATE OF r");
    let expired = sql(
        OPERATION,
        format!(
            "-- reap; index runs_one_running; a running run was updated last when its lease was granted or renewed
        SELECT r.id, r.epoch, r.holder,
               r.holder <> '' AND coalesce(l.served_since <= r.updated_at, FALSE) AS renewable
        FROM runs r CROSS JOIN leadership l
        WHERE r.task_name {{in $1}} AND r.status = 'running' AND r.expires_at <= $2
          AND (r.holder <> '' OR r.cancel_force)
        ORDER BY r.expires_at, r.id
        {lock}"
        ),
    );
    let expired = expired.bind(&*names).bind(now);
    expired.all(c, decode::expired_lease).await
}

/// Forgets members and workers that have been silent for a long time.
async fn forget_silent(c: &mut dyn Connection, now: i64) -> Result<(), StoreError> {
    let since = now.saturating_sub(FORGOTTEN_AFTER);
    // One statement in Postgres, because each costs a way to the server.
    let statements: &[&'static str] = c.dialect().pick(
        &[
            "-- reap: silent replicas\nDELETE FROM members WHERE seen_at <= $1",
            "-- reap: their configurations
            DELETE FROM member_configurations WHERE member_id NOT IN (SELECT id FROM members)",
            "-- reap: silent workers\nDELETE FROM workers WHERE seen_at <= $1",
        ],
        &["-- reap: replicas and workers
            WITH silent AS (DELETE FROM members WHERE seen_at <= $1 RETURNING incarnation),
            configurations AS (
                DELETE FROM member_configurations WHERE incarnation IN (SELECT incarnation FROM silent))
            DELETE FROM workers WHERE seen_at <= $1"],
    );
    for statement in statements {
        let forgotten = sql("forget silent processes", *statement);
        forgotten.bind(since).execute(c).await?;
    }
    Ok(())
}
