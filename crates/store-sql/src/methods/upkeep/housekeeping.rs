//! The time of the last housekeeping, and lost leases.

use std::time::Duration;

use cts_core::{LostLease, RunId};
use cts_store::fields::Fields;
use cts_store::{
    DRAFTS_KEPT, LOST_LEASES_SHOWN, LastHousekeeping, SpaceWarnings, StoreError, TIMES_KEPT, decode,
};

use crate::{Connection, sql};

const OPERATION: &str = "note when old runs are forgotten";

/// Reads the time of the last housekeeping.
pub async fn last(c: &mut dyn Connection) -> Result<LastHousekeeping, StoreError> {
    let begun = sql(
        OPERATION,
        "-- last_housekeeping: of a new store\nUPDATE housekeeping SET done_at = {now} WHERE done_at IS NULL",
    );
    begun.execute(c).await?;
    let last = sql(
        OPERATION,
        "-- last_housekeeping\nSELECT {now} - done_at AS since, logs_warned, plans_warned FROM housekeeping",
    );
    last.one(c, |row| {
        let row = Fields::new(row, OPERATION, "housekeeping");
        let since = row.integer("since")?;
        Ok(LastHousekeeping {
            since: u64::try_from(since).ok().map(Duration::from_micros),
            warned: SpaceWarnings {
                logs: row.flag("logs_warned")?,
                plans: row.flag("plans_warned")?,
            },
        })
    })
    .await
}

/// Notes the end of housekeeping.
pub async fn end(c: &mut dyn Connection, warned: SpaceWarnings) -> Result<(), StoreError> {
    let ended = sql(
        OPERATION,
        "-- end_housekeeping\nUPDATE housekeeping SET done_at = {now}, logs_warned = $1, plans_warned = $2",
    );
    let ended = ended.bind(warned.logs).bind(warned.plans);
    ended.execute(c).await?;
    Ok(())
}

/// Notes that the lease of this run, or of all running runs, is lost.
pub async fn note_lost(c: &mut dyn Connection, run: Option<RunId>) -> Result<(), StoreError> {
    let noted = sql(
        "note a lost lease",
        "-- lost_leases: one more; index runs_one_running
        INSERT INTO lost_leases (run_id, epoch, task_name, holder, started_at, lost_at)
        SELECT id, epoch, task_name, holder, coalesce(started_at, {now}), {now} FROM runs
        WHERE status = 'running' AND holder <> '' AND (kind <> 'check' OR destroys IS NOT NULL) AND ($1 IS NULL OR id = $1)",
    );
    noted.bind(run).execute(c).await?;
    Ok(())
}

/// Forgets drafts whose requests have no waiting caller, leases that were lost more than `age` ago, old times, and
/// sessions that have ended.
pub(crate) async fn forget(c: &mut dyn Connection, age: Duration) -> Result<(), StoreError> {
    for (text, age) in [
        (
            "-- prune: drafts
            DELETE FROM tasks WHERE phase = 'discarded' AND updated_at <= {now} - $1",
            DRAFTS_KEPT,
        ),
        (
            "-- prune: refused requests
            DELETE FROM run_requests WHERE refused_at <= {now} - $1",
            DRAFTS_KEPT,
        ),
        (
            "-- prune: lost leases\nDELETE FROM lost_leases WHERE lost_at < {now} - $1",
            age,
        ),
        (
            "-- prune: times\nDELETE FROM change_times WHERE begins_at < {now} - $1",
            TIMES_KEPT,
        ),
        (
            "-- prune: sessions; index sessions_ends\nDELETE FROM sessions WHERE ends_at <= {now} - $1",
            Duration::ZERO,
        ),
    ] {
        let forgotten = sql("forget drafts, lost leases, times and sessions", text);
        forgotten.bind(age).execute(c).await?;
    }
    Ok(())
}

/// The lost leases of the task of this run, newest first.
pub async fn lost_leases(c: &mut dyn Connection, run: RunId) -> Result<Vec<LostLease>, StoreError> {
    sql(
        "read lost leases",
        "-- lost_leases; index lost_leases_of_task
        SELECT run_id AS id, holder, started_at, lost_at FROM lost_leases
        WHERE task_name = (SELECT task_name FROM runs WHERE id = $1)
        ORDER BY lost_at DESC, run_id DESC, epoch DESC LIMIT $2",
    )
    .bind(run)
    .bind(LOST_LEASES_SHOWN)
    .all(c, decode::lost_lease)
    .await
}
