//! Times of changes: a row for each minute and life of a scheduler, and later for each hour.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use cts_core::{Incarnation, RunId, TimeHistograms, TimesAt};
use cts_store::cell::encoded;
use cts_store::fields::{Columns, Fields};
use cts_store::{StoreError, attempt};

use crate::{Connection, sql};

const OPERATION: &str = "count the times of changes";

/// Counts the changes that these runs have applied. A run that cannot be read is left out.
pub(crate) async fn count_applied(
    c: &mut dyn Connection,
    scheduler: Incarnation,
    runs: &[RunId],
) -> Result<(), StoreError> {
    let applied = sql(
        OPERATION,
        "-- count_applied; index runs_pkey
        SELECT id, status, epoch, attempts, holder, leased_epoch, leased_at, leased_by, updated_at, finished_at,
               run_phase, errors, summary, ended_attempts, created_at, due_at, cause
        FROM runs WHERE id {in $1} AND status = 'succeeded' AND kind = 'apply'",
    );
    let read = |row: &dyn Columns| Ok(attempt::applied_change(row).unwrap_or_default());
    let applied = applied.bind(runs).all(c, read).await?;
    let applied = applied.into_iter().flatten().collect();
    add(c, &scheduler.to_string(), TimeDelta::minutes(1), applied).await
}

/// The rows since this moment, the oldest first.
pub(crate) async fn since(
    c: &mut dyn Connection,
    from: DateTime<Utc>,
) -> Result<Vec<TimesAt>, StoreError> {
    let rows = sql(
        OPERATION,
        "-- times\nSELECT begins_at, times FROM change_times WHERE begins_at >= $1 ORDER BY begins_at",
    );
    rows.bind(from.timestamp_micros()).all(c, read).await
}

/// Sums up the minutes of each hour that ended more than a day ago.
pub(crate) async fn sum_up(c: &mut dyn Connection) -> Result<(), StoreError> {
    let minutes = sql(
        OPERATION,
        "-- prune: times of minutes
        DELETE FROM change_times
        WHERE scheduler <> '' AND begins_at < ({now} - $1) / $2 * $2
        RETURNING begins_at, times",
    );
    let [day, hour] = [24, 1].map(Duration::from_hours);
    let minutes = minutes.bind(day).bind(hour).all(c, read).await?;
    add(c, "", TimeDelta::hours(1), minutes).await
}

/// Adds times to the rows of the intervals in which they lie; the scheduler of an hour is empty.
async fn add(
    c: &mut dyn Connection,
    scheduler: &str,
    interval: TimeDelta,
    times: Vec<TimesAt>,
) -> Result<(), StoreError> {
    let mut rows = BTreeMap::<_, TimeHistograms>::new();
    for (at, times) in times {
        let begin = at.duration_trunc(interval).unwrap_or(at);
        let row = rows.entry(begin.timestamp_micros()).or_default();
        row.add(&times);
    }
    for (begin, mut times) in rows {
        let known = sql(
            OPERATION,
            "-- count_applied, prune: known times
            SELECT begins_at, times FROM change_times WHERE begins_at = $1 AND scheduler = $2",
        );
        let known = known.bind(begin).bind(scheduler);
        if let Some((_begin, known)) = known.optional(c, read).await? {
            times.add(&known);
        }
        let added = sql(
            OPERATION,
            "-- count_applied, prune: more times
            INSERT INTO change_times (begins_at, scheduler, times) VALUES ($1, $2, $3)
            ON CONFLICT (begins_at, scheduler) DO UPDATE SET times = excluded.times",
        );
        let added = added.bind(begin).bind(scheduler);
        added.bind(encoded(OPERATION, &times)?).execute(c).await?;
    }
    Ok(())
}

fn read(row: &dyn Columns) -> Result<TimesAt, StoreError> {
    let row = Fields::new(row, OPERATION, "change_times").keyed_by_number("begins_at")?;
    Ok((row.time("begins_at")?, row.json("times")?))
}
