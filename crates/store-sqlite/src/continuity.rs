//! Detection of lost commits when the file is opened.
//!
//! A power cut loses data that was not on the disk, and a copy of the file that was made during its use may be of any
//! age. In both cases the file was not closed in order, and the machine has started again since. Such a file may name
//! last applied inputs that are older than the work of Terraform, so these are forgotten.

use cts_store::StoreError;
use cts_store_sql::failed_to;
use cts_store_sql::restored::{NO_CONSENT, NOTHING_APPLIED};
use sqlx::{Row as _, SqliteConnection};

/// Notes that the file is in use on this boot of the machine; `None` is a boot that equals no other boot. Returns the
/// number of tasks whose applied input was forgotten.
pub(crate) async fn begin(
    connection: &mut SqliteConnection,
    boot: Option<&str>,
    now: i64,
) -> Result<u64, StoreError> {
    let write = failed_to("note the use of the database");
    let row = sqlx::query("-- open: how it was left\nSELECT identity, in_use FROM continuity")
        .fetch_one(&mut *connection)
        .await
        .map_err(&write)?;
    let left: Option<String> = row.try_get("identity").map_err(&write)?;
    let in_use: bool = row.try_get("in_use").map_err(&write)?;
    let same = boot.is_some() && left.as_deref() == boot;
    let forgotten = if in_use && !same {
        forget_applied(connection).await?
    } else {
        0
    };
    sqlx::query(
        "-- open: in use
        UPDATE continuity
        SET identity = ?1,
            in_use = 1,
            changed_at = CASE WHEN ?2 THEN changed_at ELSE ?3 END",
    )
    .bind(boot)
    .bind(same)
    .bind(now)
    .execute(connection)
    .await
    .map_err(&write)?;
    Ok(forgotten)
}

async fn forget_applied(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    sqlx::query(NO_CONSENT)
        .execute(&mut *connection)
        .await
        .map_err(failed_to("forget consents"))?;
    let forgotten = sqlx::query(NOTHING_APPLIED)
        .execute(connection)
        .await
        .map_err(failed_to("forget applied inputs"))?;
    Ok(forgotten.rows_affected())
}

/// Notes that all commits are on the disk.
pub(crate) async fn end(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query("-- close\nUPDATE continuity SET in_use = 0")
        .execute(connection)
        .await
        .map_err(failed_to("note the end of the use of the database"))?;
    Ok(())
}
