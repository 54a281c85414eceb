//! The leased run and its surroundings.

use cts_core::runs::{AttemptContext, RunKind};
use cts_core::{Creation, Digest, Event, EventConfig, TaskName, TaskPhase};
use cts_store::{Completion, StoreError};
use sqlx::{Row as _, SqliteConnection};

use crate::lease::stored_epoch;
use crate::row::{Cell, failed_to};

pub(super) struct Attempt {
    pub(super) task: TaskName,
    pub(super) phase: TaskPhase,
    pub(super) creation: Option<Creation>,
    pub(super) kind: RunKind,
    enabled: bool,
    no_retry: bool,
    tried: Option<Digest>,
    pub(super) input: Digest,
    started_at: i64,
    pub(super) errors: Vec<String>,
    config: EventConfig,
    pub(super) attempts: u32,
    newer_waits: bool,
    earlier_failures: u32,
    retry_failed: bool,
}

impl Attempt {
    /// `None` if the lease is not live.
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        completion: &Completion,
    ) -> Result<Option<Self>, StoreError> {
        let read = failed_to("read a leased run");
        let id = completion.run.to_string();
        let row = sqlx::query(
            "-- complete: the attempt
        SELECT r.task_name, r.kind, r.no_retry, r.input_hash, r.started_at, r.errors, r.attempts,
               t.failures, t.retry_failed, t.event_config, t.phase, t.creation,
               t.enabled, t.tried_input,
               EXISTS (SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued'
                         AND q.kind = 'apply') AS newer_waits
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.id = ? AND r.epoch = ? AND r.holder = ? AND r.status = 'running'",
        )
        .bind(&id)
        .bind(stored_epoch(completion.epoch))
        .bind(completion.holder.as_str())
        .fetch_optional(connection)
        .await
        .map_err(&read)?;
        let Some(row) = row else { return Ok(None) };
        let cell = |column| Cell {
            table: "runs",
            column,
            row: &id,
        };
        let text = |column: &str| row.try_get::<String, _>(column).map_err(&read);
        let task = text("task_name")?;
        let task_cell = |column| Cell {
            table: "tasks",
            column,
            row: &task,
        };
        let creation: Option<&str> = row.try_get("creation").map_err(&read)?;
        let creation = creation.map(|creation| task_cell("creation").creation(creation));
        let tried: Option<&str> = row.try_get("tried_input").map_err(&read)?;
        let tried = tried.map(|input| task_cell("tried_input").parse(input));
        Ok(Some(Self {
            task: cell("task_name").parse(&task)?,
            phase: task_cell("phase").phase(&text("phase")?)?,
            creation: creation.transpose()?,
            kind: cell("kind").run_kind(&text("kind")?)?,
            enabled: row.try_get("enabled").map_err(&read)?,
            no_retry: row.try_get("no_retry").map_err(&read)?,
            tried: tried.transpose()?,
            input: cell("input_hash").parse(&text("input_hash")?)?,
            started_at: row.try_get("started_at").map_err(&read)?,
            errors: cell("errors").json(&text("errors")?)?,
            config: task_cell("event_config").json(&text("event_config")?)?,
            attempts: cell("attempts").number(row.try_get("attempts").map_err(&read)?)?,
            newer_waits: row.try_get("newer_waits").map_err(&read)?,
            earlier_failures: task_cell("failures")
                .number(row.try_get("failures").map_err(&read)?)?,
            retry_failed: row.try_get("retry_failed").map_err(&read)?,
        }))
    }

    /// What the rules need to know.
    pub(super) fn context(&self, jitter: f64) -> AttemptContext {
        AttemptContext {
            kind: self.kind,
            phase: self.phase,
            enabled: self.enabled,
            no_retry: self.no_retry,
            tried: self.tried == Some(self.input),
            attempts: self.attempts,
            newer_waits: self.newer_waits,
            earlier_failures: self.earlier_failures,
            retry_failed: self.retry_failed,
            jitter,
        }
    }

    /// The event of the run, which ends now.
    pub(super) fn event(
        &self,
        completion: &Completion,
        success: bool,
        now: i64,
    ) -> Result<Event, StoreError> {
        let id = completion.run.to_string();
        let cell = |column| Cell {
            table: "runs",
            column,
            row: &id,
        };
        let newest_first: Vec<_> = self.errors.iter().rev().map(String::as_str).collect();
        Ok(Event {
            id: completion.event,
            task_name: self.task.clone(),
            run_id: completion.run,
            success,
            start_time: cell("started_at").time(self.started_at)?,
            end_time: cell("finished_at").time(now)?,
            error: (!success).then(|| newest_first.join("\n\n")),
            config: self.config.clone(),
        })
    }
}
