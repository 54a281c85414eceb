//! Settings in force, and the key of the cluster.

use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::decode;
use cts_store::{Assignment, SettingsChange, StoreError, UNSETTLED_AT_ONCE, UnsettledRun};
use sqlx::{SqliteConnection, SqliteExecutor};

use crate::row::{Cell, by, encoded, failed_to};

const OPERATION: &str = "change the settings in force";

pub(crate) async fn cluster_key(
    connection: &mut SqliteConnection,
    proposed: &ClusterKey,
    now: i64,
) -> Result<ClusterKey, StoreError> {
    let failed = failed_to("read the key of the cluster");
    sqlx::query(
        "-- cluster_key: the first one stays
        INSERT INTO cluster_key (key, created_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    )
    .bind(proposed.expose().as_slice())
    .bind(now)
    .execute(&mut *connection)
    .await
    .map_err(&failed)?;
    let key: Vec<u8> = sqlx::query_scalar("-- cluster_key\nSELECT key FROM cluster_key")
        .fetch_one(connection)
        .await
        .map_err(&failed)?;
    let cell = Cell {
        table: "cluster_key",
        column: "key",
        row: "",
    };
    ClusterKey::from_slice(&key).map_err(|error| cell.corrupt(error))
}

pub(crate) async fn all(
    executor: impl SqliteExecutor<'_>,
) -> Result<Vec<SettingsGeneration>, StoreError> {
    let rows = sqlx::query(
        "-- settings
        SELECT number, scope, identity, digests, in_force FROM settings ORDER BY number",
    )
    .fetch_all(executor)
    .await
    .map_err(failed_to("read the settings in force"))?;
    rows.iter().map(by(decode::settings)).collect()
}

pub(crate) async fn unsettled(
    executor: impl SqliteExecutor<'_>,
) -> Result<Vec<UnsettledRun>, StoreError> {
    let rows = sqlx::query(
        "-- unsettled_runs; index runs_unsettled
        SELECT r.id, r.task_name, r.input_hash, r.settings
        FROM runs r
        WHERE r.status = 'queued' AND (r.settings IS NULL OR r.requested OR r.kind <> 'apply')
          AND NOT EXISTS (SELECT 1 FROM settings s WHERE s.number = r.settings AND s.in_force)
        ORDER BY r.settings, r.task_name, r.id LIMIT ?",
    )
    .bind(UNSETTLED_AT_ONCE)
    .fetch_all(executor)
    .await
    .map_err(failed_to("find runs without settings"))?;
    rows.iter().map(by(decode::unsettled_run)).collect()
}

/// The settings in force of the blocks that a generation is for.
pub(crate) async fn in_force(
    executor: impl SqliteExecutor<'_>,
    number: Option<i64>,
) -> Result<Option<i64>, StoreError> {
    sqlx::query_scalar(
        "-- settings of a queued run
        SELECT coalesce((SELECT successor FROM settings_successors WHERE number = ?1), ?1)",
    )
    .bind(number)
    .fetch_one(executor)
    .await
    .map_err(failed_to("find the settings in force"))
}

pub(crate) async fn change(
    connection: &mut SqliteConnection,
    change: &SettingsChange,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    // Each scope has one generation in force at any time.
    let mut generations: Vec<_> = change.generations.iter().collect();
    generations.sort_by_key(|generation| generation.in_force);
    for generation in generations {
        put(connection, generation, now).await?;
    }
    for (from, to) in &change.moved {
        sqlx::query(
            "-- change_settings: what nothing takes the place of
            UPDATE runs SET settings = ?2
            WHERE status = 'queued' AND (requested OR kind <> 'apply') AND settings = ?1",
        )
        .bind(stored(*from))
        .bind(stored(*to))
        .execute(&mut *connection)
        .await
        .map_err(&failed)?;
    }
    for assignment in &change.assigned {
        assign(connection, assignment).await?;
    }
    for (worker, numbers) in &change.workers {
        sqlx::query("-- change_settings: what a worker had\nDELETE FROM worker_settings WHERE worker_id = ?")
            .bind(worker.as_str())
            .execute(&mut *connection)
            .await
            .map_err(&failed)?;
        for number in numbers {
            sqlx::query(
                "-- change_settings: what a worker has
                INSERT INTO worker_settings (worker_id, number)
                SELECT id, ?2 FROM workers WHERE id = ?1",
            )
            .bind(worker.as_str())
            .bind(stored(*number))
            .execute(&mut *connection)
            .await
            .map_err(&failed)?;
        }
    }
    Ok(())
}

async fn assign(
    connection: &mut SqliteConnection,
    assignment: &Assignment,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_settings: a run that lacks them
        UPDATE runs SET settings = ?3 WHERE id = ?1 AND status = 'queued' AND settings IS ?2",
    )
    .bind(assignment.run.to_string())
    .bind(assignment.from.map(stored))
    .bind(stored(assignment.to))
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

async fn put(
    connection: &mut SqliteConnection,
    generation: &SettingsGeneration,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_settings
        INSERT INTO settings (number, scope, identity, digests, in_force, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (number) DO UPDATE
        SET digests = excluded.digests, in_force = excluded.in_force",
    )
    .bind(stored(generation.number))
    .bind(encoded(OPERATION, &generation.scope)?)
    .bind(generation.identity.to_string())
    .bind(encoded(OPERATION, &generation.digests)?)
    .bind(generation.in_force)
    .bind(now)
    .execute(connection)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// A number of settings for a column.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
