//! Corrects entries that were written while the clock of the database was ahead, after it was set back.

use cts_core::lease::{FARTHEST, LONGEST_LEASE};
use cts_store::StoreError;
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store_sql::leadership::DOUBT;
use sqlx::PgTransaction;

use crate::row::{failed_to, span_micros};

/// Moves times in the future back.
///
/// Runs that would wait for such a time are due, leases end after the longest life of a lease, workers and replicas
/// count as seen now, and the last change of the timeline counts as made now. A suspended destruction keeps waiting.
pub(crate) async fn bring_back(
    transaction: &mut PgTransaction<'_>,
    now: i64,
) -> Result<(), StoreError> {
    let after = |span| now.saturating_add(span_micros(span));
    sqlx::query(
        "-- reap: what a clock has written that was ahead; index runs_due; index runs_one_running
        WITH waits AS (
            UPDATE runs SET due_at = $1
            WHERE status = 'queued' AND due_at >= 0 AND due_at > $2 AND due_at <> $5),
        leases AS (
            UPDATE runs SET expires_at = $3 WHERE status = 'running' AND expires_at > $2),
        timelines AS (
            UPDATE continuity SET changed_at = $1 WHERE changed_at > $1),
        replicas AS (
            UPDATE members SET seen_at = $1 WHERE seen_at > $4)
        UPDATE workers SET seen_at = $1 WHERE seen_at > $4",
    )
    .bind(now)
    .bind(after(FARTHEST))
    .bind(after(LONGEST_LEASE))
    .bind(after(DOUBT))
    .bind(SUSPENDED_UNTIL)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to("bring back what is ahead of the clock"))?;
    Ok(())
}
