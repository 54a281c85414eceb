//! The stored doubts of a timeline.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_store::StoreError;
use sqlx::{PgTransaction, Row as _};

use crate::row::{Cell, failed_to};

/// Minimum time for workers to report their journals.
const REPORTS: Duration = Duration::from_secs(15);

/// Time after which the doubts are settled in any case.
pub(crate) fn open_for(lease: Duration) -> Duration {
    lease.max(REPORTS)
}

/// The stored doubts, locked.
pub(super) struct Doubts {
    pub(super) identity: String,
    pub(super) settled: bool,
    pub(super) last_sign: DateTime<Utc>,
    pub(super) changed_at: i64,
    pub(super) age: i64,
}

impl Doubts {
    /// Locks the doubts; `None` if this timeline has none.
    pub(super) async fn lock(
        transaction: &mut PgTransaction<'_>,
    ) -> Result<Option<Self>, StoreError> {
        let read = failed_to("read what is in doubt");
        let row = sqlx::query(
            "-- doubts: as they are
            SELECT identity, settled IS NOT NULL AS settled, last_sign, changed_at, cts_now() - changed_at AS age
            FROM continuity WHERE doubts_of = identity
            FOR NO KEY UPDATE",
        )
        .fetch_optional(&mut **transaction)
        .await
        .map_err(&read)?;
        let Some(row) = row else { return Ok(None) };
        let cell = Cell {
            table: "continuity",
            column: "last_sign",
            row: "",
        };
        let last_sign: Option<i64> = row.try_get("last_sign").map_err(&read)?;
        Ok(Some(Self {
            identity: row.try_get("identity").map_err(&read)?,
            settled: row.try_get("settled").map_err(&read)?,
            last_sign: cell.time(last_sign.unwrap_or_default())?,
            changed_at: row.try_get("changed_at").map_err(&read)?,
            age: row.try_get("age").map_err(&read)?,
        }))
    }
}
