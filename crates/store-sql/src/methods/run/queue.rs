//! The queue, and stored runs.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::runs::RunStatus;
use cts_core::{Requirement, RunId, TaskName};
use cts_store::fields::Fields;
use cts_store::{QueueDepth, RunFilter, RunRecord, StoreError, WaitingRuns, decode};

use crate::conditions::{GROUP_IS_TAKEN, WAITS_FOR_DECISION};
use crate::{Connection, Dialect, configurations, configure, endings, flag, sql};

/// Time until the next run is due that neither another run nor a decision keeps waiting, or until an ending may be
/// leased.
pub async fn next_due(c: &mut dyn Connection) -> Result<Option<Duration>, StoreError> {
    // For Postgres, the conditions are in a `CASE`, so that the order of the index is used: see `acquire`.
    let text = c.dialect().pick(
        "-- next_due; index runs_due
        SELECT r.due_at - {now} AS due
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND (t.enabled = 1 OR r.kind <> 'apply' OR r.requested)
          AND NOT EXISTS (
            SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')
          AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND $taken)
          AND NOT $waits
        ORDER BY r.due_at
        LIMIT 1",
        "-- next_due; index runs_due
        SELECT r.due_at - cts_now() AS due
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND r.due_at >= 0
          AND CASE
              WHEN t.active_run IS NOT NULL THEN FALSE
              WHEN $waits THEN FALSE
              WHEN coalesce(r.destroys, r.kind) = 'apply' AND $taken THEN FALSE
              ELSE t.enabled OR r.kind <> 'apply' OR r.requested END
        ORDER BY r.due_at
        LIMIT 1",
    );
    let text = text.replace("$waits", WAITS_FOR_DECISION);
    let text = text.replace("$taken", GROUP_IS_TAKEN);
    let next = sql("find the next due run", text);
    let next = next.optional(c, |row| {
        Fields::new(row, "find the next due run", "runs").span("due")
    });
    let next = next.await?;
    let ending = endings::next_due(c).await?;
    Ok(match (next, ending) {
        (Some(next), Some(ending)) => Some(next.min(ending)),
        (next, ending) => next.or(ending),
    })
}

/// Whether a run is queued or running. The order makes Postgres use the indexes.
pub async fn has_open(c: &mut dyn Connection) -> Result<bool, StoreError> {
    let open = sql(
        "look for open runs",
        "-- has_open_runs; indexes runs_due, runs_one_running
        SELECT (SELECT due_at FROM runs WHERE status = 'queued' AND due_at >= 0
                ORDER BY due_at LIMIT 1) IS NOT NULL
            OR (SELECT task_name FROM runs WHERE status = 'running'
                ORDER BY task_name LIMIT 1) IS NOT NULL AS value",
    );
    open.one(c, flag).await
}

/// Condition that no other run of the task keeps `r` waiting.
fn is_free(dialect: Dialect) -> &'static str {
    dialect.pick(
        "NOT EXISTS (SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')",
        "t.active_run IS NULL",
    )
}

/// Numbers of queued and running runs.
pub async fn depth(c: &mut dyn Connection) -> Result<QueueDepth, StoreError> {
    let is_free = is_free(c.dialect());
    // Makes Postgres compute `ready` once for each run instead of once for each aggregate.
    let once = c.dialect().pick("", "OFFSET 0");
    let depth = sql(
        "read the depth of the queue",
        format!(
            "-- queue_depth; indexes runs_due, runs_one_running
        SELECT count(*) FILTER (WHERE awaits IS NULL) AS queued,
               count(*) FILTER (WHERE awaits IS NOT NULL) AS awaiting,
               count(*) FILTER (WHERE ready) AS ready,
               {{now}} - min(due_at) FILTER (WHERE ready) AS oldest_ready,
               (SELECT count(*) FROM runs
                WHERE status = 'running' AND waiting_for IS NULL AND holder <> '') AS running
        FROM (SELECT r.due_at, r.awaits,
                     r.due_at <= {{now}} AND {is_free}
                     AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND {GROUP_IS_TAKEN})
                     AND NOT {WAITS_FOR_DECISION} AS ready
              FROM runs r JOIN tasks t ON t.name = r.task_name
              WHERE r.status = 'queued' AND (t.enabled OR r.kind <> 'apply' OR r.requested)
              {once}) q"
        ),
    );
    depth
        .one(c, |row| {
            let row = Fields::new(row, "read the depth of the queue", "runs");
            Ok(QueueDepth {
                queued: row.number("queued")?,
                awaiting: row.number("awaiting")?,
                ready: row.number("ready")?,
                running: row.number("running")?,
                oldest_ready: row.span_if_any("oldest_ready")?,
            })
        })
        .await
}

/// Groups of runs that have been due for some time and that no worker leases.
pub async fn waiting_runs(
    c: &mut dyn Connection,
    due_for: Duration,
) -> Result<Vec<WaitingRuns>, StoreError> {
    let is_free = is_free(c.dialect());
    // The name belongs to the oldest run. SQLite takes it from the row with the minimum.
    let name = c
        .dialect()
        .pick("t.name", "(array_agg(t.name ORDER BY r.due_at, t.name))[1]");
    let waiting = sql(
        "find waiting runs",
        format!(
            "-- waiting_runs
        SELECT t.requires_driver, t.requires_version, t.requires_bundle, r.settings,
               count(*) AS runs,
               count(*) FILTER (
                   WHERE r.kind = 'check' AND r.destroys IS NULL AND r.requested_by IS NULL) AS own_checks,
               {{now}} - min(r.due_at) AS oldest, {name} AS name
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND r.due_at <= {{now}} - $1
          AND (t.enabled OR r.kind <> 'apply' OR r.requested)
          AND (t.phase IN ('ready', 'creating') OR t.destroy_run IS NOT DISTINCT FROM r.id)
          AND {is_free}
          AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND {GROUP_IS_TAKEN})
          AND NOT {WAITS_FOR_DECISION}
        GROUP BY t.requires_driver, t.requires_version, t.requires_bundle, r.settings
        ORDER BY oldest DESC, name"
        ),
    );
    let waiting = waiting.bind(due_for).all(c, |row| {
        let row = Fields::new(row, "find waiting runs", "tasks").keyed("name")?;
        Ok(WaitingRuns {
            requirement: Requirement {
                driver: row.text("requires_driver")?.to_owned(),
                version: row.text_if_any("requires_version")?.map(str::to_owned),
                bundle: row.flag("requires_bundle")?,
                unusable_module: None,
            },
            settings: row.integer_if_any("settings")?.map(i64::unsigned_abs),
            runs: row.number("runs")?,
            own_checks: row.number("own_checks")?,
            oldest: row.span("oldest")?,
            task: row.parse("name")?,
        })
    });
    let mut waiting = waiting.await?;
    waiting.extend(endings::waiting(c, due_for).await?);
    Ok(waiting)
}

/// The run of a different task for which a task of this group waits.
pub async fn holder_of_group(
    c: &mut dyn Connection,
    group: &str,
    task: &TaskName,
) -> Result<Option<RunId>, StoreError> {
    let holder = sql(
        "find the run that has a group",
        "-- holder_of_group; indexes runs_one_of_group, runs_remote_group
        SELECT run_id FROM taken_groups
        WHERE name = $1 AND task_name <> $2
        ORDER BY leased DESC, run_id
        LIMIT 1",
    );
    let holder = holder.bind(group).bind(task).optional(c, |row| {
        let row = Fields::new(row, "find the run that has a group", "runs");
        row.keyed_by_id("run_id")?.id("run_id")
    });
    holder.await
}

/// Makes retries of failed runs due, for each task at most once within this time.
pub async fn retry_failed_now(
    c: &mut dyn Connection,
    at_most_every: Duration,
) -> Result<Vec<TaskName>, StoreError> {
    let kept: Vec<String> = unsettled(c).await?.into_iter().collect();
    // On Postgres a separate look-up for each task: few tasks wait, even if outdated statistics suggest otherwise.
    // The condition of the conflict is for a different process that starts at the same time.
    let retried = sql(
        "make failed runs due",
        c.dialect().pick(
            "-- retry_failed_now: which tasks; index runs_waiting
        INSERT INTO hastened_tasks (task_name, hastened_at)
        SELECT t.name, {now}
        FROM tasks t LEFT JOIN hastened_tasks h ON h.task_name = t.name
        WHERE t.enabled AND t.retry_failed AND t.phase = 'ready'
          AND (h.hastened_at IS NULL OR h.hastened_at <= {now} - $1)
          AND t.name {not in $2}
          AND EXISTS (
            SELECT 1 FROM runs r
            WHERE r.task_name = t.name AND r.status = 'queued' AND r.kind = 'apply'
              AND r.due_at > {now})
        ON CONFLICT (task_name) DO UPDATE SET hastened_at = excluded.hastened_at
        RETURNING task_name",
            "-- retry_failed_now: which tasks; index runs_waiting
        INSERT INTO hastened_tasks AS h (task_name, hastened_at)
        SELECT t.name, cts_now()
        FROM (SELECT DISTINCT task_name FROM runs
              WHERE status = 'queued' AND kind = 'apply' AND due_at > cts_now()) waiting
        CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = waiting.task_name LIMIT 1) t
        WHERE t.enabled AND t.retry_failed AND t.phase = 'ready' AND t.name <> ALL ($2)
          AND NOT EXISTS (
            SELECT FROM hastened_tasks h
            WHERE h.task_name = t.name AND h.hastened_at > cts_now() - $1)
        ORDER BY t.name
        ON CONFLICT (task_name) DO UPDATE SET hastened_at = excluded.hastened_at
        WHERE h.hastened_at <= cts_now() - $1
        RETURNING task_name",
        ),
    );
    let retried = retried.bind(at_most_every).bind(&*kept).all(c, |row| {
        Fields::new(row, "make failed runs due", "hastened_tasks")
            .keyed("task_name")?
            .parse("task_name")
    });
    let mut names: Vec<TaskName> = retried.await?;
    names.sort_unstable();
    let due = sql(
        "make failed runs due",
        "-- retry_failed_now: their runs; index runs_waiting
        UPDATE runs SET due_at = {now}, updated_at = {now}
        WHERE task_name {in $1} AND status = 'queued' AND kind = 'apply' AND due_at > {now}",
    );
    due.bind(&*names).execute(c).await?;
    Ok(names)
}

/// Tasks whose declaration in the configuration in force differs and has not taken effect yet.
///
/// A declaration that takes effect between this and the next statement withdraws the runs that the next statement
/// would have made due.
async fn unsettled(c: &mut dyn Connection) -> Result<BTreeSet<String>, StoreError> {
    let any = sql(
        "make failed runs due",
        "-- retry_failed_now: whether anything waits; index runs_due
        SELECT EXISTS (SELECT 1 FROM runs
                       WHERE status = 'queued' AND due_at >= 0 AND due_at > {now}
                         AND kind = 'apply') AS value",
    );
    if any.one(c, flag).await?
        && let Some(in_force) = configurations::in_force(c).await?
    {
        let stored = configure::declarations(c).await?;
        return stored.unsettled(&in_force.tasks);
    }
    Ok(BTreeSet::new())
}

/// Reads a run.
pub async fn run(c: &mut dyn Connection, id: RunId) -> Result<Option<RunRecord>, StoreError> {
    sql(
        "read a run",
        "-- run
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, summary, findings, waiting_for, awaits, remote_run, created_at,
               due_at, started_at, finished_at, requested_by, holder, trace,
               CASE WHEN leased_epoch = epoch THEN run_phase END AS run_phase, run_phase_since, cause
        FROM runs WHERE id = $1",
    )
    .bind(id)
    .optional(c, decode::run_record)
    .await
}

/// Lists runs, newest first, without the texts of plans and without findings.
pub async fn runs(
    c: &mut dyn Connection,
    filter: &RunFilter,
) -> Result<Vec<RunRecord>, StoreError> {
    let listing = sql("list runs", listing(c.dialect(), filter));
    let listing = match (&filter.task, &filter.tasks) {
        (None, Some(tasks)) => listing.bind(tasks.as_slice()),
        (task, _) => listing.bind(task.as_ref()),
    };
    let listing = listing.bind(filter.after).bind(filter.limit);
    let listing = match filter.cause {
        Some(cause) => listing.bind(cause),
        None => listing,
    };
    listing.all(c, decode::run_record).await
}

/// Names of tasks with runs, each found by a step in the index.
pub async fn tasks_with_runs(
    c: &mut dyn Connection,
    beginning: &str,
    at_most: u32,
) -> Result<Vec<TaskName>, StoreError> {
    // Every character of a name sorts before `~`.
    let end = format!("{beginning}~");
    let names = sql(
        "list tasks with runs",
        "-- tasks_with_runs; index runs_task
        WITH RECURSIVE names (name) AS (
            SELECT min(task_name) FROM runs WHERE task_name >= $1 AND task_name < $2
            UNION ALL
            SELECT (SELECT min(task_name) FROM runs
                    WHERE task_name > names.name AND task_name < $2)
            FROM names WHERE names.name IS NOT NULL
        )
        SELECT name FROM names WHERE name IS NOT NULL LIMIT $3",
    );
    let names = names.bind(beginning).bind(end).bind(at_most);
    let names = names.all(c, |row| {
        let row = Fields::new(row, "list tasks with runs", "runs").keyed("name")?;
        row.parse("name")
    });
    names.await
}

/// A separate statement for each kind of filter, so that each uses its index.
fn listing(dialect: Dialect, filter: &RunFilter) -> String {
    let task = filter.task.as_ref();
    let tasks = filter.tasks.as_ref().filter(|_| task.is_none());
    let older = filter.after.map_or("$2 IS NULL", |_| "id < $2");
    let equal = |status: RunStatus| format!("status = '{}'", status.as_str());
    let of_all_tasks = task.is_none() && tasks.is_none() && dialect == Dialect::Postgres;
    let status = if filter.awaits {
        Some(RunStatus::Queued)
    } else {
        filter.status
    };
    let awaits = if filter.awaits {
        " AND awaits IS NOT NULL"
    } else {
        ""
    };
    let (found, of_status, order) = match status {
        None => ("NOT MATERIALIZED", "TRUE".to_owned(), "id DESC"),
        // Queued and running runs are few, but their number is unknown: all of them are found before they are sorted.
        Some(status @ (RunStatus::Queued | RunStatus::Running)) if of_all_tasks => {
            ("MATERIALIZED", equal(status), "id DESC")
        }
        // A range, because only one index has its order. With an equality, Postgres assumes that such runs are spread
        // evenly, and reads all runs.
        Some(status @ (RunStatus::Failed | RunStatus::Cancelled)) if of_all_tasks => {
            let status = status.as_str();
            let range = format!(
                "status IN ('failed', 'cancelled') AND status BETWEEN '{status}' AND '{status}'"
            );
            ("NOT MATERIALIZED", range, "status DESC, id DESC")
        }
        Some(status) => ("NOT MATERIALIZED", equal(status), "id DESC"),
    };
    // The runs of a cause are found before they are sorted, on Postgres by separate look-ups.
    let of_cause = dialect.pick(
        "runs JOIN cause_runs ON run_id = id AND cause_id = $4",
        "(SELECT run_id FROM cause_runs WHERE cause_id = $4 OFFSET 0) l
            CROSS JOIN LATERAL (SELECT * FROM runs WHERE id = l.run_id LIMIT 1) runs",
    );
    let from = filter.cause.map_or("runs", |_| of_cause);
    let found = filter.cause.map_or(found, |_| "MATERIALIZED");
    let of_task = match (task, tasks) {
        (Some(_), _) => "task_name = $1".to_owned(),
        (None, Some(_)) if filter.cause.is_some() => "task_name {in $1}".to_owned(),
        // The newest runs of each of a few tasks, found only by their ids. On Postgres a separate look-up for each
        // task, independent of outdated statistics.
        (None, Some(_)) => {
            let newest = format!("{of_status}{awaits} AND {older} ORDER BY id DESC LIMIT $3");
            match dialect {
                Dialect::Sqlite => {
                    format!("id IN (SELECT id FROM runs WHERE task_name {{in $1}} AND {newest})")
                }
                Dialect::Postgres => format!(
                    "id IN (SELECT newest.id FROM unnest($1) AS visible (name)
                            CROSS JOIN LATERAL (
                                SELECT id FROM runs WHERE task_name = visible.name AND {newest}
                            ) newest
                            ORDER BY newest.id DESC LIMIT $3)"
                ),
            }
        }
        (None, None) => "$1 IS NULL".to_owned(),
    };
    let no_bytes = dialect.pick("x''", "''::BYTEA");
    let few = tasks.map_or("", |_| " of few tasks");
    format!(
        "-- runs{few}: without the texts of plans and without findings; indexes runs_pkey, runs_task, runs_not_applied
        WITH found AS {found} (
            SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors,
                   changes_present,
                   CASE WHEN plan_encoding IS NOT NULL THEN 'plain' END AS plan_encoding,
                   CASE WHEN plan IS NOT NULL THEN {no_bytes} END AS plan,
                   summary, NULL AS findings, waiting_for, awaits, remote_run, created_at,
               due_at, started_at, finished_at, requested_by, holder, trace,
                   CASE WHEN leased_epoch = epoch THEN run_phase END AS run_phase, run_phase_since, cause
            FROM {from}
            WHERE {of_task} AND {of_status}{awaits} AND {older}
        )
        SELECT id, task_name, kind, destroys, no_retry, status, input_hash, attempts, errors, changes_present,
               plan_encoding, plan, summary, findings, waiting_for, awaits, remote_run, created_at,
               due_at, started_at, finished_at, requested_by, holder, trace, run_phase, run_phase_since, cause
        FROM found ORDER BY {order} LIMIT $3"
    )
}
