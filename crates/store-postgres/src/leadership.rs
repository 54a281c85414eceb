//! The leader and the members.

use std::time::Duration;

use cts_core::lease::longest_pause;
use cts_core::{Incarnation, LeaderEpoch};
use cts_store::{Leadership, Member, StoreError};
use cts_store_sql::leadership::alone;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::call::shared;
use crate::row::{Cell, failed_to, span, span_micros};
use crate::set_back;

/// Members and workers that were silent for so long are forgotten, in microseconds.
pub(crate) const FORGOTTEN_AFTER: i64 = 24 * 3600 * 1_000_000;

pub(crate) fn stored_epoch(epoch: LeaderEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

/// State of the leadership.
struct LeaderState {
    epoch: u64,
    holder: Option<String>,
    /// The last leader, whether its lease has expired or not.
    incarnation: Option<Incarnation>,
    /// Negative or zero if the lease has expired.
    expires_in: i64,
}

impl LeaderState {
    fn is_led(&self) -> bool {
        self.holder.is_some() && self.expires_in > 0
    }

    fn is_of_another(&self, member: &Member) -> bool {
        self.is_led() && self.incarnation != Some(member.incarnation)
    }
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
    // While another replica leads, the leader does not change, and this does not wait for writes in progress.
    let leader_state = match leader_state(&mut transaction).await? {
        leader_state if leader_state.is_of_another(member) => leader_state,
        _ => {
            alone(&mut shared(&mut transaction)).await?;
            leader_state_for_update(&mut transaction).await?
        }
    };
    serve(&mut transaction, time_to_live).await?;
    let id_in_use = note(&mut transaction, member, time_to_live).await?;
    let leads = leader_state.is_led();
    let own = leader_state.incarnation == Some(member.incarnation);
    let granted = if leads && own {
        let known = epoch.map(LeaderEpoch::get);
        Some(leader_state.epoch + u64::from(known != Some(leader_state.epoch)))
    } else if !leads && id_in_use.is_none() {
        Some(leader_state.epoch + 1)
    } else {
        None
    };
    let leadership = if let Some(granted) = granted {
        let granted = LeaderEpoch::new(granted);
        sqlx::query(
            "-- lead: grant
            UPDATE leadership
            SET epoch = $1, holder = $2, incarnation = $3, expires_at = cts_now() + $4",
        )
        .bind(stored_epoch(granted))
        .bind(&member.id)
        .bind(member.incarnation.as_uuid())
        .bind(span_micros(time_to_live))
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
        Leadership {
            epoch: granted,
            mine: true,
            leader: member.id.clone(),
            expires_in: time_to_live,
            resumed: own,
            id_in_use,
        }
    } else {
        Leadership {
            epoch: LeaderEpoch::new(leader_state.epoch),
            mine: false,
            leader: leader_state.holder.filter(|_| leads).unwrap_or_default(),
            expires_in: if leads {
                span(leader_state.expires_in)
            } else {
                Duration::ZERO
            },
            resumed: false,
            id_in_use,
        }
    };
    transaction.commit().await.map_err(&failed)?;
    Ok(leadership)
}

/// Extends the lease of a leader, if it is in force. The leader stays the same, so this does not wait for
/// writes in progress: a long one must not cost its leader the lease.
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
    // Zero also if the id was taken over: the caller finds that out with the lock.
    Ok((extended.rows_affected() == 1).then(|| Leadership {
        epoch,
        mine: true,
        leader: member.id.clone(),
        expires_in: time_to_live,
        resumed: true,
        id_in_use: None,
    }))
}

/// Notes that a scheduler serves and can renew leases.
async fn serve(
    transaction: &mut PgTransaction<'_>,
    time_to_live: Duration,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- lead: schedulers serve
        UPDATE leadership
        SET served_since = CASE WHEN served_at >= cts_now() - $1 THEN served_since
                           ELSE cts_now() END,
            served_at = cts_now()",
    )
    .bind(span_micros(longest_pause(time_to_live)))
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("note that a scheduler serves"))?;
    Ok(())
}

/// Notes that the member lives. If another incarnation with its id was seen within `time_to_live`, notes
/// nothing and returns how long ago that was. An entry made by a clock that was ahead is no sign of life.
async fn note(
    transaction: &mut PgTransaction<'_>,
    member: &Member,
    time_to_live: Duration,
) -> Result<Option<Duration>, StoreError> {
    let failed = failed_to("note a replica");
    let noted = sqlx::query(
        "-- lead: it lives
        INSERT INTO members (id, incarnation, service_name, address, seen_at)
        VALUES ($1, $2, $3, $4, cts_now())
        ON CONFLICT (id) DO UPDATE
        SET incarnation = excluded.incarnation,
            service_name = excluded.service_name,
            address = excluded.address,
            seen_at = excluded.seen_at
        WHERE members.incarnation = excluded.incarnation
              OR members.seen_at NOT BETWEEN cts_now() - $5 + 1 AND cts_now() + $6",
    )
    .bind(&member.id)
    .bind(member.incarnation.as_uuid())
    .bind(&member.service_name)
    .bind(&member.address)
    .bind(span_micros(time_to_live))
    .bind(span_micros(set_back::DOUBT))
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    if noted.rows_affected() > 0 {
        return Ok(None);
    }
    let silent_for: i64 = sqlx::query_scalar(
        "-- lead: the id is in use\nSELECT cts_now() - seen_at FROM members WHERE id = $1",
    )
    .bind(&member.id)
    .fetch_one(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(Some(span(silent_for)))
}

const STANDING: &str = "-- lead: how it stands
    SELECT epoch, holder, incarnation, expires_at - cts_now() AS expires_in FROM leadership";

/// An extension does not wait for the lock of leadership, so the row has one of its own.
const STANDING_FOR_UPDATE: &str = "-- lead: how it stands for good
    SELECT epoch, holder, incarnation, expires_at - cts_now() AS expires_in
    FROM leadership FOR UPDATE";

async fn leader_state(transaction: &mut PgTransaction<'_>) -> Result<LeaderState, StoreError> {
    let row = sqlx::query(STANDING).fetch_one(&mut **transaction).await;
    leader_state_of(&row.map_err(failed_to("read who leads"))?)
}

async fn leader_state_for_update(
    transaction: &mut PgTransaction<'_>,
) -> Result<LeaderState, StoreError> {
    let row = sqlx::query(STANDING_FOR_UPDATE)
        .fetch_one(&mut **transaction)
        .await;
    leader_state_of(&row.map_err(failed_to("read who leads"))?)
}

fn leader_state_of(row: &PgRow) -> Result<LeaderState, StoreError> {
    let failed = failed_to("read who leads");
    let cell = Cell {
        table: "leadership",
        column: "epoch",
        row: "",
    };
    let incarnation: Option<Uuid> = row.try_get("incarnation").map_err(&failed)?;
    Ok(LeaderState {
        epoch: cell.number(row.try_get("epoch").map_err(&failed)?)?,
        holder: row.try_get("holder").map_err(&failed)?,
        incarnation: incarnation.map(Incarnation::from_uuid),
        expires_in: row.try_get("expires_in").map_err(&failed)?,
    })
}

pub(crate) async fn resign(
    connection: &mut PgConnection,
    member: &Member,
) -> Result<(), StoreError> {
    let failed = failed_to("free the leadership");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    alone(&mut shared(&mut transaction)).await?;
    sqlx::query(
        "-- resign
        WITH configuration AS (DELETE FROM member_configurations WHERE incarnation = $2),
        freed AS (
            UPDATE leadership SET holder = NULL, incarnation = NULL WHERE incarnation = $2)
        DELETE FROM members WHERE id = $1 AND incarnation = $2",
    )
    .bind(&member.id)
    .bind(member.incarnation.as_uuid())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(())
}

/// Forgets members and workers that have been silent for long.
pub(crate) async fn forget_silent(
    transaction: &mut PgTransaction<'_>,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- reap: replicas and workers
        WITH silent AS (DELETE FROM members WHERE seen_at <= $1 RETURNING incarnation),
        configurations AS (
            DELETE FROM member_configurations WHERE incarnation IN (SELECT incarnation FROM silent))
        DELETE FROM workers WHERE seen_at <= $1",
    )
    .bind(now.saturating_sub(FORGOTTEN_AFTER))
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("forget silent processes"))?;
    Ok(())
}
