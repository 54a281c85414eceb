//! Returns the space of deleted rows to the disk, in steps small enough that no call waits long.

use cts_store::StoreError;
use sqlx::{SqliteConnection, SqlitePool};

use crate::pools::Pools;
use cts_store_sql::{Durability, failed_to};

/// Free pages that are kept for the next writes: 1 MiB.
const KEPT: i64 = 256;

const OPERATION: &str = "give back room";

/// Returns free pages, and empties the write-ahead log.
pub(crate) async fn give_back(pools: &Pools) -> Result<(), StoreError> {
    let mut free = i64::MAX;
    loop {
        let mut write = pools.writer.begin(Durability::Process).await?;
        let now_free = number(&mut write, "PRAGMA freelist_count").await?;
        // A file that does not shrink keeps its pages.
        if now_free <= KEPT || now_free >= free {
            break;
        }
        free = now_free;
        sqlx::raw_sql("PRAGMA incremental_vacuum(1000)")
            .execute(&mut *write)
            .await
            .map_err(failed_to(OPERATION))?;
        write.commit().await?;
    }
    // Waits for present readers; later readers read the file itself.
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(pools.writer.pool())
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(())
}

/// Lets a new file shrink. Not set for every connection, because setting it again is a write.
pub(crate) async fn make_shrinkable(pool: &SqlitePool) -> Result<(), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let incremental = 2;
    let mode: i64 = sqlx::query_scalar("PRAGMA auto_vacuum")
        .fetch_one(&mut *connection)
        .await?;
    if mode == incremental {
        return Ok(());
    }
    let written = sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
        .execute(&mut *connection)
        .await;
    if let Err(error) = written {
        tracing::warn!(%error, "the database file cannot be written anew, and does not shrink");
    }
    Ok(())
}

async fn number(
    connection: &mut SqliteConnection,
    pragma: &'static str,
) -> Result<i64, StoreError> {
    sqlx::query_scalar(pragma)
        .fetch_one(connection)
        .await
        .map_err(failed_to(OPERATION))
}
