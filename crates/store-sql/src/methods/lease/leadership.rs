//! The leader, the fence that lets only the leader write in its name, and the members.
//!
//! The leadership is one row: holder, its incarnation, epoch, and expiry in database time.

use std::time::Duration;

use cts_core::lease::longest_pause;
use cts_core::{Incarnation, LeaderEpoch};
use cts_store::fields::{Columns, Fields};
use cts_store::{LeaderError, Leadership, Member, MemberState, StoreError};

use crate::{Connection, sql};

/// Maximum distance of an entry in the future; an entry beyond that was written by a clock that was ahead.
pub const DOUBT: Duration = Duration::from_mins(1);

/// Key of the advisory lock of leadership.
///
/// Writers in the name of the leader share the lock; a change of the leader holds it exclusively. The lock queues
/// fairly, while waiters for a frequently written row may deadlock among themselves.
pub const LOCK: i64 = 0x6374_735f_6c65_6164;

/// Silence after which members and workers are forgotten, in microseconds.
pub const FORGOTTEN_AFTER: i64 = 24 * 3600 * 1_000_000;

/// Ensures that `leader` leads until the transaction ends, and returns the time.
pub async fn fence(c: &mut dyn Connection, leader: LeaderEpoch) -> Result<i64, LeaderError> {
    sql(
        "check the leader",
        "-- fence: no takeover\nSELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(LOCK)
    .on_postgres(c)
    .await?;
    // A separate statement, which sees changes made during the wait for the lock.
    let text = c.dialect().pick(
        "-- fence; primary key
        SELECT {now} AS cts_now FROM leadership WHERE singleton = 1 AND epoch = $1 AND expires_at > {now}",
        "-- fence
        SELECT cts_now() FROM leadership
        WHERE epoch = $1 AND holder IS NOT NULL AND expires_at > cts_now()",
    );
    let now = sql("check the leader", text).bind(leader);
    let now = now.optional(c, |row| {
        Fields::new(row, "check the leader", "leadership").integer("cts_now")
    });
    now.await?.ok_or(LeaderError::Deposed { epoch: leader })
}

/// Waits until no leader writes, and keeps new writes out until the transaction ends.
pub async fn alone(c: &mut dyn Connection) -> Result<(), StoreError> {
    sql(
        "wait for the leadership",
        "-- lead, resign, release_all: one at a time\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(LOCK)
    .on_postgres(c)
    .await
}

struct LeaderState {
    epoch: u64,
    holder: Option<String>,
    /// The last leader, even if its lease has expired.
    incarnation: Option<Incarnation>,
    /// Zero after the lease has expired.
    expires_in: Duration,
}

impl LeaderState {
    fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read who leads", "leadership").keyed_by_number("singleton")?;
        Ok(Self {
            epoch: row.number("epoch")?,
            holder: row.text_if_any("holder")?.map(str::to_owned),
            incarnation: row.id_under("incarnation", "incarnation")?,
            expires_in: row.span("expires_in")?,
        })
    }

    fn is_led(&self) -> bool {
        self.holder.is_some() && !self.expires_in.is_zero()
    }

    fn is_of_another(&self, member: &Member) -> bool {
        self.is_led() && self.incarnation != Some(member.incarnation)
    }
}

const LEADER_STATE: &str = "-- lead: how it stands
    SELECT 1 AS singleton, epoch, holder, incarnation, expires_at - {now} AS expires_in
    FROM leadership";

/// An extension does not wait for the lock of leadership, so the row itself is locked.
const LOCKED_LEADER_STATE: &str = "-- lead: how it stands for good
    SELECT 1 AS singleton, epoch, holder, incarnation, expires_at - {now} AS expires_in
    FROM leadership FOR UPDATE";

/// Notes in a transaction that the member lives, and grants it the leadership if that is vacant or its own.
pub async fn lead(
    c: &mut dyn Connection,
    member: &Member,
    epoch: Option<LeaderEpoch>,
    time_to_live: Duration,
) -> Result<Leadership, StoreError> {
    let reading = sql("read who leads", LEADER_STATE);
    let mut state = reading.one(c, LeaderState::read).await?;
    // While a different replica leads, the leader does not change, and this does not wait for writes in progress.
    if !state.is_of_another(member) {
        alone(c).await?;
        let text = c.dialect().pick(LEADER_STATE, LOCKED_LEADER_STATE);
        let reading = sql("read who leads", text);
        state = reading.one(c, LeaderState::read).await?;
    }
    serve(c, time_to_live).await?;
    let id_in_use = note(c, member, time_to_live).await?;
    let leads = state.is_led();
    let own = state.incarnation == Some(member.incarnation);
    let granted = if leads && own {
        let known = epoch.map(LeaderEpoch::get);
        state.epoch + u64::from(known != Some(state.epoch))
    } else if !leads && id_in_use.is_none() {
        state.epoch + 1
    } else {
        return Ok(Leadership {
            epoch: LeaderEpoch::new(state.epoch),
            mine: false,
            leader: state.holder.filter(|_| leads).unwrap_or_default(),
            expires_in: if leads {
                state.expires_in
            } else {
                Duration::ZERO
            },
            resumed: false,
            id_in_use,
        });
    };
    let granted = LeaderEpoch::new(granted);
    sql(
        "ask for the leadership",
        "-- lead: grant
        UPDATE leadership
        SET epoch = $1, holder = $2, incarnation = $3, expires_at = {now} + $4",
    )
    .bind(granted)
    .bind(&member.id)
    .bind(member.incarnation)
    .bind(time_to_live)
    .execute(c)
    .await?;
    Ok(Leadership {
        epoch: granted,
        mine: true,
        leader: member.id.clone(),
        expires_in: time_to_live,
        resumed: own,
        id_in_use,
    })
}

/// Notes that a scheduler serves and can renew leases.
async fn serve(c: &mut dyn Connection, time_to_live: Duration) -> Result<(), StoreError> {
    sql(
        "note that a scheduler serves",
        "-- lead: schedulers serve
        UPDATE leadership
        SET served_since = CASE WHEN served_at >= {now} - $1 THEN served_since
                           ELSE {now} END,
            served_at = {now}",
    )
    .bind(longest_pause(time_to_live))
    .execute(c)
    .await?;
    Ok(())
}

/// Notes that the member lives.
///
/// If a different incarnation with its id was seen within `time_to_live`, notes nothing and returns the time since
/// then. An entry by a clock that was ahead is no sign of life.
async fn note(
    c: &mut dyn Connection,
    member: &Member,
    time_to_live: Duration,
) -> Result<Option<Duration>, StoreError> {
    let noted = sql(
        "note a replica",
        "-- lead: it lives
        INSERT INTO members (id, incarnation, service_name, address, seen_at)
        VALUES ($1, $2, $3, $4, {now})
        ON CONFLICT (id) DO UPDATE
        SET incarnation = excluded.incarnation,
            service_name = excluded.service_name,
            address = excluded.address,
            seen_at = excluded.seen_at
        WHERE members.incarnation = excluded.incarnation
              OR members.seen_at NOT BETWEEN {now} - $5 + 1 AND {now} + $6",
    )
    .bind(&member.id)
    .bind(member.incarnation)
    .bind(&member.service_name)
    .bind(member.address.as_deref())
    .bind(time_to_live)
    .bind(DOUBT)
    .execute(c)
    .await?;
    if noted > 0 {
        return Ok(None);
    }
    let silent_for = sql(
        "note a replica",
        "-- lead: the id is in use\nSELECT {now} - seen_at AS silent_for FROM members WHERE id = $1",
    );
    let silent_for = silent_for.bind(&member.id).one(c, |row| {
        Fields::new(row, "note a replica", "members").span("silent_for")
    });
    silent_for.await.map(Some)
}

/// Gives up the leadership of this member in a transaction, and forgets the member.
pub async fn resign(c: &mut dyn Connection, member: &Member) -> Result<(), StoreError> {
    alone(c).await?;
    sql(
        "free the leadership",
        "-- resign: the member
        DELETE FROM members WHERE id = $1 AND incarnation = $2",
    )
    .bind(&member.id)
    .bind(member.incarnation)
    .execute(c)
    .await?;
    for text in [
        "-- resign: its configuration
        DELETE FROM member_configurations WHERE incarnation = $1",
        c.dialect().pick(
            "-- resign: the leadership
        UPDATE leadership SET holder = NULL, incarnation = NULL, expires_at = NULL
        WHERE incarnation = $1",
            "-- resign: the leadership
        UPDATE leadership SET holder = NULL, incarnation = NULL WHERE incarnation = $1",
        ),
    ] {
        let freed = sql("free the leadership", text).bind(member.incarnation);
        freed.execute(c).await?;
    }
    Ok(())
}

/// Every replica seen at most `within` ago, by id.
pub async fn members(
    c: &mut dyn Connection,
    within: Duration,
) -> Result<Vec<MemberState>, StoreError> {
    sql(
        "list the replicas",
        "-- members
        SELECT m.id, m.incarnation, m.service_name, m.address,
               {now} - m.seen_at AS silent_for, l.holder IS NOT NULL AS leader
        FROM members m
        LEFT JOIN leadership l ON l.incarnation = m.incarnation AND l.expires_at > {now}
        WHERE m.seen_at >= {now} - $1
        ORDER BY m.id",
    )
    .bind(within)
    .all(c, |row| {
        let row = Fields::new(row, "list the replicas", "members").keyed("id")?;
        Ok(MemberState {
            member: Member {
                id: row.key().to_owned(),
                incarnation: row.id("incarnation")?,
                service_name: row.text("service_name")?.to_owned(),
                address: row.text_if_any("address")?.map(str::to_owned),
            },
            silent_for: row.span("silent_for")?,
            leader: row.flag("leader")?,
        })
    })
    .await
}
