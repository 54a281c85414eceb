//! The leader and the members.

use std::time::Duration;

use cts_core::LeaderEpoch;
use cts_core::lease::longest_pause;
use cts_store::{Leadership, Member, StoreError};
use cts_store_sql::leadership;
use sqlx::{Connection as _, PgConnection};

use crate::call::shared;
use crate::row::{failed_to, span_micros};

pub(crate) fn stored_epoch(epoch: LeaderEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

pub(crate) async fn lead(
    connection: &mut PgConnection,
    member: &Member,
    epoch: Option<LeaderEpoch>,
    time_to_live: Duration,
) -> Result<Leadership, StoreError> {
    if let Some(epoch) = epoch
        && let Some(leadership) = extend(connection, member, epoch, time_to_live).await?
    {
        return Ok(leadership);
    }
    let failed = failed_to("ask for the leadership");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let c = &mut shared(&mut transaction);
    let leadership = leadership::lead(c, member, epoch, time_to_live).await?;
    transaction.commit().await.map_err(&failed)?;
    Ok(leadership)
}

/// Extends the lease of a leader, if it is in force. The leader does not change, so this does not wait for writes in
/// progress: a long write must not cost its leader the lease.
async fn extend(
    connection: &mut PgConnection,
    member: &Member,
    epoch: LeaderEpoch,
    time_to_live: Duration,
) -> Result<Option<Leadership>, StoreError> {
    let extended = sqlx::query(
        "-- lead: extend
        WITH extended AS (
            UPDATE leadership
            SET expires_at = cts_now() + $4,
                served_since = CASE WHEN served_at >= cts_now() - $7 THEN served_since
                               ELSE cts_now() END,
                served_at = cts_now()
            WHERE incarnation = $2 AND epoch = $3 AND expires_at > cts_now()
            RETURNING epoch
        )
        INSERT INTO members (id, incarnation, service_name, address, seen_at)
        SELECT $1, $2, $5, $6, cts_now() FROM extended
        ON CONFLICT (id) DO UPDATE
        SET service_name = excluded.service_name,
            address = excluded.address,
            seen_at = excluded.seen_at
        WHERE members.incarnation = excluded.incarnation",
    )
    .bind(&member.id)
    .bind(member.incarnation.as_uuid())
    .bind(stored_epoch(epoch))
    .bind(span_micros(time_to_live))
    .bind(&member.service_name)
    .bind(&member.address)
    .bind(span_micros(longest_pause(time_to_live)))
    .execute(connection)
    .await
    .map_err(failed_to("extend the leadership"))?;
    // Zero rows also if the id was taken over: the caller finds that out under the lock.
    Ok((extended.rows_affected() == 1).then(|| Leadership {
        epoch,
        mine: true,
        leader: member.id.clone(),
        expires_in: time_to_live,
        resumed: true,
        id_in_use: None,
    }))
}

pub(crate) async fn resign(
    connection: &mut PgConnection,
    member: &Member,
) -> Result<(), StoreError> {
    let failed = failed_to("free the leadership");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    leadership::resign(&mut shared(&mut transaction), member).await?;
    transaction.commit().await.map_err(&failed)
}
