//! Runs that wait for a worker, and retries that wait for their time.

use std::collections::BTreeSet;
use std::time::Duration;

use cts_core::{Requirement, TaskName};
use cts_store::{StoreError, WaitingRuns};
use sqlx::{PgConnection, Row as _};

use crate::configurations;
use crate::configure;
use crate::row::{Cell, failed_to, span, span_micros};

pub(crate) async fn waiting_runs(
    connection: &mut PgConnection,
    due_for: Duration,
) -> Result<Vec<WaitingRuns>, StoreError> {
    let read = failed_to("find waiting runs");
    let rows = sqlx::query(
        "-- waiting_runs
        SELECT t.requires_driver, t.requires_version, t.requires_bundle, r.settings,
               count(*) AS runs, cts_now() - min(r.due_at) AS oldest,
               (array_agg(t.name ORDER BY r.due_at, t.name))[1] AS name
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'queued' AND r.due_at <= cts_now() - $1
          AND (t.enabled OR r.kind <> 'apply' OR r.requested)
          AND (t.phase IN ('ready', 'creating') OR t.destroy_run IS NOT DISTINCT FROM r.id)
          AND t.active_run IS NULL
          AND NOT (coalesce(r.destroys, r.kind) = 'apply' AND EXISTS (
            SELECT FROM busy_groups g WHERE g.name = t.concurrency_group))
        GROUP BY t.requires_driver, t.requires_version, t.requires_bundle, r.settings
        ORDER BY min(r.due_at), name",
    )
    .bind(span_micros(due_for))
    .fetch_all(connection)
    .await
    .map_err(&read)?;
    rows.iter()
        .map(|row| {
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
                oldest: span(row.try_get("oldest").map_err(&read)?),
                task: task_name(row.try_get("name").map_err(&read)?)?,
            })
        })
        .collect()
}

/// The task whose apply makes the others of this group wait.
pub(crate) async fn applying_of_group(
    connection: &mut PgConnection,
    group: &str,
) -> Result<Option<TaskName>, StoreError> {
    let name: Option<String> = sqlx::query_scalar(
        "-- applying_of_group; index runs_one_of_group
        SELECT task_name FROM busy_groups WHERE name = $1",
    )
    .bind(group)
    .fetch_optional(connection)
    .await
    .map_err(failed_to("find the running apply of a group"))?;
    name.as_deref().map(task_name).transpose()
}

pub(crate) async fn retry_failed_now(
    connection: &mut PgConnection,
    at_most_every: Duration,
) -> Result<Vec<TaskName>, StoreError> {
    let kept: Vec<String> = unsettled(connection).await?.into_iter().collect();
    let mut names: Vec<String> = sqlx::query_scalar(
        "-- hasten_retries; index runs_waiting
        WITH hastened AS (
            INSERT INTO hastened_tasks AS h (task_name, hastened_at)
            SELECT t.name, cts_now()
            FROM (SELECT DISTINCT task_name FROM runs
                  WHERE status = 'queued' AND kind = 'apply' AND due_at > cts_now()) waiting
            -- Each for itself: few wait, whatever old statistics say.
            CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = waiting.task_name LIMIT 1) t
            WHERE t.enabled AND t.retry_failed AND t.phase = 'ready' AND t.name <> ALL ($2)
              AND NOT EXISTS (
                SELECT FROM hastened_tasks h
                WHERE h.task_name = t.name AND h.hastened_at > cts_now() - $1)
            ORDER BY t.name
            -- Against another process that starts at the same moment.
            ON CONFLICT (task_name) DO UPDATE SET hastened_at = excluded.hastened_at
            WHERE h.hastened_at <= cts_now() - $1
            RETURNING task_name
        ), due AS (
            UPDATE runs r SET due_at = cts_now(), updated_at = cts_now()
            FROM hastened
            WHERE r.task_name = hastened.task_name AND r.status = 'queued' AND r.kind = 'apply'
              AND r.due_at > cts_now()
        )
        SELECT task_name FROM hastened",
    )
    .bind(span_micros(at_most_every))
    .bind(kept)
    .fetch_all(connection)
    .await
    .map_err(failed_to("make failed runs due"))?;
    names.sort_unstable();
    names.iter().map(|name| task_name(name)).collect()
}

/// Tasks for which the configuration in force declares something else, which has not taken effect yet. A
/// declaration that takes effect between this and the next statement withdraws the runs that the next one
/// would have made due.
async fn unsettled(connection: &mut PgConnection) -> Result<BTreeSet<String>, StoreError> {
    let any: bool = sqlx::query_scalar(
        "-- hasten_retries: whether anything waits; index runs_due
        SELECT EXISTS (SELECT FROM runs
                       WHERE status = 'queued' AND due_at >= 0 AND due_at > cts_now()
                         AND kind = 'apply')",
    )
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
