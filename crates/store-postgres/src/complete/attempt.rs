//! The leased run and its surroundings, locked.

use chrono::{DateTime, Utc};
use cts_core::runs::{AttemptContext, RunKind};
use cts_core::{Creation, Event, EventConfig, TaskName, TaskPhase};
use cts_store::{Completion, StoreError};
use sqlx::{PgTransaction, Row as _};

use crate::lease::stored_epoch;
use crate::row::{Cell, failed_to};

pub(super) struct Attempt {
    pub(super) task: TaskName,
    pub(super) phase: TaskPhase,
    pub(super) creation: Option<Creation>,
    pub(super) kind: RunKind,
    enabled: bool,
    no_retry: bool,
    /// Its input was tried.
    tried: bool,
    pub(super) errors: Vec<String>,
    pub(super) attempts: u32,
    newer_waits: bool,
    earlier_failures: u32,
    retry_failed: bool,
    pub(super) now: i64,
    started_at: DateTime<Utc>,
    config: EventConfig,
}

impl Attempt {
    /// `None` if the lease is not live.
    pub(super) async fn locked(
        transaction: &mut PgTransaction<'_>,
        completion: &Completion,
    ) -> Result<Option<Self>, StoreError> {
        let read = failed_to("read a leased run");
        sqlx::query(
            "-- complete: the task is locked before its run
            SELECT FROM tasks
            WHERE name = (SELECT task_name FROM runs WHERE id = $1)
            FOR NO KEY UPDATE",
        )
        .bind(completion.run.as_uuid())
        .execute(&mut **transaction)
        .await
        .map_err(&read)?;
        // A statement of its own: what changed while the lock was waited for is seen.
        let row = sqlx::query(
            "-- complete: the attempt; index runs_one_queued
            SELECT r.task_name, r.kind, r.no_retry, r.started_at, r.errors, r.attempts,
                   cts_now() AS now,
                   t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
                   t.enabled, coalesce(t.tried_input = r.input_hash, FALSE) AS tried,
                   EXISTS (SELECT FROM runs q
                           WHERE q.task_name = r.task_name AND q.status = 'queued'
                             AND q.kind = 'apply') AS newer_waits
            FROM runs r
            -- Of this run alone: old statistics could make reading all tasks in order look cheaper.
            CROSS JOIN LATERAL (SELECT * FROM tasks WHERE name = r.task_name LIMIT 1) t
            WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3 AND r.status IS NOT DISTINCT FROM 'running'
            FOR NO KEY UPDATE OF r",
        )
        .bind(completion.run.as_uuid())
        .bind(stored_epoch(completion.epoch))
        .bind(completion.holder.as_str())
        .fetch_optional(&mut **transaction)
        .await
        .map_err(&read)?;
        let Some(row) = row else { return Ok(None) };
        let key = completion.run.to_string();
        let cell = |column| Cell {
            table: "runs",
            column,
            row: &key,
        };
        let task: &str = row.try_get("task_name").map_err(&read)?;
        let task_cell = |column| Cell {
            table: "tasks",
            column,
            row: task,
        };
        let number = |cell: Cell<'_>| -> Result<u32, StoreError> {
            let number: i32 = row.try_get(cell.column).map_err(&read)?;
            cell.number(number.into())
        };
        let started_at: i64 = row.try_get("started_at").map_err(&read)?;
        let creation: Option<&str> = row.try_get("creation").map_err(&read)?;
        let creation = creation.map(|creation| task_cell("creation").creation(creation));
        Ok(Some(Self {
            task: cell("task_name").parse(task)?,
            phase: task_cell("phase").phase(row.try_get("phase").map_err(&read)?)?,
            creation: creation.transpose()?,
            kind: cell("kind").run_kind(row.try_get("kind").map_err(&read)?)?,
            enabled: row.try_get("enabled").map_err(&read)?,
            no_retry: row.try_get("no_retry").map_err(&read)?,
            tried: row.try_get("tried").map_err(&read)?,
            errors: cell("errors").json(row.try_get("errors").map_err(&read)?)?,
            attempts: number(cell("attempts"))?,
            newer_waits: row.try_get("newer_waits").map_err(&read)?,
            earlier_failures: number(task_cell("failures"))?,
            retry_failed: row.try_get("retry_failed").map_err(&read)?,
            now: row.try_get("now").map_err(&read)?,
            started_at: cell("started_at").time(started_at)?,
            config: task_cell("event_config").json(row.try_get("event_config").map_err(&read)?)?,
        }))
    }

    /// What the rules need to know.
    pub(super) fn context(&self, jitter: f64) -> AttemptContext {
        AttemptContext {
            kind: self.kind,
            phase: self.phase,
            enabled: self.enabled,
            no_retry: self.no_retry,
            tried: self.tried,
            attempts: self.attempts,
            newer_waits: self.newer_waits,
            earlier_failures: self.earlier_failures,
            retry_failed: self.retry_failed,
            jitter,
        }
    }

    /// The event of a run that has ended.
    pub(super) fn event(
        &self,
        completion: &Completion,
        success: bool,
    ) -> Result<Event, StoreError> {
        let key = completion.run.to_string();
        let end = Cell {
            table: "runs",
            column: "finished_at",
            row: &key,
        };
        let newest_first: Vec<_> = self.errors.iter().rev().map(String::as_str).collect();
        Ok(Event {
            id: completion.event,
            task_name: self.task.clone(),
            run_id: completion.run,
            success,
            start_time: self.started_at,
            end_time: end.time(self.now)?,
            error: (!success).then(|| newest_first.join("\n\n")),
            config: self.config.clone(),
        })
    }
}
