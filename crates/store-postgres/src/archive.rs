//! What a reset removes, kept to be read.

use cts_core::ArchiveId;
use cts_store::{ARCHIVES_KEPT, Archive, ArchivedRow, StoreError};
use sqlx::{AssertSqlSafe, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

use crate::row::{Cell, failed_to};

const OPERATION: &str = "archive what is removed";

/// Tables, the order of their rows, and which of them are removed: nothing that belongs to running runs.
const TABLES: [(&str, &str, &str); 5] = [
    ("tasks", "t.position, t.name", ""),
    ("deleted_tasks", "t.name", ""),
    ("runs", "t.id", "WHERE t.status <> 'running'"),
    (
        "events",
        "t.position",
        "WHERE t.run_id IN (SELECT id FROM runs WHERE status <> 'running')",
    ),
    (
        "log_lines",
        "t.run_id, t.position",
        "WHERE t.run_id IN (SELECT id FROM runs WHERE status <> 'running')",
    ),
];

/// Stores what is about to be removed. Stores nothing if there is nothing.
pub(crate) async fn store(
    transaction: &mut PgTransaction<'_>,
    archive: ArchiveId,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    sqlx::query(
        "-- reset_tasks: the archive
        INSERT INTO archives (id, created_at, tasks, runs)
        SELECT $1, cts_now(), (SELECT count(*) FROM tasks), runs
        FROM (SELECT count(*) AS runs FROM runs WHERE status <> 'running') r
        WHERE runs > 0 OR EXISTS (SELECT FROM tasks) OR EXISTS (SELECT FROM deleted_tasks)",
    )
    .bind(archive.as_uuid())
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    for (table, order, removed) in TABLES {
        let statement = format!(
            "-- reset_tasks: rows of the archive
            INSERT INTO archived_rows (archive_id, position, table_name, content)
            SELECT $1,
                   (SELECT coalesce(max(position), 0) FROM archived_rows WHERE archive_id = $1)
                       + row_number() OVER (ORDER BY {order}),
                   $2, row_to_json(t)::TEXT
            FROM {table} t {removed}"
        );
        sqlx::query(AssertSqlSafe(statement))
            .bind(archive.as_uuid())
            .bind(table)
            .execute(&mut **transaction)
            .await
            .map_err(&failed)?;
    }
    sqlx::query(
        "-- reset_tasks: old archives
        DELETE FROM archives
        WHERE id NOT IN (SELECT id FROM archives ORDER BY created_at DESC, id DESC LIMIT $1)",
    )
    .bind(i64::from(ARCHIVES_KEPT))
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    Ok(())
}

pub(crate) async fn all(connection: &mut PgConnection) -> Result<Vec<Archive>, StoreError> {
    let read = failed_to("list the archives");
    let rows = sqlx::query(
        "-- archives
        SELECT id, created_at, tasks, runs,
               (SELECT count(*) FROM archived_rows r WHERE r.archive_id = a.id) AS rows
        FROM archives a ORDER BY created_at DESC, id DESC",
    )
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    let archives = rows.iter().map(|row| {
        let id: Uuid = row.try_get("id").map_err(&read)?;
        let key = id.to_string();
        let cell = |column| Cell {
            table: "archives",
            column,
            row: &key,
        };
        let number = |column: &'static str| {
            let number: i64 = row.try_get(column).map_err(&read)?;
            cell(column).number(number)
        };
        Ok(Archive {
            id: ArchiveId::from_uuid(id),
            created_at: cell("created_at").time(row.try_get("created_at").map_err(&read)?)?,
            tasks: number("tasks")?,
            runs: number("runs")?,
            rows: number("rows")?,
        })
    });
    archives.collect()
}

pub(crate) async fn rows(
    connection: &mut PgConnection,
    archive: ArchiveId,
    after: u64,
    limit: u32,
) -> Result<Vec<ArchivedRow>, StoreError> {
    let read = failed_to("read an archive");
    let rows = sqlx::query(
        "-- archived_rows
        SELECT position, table_name, content FROM archived_rows
        WHERE archive_id = $1 AND position > $2 ORDER BY position LIMIT $3",
    )
    .bind(archive.as_uuid())
    .bind(i64::try_from(after).unwrap_or(i64::MAX))
    .bind(i64::from(limit))
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    let key = archive.to_string();
    let rows = rows.iter().map(|row| {
        let cell = Cell {
            table: "archived_rows",
            column: "position",
            row: &key,
        };
        Ok(ArchivedRow {
            position: cell.number(row.try_get("position").map_err(&read)?)?,
            table: row.try_get("table_name").map_err(&read)?,
            content: row.try_get("content").map_err(&read)?,
        })
    });
    rows.collect()
}
