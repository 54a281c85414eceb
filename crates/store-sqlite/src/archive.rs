//! Archives of the rows that a reset removes.

use cts_core::ArchiveId;
use cts_store::{ARCHIVES_KEPT, StoreError};
use cts_store_sql::archive;
use cts_store_sql::tables::{
    DELETED_TASKS, EVENTS, Kind, LOG_LINES, RUNS, TASKS, TICK_EVENTS, Table,
};
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::call::shared;
use crate::row::failed_to;

const OPERATION: &str = "archive what is removed";

/// Condition of the rows of a removed run: running runs are not removed.
const OF_RUNS: &str = "run_id IN (SELECT id FROM runs WHERE status <> 'running')";

/// The tables with removed rows, and the condition of these rows.
static REMOVED: [(&Table, &str); 6] = [
    (&TASKS, "TRUE"),
    (&DELETED_TASKS, "TRUE"),
    (&TICK_EVENTS, "TRUE"),
    (&LOG_LINES, OF_RUNS),
    (&EVENTS, OF_RUNS),
    (&RUNS, "status <> 'running'"),
];

/// Archives the rows that are about to be removed: all rows of these tables except those of running runs. Stores
/// nothing without such rows.
pub(crate) async fn store(
    connection: &mut SqliteConnection,
    archive: ArchiveId,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let id = archive.to_string();
    archive::begin(&mut shared(connection, now), archive).await?;
    for (table, removed) in REMOVED {
        let Table {
            name,
            columns,
            order,
            ..
        } = table;
        let members = columns.iter().map(|(column, kind)| match kind {
            Kind::Bytes => format!("'{column}', hex({column})"),
            _ => format!("'{column}', {column}"),
        });
        let members = members.collect::<Vec<_>>().join(", ");
        let statement = format!(
            "-- reset_tasks: rows of the archive
            INSERT INTO archived_rows (archive_id, position, table_name, content)
            SELECT ?1,
                   (SELECT coalesce(max(position), 0) FROM archived_rows WHERE archive_id = ?1)
                       + row_number() OVER (ORDER BY {order}),
                   ?2, json_object({members})
            FROM {name} WHERE {removed}"
        );
        sqlx::query(AssertSqlSafe(statement))
            .bind(&id)
            .bind(*name)
            .execute(&mut *connection)
            .await
            .map_err(&failed)?;
    }
    sqlx::query(
        "-- reset_tasks: old archives
        DELETE FROM archives
        WHERE id NOT IN (SELECT id FROM archives ORDER BY created_at DESC, id DESC LIMIT ?)",
    )
    .bind(ARCHIVES_KEPT)
    .execute(connection)
    .await
    .map_err(&failed)?;
    Ok(())
}
