//! Archives of the rows that a reset removes.

use cts_core::{ArchiveId, LeaderEpoch};
use cts_store::{ARCHIVES_KEPT, LINES_PRUNED_AT_ONCE, LeaderError, StoreError};
use cts_store_sql::archive;
use cts_store_sql::leadership::fence;
use cts_store_sql::tables::{DELETED_TASKS, EVENTS, LOG_LINES, RUNS, TASKS, TICK_EVENTS, Table};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use uuid::Uuid;

use crate::call::shared;
use crate::row::failed_to;

const OPERATION: &str = "archive what is removed";

/// Maximum number of runs moved in one transaction. No other work is done at that time, so the limit is higher than
/// that of prune.
const RUNS_AT_ONCE: i64 = 200;

/// The last position in an archive; the next position follows it.
const LAST_POSITION: &str =
    "(SELECT coalesce(max(position), 0) FROM archived_rows WHERE archive_id = $1)";

/// Archives the tasks that are about to be removed, and the API's deletions. Without such rows, no archive is made.
pub(crate) async fn begin(
    connection: &mut PgConnection,
    archive: ArchiveId,
) -> Result<(), StoreError> {
    archive::begin(&mut shared(connection), archive).await?;
    for Table { name, order, .. } in [&TASKS, &DELETED_TASKS, &TICK_EVENTS] {
        let statement = format!(
            "-- reset_tasks: rows of the archive
            INSERT INTO archived_rows (archive_id, position, table_name, content)
            SELECT $1, {LAST_POSITION} + row_number() OVER (ORDER BY {order}), $2,
                   row_to_json(t)::TEXT
            FROM {name} t"
        );
        sqlx::query(AssertSqlSafe(statement))
            .bind(archive.as_uuid())
            .bind(*name)
            .execute(&mut *connection)
            .await
            .map_err(failed_to(OPERATION))?;
    }
    Ok(())
}

/// Progress of moving the runs of removed tasks into an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// All runs up to this run have moved.
    To(Uuid),
    All,
}

/// Moves the next ended runs of tasks that are removed or in deletion into an archive, with their events and logs; at
/// most a part of them, so that the call is short.
pub(crate) async fn move_runs(
    connection: &mut PgConnection,
    leader: LeaderEpoch,
    archive: ArchiveId,
    after: Uuid,
) -> Result<Moved, LeaderError> {
    let next: Vec<(Uuid, bool)> = sqlx::query_as(
        "-- reset_tasks: the next runs; indexes runs_pkey, tasks_pkey
        SELECT r.id,
               NOT EXISTS (
                   SELECT FROM tasks t
                   WHERE t.name = r.task_name AND t.incarnation = r.incarnation
                     AND t.phase <> 'deleting')
        FROM (SELECT id, task_name, incarnation FROM runs
              WHERE id > $1 AND status IN ('succeeded', 'failed', 'cancelled')
              ORDER BY id LIMIT $2) r
        ORDER BY r.id",
    )
    .bind(after)
    .bind(RUNS_AT_ONCE)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to(OPERATION))?;
    let Some((last, _)) = next.last().copied() else {
        return Ok(Moved::All);
    };
    let runs: Vec<Uuid> = next
        .into_iter()
        .filter_map(|(run, goes)| goes.then_some(run))
        .collect();
    let next_lines = format!(
        "ctid = ANY (ARRAY(
            SELECT l.ctid FROM unnest($2) AS r (id)
            CROSS JOIN LATERAL (
                SELECT ctid FROM log_lines WHERE run_id = r.id
                ORDER BY position LIMIT {LINES_PRUNED_AT_ONCE}) l
            LIMIT {LINES_PRUNED_AT_ONCE}))"
    );
    let lines = Part {
        table: &LOG_LINES,
        which: &next_lines,
    };
    let events = Part {
        table: &EVENTS,
        which: "run_id = ANY ($2)",
    };
    let ended = Part {
        table: &RUNS,
        which: "id = ANY ($2) AND status IN ('succeeded', 'failed', 'cancelled')",
    };
    let failed = failed_to(OPERATION);
    loop {
        let mut transaction = connection.begin().await.map_err(&failed)?;
        fence(&mut shared(&mut transaction), leader).await?;
        let moved_lines = moved(&mut transaction, archive, &runs, &lines).await?;
        let are_all = moved_lines < u64::from(LINES_PRUNED_AT_ONCE);
        if are_all {
            moved(&mut transaction, archive, &runs, &events).await?;
            moved(&mut transaction, archive, &runs, &ended).await?;
        }
        transaction.commit().await.map_err(&failed)?;
        if are_all {
            return Ok(Moved::To(last));
        }
    }
}

/// Rows of a table that belong to some runs ($2).
struct Part<'a> {
    table: &'static Table,
    which: &'a str,
}

async fn moved(
    connection: &mut PgConnection,
    archive: ArchiveId,
    runs: &[Uuid],
    part: &Part<'_>,
) -> Result<u64, StoreError> {
    let Part { table, which } = part;
    let Table { name, order, .. } = table;
    let statement = format!(
        "-- reset_tasks: moved into the archive
        WITH gone AS (DELETE FROM {name} WHERE {which} RETURNING *)
        INSERT INTO archived_rows (archive_id, position, table_name, content)
        SELECT $1, {LAST_POSITION} + row_number() OVER (ORDER BY {order}), '{name}',
               row_to_json(gone)::TEXT
        FROM gone"
    );
    let moved = sqlx::query(AssertSqlSafe(statement))
        .bind(archive.as_uuid())
        .bind(runs)
        .execute(&mut *connection)
        .await
        .map_err(failed_to(OPERATION))?;
    Ok(moved.rows_affected())
}

/// Forgets a part of the archives beyond those that are kept. Returns whether more archives are left to forget.
pub(crate) async fn forget_old(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let failed = failed_to("forget an archive");
    let old: Option<Uuid> = sqlx::query_scalar(
        "-- reset_tasks: an old archive
        SELECT id FROM archives ORDER BY created_at DESC, id DESC OFFSET $1 LIMIT 1",
    )
    .bind(i64::from(ARCHIVES_KEPT))
    .fetch_optional(&mut *connection)
    .await
    .map_err(&failed)?;
    let Some(old) = old else { return Ok(false) };
    let rows = sqlx::query(
        "-- reset_tasks: rows of an old archive
        DELETE FROM archived_rows
        WHERE ctid = ANY (ARRAY(SELECT ctid FROM archived_rows WHERE archive_id = $1 LIMIT $2))",
    )
    .bind(old)
    .bind(i64::from(LINES_PRUNED_AT_ONCE))
    .execute(&mut *connection)
    .await
    .map_err(&failed)?;
    if rows.rows_affected() < u64::from(LINES_PRUNED_AT_ONCE) {
        sqlx::query("-- reset_tasks: old archives\nDELETE FROM archives WHERE id = $1")
            .bind(old)
            .execute(connection)
            .await
            .map_err(&failed)?;
    }
    Ok(true)
}
