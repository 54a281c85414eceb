//! Settings in force, and the key of the cluster.

use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::cell::{Cell, encoded};
use cts_store::{SettingsChange, StoreError, UNSETTLED_AT_ONCE, UnsettledRun, decode};
use serde_json::json;

use crate::{Connection, bytes, sql};

const OPERATION: &str = "change the settings in force";

/// Stores the proposed key unless a key is stored, and returns the stored key.
pub async fn cluster_key(
    c: &mut dyn Connection,
    proposed: &ClusterKey,
) -> Result<ClusterKey, StoreError> {
    let stored = sql(
        "read the key of the cluster",
        "-- cluster_key: the first one stays
        INSERT INTO cluster_key (singleton, key, created_at) VALUES (TRUE, $1, {now}) ON CONFLICT DO NOTHING",
    );
    stored.bind(proposed.expose().as_slice()).execute(c).await?;
    let key = sql(
        "read the key of the cluster",
        "-- cluster_key\nSELECT key AS value FROM cluster_key",
    );
    let key = key.one(c, bytes).await?;
    let cell = Cell {
        table: "cluster_key",
        column: "key",
        row: "",
    };
    ClusterKey::from_slice(&key).map_err(|error| cell.corrupt(error))
}

/// The stored form of a settings number.
pub fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub async fn all(c: &mut dyn Connection) -> Result<Vec<SettingsGeneration>, StoreError> {
    sql(
        "read the settings in force",
        "-- settings
        SELECT number, scope, digests, in_force FROM settings ORDER BY number",
    )
    .all(c, decode::settings)
    .await
}

/// Queued runs whose settings are missing or not in force.
pub async fn unsettled(c: &mut dyn Connection) -> Result<Vec<UnsettledRun>, StoreError> {
    sql(
        "find runs without settings",
        "-- unsettled_runs; index runs_unsettled
        SELECT r.id, r.task_name, r.input_hash, r.settings, r.destroys IS NOT DISTINCT FROM 'apply' AS destroys
        FROM runs r
        WHERE r.status = 'queued' AND (r.settings IS NULL OR r.requested OR r.kind <> 'apply')
          AND NOT EXISTS (SELECT 1 FROM settings s WHERE s.number = r.settings AND s.in_force)
        ORDER BY r.settings, r.task_name, r.id LIMIT $1",
    )
    .bind(UNSETTLED_AT_ONCE)
    .all(c, decode::unsettled_run)
    .await
}

/// Changes the generations, and the settings of queued runs and of workers.
pub async fn change(c: &mut dyn Connection, change: &SettingsChange) -> Result<(), StoreError> {
    // Each scope has one generation in force at any time.
    let mut generations: Vec<_> = change.generations.iter().collect();
    generations.sort_by_key(|generation| generation.in_force);
    for generation in generations {
        put(c, generation).await?;
    }
    for (from, to) in &change.moved {
        let moved = sql(
            OPERATION,
            "-- change_settings: runs that no newer input replaces
            UPDATE runs SET settings = $2
            WHERE status = 'queued' AND settings = $1 AND (requested OR kind <> 'apply')
              AND destroys IS DISTINCT FROM 'apply'",
        );
        moved.bind(*from).bind(*to).execute(c).await?;
    }
    assign(c, change).await?;
    for (worker, numbers) in &change.workers {
        let numbers = json!(
            numbers
                .iter()
                .map(|number| json!({"number": number}))
                .collect::<Vec<_>>()
        );
        let numbers = numbers.to_string();
        let lost = sql(
            OPERATION,
            "-- change_settings: settings that a worker does not have
            DELETE FROM worker_settings
            WHERE worker_id = $1 AND number NOT IN (SELECT number FROM {rows $2 n: number BIGINT})",
        );
        lost.bind(worker).bind(&numbers).execute(c).await?;
        let lock = c.dialect().pick("", "FOR KEY SHARE");
        let gained = sql(
            OPERATION,
            format!(
                "-- change_settings: settings that a worker has
                INSERT INTO worker_settings (worker_id, number)
                SELECT w.id, n.number
                FROM (SELECT id FROM workers WHERE id = $1 {lock}) w
                CROSS JOIN {{rows $2 n: number BIGINT}}
                WHERE TRUE
                ON CONFLICT DO NOTHING"
            ),
        );
        gained.bind(worker).bind(&numbers).execute(c).await?;
    }
    Ok(())
}

/// Assigns settings; a run that a different transaction has locked is left for the next call.
async fn assign(c: &mut dyn Connection, change: &SettingsChange) -> Result<(), StoreError> {
    if change.assigned.is_empty() {
        return Ok(());
    }
    let assigned = change.assigned.iter();
    let assigned =
        assigned.map(|it| json!({"id": it.run.to_string(), "earlier": it.from, "later": it.to}));
    let text = c.dialect().pick(
        "-- change_settings: runs that lack them
        UPDATE runs SET settings = n.later FROM {rows $1 n: id TEXT, earlier BIGINT, later BIGINT}
        WHERE runs.id = n.id AND runs.status = 'queued' AND runs.settings IS n.earlier",
        "-- change_settings: runs that lack them; index runs_pkey
        WITH lacking AS MATERIALIZED (
            SELECT r.id, n.later
            FROM {rows $1 n: id UUID, earlier BIGINT, later BIGINT}
            JOIN runs r ON r.id = n.id
            WHERE r.status IS NOT DISTINCT FROM 'queued' AND r.settings IS NOT DISTINCT FROM n.earlier
            FOR NO KEY UPDATE OF r SKIP LOCKED
        )
        UPDATE runs r SET settings = lacking.later FROM lacking WHERE r.id = lacking.id",
    );
    let assigned = assigned.collect::<serde_json::Value>().to_string();
    sql(OPERATION, text).bind(assigned).execute(c).await?;
    Ok(())
}

async fn put(c: &mut dyn Connection, generation: &SettingsGeneration) -> Result<(), StoreError> {
    sql(
        OPERATION,
        "-- change_settings
        INSERT INTO settings (number, scope, digests, in_force, created_at)
        VALUES ($1, $2, $3, $4, {now})
        ON CONFLICT (number) DO UPDATE
        SET digests = excluded.digests, in_force = excluded.in_force",
    )
    .bind(generation.number)
    .bind(encoded(OPERATION, &generation.scope)?)
    .bind(encoded(OPERATION, &generation.digests)?)
    .bind(generation.in_force)
    .execute(c)
    .await?;
    Ok(())
}
