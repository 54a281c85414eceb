//! A leased run with the columns of its task, read at the end of an attempt.

use chrono::{DateTime, Utc};
use cts_core::runs::{RunKind, RunPhase};
use cts_core::{Creation, Digest, EventConfig, RemoteRun, RunId, TaskName, TaskPhase};

use super::attempt_record::AttemptRecord;
use crate::cancel::open_remote;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// A leased run and its task's columns at the end of an attempt.
#[derive(Debug)]
pub struct Attempt {
    /// The task.
    pub task: TaskName,
    /// The input.
    pub input: Digest,
    pub(super) kind: RunKind,
    pub(super) phase: TaskPhase,
    pub(super) creation: Option<Creation>,
    pub(super) destroy_run: Option<RunId>,
    pub(super) enabled: bool,
    pub(super) no_retry: bool,
    pub(super) tried: bool,
    pub(super) errors: Vec<String>,
    pub(super) attempts: u32,
    pub(super) newer_waits: bool,
    pub(super) earlier_failures: u32,
    pub(super) retry_failed: bool,
    pub(super) waits: bool,
    pub(super) withdrawn: bool,
    pub(super) cancelled: bool,
    pub(super) by_force: bool,
    pub(super) state_refused: bool,
    pub(super) reopened: bool,
    pub(super) remote: Option<RemoteRun>,
    pub(super) due_at: DateTime<Utc>,
    pub(super) started_at: DateTime<Utc>,
    pub(super) leased_at: Option<DateTime<Utc>>,
    pub(super) renewed_at: DateTime<Utc>,
    pub(super) run_phase: Option<RunPhase>,
    /// Position of the last line of the log, before the lines of a completion.
    pub(super) last_line: u64,
    pub(super) records: Vec<AttemptRecord>,
    pub(super) event_config: EventConfig,
}

impl Attempt {
    /// Reads a row of `runs` with the columns of its task and those of [`open_remote`].
    ///
    /// `tried` is set if the input was tried, `newer_waits` if a run to apply is queued, and `state_refused` if the
    /// Terraform state of the task needs a decision. `reopened` is set if the worker has asked for permission, and no
    /// effect of the run is rejected. `last_line` is the position of the last line of the log.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let operation = "read a leased run";
        let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
        let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
        let creation = task.text_if_any("creation")?;
        let creation = creation.map(|creation| task.cell("creation").creation(creation));
        Ok(Self {
            task: run.parse("task_name")?,
            input: run.parse("input_hash")?,
            kind: run.kind_of_run()?,
            phase: task.phase("phase")?,
            creation: creation.transpose()?,
            destroy_run: task.id_under("destroy_run", "destroy_run")?,
            enabled: task.flag("enabled")?,
            no_retry: run.flag("no_retry")?,
            tried: task.flag("tried")?,
            errors: run.json("errors")?,
            attempts: run.number("attempts")?,
            newer_waits: task.flag("newer_waits")?,
            earlier_failures: task.number("failures")?,
            retry_failed: task.flag("retry_failed")?,
            waits: run.text_if_any("waiting_for")?.is_some(),
            withdrawn: run.flag("withdrawn")?,
            cancelled: run.flag("cancelled")?,
            by_force: run.flag("cancel_force")?,
            state_refused: task.flag("state_refused")?,
            reopened: run.flag("reopened")?,
            remote: open_remote(row)?,
            due_at: run.time("due_at")?,
            started_at: run.time("started_at")?,
            leased_at: run.time_if_any("leased_at")?,
            // Granting and renewing the lease are the last updates of a running run.
            renewed_at: run.time("updated_at")?,
            run_phase: run.text_if_any("run_phase")?.and_then(RunPhase::parse),
            last_line: run.number("last_line")?,
            records: run.json_if_any("ended_attempts")?.unwrap_or_default(),
            event_config: task.json("event_config")?,
        })
    }
}
