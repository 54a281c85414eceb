//! Corrects entries that were written while the clock was ahead, after it was set back.

use cts_core::lease::{FARTHEST, LONGEST_LEASE};
use cts_store::StoreError;
use cts_store::cancel::SUSPENDED_UNTIL;
use cts_store::cell::span_micros;

use crate::leadership::DOUBT;
use crate::{Connection, sql};

/// Moves times in the future back.
///
/// Runs that would wait for such a time are due, leases end after the longest life of a lease, workers and replicas
/// count as seen now, and the last change of the timeline counts as made now. A suspended destruction keeps waiting.
pub(crate) async fn bring_back(c: &mut dyn Connection, now: i64) -> Result<(), StoreError> {
    let after = |span| now.saturating_add(span_micros(span));
    // One statement in Postgres, because each costs a way to the server.
    let statements: &[&'static str] = c.dialect().pick(
        &[
            "-- reap: runs that a clock let wait that was ahead; index runs_due
            UPDATE runs SET due_at = $1 WHERE status = 'queued' AND due_at > $2 AND due_at <> $5",
            "-- reap: leases of a clock that was ahead; index runs_one_running
            UPDATE runs SET expires_at = $3 WHERE status = 'running' AND expires_at > $2",
            "-- reap: workers seen by a clock that was ahead
            UPDATE workers SET seen_at = $1 WHERE seen_at > $4",
            "-- reap: replicas seen by a clock that was ahead
            UPDATE members SET seen_at = $1 WHERE seen_at > $4",
        ],
        &["-- reap: what a clock has written that was ahead; index runs_due; index runs_one_running
            WITH waits AS (
                UPDATE runs SET due_at = $1
                WHERE status = 'queued' AND due_at >= 0 AND due_at > $2 AND due_at <> $5),
            leases AS (
                UPDATE runs SET expires_at = $3 WHERE status = 'running' AND expires_at > $2),
            timelines AS (
                UPDATE continuity SET changed_at = $1 WHERE changed_at > $1),
            replicas AS (
                UPDATE members SET seen_at = $1 WHERE seen_at > $4)
            UPDATE workers SET seen_at = $1 WHERE seen_at > $4"],
    );
    for statement in statements {
        sql("bring back what is ahead of the clock", *statement)
            .bind(now)
            .bind(after(FARTHEST))
            .bind(after(LONGEST_LEASE))
            .bind(after(DOUBT))
            .bind(SUSPENDED_UNTIL)
            .execute(c)
            .await?;
    }
    Ok(())
}
