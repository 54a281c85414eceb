//! Plans of runs as data, and the key for their fingerprints.

use cts_core::RunId;
use cts_core::lease::PlanKey;
use cts_store::cell::Cell;
use cts_store::fields::Fields;
use cts_store::{APPLY_PLANS_KEPT, INSPECTION_PLANS_KEPT, LeaseError, StoreError};

use crate::leases::{Held, lost, of_lease};
use crate::prune::{EndedRun, FOUND_AT_ONCE};
use crate::{Connection, bytes, integer, sql};

const KEY: &str = "read the key of plans";

const RECORD: &str = "record a plan";

const READ: &str = "read a plan";

const REMOVE: &str = "remove plans";

/// Stores the proposed key unless a key is stored, and returns the stored key.
pub async fn key(c: &mut dyn Connection, proposed: &PlanKey) -> Result<PlanKey, StoreError> {
    let stored = sql(
        KEY,
        "-- plan_key: the first one stays
        INSERT INTO plan_key (singleton, key, created_at) VALUES (TRUE, $1, {now}) ON CONFLICT DO NOTHING",
    );
    stored.bind(proposed.expose().as_slice()).execute(c).await?;
    let key = sql(KEY, "-- plan_key\nSELECT key AS value FROM plan_key");
    let key = key.one(c, bytes).await?;
    let cell = Cell {
        table: "plan_key",
        column: "key",
        row: "",
    };
    PlanKey::from_slice(&key).map_err(|error| cell.corrupt(error))
}

/// A macro, so that the statement stays one constant text.
macro_rules! record {
    ($lock:literal) => {
        concat!(
            "-- record_plan; an earlier plan of the run is replaced
        WITH leased AS MATERIALIZED (
            SELECT id, task_name FROM runs
            WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running' ",
            $lock,
            "
        )
        INSERT INTO plans (run_id, task_name, recorded_at, bytes, content)
        SELECT id, task_name, {now}, $5, $4 FROM leased WHERE TRUE
        ON CONFLICT (run_id) DO UPDATE
        SET recorded_at = excluded.recorded_at, bytes = excluded.bytes, content = excluded.content"
        )
    };
}

/// Stores the plan of a leased run, in one statement that locks the run.
pub async fn record(
    c: &mut dyn Connection,
    held: Held<'_>,
    content: &[u8],
) -> Result<(), LeaseError> {
    let text = c.dialect().pick(record!(""), record!("FOR NO KEY UPDATE"));
    let recorded = of_lease(RECORD, text, held).bind(content);
    match recorded.bind(content.len()).execute(c).await? {
        0 => Err(lost(held)),
        _ => Ok(()),
    }
}

/// Reads the plan of a run.
pub async fn read(c: &mut dyn Connection, run: RunId) -> Result<Option<Vec<u8>>, StoreError> {
    let content = sql(
        READ,
        "-- recorded_plan\nSELECT content AS value FROM plans WHERE run_id = $1",
    );
    content.bind(run).optional(c, bytes).await
}

/// The space of all plans.
pub(crate) async fn space(c: &mut dyn Connection) -> Result<u64, StoreError> {
    let space = sql(
        "measure plans",
        "-- plan_space; index plans_age\nSELECT CAST(coalesce(sum(bytes), 0) AS BIGINT) AS value FROM plans",
    );
    Ok(space.one(c, integer).await?.unsigned_abs())
}

/// Plans of ended runs beyond the number to keep, of tasks with these names, and plans of tasks that no longer exist.
pub(crate) async fn surplus(
    c: &mut dyn Connection,
    names: &[String],
) -> Result<Vec<RunId>, StoreError> {
    let surplus = sql(
        REMOVE,
        "-- prune: plans; indexes plans_task, runs_pkey, tasks_pkey
        SELECT id
        FROM (SELECT r.id, r.kind, t.name IS NOT NULL AS there,
                     row_number() OVER (
                         PARTITION BY r.task_name, r.incarnation, r.kind = 'apply'
                         ORDER BY p.recorded_at DESC, p.run_id DESC) AS place
              FROM plans p
              JOIN runs r ON r.id = p.run_id
              LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
              WHERE p.task_name {in $1} AND r.status IN ('succeeded', 'failed', 'cancelled')) old
        WHERE NOT there OR place > CASE kind WHEN 'apply' THEN $2 ELSE $3 END",
    );
    let surplus = surplus.bind(names).bind(APPLY_PLANS_KEPT);
    let surplus = surplus.bind(INSPECTION_PLANS_KEPT);
    surplus
        .all(c, |row| Fields::new(row, REMOVE, "runs").id("id"))
        .await
}

/// The next plans of ended runs, in the order of their times, each with its size.
pub(crate) async fn oldest(
    c: &mut dyn Connection,
    after: EndedRun,
) -> Result<Vec<(EndedRun, u64)>, StoreError> {
    let oldest = sql(
        REMOVE,
        "-- remove_plans: the oldest; indexes plans_age, runs_pkey
        SELECT p.recorded_at, p.run_id, p.bytes
        FROM plans p JOIN runs r ON r.id = p.run_id
        WHERE (p.recorded_at, p.run_id) > ($1, $2) AND r.status IN ('succeeded', 'failed', 'cancelled')
        ORDER BY p.recorded_at, p.run_id
        LIMIT $3",
    );
    let oldest = oldest.bind(after.finished_at).bind(after.run);
    oldest
        .bind(FOUND_AT_ONCE)
        .all(c, |row| {
            let row = Fields::new(row, REMOVE, "plans");
            let position = EndedRun {
                finished_at: row.integer("recorded_at")?,
                run: row.id("run_id")?,
            };
            Ok((position, row.integer("bytes")?.unsigned_abs()))
        })
        .await
}

/// Removes the plans of these runs.
pub(crate) async fn remove(c: &mut dyn Connection, runs: &[RunId]) -> Result<(), StoreError> {
    let removed = sql(
        REMOVE,
        "-- prune, remove_plans: plans\nDELETE FROM plans WHERE run_id {in $1}",
    );
    removed.bind(runs).execute(c).await?;
    Ok(())
}
