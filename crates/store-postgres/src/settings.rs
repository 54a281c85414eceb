//! Settings in force, and the key of the cluster.

use cts_core::LeaderEpoch;
use cts_core::settings::{ClusterKey, SettingsGeneration};
use cts_store::decode;
use cts_store::{
    Assignment, LeaderError, SettingsChange, StoreError, UNSETTLED_AT_ONCE, UnsettledRun,
};
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

pub(crate) async fn unsettled(
    connection: &mut PgConnection,
) -> Result<Vec<UnsettledRun>, StoreError> {
    let rows = sqlx::query(
        "-- unsettled_runs; index runs_unsettled
        SELECT r.id, r.task_name, r.input_hash, r.settings
        FROM runs r
        WHERE r.status = 'queued' AND (r.settings IS NULL OR r.requested OR r.kind <> 'apply')
          AND NOT EXISTS (SELECT FROM settings s WHERE s.number = r.settings AND s.in_force)
        ORDER BY r.settings, r.task_name, r.id LIMIT $1",
    )
    .bind(i64::from(UNSETTLED_AT_ONCE))
    .fetch_all(connection)
    .await
    .map_err(failed_to("find runs without settings"))?;
    rows.iter().map(by(decode::unsettled_run)).collect()
}

pub(crate) async fn change(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    change: &SettingsChange,
) -> Result<(), LeaderError> {
    let failed = failed_to(OPERATION);
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let now = leadership::fence(&mut transaction, leader).await?;
    // Each scope has one generation in force at any time.
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
    assign(&mut transaction, &change.assigned).await?;
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

/// Assigns settings; a run that another transaction has locked is left for the next time.
async fn assign(
    transaction: &mut PgTransaction<'_>,
    assigned: &[Assignment],
) -> Result<(), StoreError> {
    if assigned.is_empty() {
        return Ok(());
    }
    let runs: Vec<_> = assigned.iter().map(|it| it.run.as_uuid()).collect();
    let from: Vec<_> = assigned.iter().map(|it| it.from.map(stored)).collect();
    let to: Vec<_> = assigned.iter().map(|it| stored(it.to)).collect();
    sqlx::query(
        "-- change_settings: runs that lack them; index runs_pkey
        WITH lacking AS MATERIALIZED (
            SELECT r.id, n.later
            FROM unnest($1::UUID[], $2::BIGINT[], $3::BIGINT[]) AS n (id, earlier, later)
            JOIN runs r ON r.id = n.id
            WHERE r.status IS NOT DISTINCT FROM 'queued' AND r.settings IS NOT DISTINCT FROM n.earlier
            FOR NO KEY UPDATE OF r SKIP LOCKED
        )
        UPDATE runs r SET settings = lacking.later FROM lacking WHERE r.id = lacking.id",
    )
    .bind(runs)
    .bind(from)
    .bind(to)
    .execute(&mut **transaction)
    .await
    .map_err(failed_to(OPERATION))?;
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
