//! Whose settings count, and the key of the cluster.

use cts_core::LeaderEpoch;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::decode;
use cts_store::{LeaderError, SettingsChange, StoreError};
use sqlx::{Connection as _, PgConnection, PgTransaction};

use crate::leadership;
use crate::row::{Cell, by, encoded, failed_to};

const OPERATION: &str = "change the settings in force";

pub(crate) async fn cluster_key(
    connection: &mut PgConnection,
    proposed: &ClusterKey,
) -> Result<ClusterKey, StoreError> {
    let failed = failed_to("read the key of the cluster");
    sqlx::query(
        "-- cluster_key: the first one stays
        INSERT INTO cluster_key (key, created_at) VALUES ($1, cts_now()) ON CONFLICT DO NOTHING",
    )
    .bind(proposed.expose().as_slice())
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
    connection: &mut PgConnection,
) -> Result<Vec<SettingsGeneration>, StoreError> {
    let rows = sqlx::query(
        "-- settings
        SELECT number, scope, identity, digests, in_force FROM settings ORDER BY number",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the settings in force"))?;
    rows.iter().map(by(decode::settings)).collect()
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    change: &SettingsChange,
) -> Result<(), LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    // Of each scope one is in force at any time.
    let mut generations: Vec<_> = change.generations.iter().collect();
    generations.sort_by_key(|generation| generation.in_force);
    for generation in generations {
        put(&mut transaction, generation, now).await?;
    }
    for (from, to) in &change.moved {
        sqlx::query(
            "-- change_settings: what nothing takes the place of
            UPDATE runs SET settings = $2
            WHERE status = 'queued' AND settings = $1 AND (requested OR kind <> 'apply')",
        )
        .bind(stored(*from))
        .bind(stored(*to))
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    }
    for (worker, numbers) in &change.workers {
        let numbers: Vec<i64> = numbers.iter().map(|number| stored(*number)).collect();
        sqlx::query(
            "-- change_settings: what a worker does not have
            DELETE FROM worker_settings WHERE worker_id = $1 AND number <> ALL ($2)",
        )
        .bind(worker.as_str())
        .bind(&numbers)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
        sqlx::query(
            "-- change_settings: what a worker has
            INSERT INTO worker_settings (worker_id, number)
            SELECT w.id, n.number
            FROM (SELECT id FROM workers WHERE id = $1 FOR KEY SHARE) w
            CROSS JOIN unnest($2::BIGINT[]) AS n (number)
            ON CONFLICT DO NOTHING",
        )
        .bind(worker.as_str())
        .bind(&numbers)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(())
}

async fn put(
    transaction: &mut PgTransaction<'_>,
    generation: &SettingsGeneration,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "-- change_settings
        INSERT INTO settings (number, scope, identity, digests, in_force, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (number) DO UPDATE
        SET digests = excluded.digests, in_force = excluded.in_force",
    )
    .bind(stored(generation.number))
    .bind(encoded(OPERATION, &generation.scope)?)
    .bind(generation.identity.to_string())
    .bind(encoded(OPERATION, &generation.digests)?)
    .bind(generation.in_force)
    .bind(now)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// A number of settings for a column.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
