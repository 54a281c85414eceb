//! Doubts on a new timeline, and how they are settled.
//!
//! No input counts as applied from the time when the timeline is noticed. Inputs that counted earlier are kept
//! separately, and count again for the trusted tasks.
//!
//! Inputs that counted earlier are in `doubted_tasks`. They count again for a task if all workers in
//! `doubted_workers` have reported their journals, and no journal has an attempt at the task that is missing in the
//! database. The leader queues nothing before that is settled.

mod settlement;
mod stored;

use cts_core::{JournalEntry, JournalPart, KnownRun, TaskName, WorkerId};
use cts_store::{StoreError, Timeline, Vouched};
use cts_store_sql::leadership::FORGOTTEN_AFTER;
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgTransaction, Row as _};
use uuid::Uuid;

pub(crate) use self::settlement::settle;
use self::stored::Doubts;
pub(crate) use self::stored::open_for;
use crate::row::{Cell, failed_to};

/// Silence, in microseconds before the last sign of life of any process, after which a worker no longer counts as
/// alive.
const ALIVE_WITHIN: i64 = 30 * 1_000_000;

/// The timeline before a switch.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) identity: String,
    /// Time at which the timeline was noticed, in microseconds by the clock of the database.
    pub(crate) changed_at: i64,
}

/// Stores the inputs that count as applied separately, before they are voided. All tasks are locked.
///
/// Unsettled doubts of the previous timeline stay: the journals that are reported now show attempts that either
/// switch has lost.
pub(crate) async fn keep(
    connection: &mut PgConnection,
    identity: &str,
    before: &Before,
) -> Result<(), sqlx::Error> {
    let open: bool = sqlx::query_scalar(
        "-- doubts: are those of the timeline before open?
        SELECT doubts_of IS NOT DISTINCT FROM $1 AND settled IS NULL FROM continuity",
    )
    .bind(&before.identity)
    .fetch_one(&mut *connection)
    .await?;
    if open {
        sqlx::query(
            "-- doubts: of what has begun or ended since it is not known what is applied
            DELETE FROM doubted_tasks d
            WHERE EXISTS (SELECT FROM runs r
                          WHERE r.task_name = d.task_name AND r.kind = 'apply'
                            AND (r.finished_at >= $1
                                 OR r.status = 'queued' AND r.started_at IS NOT NULL AND r.updated_at >= $1))",
        )
        .bind(before.changed_at)
        .execute(&mut *connection)
        .await?;
        sqlx::query(
            "-- doubts: all workers vouch once more\nUPDATE doubted_workers SET vouched = FALSE",
        )
        .execute(&mut *connection)
        .await?;
    } else {
        for statement in [
            "-- doubts: those of the timeline before\nDELETE FROM doubted_tasks",
            "-- doubts: its runs\nDELETE FROM doubted_runs",
            "-- doubts: its workers\nDELETE FROM doubted_workers",
        ] {
            sqlx::query(statement).execute(&mut *connection).await?;
        }
    }
    for statement in [
        "-- doubts: what counted as applied
        INSERT INTO doubted_tasks (task_name, last_applied, tried_input)
        SELECT name, last_applied, tried_input FROM tasks
        WHERE last_applied IS NOT NULL OR tried_input IS NOT NULL
        ON CONFLICT (task_name) DO UPDATE
        SET last_applied = coalesce(EXCLUDED.last_applied, doubted_tasks.last_applied),
            tried_input = coalesce(EXCLUDED.tried_input, doubted_tasks.tried_input)",
        // A run that was already in doubt keeps its earlier epoch: every later grant is forgotten.
        "-- doubts: what was to be done; indexes runs_one_running, runs_waiting
        INSERT INTO doubted_runs (run_id, epoch)
        SELECT id, epoch FROM runs WHERE status = 'queued'
        UNION ALL SELECT id, epoch FROM runs WHERE status = 'running'
        ON CONFLICT (run_id) DO NOTHING",
    ] {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    sqlx::query(
        "-- doubts: when, and who was alive
        WITH signs AS MATERIALIZED (
            SELECT coalesce(greatest((SELECT max(seen_at) FROM workers), (SELECT max(seen_at) FROM members),
                                     (SELECT served_at FROM leadership)), 0) AS last_sign
        ), alive AS (
            INSERT INTO doubted_workers (worker_id)
            SELECT w.id FROM workers w, signs WHERE w.seen_at >= signs.last_sign - $2
            ON CONFLICT (worker_id) DO NOTHING
        )
        UPDATE continuity
        SET doubts_of = $1, settled = NULL,
            last_sign = CASE WHEN $3 THEN least(continuity.last_sign, signs.last_sign) ELSE signs.last_sign END
        FROM signs",
    )
    .bind(identity)
    .bind(ALIVE_WITHIN)
    .bind(open)
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn timeline(connection: &mut PgConnection) -> Result<Timeline, StoreError> {
    let read = failed_to("read the timeline");
    let row = sqlx::query(
        "-- timeline: the one that journals are reported for
        SELECT cts_now() AS now,
               CASE WHEN doubts_of = identity AND changed_at > cts_now() - $1 THEN identity END AS reported
        FROM continuity",
    )
    .bind(FORGOTTEN_AFTER)
    .fetch_one(connection)
    .await
    .map_err(&read)?;
    let cell = Cell {
        table: "continuity",
        column: "now",
        row: "",
    };
    Ok(Timeline {
        reported: row.try_get("reported").map_err(&read)?,
        now: Some(cell.time(row.try_get("now").map_err(&read)?)?),
    })
}

/// Whether it is still open which inputs count as applied.
pub(crate) async fn are_open(connection: &mut PgConnection) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "-- acquire: is it settled what counts as applied?
        SELECT doubts_of = identity AND settled IS NULL FROM continuity",
    )
    .fetch_one(connection)
    .await
    .map(|open: Option<bool>| open.unwrap_or_default())
    .map_err(failed_to("read what is in doubt"))
}

pub(crate) async fn vouch(
    connection: &mut PgConnection,
    part: &JournalPart,
) -> Result<Vouched, StoreError> {
    let failed = failed_to("take the journal of a worker");
    let mut transaction = connection.begin().await.map_err(&failed)?;
    let doubts = Doubts::lock(&mut transaction).await?;
    let Some(doubts) = doubts.filter(|doubts| doubts.identity == part.timeline) else {
        transaction.rollback().await.map_err(&failed)?;
        return Ok(Vouched::default());
    };
    let mut vouched = Vouched::default();
    for (entry, row) in compare(&mut transaction, &part.entries).await? {
        let known = known_run(&row).map_err(&failed)?;
        if entry.is_forgotten(known, doubts.last_sign) {
            vouched.forgotten.push(entry.task.clone());
        }
        let holder: Option<String> = row.try_get("holder").map_err(&failed)?;
        let granted = KnownRun::Open {
            epoch: entry.epoch.get(),
        };
        if let Some(holder) = holder
            && entry.outcome.is_some()
            && known == granted
        {
            let holder = WorkerId::new(holder);
            if part.lives.contains(&holder) {
                vouched.ended.push((entry.run, holder, entry.epoch));
            }
        }
    }
    let forgotten: Vec<&str> = vouched.forgotten.iter().map(TaskName::as_str).collect();
    if doubts.settled && !forgotten.is_empty() {
        vouched.too_late = distrust(&mut transaction, &forgotten).await?;
    }
    sqlx::query(
        "-- vouch: what is not trusted
        UPDATE doubted_tasks SET forgotten = TRUE WHERE task_name = ANY ($1)",
    )
    .bind(&forgotten)
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    if part.last {
        let lives: Vec<&str> = part.lives.iter().map(WorkerId::as_str).collect();
        sqlx::query(
            "-- vouch: the journal is whole
            UPDATE doubted_workers SET vouched = TRUE WHERE worker_id = ANY ($1)",
        )
        .bind(lives)
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)?;
    Ok(vouched)
}

/// Combines each entry with the stored columns of its run.
async fn compare<'e>(
    transaction: &mut PgTransaction<'_>,
    entries: &'e [JournalEntry],
) -> Result<Vec<(&'e JournalEntry, PgRow)>, StoreError> {
    let runs: Vec<Uuid> = entries.iter().map(|entry| entry.run.as_uuid()).collect();
    let rows = sqlx::query(
        "-- vouch: what is known
        SELECT r.id IS NOT NULL AS known, d.epoch AS open_epoch,
               CASE WHEN r.status = 'running' AND r.epoch = d.epoch THEN r.holder END AS holder
        FROM unnest($1::UUID[]) WITH ORDINALITY AS n (run, position)
        LEFT JOIN doubted_runs d ON d.run_id = n.run
        LEFT JOIN LATERAL (SELECT * FROM runs WHERE id = n.run LIMIT 1) r ON TRUE
        ORDER BY n.position",
    )
    .bind(runs)
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed_to("compare the journal of a worker"))?;
    Ok(entries.iter().zip(rows).collect())
}

fn known_run(row: &PgRow) -> Result<KnownRun, sqlx::Error> {
    let open: Option<i64> = row.try_get("open_epoch")?;
    Ok(match open {
        Some(epoch) => KnownRun::Open {
            epoch: u64::try_from(epoch).unwrap_or_default(),
        },
        None if row.try_get("known")? => KnownRun::Known,
        None => KnownRun::Unknown,
    })
}

/// Stops counting the inputs of these tasks as applied. Each task is distrusted once, so that a repeated report
/// changes nothing.
async fn distrust(
    transaction: &mut PgTransaction<'_>,
    names: &[&str],
) -> Result<Vec<TaskName>, StoreError> {
    let failed = failed_to("distrust tasks");
    sqlx::query(
        "-- vouch: the tasks, in order
        SELECT FROM tasks WHERE name = ANY ($1) ORDER BY name FOR NO KEY UPDATE",
    )
    .bind(names)
    .execute(&mut **transaction)
    .await
    .map_err(&failed)?;
    let late: Vec<(String, bool)> = sqlx::query_as(
        "-- vouch: too late
        UPDATE tasks t SET last_applied = NULL, tried_input = NULL
        FROM doubted_tasks d
        WHERE t.name = ANY ($1) AND d.task_name = t.name AND NOT d.forgotten
          AND t.last_applied = d.last_applied
        RETURNING t.name, t.enabled",
    )
    .bind(names)
    .fetch_all(&mut **transaction)
    .await
    .map_err(&failed)?;
    let cell = Cell {
        table: "tasks",
        column: "name",
        row: "",
    };
    let enabled = late.iter().filter(|(_name, enabled)| *enabled);
    enabled.map(|(name, _)| cell.parse(name)).collect()
}
