//! Runs that wait for a worker, and retries that wait for their time.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::{Requirement, TaskName};
use cts_store::{StoreError, WaitingRuns};
use sqlx::{Row as _, SqliteConnection, SqliteExecutor};

use crate::configurations;
use crate::configure;
use crate::row::{Cell, between, failed_to, span_micros};

pub(crate) async fn waiting_runs(
    executor: impl SqliteExecutor<'_>,
    due_for: Duration,
    now: i64,
) -> Result<Vec<WaitingRuns>, StoreError> {
    let read = failed_to("find waiting runs");
    let rows = sqlx::query(
        "-- waiting_runs; the name is that of the row with the minimum
        SELECT t.requires_driver, t.requires_version, t.requires_bundle, r.settings,
               count(*) AS runs, min(r.due_at) AS oldest, t.name
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND r.due_at <= ?
          AND (t.enabled = 1 OR r.kind <> 'apply' OR r.requested)
          AND (t.phase IN ('ready', 'creating') OR t.destroy_run IS r.id)
          AND NOT EXISTS (
            SELECT 1 FROM runs a WHERE a.task_name = r.task_name AND a.status = 'running')
          AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
            SELECT 1 FROM busy_groups g WHERE g.name = t.concurrency_group))
        GROUP BY t.requires_driver, t.requires_version, t.requires_bundle, r.settings
        ORDER BY oldest, t.name",
    )
    .bind(now.saturating_sub(span_micros(due_for)))
    .fetch_all(executor)
    .await
    .map_err(&read)?;
    rows.iter()
        .map(|row| {
            let name: String = row.try_get("name").map_err(&read)?;
            let runs: i64 = row.try_get("runs").map_err(&read)?;
            Ok(WaitingRuns {
                requirement: Requirement {
                    driver: row.try_get("requires_driver").map_err(&read)?,
                    version: row.try_get("requires_version").map_err(&read)?,
                    bundle: row.try_get("requires_bundle").map_err(&read)?,
                },
                settings: row
                    .try_get::<Option<i64>, _>("settings")
                    .map_err(&read)?
                    .map(i64::unsigned_abs),
                runs: runs.unsigned_abs(),
                oldest: between(row.try_get("oldest").map_err(&read)?, now),
                task: task_name(&name)?,
            })
        })
        .collect()
}

/// The task whose apply makes the others of this group wait.
pub(crate) async fn applying_of_group(
    executor: impl SqliteExecutor<'_>,
    group: &str,
) -> Result<Option<TaskName>, StoreError> {
    let name: Option<String> = sqlx::query_scalar(
        "-- applying_of_group; index runs_one_of_group
        SELECT task_name FROM busy_groups WHERE name = ?",
    )
    .bind(group)
    .fetch_optional(executor)
    .await
    .map_err(failed_to("find the running apply of a group"))?;
    name.as_deref().map(task_name).transpose()
}

pub(crate) async fn retry_failed_now(
    connection: &mut SqliteConnection,
    at_most_every: Duration,
    now: i64,
) -> Result<Vec<TaskName>, StoreError> {
    let write = failed_to("make failed runs due");
    let kept = unsettled(connection, now).await?;
    let mut names: Vec<String> = sqlx::query_scalar(
        "-- hasten_retries: which tasks; index runs_waiting
        INSERT INTO hastened_tasks (task_name, hastened_at)
        SELECT t.name, ?1
        FROM tasks t LEFT JOIN hastened_tasks h ON h.task_name = t.name
        WHERE t.enabled AND t.retry_failed AND t.phase = 'ready'
          AND (h.hastened_at IS NULL OR h.hastened_at <= ?2)
          AND t.name NOT IN (SELECT value FROM json_each(?3))
          AND EXISTS (
            SELECT 1 FROM runs r
            WHERE r.task_name = t.name AND r.status = 'queued' AND r.kind = 'apply'
              AND r.due_at > ?1)
        ON CONFLICT (task_name) DO UPDATE SET hastened_at = excluded.hastened_at
        RETURNING task_name",
    )
    .bind(now)
    .bind(now.saturating_sub(span_micros(at_most_every)))
    .bind(serde_json::json!(kept).to_string())
    .fetch_all(&mut *connection)
    .await
    .map_err(&write)?;
    names.sort_unstable();
    for name in &names {
        sqlx::query(
            "-- hasten_retries: their runs; index runs_waiting
            UPDATE runs SET due_at = ?1, updated_at = ?1
            WHERE task_name = ?2 AND status = 'queued' AND kind = 'apply' AND due_at > ?1",
        )
        .bind(now)
        .bind(name)
        .execute(&mut *connection)
        .await
        .map_err(&write)?;
    }
    names.iter().map(|name| task_name(name)).collect()
}

/// Tasks for which the configuration in force declares something else, which has not taken effect yet.
async fn unsettled(
    connection: &mut SqliteConnection,
    now: i64,
) -> Result<BTreeSet<String>, StoreError> {
    let any: bool = sqlx::query_scalar(
        "-- hasten_retries: whether anything waits; index runs_due
        SELECT EXISTS (SELECT 1 FROM runs
                       WHERE status = 'queued' AND kind = 'apply' AND due_at > ?)",
    )
    .bind(now)
    .fetch_one(&mut *connection)
    .await
    .map_err(failed_to("make failed runs due"))?;
    if any && let Some(in_force) = configurations::in_force(&mut *connection).await? {
        let stored = configure::declarations(connection).await?;
        return stored.unsettled(&in_force.tasks);
    }
    Ok(BTreeSet::new())
}

fn task_name(name: &str) -> Result<TaskName, StoreError> {
    let cell = Cell {
        table: "tasks",
        column: "name",
        row: name,
    };
    cell.parse(name)
}
