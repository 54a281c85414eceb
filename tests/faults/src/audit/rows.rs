//! Rows of what was kept, the same in both databases.

use sqlx::{ColumnIndex, Decode, Row, Type};

use super::record::{LeaderWrite, RunState, RunWrite, Skipped, Switched};

pub(super) fn run_write<R: Row>(row: &R) -> Result<RunWrite, sqlx::Error>
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> bool: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> String: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<String>: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<i64>: Decode<'a, R::Database> + Type<R::Database>,
{
    let state = |status: &str, epoch: &str, holder: &str, expires: &str| {
        let Some(status) = row.try_get::<Option<String>, _>(status)? else {
            return Ok(None);
        };
        Ok::<_, sqlx::Error>(Some(RunState {
            status,
            epoch: row.try_get(epoch)?,
            holder: row.try_get(holder)?,
            expires: row.try_get(expires)?,
        }))
    };
    Ok(RunWrite {
        at: row.try_get("at")?,
        run: row.try_get("run")?,
        task: row.try_get("task")?,
        kind: row.try_get("kind")?,
        input: row.try_get("input")?,
        old: state("old_status", "old_epoch", "old_holder", "old_expires")?,
        new: state("new_status", "new_epoch", "new_holder", "new_expires")?
            .ok_or(sqlx::Error::RowNotFound)?,
        due: row.try_get("due")?,
        requested: row.try_get("requested")?,
        ordered: row.try_get("ordered")?,
    })
}

pub(super) fn leader_write<R: Row>(row: &R) -> Result<LeaderWrite, sqlx::Error>
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<String>: Decode<'a, R::Database> + Type<R::Database>,
{
    Ok(LeaderWrite {
        at: row.try_get("at")?,
        epochs: [row.try_get("old_epoch")?, row.try_get("new_epoch")?],
        holders: [row.try_get("old_holder")?, row.try_get("new_holder")?],
        expires: [row.try_get("old_expires")?, row.try_get("new_expires")?],
    })
}

pub(super) fn switched<R: Row>(row: &R) -> Result<Switched, sqlx::Error>
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> String: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> Option<bool>: Decode<'a, R::Database> + Type<R::Database>,
{
    Ok(Switched {
        at: row.try_get("at")?,
        task: row.try_get("task")?,
        enabled: row.try_get("enabled")?,
    })
}

pub(super) fn skipped<R: Row>(row: &R) -> Result<Skipped, sqlx::Error>
where
    for<'a> &'a str: ColumnIndex<R>,
    for<'a> i64: Decode<'a, R::Database> + Type<R::Database>,
    for<'a> String: Decode<'a, R::Database> + Type<R::Database>,
{
    Ok(Skipped {
        at: row.try_get("at")?,
        task: row.try_get("task")?,
    })
}
