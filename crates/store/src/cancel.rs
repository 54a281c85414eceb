//! Cancelling runs: reads the stored rows and decides which writes follow. For implementations.

use std::time::Duration;

use chrono::DateTime;
use cts_core::runs::{
    CancelContext, CancelDecision, CancelOrder, RunKind, RunStatus, decide_cancel, failure_text,
    keep_error,
};
use cts_core::{
    EventConfig, EventId, RemoteRun, RunId, TaskName, TaskPhase, TaskRemoteRun, WorkerId,
};

use crate::error::{CancelError, StoreError};
use crate::event::Event;
use crate::fields::{Columns, Fields};
use crate::task::RunRequest;

/// When a suspended destruction is due, in microseconds since 1970: in the year 9999, so that a scheduler without
/// support for suspended destructions never starts it.
pub const SUSPENDED_UNTIL: i64 = 253_370_764_800_000_000;

/// Reason with which open requests are refused when they are cancelled.
pub const REQUEST_CANCELLED: &str = "cancelled: the run was withdrawn before it was queued";

/// Error of a cancelled run whose process has ended.
pub const CUT_OFF: &str = "cancelled: the program ended while the run was being stopped";

/// Error of a queued run that was cancelled.
pub const WITHDRAWN: &str = "cancelled: the run was withdrawn before it began";

/// The remote run of a row of `runs` that may still change something: its own (`remote_run`), or the newest remote
/// run of its task (`task_remote_run`).
///
/// The flag `has_open_remote` decides whether such a remote run exists.
pub fn open_remote(row: &dyn Columns) -> Result<Option<RemoteRun>, StoreError> {
    let row = Fields::new(row, "read a remote run", "runs");
    if !row.flag("has_open_remote")? {
        return Ok(None);
    }
    let own: Option<RemoteRun> = row.json_if_any("remote_run")?;
    let newest: Option<TaskRemoteRun> = row.json_if_any("task_remote_run")?;
    let newest = newest.map(|newest| newest.remote);
    Ok(own.filter(RemoteRun::is_open).or(newest))
}

/// Error of a run that has ended while its remote run goes on.
pub(crate) fn withdrawn_from(remote: &RemoteRun) -> String {
    let place = remote.url.as_deref().unwrap_or(&remote.workspace.name);
    format!(
        "cancelled: the run was withdrawn, but its remote run has not ended and may be applied: {place}"
    )
}

/// Error of an attempt at a cancelled run.
pub const fn cancelled_error(by_force: bool) -> &'static str {
    if by_force {
        "cancelled: the run was stopped by force, and its state may lack what Terraform was at"
    } else {
        "cancelled: the run was stopped on request"
    }
}

/// A run that is being cancelled, or was cancelled.
#[derive(Debug, Clone, PartialEq)]
pub struct CancelledRun {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskName,
    /// Kind of the run.
    pub kind: RunKind,
    /// Its status now: cancelled; running while its worker stops it or its remote run is ended; or queued if it is a
    /// suspended destruction or a different run of its task goes first.
    pub status: RunStatus,
    /// The worker that was ordered to stop the run.
    pub worker: Option<WorkerId>,
    /// The event, if the run has ended with one.
    pub event: Option<Event>,
    /// Whether the cancellation discarded the task or changed what is shown of it.
    pub tasks_changed: bool,
    /// Whether the run is a destruction that is suspended from now on.
    pub suspends: bool,
}

impl CancelledRun {
    /// An open request that was withdrawn.
    pub fn of_request(request: RunRequest) -> Self {
        Self {
            run: request.run,
            task: request.task,
            kind: request.kind,
            status: RunStatus::Cancelled,
            worker: None,
            event: None,
            // The task that the request was to create is discarded.
            tasks_changed: true,
            suspends: false,
        }
    }
}

/// State of the order to stop a leased run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CancelState {
    /// The worker that holds the lease.
    pub worker: WorkerId,
    /// The order.
    pub order: CancelOrder,
    /// Time since the first order was given.
    pub ordered: Duration,
    /// The worker has received the order.
    pub noted: bool,
}

impl CancelState {
    /// Reads a row of `runs` with `cancel_force`, `ordered_micros` and the flag `noted`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read a cancelled run", "runs").keyed_by_id("id")?;
        Ok(Self {
            worker: WorkerId::new(row.text("holder")?),
            order: order(row.flag("cancel_force")?),
            ordered: micros(row.integer("ordered_micros")?),
            noted: row.flag("noted")?,
        })
    }
}

/// The order for a run that is to be stopped.
pub const fn order(by_force: bool) -> CancelOrder {
    if by_force {
        CancelOrder::Force
    } else {
        CancelOrder::Interrupt
    }
}

fn no_config() -> EventConfig {
    EventConfig {
        providers: Vec::new(),
        services: Vec::new(),
        source: String::new(),
    }
}

fn micros(span: i64) -> Duration {
    Duration::from_micros(u64::try_from(span).unwrap_or_default())
}

/// A run to be cancelled, with the input of the rules for it.
#[derive(Debug)]
pub struct CancelTarget {
    answer: CancelledRun,
    phase: TaskPhase,
    context: CancelContext,
    errors: Vec<String>,
    /// Its remote run, if the remote run may still change something.
    remote: Option<RemoteRun>,
    event_config: Option<EventConfig>,
    /// Why the run is withdrawn, instead of [`WITHDRAWN`].
    why: Option<String>,
}

/// The result and the writes for a run that is cancelled.
#[derive(Debug)]
pub struct CancelPlan {
    /// The result.
    pub answer: CancelledRun,
    /// The writes.
    pub writes: CancelWrites,
}

/// See [`CancelPlan`].
#[derive(Debug)]
pub enum CancelWrites {
    /// The queued run ends, with the event of the result if it has an event.
    Withdraw {
        /// Errors of the run's attempts, oldest first, and the error of the withdrawal.
        errors: Vec<String>,
        /// Its input is withheld.
        withholds: bool,
        /// The task that the run was to create is discarded.
        discards: bool,
    },
    /// The destruction is suspended.
    Suspend,
    /// The queued run becomes an ending: see [`becomes_ending`](cts_core::runs::becomes_ending).
    EndRemote,
    /// The order is noted; an order by force stays by force.
    Order {
        /// By force.
        by_force: bool,
    },
}

impl CancelTarget {
    /// Reads a row of `runs` with `ordered_micros` (time since the first order) and the columns of [`open_remote`];
    /// if its task exists, also the task's `phase`, `event_config` and whether it `is_suspended`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let operation = "read a run to be cancelled";
        let run = Fields::new(row, operation, "runs").keyed_by_id("id")?;
        let task = Fields::new(row, operation, "tasks").keyed("task_name")?;
        let status = run.run_status("status")?;
        let phase = task.text_if_any("phase")?;
        let phase = phase
            .map(|phase| task.cell("phase").phase(phase))
            .transpose()?;
        let worker = run.text_if_any("holder")?;
        let kind = run.kind_of_run()?;
        let remote = open_remote(row)?;
        Ok(Self {
            answer: CancelledRun {
                run: run.id("id")?,
                task: run.parse("task_name")?,
                kind,
                status,
                worker: worker
                    .filter(|worker| !worker.is_empty())
                    .map(WorkerId::new),
                event: None,
                tasks_changed: false,
                suspends: false,
            },
            phase: phase.unwrap_or(TaskPhase::Discarded),
            context: CancelContext {
                status,
                suspended: kind == RunKind::Destroy && run.flag("is_suspended")?,
                ordered: run.integer_if_any("ordered_micros")?.map(micros),
                open_remote: remote.is_some(),
            },
            errors: run.json("errors")?,
            remote,
            event_config: task.json_if_any("event_config")?,
            why: None,
        })
    }

    /// Gives the error of a run that is withdrawn.
    #[must_use]
    pub fn because(mut self, why: &str) -> Self {
        self.why = Some(why.to_owned());
        self
    }

    /// Decides the cancellation; `now` is in microseconds since 1970.
    pub fn decide(self, force: bool, event: EventId, now: i64) -> Result<CancelPlan, CancelError> {
        let Self {
            mut answer,
            phase,
            context,
            mut errors,
            remote,
            event_config,
            why,
        } = self;
        let writes = match decide_cancel(context, force) {
            CancelDecision::Refuse(refusal) => return Err(CancelError::Refused(refusal)),
            CancelDecision::Order(order) => CancelWrites::Order {
                by_force: order == CancelOrder::Force,
            },
            CancelDecision::EndRemote => {
                answer.tasks_changed = true;
                CancelWrites::EndRemote
            }
            CancelDecision::Withdraw if answer.kind == RunKind::Destroy => {
                answer.tasks_changed = true;
                answer.suspends = true;
                CancelWrites::Suspend
            }
            CancelDecision::Withdraw => {
                match &remote {
                    Some(remote) => keep_error(&mut errors, &withdrawn_from(remote)),
                    None => keep_error(&mut errors, why.as_deref().unwrap_or(WITHDRAWN)),
                }
                let withholds = answer.kind.applies() && phase == TaskPhase::Ready;
                let discards = phase == TaskPhase::Creating;
                let at = DateTime::from_timestamp_micros(now).unwrap_or_default();
                answer.status = RunStatus::Cancelled;
                answer.tasks_changed = discards;
                answer.event = withholds.then(|| Event {
                    id: event,
                    task_name: answer.task.clone(),
                    run_id: Some(answer.run),
                    success: false,
                    start_time: at,
                    end_time: at,
                    error: Some(failure_text(&errors, 0)),
                    resources: None,
                    remote_url: remote.and_then(|remote| remote.url),
                    // The store takes both values from the row of the run.
                    requested_by: None,
                    cause: None,
                    config: event_config.unwrap_or_else(no_config),
                });
                CancelWrites::Withdraw {
                    errors,
                    withholds,
                    discards,
                }
            }
        };
        Ok(CancelPlan { answer, writes })
    }
}
