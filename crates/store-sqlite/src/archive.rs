//! Archives of the rows that a reset removes.

use cts_core::ArchiveId;
use cts_store::{ARCHIVES_KEPT, StoreError};
use cts_store_sql::archive;
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::call::shared;
use crate::row::failed_to;

const OPERATION: &str = "archive what is removed";

/// Tables with their columns and the order of their rows; only runs that are not running are removed.
const TABLES: [(&str, &str, &str); 6] = [
    (
        "tasks",
        "name, incarnation, position, origin, phase, revision, configured, destroy_run, \
         destruction_suspended_at, spec, last_applied, tried_input, cancelled_input, owes_run, \
         applied_instances, released_instances, held, state_lineage, state_serial, state_moves, \
         state_moved_serial, state_keep, state_from, state_conflict, state_conflict_at, \
         state_recorded_at, state_refused, remote_run, last_check, failures, skipped, created_at, updated_at",
        "position, name",
    ),
    ("deleted_tasks", "name, configured, deleted_at", "name"),
    (
        "tick_events",
        "task_name, place, number, id, start_time, end_time, config, after",
        "task_name, number",
    ),
    (
        "log_lines",
        "run_id, position, stream, line",
        "run_id, position",
    ),
    (
        "events",
        "position, id, task_name, incarnation, run_id, success, start_time, end_time, error, config, summary, \
         requested_by, cause",
        "position",
    ),
    (
        "runs",
        "id, task_name, incarnation, kind, destroys, no_retry, requested, status, input_hash, attempts, errors, epoch, \
         due_at, started_at, finished_at, created_at, updated_at, changes_present, plan_encoding, hex(plan) plan, \
         summary, findings, remote_run, requested_by, leased_epoch, leased_at, leased_by, ended_attempts, cause, \
         remote_group, trace",
        "id",
    ),
];

/// Archives the rows that are about to be removed: all of these tables but the rows of running runs. Stores
/// nothing without such rows.
pub(crate) async fn store(
    connection: &mut SqliteConnection,
    archive: ArchiveId,
    now: i64,
) -> Result<(), StoreError> {
    let failed = failed_to(OPERATION);
    let id = archive.to_string();
    archive::begin(&mut shared(connection, now), archive).await?;
    for (table, columns, order) in TABLES {
        let removed = match table {
            "runs" => "WHERE status <> 'running'",
            "events" | "log_lines" => {
                "WHERE run_id IN (SELECT id FROM runs WHERE status <> 'running')"
            }
            _ => "",
        };
        let members = columns
            .split(", ")
            .map(|column| match column.split_once(' ') {
                Some((value, name)) => format!("'{name}', {value}"),
                None => format!("'{column}', {column}"),
            });
        let members = members.collect::<Vec<_>>().join(", ");
        let statement = format!(
            "-- reset_tasks: rows of the archive
            INSERT INTO archived_rows (archive_id, position, table_name, content)
            SELECT ?1,
                   (SELECT coalesce(max(position), 0) FROM archived_rows WHERE archive_id = ?1)
                       + row_number() OVER (ORDER BY {order}),
                   ?2, json_object({members})
            FROM {table} {removed}"
        );
        sqlx::query(AssertSqlSafe(statement))
            .bind(&id)
            .bind(table)
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
