//! Runs, holders and records of calls on the wire.

mod audit;

use chrono::TimeDelta;
use cts_core::WorkerId;
use cts_core::callers::TaskPatterns;
use cts_core::runs::{ERRORS_BYTES, RunCause, RunStatus, shortened};
use cts_proto::run::v1 as proto;
use cts_proto::task::v1 as task;
use cts_rpc::convert;
use cts_store::{AttemptRecord, Event, RunRecord, RunRequest};
use tonic::Status;

pub(crate) use self::audit::audit_record_to_wire;

/// Changes that an event or a consent names, so that lists stay short.
pub(crate) const EVENT_CHANGES: usize = 3;

/// A run for the wire. Errors that were stored with a larger limit are cut, so that the run fits into a message.
pub(crate) fn run_to_wire(record: RunRecord) -> proto::Run {
    let waited = record.started_at.map(|at| at - record.created_at);
    let phase = record
        .phase
        .map(|(phase, _)| convert::run_phase_to_wire(phase));
    let waits = record.status == RunStatus::Queued && record.awaits.is_some();
    proto::Run {
        state: if waits { "waiting" } else { "" }.to_owned(),
        id: record.id.to_string(),
        kind: convert::kind_to_wire(record.kind).into(),
        no_retry: record.no_retry,
        status: convert::status_to_wire(record.status).into(),
        attempts: record.attempts,
        error: record
            .error()
            .map(|error| shortened(&error, ERRORS_BYTES))
            .unwrap_or_default(),
        plan: record.plan.map(convert::plan_to_wire),
        details: record.details.map(|details| with_queue(details, waited)),
        queued_at: Some(convert::timestamp_to_wire(record.created_at)),
        started_at: record.started_at.map(convert::timestamp_to_wire),
        finished_at: record.finished_at.map(convert::timestamp_to_wire),
        task_name: record.task.into(),
        waiting_for: record.waiting_for.unwrap_or_default(),
        remote_run: record.remote_run.map(convert::remote_run_to_wire),
        requested_by: record.requested_by.unwrap_or_default(),
        worker_id: record
            .worker
            .map(|worker| worker.to_string())
            .unwrap_or_default(),
        cause: Vec::new(),
        triggered_at: record
            .cause
            .as_ref()
            .and_then(|it| it.triggered_at)
            .map(convert::timestamp_to_wire),
        blocked_since: record
            .cause
            .as_ref()
            .and_then(|it| it.blocked_since)
            .map(convert::timestamp_to_wire),
        cause_ids: record.cause.as_ref().map(cause_ids).unwrap_or_default(),
        attempt_records: Vec::new(),
        phase: phase.unwrap_or_default().into(),
        phase_since: record
            .phase
            .map(|(_, since)| convert::timestamp_to_wire(since)),
    }
}

/// The tasks that the caller of a request may see, by the patterns in the request.
pub(crate) fn visible_tasks(patterns: Vec<String>) -> Result<TaskPatterns, Status> {
    let patterns = TaskPatterns::new(patterns);
    patterns.map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Details for the wire, with how long the run has waited for its first attempt.
fn with_queue(mut details: proto::RunDetails, waited: Option<TimeDelta>) -> proto::RunDetails {
    if let Some(phases) = &mut details.phases {
        let waited = waited.and_then(|waited| waited.to_std().ok());
        phases.queue = waited.map(convert::duration_to_wire);
    }
    details
}

/// Converts a requested run that is not stored, because its input is not complete or because the request was refused.
pub(crate) fn requested_to_wire(request: RunRequest) -> proto::Run {
    let (status, waiting_for) = match &request.refused {
        None => (RunStatus::Queued, "the data of all views of its task"),
        Some(_) => (RunStatus::Failed, ""),
    };
    proto::Run {
        id: request.run.to_string(),
        kind: convert::kind_to_wire(request.kind).into(),
        no_retry: true,
        status: convert::status_to_wire(status).into(),
        error: request.refused.map(|it| it.reason).unwrap_or_default(),
        queued_at: Some(convert::timestamp_to_wire(request.requested_at)),
        task_name: request.task.into(),
        waiting_for: waiting_for.to_owned(),
        requested_by: request.requested_by.unwrap_or_default(),
        ..proto::Run::default()
    }
}

/// The record of an attempt for the wire.
pub(crate) fn attempt_to_wire(record: AttemptRecord) -> proto::AttemptRecord {
    let phases = record.phases;
    proto::AttemptRecord {
        number: record.number,
        worker: record.worker.name().to_owned(),
        worker_id: record.worker.to_string(),
        ending: convert::attempt_ending_to_wire(record.ending).into(),
        leased_at: record.leased_at.map(convert::timestamp_to_wire),
        renewed_at: Some(convert::timestamp_to_wire(record.renewed_at)),
        ended_at: record.ended_at.map(convert::timestamp_to_wire),
        phases: (phases != proto::PhaseTimes::default()).then_some(phases),
        error: record.error,
        worker_version: record.worker_version,
        phase: record
            .phase
            .map(convert::run_phase_to_wire)
            .unwrap_or_default()
            .into(),
        retry_after: record.retry_after.map(convert::duration_to_wire),
    }
}

/// An event for the wire.
pub(crate) fn event_to_wire(event: Event) -> task::Event {
    task::Event {
        id: event.id.to_string(),
        task_name: event.task_name.into(),
        run_id: event.run_id.map(|run| run.to_string()).unwrap_or_default(),
        success: event.success,
        start_time: Some(convert::timestamp_to_wire(event.start_time)),
        end_time: Some(convert::timestamp_to_wire(event.end_time)),
        // An error that was stored when longer texts were kept would not fit into a message.
        error: event.error.map(|error| shortened(&error, ERRORS_BYTES)),
        providers: event.config.providers,
        services: event.config.services,
        source: event.config.source,
        resources: event.resources,
        remote_url: event.remote_url.unwrap_or_default(),
        requested_by: event.requested_by.unwrap_or_default(),
        cause_ids: event.cause.as_ref().map(cause_ids).unwrap_or_default(),
        cause: event
            .cause
            .map(|cause| cause.lines(EVENT_CHANGES))
            .unwrap_or_default(),
    }
}

fn cause_ids(cause: &RunCause) -> Vec<String> {
    cause.causes.iter().map(ToString::to_string).collect()
}

/// The worker that speaks.
pub(crate) fn holder(worker_id: String) -> Result<WorkerId, Status> {
    if worker_id.is_empty() {
        return Err(Status::invalid_argument("a worker must name itself"));
    }
    Ok(WorkerId::new(worker_id))
}
