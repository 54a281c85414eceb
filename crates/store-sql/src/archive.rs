//! Archives of the rows that resets removed.

use cts_core::ArchiveId;
use cts_store::fields::Fields;
use cts_store::{Archive, ArchivedRow, StoreError};

use crate::{Connection, sql};

/// Makes an archive of the rows that are about to be removed: those of runs that are not running, and all tasks and
/// deletions. Without such rows, no archive is made.
pub async fn begin(c: &mut dyn Connection, archive: ArchiveId) -> Result<(), StoreError> {
    let begun = sql(
        "archive what is removed",
        "-- reset_tasks: the archive
        INSERT INTO archives (id, created_at, tasks, runs)
        SELECT $1, {now}, (SELECT count(*) FROM tasks), runs
        FROM (SELECT count(*) AS runs FROM runs WHERE status <> 'running') r
        WHERE runs > 0 OR EXISTS (SELECT 1 FROM tasks) OR EXISTS (SELECT 1 FROM deleted_tasks)",
    );
    begun.bind(archive).execute(c).await?;
    Ok(())
}

/// All archives, newest first.
pub async fn all(c: &mut dyn Connection) -> Result<Vec<Archive>, StoreError> {
    sql(
        "list the archives",
        "-- archives
        SELECT id, created_at, tasks, runs,
               (SELECT count(*) FROM archived_rows r WHERE r.archive_id = a.id) AS rows
        FROM archives a ORDER BY created_at DESC, id DESC",
    )
    .all(c, |row| {
        let row = Fields::new(row, "list the archives", "archives").keyed_by_id("id")?;
        Ok(Archive {
            id: row.id("id")?,
            created_at: row.time("created_at")?,
            tasks: row.number("tasks")?,
            runs: row.number("runs")?,
            rows: row.number("rows")?,
        })
    })
    .await
}

/// Rows of an archive after position `after`, in their order.
pub async fn rows(
    c: &mut dyn Connection,
    archive: ArchiveId,
    after: u64,
    limit: u32,
) -> Result<Vec<ArchivedRow>, StoreError> {
    sql(
        "read an archive",
        "-- archived_rows
        SELECT archive_id, position, table_name, content FROM archived_rows
        WHERE archive_id = $1 AND position > $2 ORDER BY position LIMIT $3",
    )
    .bind(archive)
    .bind(after)
    .bind(limit)
    .all(c, |row| {
        let row = Fields::new(row, "read an archive", "archived_rows").keyed_by_id("archive_id")?;
        Ok(ArchivedRow {
            position: row.number("position")?,
            table: row.text("table_name")?.to_owned(),
            content: row.text("content")?.to_owned(),
        })
    })
    .await
}
