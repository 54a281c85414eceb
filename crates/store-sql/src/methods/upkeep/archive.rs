//! Archives of the rows that resets remove.

use cts_core::{ArchiveId, RunId};
use cts_store::fields::Fields;
use cts_store::{
    ARCHIVES_KEPT, Archive, ArchivedRow, LINES_PRUNED_AT_ONCE, PendingDeletions, StoreError,
};

use crate::tables::{DELETED_TASKS, EVENTS, Kind, LOG_LINES, RUNS, TASKS, TICK_EVENTS, Table};
use crate::{Connection, Dialect, configure, sql};

const OPERATION: &str = "archive what is removed";

const FORGET: &str = "forget an archive";

/// Maximum number of runs moved in one transaction. No other work is done at that time, so the limit is higher than
/// that of prune.
const RUNS_AT_ONCE: u32 = 200;

/// Removes all tasks except those with a running run into a new archive. Postgres leaves their runs to [`move_runs`].
pub(crate) async fn reset(
    c: &mut dyn Connection,
    archive: ArchiveId,
) -> Result<PendingDeletions, StoreError> {
    configure::begin_reset(c).await?;
    begin(c, archive).await?;
    for table in [&TASKS, &DELETED_TASKS, &TICK_EVENTS] {
        copy(c, archive, table, "TRUE").await?;
    }
    let with_runs = c.dialect() == Dialect::Sqlite;
    if with_runs {
        const OF_RUNS: &str = "run_id IN (SELECT id FROM runs WHERE status <> 'running')";
        copy(c, archive, &LOG_LINES, OF_RUNS).await?;
        copy(c, archive, &EVENTS, OF_RUNS).await?;
        copy(c, archive, &RUNS, "status <> 'running'").await?;
    }
    configure::reset(c, with_runs).await
}

/// Makes an archive of the rows that are about to be removed: those of runs that are not running, and all tasks and
/// deletions. Without such rows, no archive is made.
async fn begin(c: &mut dyn Connection, archive: ArchiveId) -> Result<(), StoreError> {
    let begun = sql(
        OPERATION,
        "-- reset_tasks: the archive
        INSERT INTO archives (id, created_at, tasks, runs)
        SELECT $1, {now}, (SELECT count(*) FROM tasks), runs
        FROM (SELECT count(*) AS runs FROM runs WHERE status <> 'running') r
        WHERE runs > 0 OR EXISTS (SELECT 1 FROM tasks) OR EXISTS (SELECT 1 FROM deleted_tasks)",
    );
    begun.bind(archive).execute(c).await?;
    Ok(())
}

/// Copies the rows of a table that meet a condition.
async fn copy(
    c: &mut dyn Connection,
    archive: ArchiveId,
    table: &Table,
    condition: &str,
) -> Result<(), StoreError> {
    let from = format!("{} AS t WHERE {condition}", table.name);
    let text = format!(
        "-- reset_tasks: rows of the archive\n{}",
        insert(c.dialect(), table, &from)
    );
    sql(OPERATION, text).bind(archive).execute(c).await?;
    Ok(())
}

/// The statement that appends rows `t` of a table to the archive `$1`.
fn insert(dialect: Dialect, table: &Table, from: &str) -> String {
    let Table {
        name,
        columns,
        order,
        ..
    } = table;
    let content = match dialect {
        Dialect::Sqlite => {
            let members = columns.iter().map(|(column, kind)| match kind {
                Kind::Bytes => format!("'{column}', hex({column})"),
                _ => format!("'{column}', {column}"),
            });
            format!("json_object({})", members.collect::<Vec<_>>().join(", "))
        }
        Dialect::Postgres => "row_to_json(t)::TEXT".to_owned(),
    };
    format!(
        "INSERT INTO archived_rows (archive_id, position, table_name, content)
        SELECT $1,
               (SELECT coalesce(max(position), 0) FROM archived_rows WHERE archive_id = $1)
                   + row_number() OVER (ORDER BY {order}),
               '{name}', {content}
        FROM {from}"
    )
}

/// Moves the next ended runs after `after` of tasks that are removed or in deletion into an archive, with their events
/// and logs; at most a part of them, so that the call is short. Returns the run up to which all have moved; `None` if no
/// run is left.
pub(crate) async fn move_runs(
    c: &mut dyn Connection,
    archive: ArchiveId,
    after: RunId,
) -> Result<Option<RunId>, StoreError> {
    if c.dialect() == Dialect::Sqlite {
        // SQLite moves all ended runs in the transaction of the reset. A run that ends later stays until it is pruned.
        return Ok(None);
    }
    let next = sql(
        OPERATION,
        "-- reset_tasks: the next runs; indexes runs_pkey, tasks_pkey
        SELECT r.id,
               NOT EXISTS (
                   SELECT 1 FROM tasks t
                   WHERE t.name = r.task_name AND t.incarnation = r.incarnation
                     AND t.phase <> 'deleting') AS goes
        FROM (SELECT id, task_name, incarnation FROM runs
              WHERE id > $1 AND status IN ('succeeded', 'failed', 'cancelled')
              ORDER BY id LIMIT $2) r
        ORDER BY r.id",
    );
    let next = next.bind(after).bind(RUNS_AT_ONCE).all(c, |row| {
        let row = Fields::new(row, OPERATION, "runs");
        Ok((row.id::<RunId>("id")?, row.flag("goes")?))
    });
    let next = next.await?;
    let runs = next.iter().filter_map(|(run, goes)| goes.then_some(*run));
    let runs: Vec<_> = runs.collect();
    let lines = format!(
        "ctid = ANY (ARRAY(
            SELECT l.ctid FROM unnest($2) AS r (id)
            CROSS JOIN LATERAL (
                SELECT ctid FROM log_lines WHERE run_id = r.id
                ORDER BY position LIMIT {LINES_PRUNED_AT_ONCE}) l
            LIMIT {LINES_PRUNED_AT_ONCE}))"
    );
    for (table, condition) in [
        (&LOG_LINES, &*lines),
        (&EVENTS, "run_id = ANY ($2)"),
        (
            &RUNS,
            "id = ANY ($2) AND status IN ('succeeded', 'failed', 'cancelled')",
        ),
    ] {
        let text = format!(
            "-- reset_tasks: moved into the archive
            WITH gone AS (DELETE FROM {} WHERE {condition} RETURNING *)
            {}",
            table.name,
            insert(Dialect::Postgres, table, "gone AS t")
        );
        let moved = sql(OPERATION, text).bind(archive).bind(&*runs);
        if !runs.is_empty() && moved.execute(c).await? >= u64::from(LINES_PRUNED_AT_ONCE) {
            return Ok(Some(after));
        }
    }
    Ok(next.last().map(|(run, _goes)| *run))
}

/// Forgets a part of the archives beyond those that are kept. Returns whether more archives may be left to forget.
pub(crate) async fn forget_old(c: &mut dyn Connection) -> Result<bool, StoreError> {
    let old = sql(
        FORGET,
        "-- reset_tasks: an old archive
        SELECT id FROM archives ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET $1",
    );
    let old = old.bind(ARCHIVES_KEPT).optional(c, |row| {
        Fields::new(row, FORGET, "archives").id::<ArchiveId>("id")
    });
    let Some(old) = old.await? else {
        return Ok(false);
    };
    let rows = sql(
        FORGET,
        "-- reset_tasks: rows of an old archive
        DELETE FROM archived_rows
        WHERE archive_id = $1
          AND position < $2 + (SELECT min(position) FROM archived_rows WHERE archive_id = $1)",
    );
    let rows = rows.bind(old).bind(LINES_PRUNED_AT_ONCE);
    if rows.execute(c).await? < u64::from(LINES_PRUNED_AT_ONCE) {
        let forgotten = sql(
            FORGET,
            "-- reset_tasks: old archives\nDELETE FROM archives WHERE id = $1",
        );
        forgotten.bind(old).execute(c).await?;
    }
    Ok(true)
}

/// All archives, newest first.
pub(crate) async fn all(c: &mut dyn Connection) -> Result<Vec<Archive>, StoreError> {
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
pub(crate) async fn rows(
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
