//! The fence: only the leader writes in its name.

use cts_core::LeaderEpoch;
use cts_store::LeaderError;
use cts_store::fields::Fields;

use crate::{Connection, sql};

/// Key of the advisory lock of leadership: shared by writers in the name of the leader, exclusive for a
/// change of the leader. The lock queues fairly, while waiters for one row that is written often may deadlock
/// among themselves.
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
