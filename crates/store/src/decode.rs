//! Values from rows with the columns of their tables, for any database. For implementations.

mod access_store;
mod states;

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{Occasion, RunCause, RunKind, RunPhase, RunStatus, WaitContext};
use cts_core::settings::SettingsGeneration;
use cts_core::{
    Delivery, Digest, EventConfig, LeaseEpoch, LostLease, RemoteRun, RemoteRuns, RunId, RunInput,
    WorkerId, WorkerRecord,
};

pub use self::access_store::{audit_record, stored_session, stored_token};
use self::states::leased_state;
pub use self::states::{applied_state, state_moves, state_record, undecided_conflict};
use crate::cluster::WorkerState;
use crate::details::Summary;
use crate::error::StoreError;
use crate::event::Event;
use crate::fields::{Columns, Fields};
use crate::model::{Lease, Requeued, RunRecord, error_of};
use crate::settings::UnsettledRun;
use crate::store::facts::ShownRun;
use crate::task::{Refused, RefusedCode, RunRequest, StoredTask, TaskVersion};

/// A task as callers see it.
pub fn stored_task(row: &dyn Columns) -> Result<StoredTask, StoreError> {
    let row = Fields::new(row, "read a task", "tasks").keyed("name")?;
    Ok(StoredTask {
        spec: row.json("spec")?,
        origin: row.origin("origin")?,
        phase: row.phase("phase")?,
        revision: row.number("revision")?,
        destroy_run: row.id_under("destroy_run", "destroy_run")?,
        destruction_suspended: row.time_if_any("destruction_suspended_at")?.is_some(),
    })
}

/// Reads the version that shows whether a task has changed.
pub fn task_mark(row: &dyn Columns) -> Result<TaskVersion, StoreError> {
    let row = Fields::new(row, "read a task", "tasks").keyed("name")?;
    Ok(TaskVersion {
        name: row.parse("name")?,
        incarnation: row.number("incarnation")?,
        revision: row.number("revision")?,
        phase: row.phase("phase")?,
        enabled: row.flag("enabled")?,
        held: row.flag("is_held")?,
    })
}

/// A run.
pub fn run_record(row: &dyn Columns) -> Result<RunRecord, StoreError> {
    let row = Fields::new(row, "read a run", "runs").keyed_by_id("id")?;
    let status = row.run_status("status")?;
    let kind = row.kind_of_run()?;
    let remote_run: Option<RemoteRun> = row.json_if_any("remote_run")?;
    let leased = Leased::read(&row, kind, status, remote_run.as_ref())?;
    Ok(RunRecord {
        id: row.id("id")?,
        task: row.parse("task_name")?,
        kind,
        no_retry: row.flag("no_retry")?,
        status,
        input: row.parse("input_hash")?,
        attempts: row.number("attempts")?,
        errors: row.json("errors")?,
        plan: row.plan()?,
        details: row.details()?,
        waiting_for: leased.waiting_for,
        awaits: row.text_if_any("awaits")?.map(str::to_owned),
        remote_run,
        created_at: row.time("created_at")?,
        due_at: row.time("due_at")?,
        started_at: row.time_if_any("started_at")?,
        finished_at: row.time_if_any("finished_at")?,
        requested_by: row.text_if_any("requested_by")?.map(str::to_owned),
        worker: leased.worker,
        phase: leased.phase,
        trace: row.json_if_any("trace")?,
        cause: row.json_if_any("cause")?,
    })
}

/// A run that has not ended, reduced to the data that is shown.
pub fn shown_run(row: &dyn Columns) -> Result<ShownRun, StoreError> {
    let row = Fields::new(row, "read a run", "runs").keyed_by_id("id")?;
    let status = row.run_status("status")?;
    let kind = row.kind_of_run()?;
    let remote_run: Option<RemoteRun> = row.json_if_any("remote_run")?;
    let leased = Leased::read(&row, kind, status, remote_run.as_ref())?;
    let errors: Vec<String> = row.json("errors")?;
    Ok(ShownRun {
        id: row.id("id")?,
        task: row.parse("task_name")?,
        kind,
        status,
        waiting_for: leased.waiting_for,
        awaits: row.text_if_any("awaits")?.map(str::to_owned),
        due_at: row.time("due_at")?,
        started_at: row.time_if_any("started_at")?,
        worker: leased.worker,
        phase: leased.phase,
        error: error_of(status, &errors, row.number("attempts")?),
    })
}

/// Data of a run that is known only while the run is running.
#[derive(Default)]
struct Leased {
    waiting_for: Option<String>,
    worker: Option<WorkerId>,
    phase: Option<(RunPhase, DateTime<Utc>)>,
}

impl Leased {
    fn read(
        row: &Fields<'_>,
        kind: RunKind,
        status: RunStatus,
        remote: Option<&RemoteRun>,
    ) -> Result<Self, StoreError> {
        if status != RunStatus::Running {
            return Ok(Self::default());
        }
        let holder = row.text_if_any("holder")?;
        let waiting_for = row.text_if_any("waiting_for")?.map(str::to_owned);
        let worker = holder.filter(|holder| !holder.is_empty());
        Ok(Self {
            waiting_for: waiting_for.or_else(|| ending_text(kind, holder, remote)),
            worker: worker.map(WorkerId::new),
            phase: phase(row)?,
        })
    }
}

/// The text for a running run that ends once its remote run has ended.
fn ending_text(kind: RunKind, holder: Option<&str>, remote: Option<&RemoteRun>) -> Option<String> {
    let remote = remote.filter(|remote| remote.is_open());
    let is_ended = holder == Some("")
        || kind.changes_resources()
            && remote.is_some_and(|it| it.given_up && it.waiting_for.is_none());
    is_ended.then(|| {
        let url = remote.and_then(|remote| remote.url.as_deref());
        let url = url.unwrap_or("of the task");
        format!("its end: the remote run {url} is being ended")
    })
}

/// A phase that was reported under the newest lease.
fn phase(row: &Fields<'_>) -> Result<Option<(RunPhase, DateTime<Utc>)>, StoreError> {
    let phase = row.text_if_any("run_phase")?.and_then(RunPhase::parse);
    Ok(phase.zip(row.time_if_any("run_phase_since")?))
}

/// A run that was just leased; the column `timed_spec` is the task's declaration, if it may contain timeouts
/// or ignored attributes.
pub fn lease(row: &dyn Columns) -> Result<Lease, StoreError> {
    let row = Fields::new(row, "lease a run", "runs").keyed_by_id("id")?;
    let spec = row.text_if_any("timed_spec")?;
    let (timeouts, ignored) = row.cell("spec").lease_settings(spec)?;
    Ok(Lease {
        run: row.id("id")?,
        task: row.parse("task_name")?,
        kind: row.kind_of_run()?,
        holder: WorkerId::new(row.text("holder")?),
        epoch: LeaseEpoch::new(row.number("epoch")?),
        input: row.parse("input_hash")?,
        attempt: row.number("attempts")?,
        timeouts,
        ignored,
        delivery: delivery(&row)?,
        trace: row.json_if_any("trace")?,
        state: leased_state(&row)?,
        ends_remote_run: false,
        asks_permission: row.flag("asks_permission")?,
    })
}

/// Reads the remote run of a row of `runs` for the input of the run, and that of its task as `task_remote_run`.
pub fn remote_runs(row: &dyn Columns) -> Result<RemoteRuns, StoreError> {
    let row = Fields::new(row, "read remote runs", "runs").keyed_by_id("id")?;
    let runs = RemoteRuns {
        own: row.json_if_any("remote_run")?,
        newest: row.json_if_any("task_remote_run")?,
    };
    Ok(runs.for_input(row.id("id")?, row.parse("input_hash")?))
}

/// A delivery in the columns `delivery` and `delivery_first_run`; `None` without a first run.
fn delivery(row: &Fields<'_>) -> Result<Option<Delivery>, StoreError> {
    let first_run = row.id_under("delivery_first_run", "delivery_first_run")?;
    let delivery = first_run.map(|first_run| {
        let number = row.number("delivery")?;
        Ok(Delivery { number, first_run })
    });
    delivery.transpose()
}

/// A leased run that waits or is about to apply.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// Input of the decision whether it may apply.
    pub context: WaitContext,
    /// A run of a different task of its concurrency group is applying.
    pub group_busy: bool,
}

/// Reads a leased run with `phase` and `enabled` of its task, `newer_waits` and `look_waits` about queued runs, and
/// `group_busy`.
pub fn wait(row: &dyn Columns) -> Result<Wait, StoreError> {
    let operation = "read a run that waits";
    let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
    let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
    Ok(Wait {
        context: WaitContext {
            kind: run.run_kind("kind")?,
            phase: task.phase("phase")?,
            enabled: task.flag("enabled")?,
            requested: run.flag("no_retry")?,
            newer_waits: run.flag("newer_waits")?,
            withdrawn: run.flag("withdrawn")?,
            look_waits: run.flag("look_waits")?,
        },
        group_busy: run.flag("group_busy")?,
    })
}

/// A worker with its stored data; the column `silent_for` is in microseconds.
pub fn worker_state(row: &dyn Columns) -> Result<WorkerState, StoreError> {
    let row = Fields::new(row, "list the workers", "workers").keyed("id")?;
    let silent_for = u64::try_from(row.integer("silent_for")?).unwrap_or_default();
    Ok(WorkerState {
        worker: WorkerRecord {
            id: WorkerId::new(row.key()),
            host: row.text("host")?.to_owned(),
            version: row.text("version")?.to_owned(),
            slots: row.number("slots")?,
            capabilities: row.json("capabilities")?,
            draining: row.flag("draining")?,
            settings: row.json_if_any("settings")?,
            problem: row.json_if_any("problem")?,
        },
        since: row.time("created_at")?,
        silent_for: Duration::from_micros(silent_for),
        replaced: row.flag("replaced")?,
        running: row.number("running")?,
        settings: row.json("has_settings")?,
    })
}

/// A lease that was lost.
pub fn lost_lease(row: &dyn Columns) -> Result<LostLease, StoreError> {
    let row = Fields::new(row, "read lost leases", "lost_leases").keyed_by_id("id")?;
    Ok(LostLease {
        worker: WorkerId::new(row.text("holder")?),
        started_at: row.time("started_at")?,
        lost_at: row.time("lost_at")?,
    })
}

/// A generation of settings.
pub fn settings(row: &dyn Columns) -> Result<SettingsGeneration, StoreError> {
    let row =
        Fields::new(row, "read the settings in force", "settings").keyed_by_number("number")?;
    Ok(SettingsGeneration {
        number: row.number("number")?,
        scope: row.json("scope")?,
        digests: row.json("digests")?,
        in_force: row.flag("in_force")?,
    })
}

/// A queued run that lacks the settings in force.
pub fn unsettled_run(row: &dyn Columns) -> Result<UnsettledRun, StoreError> {
    let row = Fields::new(row, "find runs without settings", "runs").keyed_by_id("id")?;
    let settings = row.integer_if_any("settings")?;
    let settings = settings.map(|number| row.cell("settings").number(number));
    Ok(UnsettledRun {
        run: row.id("id")?,
        task: row.parse("task_name")?,
        input: row.parse("input_hash")?,
        settings: settings.transpose()?,
        destroys: row.flag("destroys")?,
    })
}

/// Reads the module bundle named by an input, from a row with its first content. An input that cannot be decoded names no
/// bundle.
pub fn bundle_of_input(row: &dyn Columns) -> Result<Option<Digest>, StoreError> {
    let row = Fields::new(row, "find the bundles in use", "inputs").keyed("hash")?;
    let (encoding, stored) = (row.text("encoding")?, row.bytes("content")?);
    let bytes = row.cell("content").decoded(encoding, stored);
    let definition = bytes
        .ok()
        .and_then(|bytes| RunInput::definition_in(&bytes).ok());
    Ok(definition.and_then(|definition| Some(definition.bundle?.hash)))
}

/// A run whose lease was taken back.
pub fn requeued(row: &dyn Columns) -> Result<Requeued, StoreError> {
    let row = Fields::new(row, "take leases back", "runs").keyed_by_id("id")?;
    Ok(Requeued {
        run: row.id("id")?,
        task: row.parse("task_name")?,
        kind: row.kind_of_run()?,
        status: row.run_status("status")?,
        holder: None,
    })
}

fn refused(row: &Fields<'_>) -> Result<Option<Refused>, StoreError> {
    let Some(reason) = row.text_if_any("refused")? else {
        return Ok(None);
    };
    let code = row.text_if_any("refused_code")?;
    let mut known = RefusedCode::ALL.into_iter();
    Ok(Some(Refused {
        // A program without support for codes, or with further codes, wrote a different value.
        code: known
            .find(|known| code == Some(known.as_str()))
            .unwrap_or(RefusedCode::Withdrawn),
        reason: reason.to_owned(),
    }))
}

/// An expired lease.
#[derive(Debug)]
pub struct ExpiredLease {
    /// Its run.
    pub run: RunId,
    /// Its epoch.
    pub epoch: LeaseEpoch,
    /// The worker that held the lease.
    pub holder: String,
    /// Whether a scheduler could have renewed the lease during its whole life.
    pub renewable: bool,
}

impl ExpiredLease {
    /// The worker; `None` if the remote run was to be ended and no worker had started that.
    pub fn worker(&self) -> Option<WorkerId> {
        let holder = Some(&self.holder).filter(|holder| !holder.is_empty());
        holder.map(WorkerId::new)
    }
}

/// Reads a run whose lease has expired, with `renewable`.
pub fn expired_lease(row: &dyn Columns) -> Result<ExpiredLease, StoreError> {
    let row = Fields::new(row, "take back leases", "runs").keyed_by_id("id")?;
    Ok(ExpiredLease {
        run: row.id("id")?,
        epoch: LeaseEpoch::new(row.number("epoch")?),
        holder: row.text("holder")?.to_owned(),
        renewable: row.flag("renewable")?,
    })
}

/// Reads the reason of the apply that the task owes; `None` for a reason of a later version.
pub fn occasion(row: &Fields<'_>) -> Result<Option<Occasion>, StoreError> {
    let word = row.text_if_any("owes_run")?;
    let mut known = Occasion::ALL.into_iter();
    Ok(known.find(|known| word == Some(known.as_str())))
}

/// A requested run that is not queued.
pub fn run_request(row: &dyn Columns) -> Result<RunRequest, StoreError> {
    let row = Fields::new(row, "read a request", "run_requests").keyed_by_id("run_id")?;
    Ok(RunRequest {
        run: row.id("run_id")?,
        task: row.parse("task_name")?,
        kind: row.run_kind("kind")?,
        requested_at: row.time("requested_at")?,
        requested_by: row.text_if_any("requested_by")?.map(str::to_owned),
        refused: refused(&row)?,
    })
}

/// An event.
pub fn event(row: &dyn Columns) -> Result<Event, StoreError> {
    let row = Fields::new(row, "read an event", "events").keyed_by_id("id")?;
    let config: EventConfig = row.json("config")?;
    let summary: Summary = row.json_if_any("summary")?.unwrap_or_default();
    Ok(Event {
        id: row.id("id")?,
        task_name: row.parse("task_name")?,
        run_id: Some(row.id("run_id")?),
        success: row.flag("success")?,
        start_time: row.time("start_time")?,
        end_time: row.time("end_time")?,
        error: row.text_if_any("error")?.map(str::to_owned),
        resources: summary.resources,
        remote_url: Some(summary.remote_url).filter(|url| !url.is_empty()),
        requested_by: row.text_if_any("requested_by")?.map(str::to_owned),
        cause: row.json_if_any("cause")?,
        config,
    })
}

/// The event of a tick that found nothing new: a row of `tick_events`.
pub fn tick_event(row: &dyn Columns) -> Result<Event, StoreError> {
    let row = Fields::new(row, "read an event of a tick", "tick_events").keyed_by_id("id")?;
    Ok(Event {
        id: row.id("id")?,
        task_name: row.parse("task_name")?,
        run_id: None,
        success: true,
        start_time: row.time("start_time")?,
        end_time: row.time("end_time")?,
        error: None,
        resources: None,
        remote_url: None,
        requested_by: None,
        cause: Some(RunCause {
            tick: true,
            ..RunCause::default()
        }),
        config: row.json("config")?,
    })
}
