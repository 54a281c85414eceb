//! Forgets lost workers and members.

use cts_store::StoreError;
use cts_store_sql::sql;
use sqlx::SqliteConnection;

use crate::call::shared;

/// Silence after which a member or a worker is forgotten, in microseconds.
const SILENCE: i64 = 24 * 3600 * 1_000_000;

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
