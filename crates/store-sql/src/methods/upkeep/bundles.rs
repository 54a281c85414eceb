//! Packed modules.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::Digest;
use cts_store::fields::Fields;
use cts_store::{StoreError, decode};

use crate::{Connection, bytes, sql, text};

const FORGET: &str = "forget module bundles";

/// Time for which an unused bundle stays.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// Number of tasks whose inputs are read at once.
const TASKS_AT_ONCE: u32 = 100;

/// Notes that these bundles are in use. Returns the bundles that are not stored.
pub async fn keep(c: &mut dyn Connection, hashes: &[Digest]) -> Result<Vec<Digest>, StoreError> {
    let stored = sql(
        "note the bundles in use",
        "-- keep_bundles
        UPDATE bundles SET used_at = {now} WHERE hash {in $1} RETURNING hash AS value",
    );
    let stored = stored.bind(hashes).all(c, text).await?;
    let mut known: BTreeSet<String> = stored.into_iter().collect();
    let missing = hashes.iter().copied();
    Ok(missing
        .filter(|hash| known.insert(hash.to_string()))
        .collect())
}

/// Stores a bundle under its hash, unless it is already stored.
pub async fn store(c: &mut dyn Connection, hash: Digest, bytes: &[u8]) -> Result<(), StoreError> {
    let stored = sql(
        "store a bundle",
        "-- store_bundle
        INSERT INTO bundles (hash, content, created_at, used_at)
        VALUES ($1, $2, {now}, {now})
        ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at",
    );
    stored.bind(hash).bind(bytes).execute(c).await?;
    Ok(())
}

/// Reads a bundle.
pub async fn read(c: &mut dyn Connection, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
    let content = sql(
        "read a bundle",
        "-- bundle\nSELECT content AS value FROM bundles WHERE hash = $1",
    );
    content.bind(hash).optional(c, bytes).await
}

/// The time before which the last use of a bundle is long ago; `None` without such a bundle.
pub(crate) async fn unused_since(c: &mut dyn Connection) -> Result<Option<i64>, StoreError> {
    let unused = sql(
        FORGET,
        "-- prune: old bundles
        SELECT {now} - $1 AS since, count(*) AS bundles FROM bundles WHERE used_at <= {now} - $1",
    );
    let unused = unused.bind(KEPT).one(c, |row| {
        let row = Fields::new(row, FORGET, "bundles");
        Ok((row.integer("since")?, row.integer("bundles")?))
    });
    let (since, bundles) = unused.await?;
    Ok((bundles > 0).then_some(since))
}

/// The names of the next tasks, after this name.
pub(crate) async fn next_tasks(
    c: &mut dyn Connection,
    after: &str,
) -> Result<Vec<String>, StoreError> {
    let names = sql(
        FORGET,
        "-- prune: tasks with bundles
        SELECT name AS value FROM tasks WHERE name > $1 ORDER BY name LIMIT $2",
    );
    names.bind(after).bind(TASKS_AT_ONCE).all(c, text).await
}

/// The bundles in the inputs of the queued and running runs of these tasks, and in the inputs with which these tasks
/// can be destroyed.
///
/// A task queues one apply at a time, so its applies are leased in the order in which they are queued. The apply that
/// was leased last is among the newest applies with a result and the newest cancelled ones.
pub(crate) async fn in_use(
    c: &mut dyn Connection,
    tasks: &[String],
) -> Result<Vec<Digest>, StoreError> {
    let text = c.dialect().pick(
        "-- prune: bundles in use; indexes runs_waiting, runs_one_running, runs_ended
        SELECT i.hash, c.encoding, c.content
        FROM inputs i
        JOIN input_contents p ON p.input_id = i.id AND p.position = 0
        JOIN contents c ON c.id = p.content_id
        WHERE i.hash IN (
            SELECT input_hash FROM runs WHERE status = 'queued' AND task_name {in $1}
            UNION
            SELECT input_hash FROM runs WHERE status = 'running' AND task_name {in $1}
            UNION
            SELECT (SELECT r.input_hash FROM runs r
                    WHERE r.status IN ('succeeded', 'failed', 'cancelled') AND r.task_name = t.name
                      AND r.kind = 'apply' AND (r.status = 'cancelled') = c.cancelled
                      AND r.incarnation = t.incarnation AND r.started_at IS NOT NULL
                    ORDER BY r.created_at DESC, r.id DESC LIMIT 1)
            FROM tasks t CROSS JOIN (SELECT 0 AS cancelled UNION ALL SELECT 1) c
            WHERE t.name {in $1})",
        "-- prune: bundles in use; indexes runs_waiting, runs_one_running, runs_results, runs_cancelled
        SELECT i.hash, c.encoding, c.content
        FROM unnest($1) AS n (name)
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = n.name LIMIT 1) t
        CROSS JOIN LATERAL (
            (SELECT q.input_hash FROM runs q
             WHERE q.task_name = t.name AND q.status = 'queued')
            UNION ALL
            (SELECT q.input_hash FROM runs q
             WHERE q.task_name = t.name AND q.status = 'running')
            UNION ALL
            (SELECT q.input_hash FROM runs q
             WHERE q.status IN ('succeeded', 'failed') AND q.task_name = t.name AND q.kind = 'apply'
               AND q.incarnation = t.incarnation AND q.started_at IS NOT NULL
             ORDER BY q.incarnation DESC, q.created_at DESC, q.id DESC LIMIT 1)
            UNION ALL
            (SELECT q.input_hash FROM runs q
             WHERE q.status = 'cancelled' AND q.task_name = t.name AND q.kind = 'apply'
               AND q.incarnation = t.incarnation AND q.started_at IS NOT NULL
             ORDER BY q.incarnation DESC, q.created_at DESC, q.id DESC LIMIT 1)) r
        CROSS JOIN LATERAL (SELECT * FROM inputs WHERE hash = r.input_hash LIMIT 1) i
        JOIN input_contents p ON p.input_id = i.id AND p.position = 0
        JOIN contents c ON c.id = p.content_id",
    );
    let named = sql(FORGET, text).bind(tasks);
    let named = named.all(c, decode::bundle_of_input).await?;
    let named: BTreeSet<_> = named.into_iter().flatten().collect();
    Ok(named.into_iter().collect())
}

/// Forgets the bundles that were not used since this time.
pub(crate) async fn forget(c: &mut dyn Connection, since: i64) -> Result<(), StoreError> {
    let forgotten = sql(
        FORGET,
        "-- prune: bundles\nDELETE FROM bundles WHERE used_at <= $1",
    );
    forgotten.bind(since).execute(c).await?;
    Ok(())
}
