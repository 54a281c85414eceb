//! Corrects entries that were written while the clock was ahead, after it was set back.

use cts_core::lease::{FARTHEST, LONGEST_LEASE};
use cts_store::StoreError;
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store_sql::leadership::DOUBT;
use sqlx::SqliteConnection;

use crate::row::{failed_to, span_micros};

/// Moves times in the future back: runs that would wait for such a time are due, leases end after the longest life of
/// a lease, and workers and replicas count as seen now.
///
/// A suspended destruction keeps waiting.
pub(crate) async fn bring_back(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<(), StoreError> {
    let after = |span| now.saturating_add(span_micros(span));
    for (statement, to, beyond) in [
        (
            "-- reap: runs that a clock let wait that was ahead; index runs_due
            UPDATE runs SET due_at = ?1 WHERE status = 'queued' AND due_at > ?2 AND due_at <> ?3",
            now,
            after(FARTHEST),
        ),
        (
            "-- reap: leases of a clock that was ahead; index runs_one_running
            UPDATE runs SET expires_at = ?1 WHERE status = 'running' AND expires_at > ?2",
            after(LONGEST_LEASE),
            after(FARTHEST),
        ),
        (
            "-- reap: workers seen by a clock that was ahead
            UPDATE workers SET seen_at = ?1 WHERE seen_at > ?2",
            now,
            after(DOUBT),
        ),
        (
            "-- reap: replicas seen by a clock that was ahead
            UPDATE members SET seen_at = ?1 WHERE seen_at > ?2",
            now,
            after(DOUBT),
        ),
    ] {
        sqlx::query(statement)
            .bind(to)
            .bind(beyond)
            .bind(SUSPENDED_UNTIL)
            .execute(&mut *connection)
            .await
            .map_err(failed_to("bring back what is ahead of the clock"))?;
    }
    Ok(())
}
