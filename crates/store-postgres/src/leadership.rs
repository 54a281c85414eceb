//! Which scheduler leads, and which there are.

use std::time::Duration;

use cts_core::LeaderEpoch;
use cts_core::lease::longest_pause;
use cts_store::{LeaderError, Leadership, Member, MemberState, StoreError};
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};

use crate::row::{Cell, failed_to, span, span_micros};

/// Members and workers that were silent for so long are forgotten, in microseconds.
pub(crate) const FORGOTTEN_AFTER: i64 = 24 * 3600 * 1_000_000;

pub(crate) fn stored_epoch(epoch: LeaderEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

/// Key of the advisory lock of leadership: shared by whoever writes in the name of the leader, alone by
/// whoever changes who leads. It queues fairly, while those that wait for one row that is written often
/// may deadlock among themselves.
pub(crate) const LOCK: i64 = 0x6374_735f_6c65_6164;

/// Sees to it that `leader` leads until the transaction ends, and tells the time.
pub(crate) async fn fence(
    transaction: &mut PgTransaction<'_>,
    leader: LeaderEpoch,
) -> Result<i64, LeaderError> {
    let failed = failed_to("check the leader");
    sqlx::query("-- fence: nobody takes over\nSELECT pg_advisory_xact_lock_shared($1)")
        .bind(LOCK)
        .execute(&mut **transaction)
        .await
        .map_err(&failed)?;
    // A statement of its own: what changed while the lock was waited for is seen.
    let now: Option<i64> = sqlx::query_scalar(
        "-- fence
        SELECT cts_now() FROM leadership
        WHERE epoch = $1 AND holder IS NOT NULL AND expires_at > cts_now()",
    )
    .bind(stored_epoch(leader))
    .fetch_optional(&mut **transaction)
    .await
    .map_err(&failed)?;
    now.ok_or(LeaderError::Deposed { epoch: leader })
}

/// Waits until no duty of a leader is in progress, and keeps new ones out until the transaction ends.
pub(crate) async fn alone(transaction: &mut PgTransaction<'_>) -> Result<(), StoreError> {
    sqlx::query("-- lead, resign, release_all: one at a time\nSELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut **transaction)
        .await
        .map_err(failed_to("wait for the leadership"))?;
    Ok(())
}

pub(crate) async fn lead(
    connection: &mut PgConnection,
    member: &Member,
    epoch: Option<LeaderEpoch>,
    time_to_live: Duration,
) -> Result<Leadership, StoreError> {
    let failed = failed_to("ask for the leadership");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    alone(&mut transaction).await?;
    sqlx::query(
        "-- lead: it lives
        INSERT INTO members (id, service_name, address, seen_at) VALUES ($1, $2, $3, cts_now())
        ON CONFLICT (id) DO UPDATE
        SET service_name = excluded.service_name,
            address = excluded.address,
            seen_at = excluded.seen_at",
    )
    .bind(&member.id)
    .bind(&member.service_name)
    .bind(&member.address)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    sqlx::query(
        "-- lead: schedulers serve
        UPDATE leadership
        SET served_since = CASE WHEN served_at >= cts_now() - $1 THEN served_since
                           ELSE cts_now() END,
            served_at = cts_now()",
    )
    .bind(span_micros(longest_pause(time_to_live)))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    // Nobody leads; or it does already, which an earlier life of it does not.
    let changed = sqlx::query(
        "-- lead
        UPDATE leadership
        SET epoch = CASE WHEN holder = $1 AND expires_at > cts_now() AND epoch = $2
                    THEN epoch ELSE epoch + 1 END,
            holder = $1,
            expires_at = cts_now() + $3
        WHERE holder IS NULL OR expires_at <= cts_now()
           OR (holder = $1 AND ($2 IS NULL OR epoch = $2))",
    )
    .bind(&member.id)
    .bind(epoch.map(stored_epoch))
    .bind(span_micros(time_to_live))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    let row = sqlx::query(
        "-- lead: how it stands
        SELECT epoch, coalesce(holder, '') AS holder, expires_at - cts_now() AS expires_in
        FROM leadership",
    )
    .fetch_one(&mut *transaction)
    .await
    .map_err(&failed)?;
    let cell = Cell {
        table: "leadership",
        column: "epoch",
        row: "",
    };
    let leadership = Leadership {
        epoch: LeaderEpoch::new(cell.number(row.try_get("epoch").map_err(&failed)?)?),
        mine: changed.rows_affected() == 1,
        leader: row.try_get("holder").map_err(&failed)?,
        expires_in: span(row.try_get("expires_in").map_err(&failed)?),
    };
    transaction.commit().await.map_err(&failed)?;
    Ok(leadership)
}

pub(crate) async fn resign(
    connection: &mut PgConnection,
    member: &str,
    epoch: Option<LeaderEpoch>,
) -> Result<(), StoreError> {
    let failed = failed_to("free the leadership");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    alone(&mut transaction).await?;
    sqlx::query(
        "-- resign
        WITH freed AS (
            UPDATE leadership SET holder = NULL WHERE holder = $1 AND epoch = $2)
        DELETE FROM members WHERE id = $1",
    )
    .bind(member)
    .bind(epoch.map(stored_epoch))
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(())
}

pub(crate) async fn members(
    connection: &mut PgConnection,
    within: Duration,
) -> Result<Vec<MemberState>, StoreError> {
    let failed = failed_to("list the replicas");
    let rows = sqlx::query(
        "-- members
        SELECT m.id, m.service_name, m.address, cts_now() - m.seen_at AS silent_for,
               l.holder IS NOT NULL AS leader
        FROM members m
        LEFT JOIN leadership l ON l.holder = m.id AND l.expires_at > cts_now()
        WHERE m.seen_at >= cts_now() - $1
        ORDER BY m.id",
    )
    .bind(span_micros(within))
    .fetch_all(connection)
    .await
    .map_err(&failed)?;
    rows.iter()
        .map(|row| {
            Ok(MemberState {
                member: Member {
                    id: row.try_get("id").map_err(&failed)?,
                    service_name: row.try_get("service_name").map_err(&failed)?,
                    address: row.try_get("address").map_err(&failed)?,
                },
                silent_for: span(row.try_get("silent_for").map_err(&failed)?),
                leader: row.try_get("leader").map_err(&failed)?,
            })
        })
        .collect()
}

/// For a caller that knows that nobody lives.
pub(crate) async fn clear(transaction: &mut PgTransaction<'_>) -> Result<(), StoreError> {
    sqlx::query(
        "-- release_all: replicas and workers
        WITH members AS (DELETE FROM members), workers AS (DELETE FROM workers)
        UPDATE leadership SET holder = NULL",
    )
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("free the leadership"))?;
    Ok(())
}

/// Forgets members and workers that have been silent for long.
pub(crate) async fn forget_silent(
    transaction: &mut PgTransaction<'_>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- reap: replicas and workers
        WITH members AS (DELETE FROM members WHERE seen_at <= $1)
        DELETE FROM workers WHERE seen_at <= $1",
    )
    .bind(now.saturating_sub(FORGOTTEN_AFTER))
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("forget silent processes"))?;
    Ok(())
}
