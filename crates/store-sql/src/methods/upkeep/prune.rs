//! Finds and forgets old runs and unused inputs, in steps small enough that no call waits long.

use cts_core::{CauseId, EVENTS_KEPT, RunId};
use cts_store::fields::Fields;
use cts_store::{CAUSE_AGE, CAUSES_KEPT, PLANS_KEPT, Retention, StoreError};
use uuid::Uuid;

use crate::destruction::INPUTS_LOCK;
use crate::{Connection, Dialect, integer, sql, text};

const OPERATION: &str = "forget old runs";

/// Number of task names whose runs one statement reads.
const NAMES_AT_ONCE: u32 = 100;

/// Maximum number of runs or inputs that one statement finds.
pub(crate) const FOUND_AT_ONCE: usize = 1_000;

/// The next names of tasks with runs, after this name.
pub(crate) async fn next_names(
    c: &mut dyn Connection,
    after: &str,
) -> Result<Vec<String>, StoreError> {
    let names = sql(
        OPERATION,
        "-- prune: names; index runs_task, from each name to the next one
        WITH RECURSIVE names (name) AS (
            SELECT min(task_name) FROM runs WHERE task_name > $1
            UNION ALL
            SELECT (SELECT min(task_name) FROM runs WHERE task_name > names.name)
            FROM names WHERE names.name IS NOT NULL
        )
        SELECT name AS value FROM names WHERE name IS NOT NULL LIMIT $2",
    );
    names.bind(after).bind(NAMES_AT_ONCE).all(c, text).await
}

/// Runs beyond the number to keep, of tasks with these names; at most [`FOUND_AT_ONCE`]. Earlier tasks of a name count
/// together.
///
/// Postgres skips the runs to keep in the order of its indexes; with a window it would sort all runs of the tasks.
pub(crate) async fn surplus(
    c: &mut dyn Connection,
    names: &[String],
    retention: Retention,
) -> Result<Vec<RunId>, StoreError> {
    let text = c.dialect().pick(
        "-- prune: surplus; index runs_ended
        SELECT id
        FROM (SELECT r.id, r.task_name, r.incarnation, r.kind, r.status, r.created_at,
                     t.name IS NOT NULL AS there,
                     row_number() OVER (
                         PARTITION BY r.task_name, t.name IS NULL, r.kind, r.status = 'cancelled'
                         ORDER BY r.created_at DESC, r.id DESC) AS place
              FROM runs r
              LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
              WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND r.task_name {in $1}) old
        WHERE place > CASE kind WHEN 'apply' THEN $2 ELSE $3 END
          AND NOT ($2 > 0 AND there AND kind = 'apply' AND status = 'succeeded' AND NOT EXISTS (
              SELECT 1 FROM runs newer
              WHERE {result of newer} AND newer.status = 'succeeded'
                AND newer.task_name = old.task_name AND newer.incarnation = old.incarnation
                AND newer.kind = 'apply' AND (newer.created_at, newer.id) > (old.created_at, old.id)))
        LIMIT $4",
        "-- prune: surplus; indexes runs_results, runs_cancelled
        SELECT surplus.id
        FROM unnest($1) AS n (name)
        LEFT JOIN tasks t ON t.name = n.name
        CROSS JOIN LATERAL (VALUES
            (t.incarnation, 9223372036854775807),
            (0, coalesce(t.incarnation - 1, 9223372036854775807))) AS life (first, last)
        CROSS JOIN (VALUES ('apply', $2), ('plan', $3), ('check', $3)) AS k (kind, kept)
        CROSS JOIN LATERAL (
            (SELECT r.id, r.status, r.incarnation, r.created_at FROM runs r
             WHERE r.status IN ('succeeded', 'failed') AND r.task_name = n.name AND r.kind = k.kind
               AND r.incarnation BETWEEN life.first AND life.last
             ORDER BY r.incarnation DESC, r.created_at DESC, r.id DESC OFFSET k.kept)
            UNION ALL
            (SELECT r.id, r.status, r.incarnation, r.created_at FROM runs r
             WHERE r.status = 'cancelled' AND r.task_name = n.name AND r.kind = k.kind
               AND r.incarnation BETWEEN life.first AND life.last
             ORDER BY r.incarnation DESC, r.created_at DESC, r.id DESC OFFSET k.kept)) surplus
        WHERE $2 = 0 OR k.kind <> 'apply' OR surplus.status <> 'succeeded'
           OR surplus.incarnation IS DISTINCT FROM t.incarnation
           OR EXISTS (
               SELECT FROM runs newer
               WHERE newer.status IN ('succeeded', 'failed') AND newer.status = 'succeeded'
                 AND newer.kind = 'apply' AND newer.task_name = n.name
                 AND newer.incarnation = surplus.incarnation
                 AND (newer.created_at, newer.id) > (surplus.created_at, surplus.id))
        LIMIT $4",
    );
    let surplus = sql(OPERATION, text).bind(names).bind(retention.runs);
    let surplus = surplus.bind(retention.runs.min(PLANS_KEPT));
    let surplus = surplus.bind(FOUND_AT_ONCE);
    surplus
        .all(c, |row| Fields::new(row, OPERATION, "runs").id("id"))
        .await
}

/// Maximum number of runs that one statement finds in the order of their ends. SQLite has no index in this order, so that
/// each such statement reads all runs.
pub(crate) const fn ended_at_once(dialect: Dialect) -> usize {
    dialect.pick(100_000, FOUND_AT_ONCE)
}

/// Position of a run in the order of their ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedRun {
    pub(crate) finished_at: i64,
    pub(crate) run: RunId,
}

impl EndedRun {
    /// The position before all runs.
    pub(crate) const FIRST: Self = Self {
        finished_at: 0,
        run: RunId::from_uuid(Uuid::nil()),
    };
}

/// The next runs beyond the age limit, except runs that determine the status of a task.
pub(crate) async fn outdated(
    c: &mut dyn Connection,
    retention: Retention,
    after: EndedRun,
) -> Result<Vec<EndedRun>, StoreError> {
    let outdated = sql(
        OPERATION,
        "-- prune: outdated; indexes runs_finished, runs_results, runs_ended, events_run, events_task
        SELECT r.finished_at, r.id
        FROM runs r
        WHERE r.status IN ('succeeded', 'failed', 'cancelled')
          AND r.finished_at < {now} - $1 AND (r.finished_at, r.id) > ($2, $3)
          AND CASE
              WHEN r.kind <> 'apply' THEN TRUE
              WHEN (SELECT t.incarnation FROM tasks t WHERE t.name = r.task_name)
                  IS DISTINCT FROM r.incarnation THEN TRUE
              WHEN r.status = 'cancelled' THEN NOT EXISTS (
                  SELECT 1 FROM events e
                  WHERE e.run_id = r.id AND (SELECT count(*) FROM (
                      SELECT 1 FROM events newer
                      WHERE newer.task_name = e.task_name AND newer.incarnation = e.incarnation
                        AND newer.position > e.position
                      LIMIT $4) later) < $4)
              ELSE (SELECT count(*) FROM (
                        SELECT 1 FROM runs newer
                        WHERE {result of newer} AND newer.kind = 'apply'
                          AND newer.task_name = r.task_name AND newer.incarnation = r.incarnation
                          AND (newer.created_at, newer.id) > (r.created_at, r.id)
                        LIMIT $4) later) = $4
                   AND (r.status <> 'succeeded' OR EXISTS (
                       SELECT 1 FROM runs newer
                       WHERE {result of newer} AND newer.status = 'succeeded'
                         AND newer.kind = 'apply' AND newer.task_name = r.task_name
                         AND newer.incarnation = r.incarnation
                         AND (newer.created_at, newer.id) > (r.created_at, r.id)))
              END
        ORDER BY r.finished_at, r.id
        LIMIT $5",
    );
    let outdated = outdated.bind(retention.age);
    let outdated = outdated.bind(after.finished_at).bind(after.run);
    let outdated = outdated.bind(EVENTS_KEPT);
    outdated
        .bind(ended_at_once(c.dialect()))
        .all(c, |row| {
            let row = Fields::new(row, OPERATION, "runs");
            Ok(EndedRun {
                finished_at: row.integer("finished_at")?,
                run: row.id("id")?,
            })
        })
        .await
}

/// Forgets these runs with their events, the causes that led to them, and the rest of their logs.
pub(crate) async fn runs(c: &mut dyn Connection, runs: &[RunId]) -> Result<u64, StoreError> {
    let caused = sql(
        OPERATION,
        "-- prune: causes of runs; index cause_runs_pkey\nDELETE FROM cause_runs WHERE run_id {in $1}",
    );
    caused.bind(runs).execute(c).await?;
    let forgotten = sql(
        OPERATION,
        "-- prune: runs
        DELETE FROM runs WHERE id {in $1} AND status IN ('succeeded', 'failed', 'cancelled')",
    );
    forgotten.bind(runs).execute(c).await
}

/// Forgets the oldest causes beyond their age and number: few, because each may have led to a run of every task. Returns
/// whether more may be left to forget.
pub(crate) async fn causes(c: &mut dyn Connection) -> Result<bool, StoreError> {
    let oldest = sql(
        OPERATION,
        "-- prune: the oldest causes; index causes_pkey
        SELECT id FROM causes
        WHERE begun_at < {now} - $1
           OR id <= (SELECT id FROM causes ORDER BY id DESC LIMIT 1 OFFSET $2)
        ORDER BY id LIMIT 20",
    );
    let oldest = oldest.bind(CAUSE_AGE).bind(CAUSES_KEPT);
    let oldest = oldest.all(c, |row| Fields::new(row, OPERATION, "causes").id("id"));
    let oldest: Vec<CauseId> = oldest.await?;
    for text in [
        "-- prune: causes; index causes_pkey\nDELETE FROM causes WHERE id {in $1}",
        "-- prune: their runs; index cause_runs_cause\nDELETE FROM cause_runs WHERE cause_id {in $1}",
    ] {
        sql(OPERATION, text).bind(&*oldest).execute(c).await?;
    }
    Ok(!oldest.is_empty())
}

/// The next inputs, in the order of their hashes, and whether each is unused.
pub(crate) async fn next_inputs(
    c: &mut dyn Connection,
    after: &str,
) -> Result<Vec<(String, bool)>, StoreError> {
    // Towards the end of the hashes few inputs are left, and reading the whole table can look cheaper than the index.
    sql(
        OPERATION,
        "-- prune: in the order of the index\nSET LOCAL enable_seqscan = off",
    )
    .on_postgres(c)
    .await?;
    let next = sql(
        OPERATION,
        "-- prune: unused inputs; indexes inputs_pkey, runs_input
        SELECT i.hash, NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = i.hash) AS unused
        FROM (SELECT hash FROM inputs WHERE hash > $1 ORDER BY hash LIMIT $2) i
        ORDER BY i.hash",
    );
    next.bind(after)
        .bind(FOUND_AT_ONCE)
        .all(c, |row| {
            let row = Fields::new(row, OPERATION, "inputs");
            Ok((row.text("hash")?.to_owned(), row.flag("unused")?))
        })
        .await
}

/// Forgets those of these inputs that have not come into use since they were found, and contents that no remaining
/// input uses.
pub(crate) async fn inputs(c: &mut dyn Connection, inputs: &[String]) -> Result<(), StoreError> {
    sql(
        OPERATION,
        "-- prune: no writer is about to refer to an input\nSELECT pg_advisory_xact_lock($1)",
    )
    .bind(INPUTS_LOCK)
    .on_postgres(c)
    .await?;
    // A separate statement, which sees runs that came during the wait for the lock.
    let contents = sql(
        OPERATION,
        "-- prune: contents of unused inputs; index runs_input
        SELECT DISTINCT p.content_id AS value
        FROM inputs i JOIN input_contents p ON p.input_id = i.id
        WHERE i.hash {in $1} AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = i.hash)",
    );
    let contents = contents.bind(inputs).all(c, integer).await?;
    let forgotten = sql(
        OPERATION,
        "-- prune: inputs; index runs_input
        DELETE FROM inputs
        WHERE hash {in $1} AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.input_hash = inputs.hash)",
    );
    forgotten.bind(inputs).execute(c).await?;
    let forgotten = sql(
        OPERATION,
        "-- prune: contents; index input_contents_content
        DELETE FROM contents
        WHERE id {in $1}
          AND NOT EXISTS (SELECT 1 FROM input_contents p WHERE p.content_id = contents.id)",
    );
    forgotten.bind(contents).execute(c).await?;
    Ok(())
}
