//! The fence, by which only the leader writes in its name, and the members.

use std::time::Duration;

use cts_core::LeaderEpoch;
use cts_store::fields::Fields;
use cts_store::{LeaderError, Member, MemberState, StoreError};

use crate::{Connection, sql};

/// Key of the advisory lock of leadership.
///
/// Writers in the name of the leader share it; a change of the leader has it alone. The lock queues fairly, while
/// waiters for one row that is written often may deadlock among themselves.
pub const LOCK: i64 = 0x6374_735f_6c65_6164;

/// Makes sure that `leader` leads until the transaction ends, and returns the time.
pub async fn fence(c: &mut dyn Connection, leader: LeaderEpoch) -> Result<i64, LeaderError> {
    sql(
        "check the leader",
        "-- fence: no takeover\nSELECT pg_advisory_xact_lock_shared($1)",
    )
    .bind(LOCK)
    .on_postgres(c)
    .await?;
    // A statement of its own, to see changes made while the lock was waited for.
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

/// Waits until no write of a leader is in progress, and keeps new ones out until the transaction ends.
pub async fn alone(c: &mut dyn Connection) -> Result<(), StoreError> {
    sql(
        "wait for the leadership",
        "-- lead, resign, release_all: one at a time\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(LOCK)
    .on_postgres(c)
    .await
}

/// Every replica seen within the last `within`, by id.
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
