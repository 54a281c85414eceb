//! The leader and the members.

use std::time::Duration;

use cts_core::lease::longest_pause;
use cts_core::{Incarnation, LeaderEpoch};
use cts_store::{Leadership, Member, StoreError};
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::row::{Cell, between, failed_to, span_micros};
use crate::set_back;

/// The only row of the table.
struct LeaderState {
    epoch: u64,
    /// The leader whose lease has not expired, and its expiry.
    leader: Option<(String, i64)>,
    /// The last leader, whether its lease has expired or not.
    incarnation: Option<Incarnation>,
}

fn stored_epoch(epoch: LeaderEpoch) -> i64 {
    i64::try_from(epoch.get()).unwrap_or(i64::MAX)
}

/// Silence after which a member or a worker is forgotten, in microseconds.
pub(crate) const SILENCE: i64 = 24 * 3600 * 1_000_000;

pub(crate) async fn lead(
    connection: &mut SqliteConnection,
    member: &Member,
    epoch: Option<LeaderEpoch>,
    time_to_live: Duration,
    now: i64,
) -> Result<Leadership, StoreError> {
    let id_in_use = note(connection, member, time_to_live, now).await?;
    serve(connection, time_to_live, now).await?;
    let leader_state = leader_state(connection, now).await?;
    let own = leader_state.incarnation == Some(member.incarnation);
    let granted = match &leader_state.leader {
        Some(_) if own => {
            let known = epoch.map(LeaderEpoch::get);
            leader_state.epoch + u64::from(known != Some(leader_state.epoch))
        }
        None if id_in_use.is_none() => leader_state.epoch + 1,
        leader => {
            let (leader, expires_at) = leader.clone().unwrap_or_default();
            return Ok(Leadership {
                epoch: LeaderEpoch::new(leader_state.epoch),
                mine: false,
                leader,
                expires_in: between(now, expires_at),
                resumed: false,
                id_in_use,
            });
        }
    };
    let granted = LeaderEpoch::new(granted);
    let expires_at = now.saturating_add(span_micros(time_to_live));
    sqlx::query(
        "-- lead: grant or extend
        UPDATE leadership SET epoch = ?, holder = ?, incarnation = ?, expires_at = ?
        WHERE singleton = 1",
    )
    .bind(stored_epoch(granted))
    .bind(&member.id)
    .bind(member.incarnation.to_string())
    .bind(expires_at)
    .execute(connection)
    .await
    .map_err(failed_to("grant the leadership"))?;
    Ok(Leadership {
        epoch: granted,
        mine: true,
        leader: member.id.clone(),
        expires_in: between(now, expires_at),
        resumed: own,
        id_in_use,
    })
}

/// Notes that the member lives. If another incarnation with its id was seen within `time_to_live`, notes
/// nothing and returns how long ago that was. An entry made by a clock that was ahead is no sign of life.
async fn note(
    connection: &mut SqliteConnection,
    member: &Member,
    time_to_live: Duration,
    now: i64,
) -> Result<Option<Duration>, StoreError> {
    let noted = sqlx::query(
        "-- lead: the member lives
        INSERT INTO members (id, incarnation, service_name, address, seen_at)
        VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (id) DO UPDATE
        SET incarnation = excluded.incarnation,
            service_name = excluded.service_name,
            address = excluded.address,
            seen_at = excluded.seen_at
        WHERE incarnation = excluded.incarnation OR seen_at NOT BETWEEN ?6 + 1 AND ?7",
    )
    .bind(&member.id)
    .bind(member.incarnation.to_string())
    .bind(&member.service_name)
    .bind(&member.address)
    .bind(now)
    .bind(now.saturating_sub(span_micros(time_to_live)))
    .bind(now.saturating_add(span_micros(set_back::DOUBT)))
    .execute(&mut *connection)
    .await
    .map_err(failed_to("note a replica"))?;
    if noted.rows_affected() > 0 {
        return Ok(None);
    }
    let seen_at: i64 =
        sqlx::query_scalar("-- lead: the id is in use\nSELECT seen_at FROM members WHERE id = ?")
            .bind(&member.id)
            .fetch_one(connection)
            .await
            .map_err(failed_to("note a replica"))?;
    Ok(Some(between(seen_at, now)))
}

/// Notes that a scheduler serves and can renew leases.
async fn serve(
    connection: &mut SqliteConnection,
    time_to_live: Duration,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- lead: schedulers serve
        UPDATE leadership
        SET served_since = CASE WHEN served_at >= ?1 THEN served_since ELSE ?2 END,
            served_at = ?2",
    )
    .bind(now.saturating_sub(span_micros(longest_pause(time_to_live))))
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to("note that a scheduler serves"))?;
    Ok(())
}

async fn leader_state(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<LeaderState, StoreError> {
    let read = failed_to("read who leads");
    let row = sqlx::query(
        "-- lead: how it stands
        SELECT epoch, holder, incarnation, expires_at FROM leadership WHERE singleton = 1",
    )
    .fetch_one(connection)
    .await
    .map_err(&read)?;
    let cell = |column| Cell {
        table: "leadership",
        column,
        row: "1",
    };
    let holder: Option<String> = row.try_get("holder").map_err(&read)?;
    let expires_at: Option<i64> = row.try_get("expires_at").map_err(&read)?;
    let incarnation: Option<&str> = row.try_get("incarnation").map_err(&read)?;
    let incarnation = incarnation.map(|text| cell("incarnation").parse(text));
    Ok(LeaderState {
        epoch: cell("epoch").number(row.try_get("epoch").map_err(&read)?)?,
        leader: holder
            .zip(expires_at)
            .filter(|(_, expires_at)| *expires_at > now),
        incarnation: incarnation.transpose()?,
    })
}

pub(crate) async fn resign(
    connection: &mut SqliteConnection,
    member: &Member,
) -> Result<(), StoreError> {
    sqlx::query("-- resign: the member\nDELETE FROM members WHERE id = ? AND incarnation = ?")
        .bind(&member.id)
        .bind(member.incarnation.to_string())
        .execute(&mut *connection)
        .await
        .map_err(failed_to("forget a replica"))?;
    sqlx::query(
        "-- resign: its configuration\nDELETE FROM member_configurations WHERE incarnation = ?",
    )
    .bind(member.incarnation.to_string())
    .execute(&mut *connection)
    .await
    .map_err(failed_to("forget a replica"))?;
    sqlx::query(
        "-- resign: the leadership
        UPDATE leadership SET holder = NULL, incarnation = NULL, expires_at = NULL
        WHERE incarnation = ?",
    )
    .bind(member.incarnation.to_string())
    .execute(connection)
    .await
    .map_err(failed_to("free the leadership"))?;
    Ok(())
}

/// Forgets workers that were not seen after `since`.
pub(crate) async fn forget_silent_workers(
    executor: impl SqliteExecutor<'_>,
    since: i64,
) -> Result<(), StoreError> {
    sqlx::query("-- silent workers\nDELETE FROM workers WHERE seen_at <= ?")
        .bind(since)
        .execute(executor)
        .await
        .map_err(failed_to("forget workers"))?;
    Ok(())
}

/// Forgets members that were not seen after `since`.
pub(crate) async fn forget_silent(
    connection: &mut SqliteConnection,
    since: i64,
) -> Result<(), StoreError> {
    sqlx::query("-- silent members\nDELETE FROM members WHERE seen_at <= ?")
        .bind(since)
        .execute(&mut *connection)
        .await
        .map_err(failed_to("forget replicas"))?;
    sqlx::query(
        "-- silent members: their configurations
        DELETE FROM member_configurations WHERE member_id NOT IN (SELECT id FROM members)",
    )
    .execute(connection)
    .await
    .map_err(failed_to("forget replicas"))?;
    Ok(())
}
