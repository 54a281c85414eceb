//! Calls to the scheduler.

use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::{CancelOrder, CurrentPhase, Resumed, WaitEnd};
use cts_core::state::StateReport;
use cts_core::{
    Capabilities, Digest, JournalEntry, JournalPart, LostLease, RemoteRun, RemoteRuns, RunInput,
    WorkerId, WorkerRecord,
};
use cts_proto::bundle::v1::GetBundleRequest;
use cts_proto::bundle::v1::bundle_service_client::BundleServiceClient;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{AppendLogRequest, LogLine, LogStream};
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_proto::worker::v1::{HeartbeatRequest, HeartbeatResponse};
use cts_rpc::admission::with_lease_proof;
use cts_rpc::{CallFailure, ConversionError, convert};
use cts_runtime::{Outage, log_failure};
use cts_terraform::{OutputLine, OutputStream};
use parking_lot::Mutex;
use tokio::time::sleep;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use crate::calls::call_timeout::within;
use crate::calls::inputs::{Contents, InputError};
use crate::calls::registered::Registered;
use crate::calls::{RETRIES, is_worth_another_try};
use crate::ended::Ended;
use crate::lease::Lease;

/// How long one call for a run, or for the end of a wait, waits at the scheduler.
const WAIT: Duration = Duration::from_secs(30);

/// Longest time for any answer that a scheduler takes from its database. Calls wait while no scheduler is
/// healthy, and this limit ends that wait.
const CALL: Duration = Duration::from_secs(5);

/// Longest time without an answer about an apply; then the run goes back to the queue.
const PERMISSION: Duration = Duration::from_mins(1);

/// Longest time for a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Longest time for the parts of a bundle.
const TRANSFER: Duration = Duration::from_mins(2);

/// The answer to a call about a leased run, within a limit.
macro_rules! held {
    ($limit:expr, $scheduler:ident.$method:ident($request:ident), $lease:ident) => {{
        let mut runs = $scheduler.runs.clone();
        let call = runs.$method(with_lease_proof($request, &$lease.proof));
        within($limit, call).await.map(Response::into_inner)
    }};
}

/// The scheduler as this worker sees it.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    pub(crate) worker: WorkerId,
    pub(crate) registered: Registered,
    pub(crate) capabilities: Capabilities,
    pub(crate) runs: RunServiceClient<Channel>,
    pub(crate) plans: PlanServiceClient<Channel>,
    pub(crate) approvals: ApprovalServiceClient<Channel>,
    pub(crate) logs: LogServiceClient<Channel>,
    pub(crate) bundles: BundleServiceClient<Channel>,
    pub(crate) workers: WorkerServiceClient<Channel>,
    pub(crate) contents: Contents,
    /// The worker asks for permission before it applies. A server of HCP Terraform has approvals of its own.
    pub(crate) asks_permission: bool,
    /// The configuration names a previous backend.
    pub(crate) names_previous_backend: bool,
    /// Whether ends of runs can be reported, for all runs of this process.
    pub(crate) reports: Arc<Mutex<Outage>>,
}

/// Answer to the report of an attempt's end; the default is an answer that has not arrived.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reported {
    /// Whether the trace of the run is kept; `None` if the scheduler does not decide that.
    pub(crate) keep_trace: Option<bool>,
    /// Whether another attempt at the run follows.
    pub(crate) is_queued: bool,
}

impl Scheduler {
    /// Waits for a run. `request_id` identifies this call among the calls of the worker.
    pub(crate) async fn acquire(&self, request_id: String) -> Result<Option<Lease>, Status> {
        let request = proto::AcquireRunRequest {
            worker_id: self.worker.to_string(),
            wait: Some(convert::duration_to_wire(WAIT)),
            capabilities: Some(convert::capabilities_to_wire(&self.capabilities)),
            kinds: convert::known_kinds(),
            request_id,
            reports_settings: true,
            names_previous_backend: self.names_previous_backend,
            ends_remote_runs: true,
            registration_secret: self.registered.secret(),
            asks_permission: self.asks_permission,
        };
        let mut runs = self.runs.clone();
        let answer = within(WAIT + CALL, runs.acquire_run(request)).await?;
        let lease = answer.into_inner().lease;
        let lease = lease.map(|lease| Lease::granted(lease, &self.worker));
        Ok(lease.transpose()?)
    }

    /// Reports that this worker lives, or leaves.
    pub(crate) async fn heartbeat(
        &self,
        worker: WorkerRecord,
        leaving: bool,
        unanswered_requests: Vec<String>,
        wants_cluster_key: bool,
        earlier_lives: &[WorkerId],
    ) -> Result<HeartbeatResponse, Status> {
        let request = HeartbeatRequest {
            worker: Some(convert::worker_to_wire(worker)),
            leaving,
            unanswered_requests,
            wants_cluster_key,
            earlier_lives: earlier_lives.iter().map(ToString::to_string).collect(),
            ..HeartbeatRequest::default()
        };
        self.send_heartbeat(request).await
    }

    /// Reports that this worker lives, with a part of its journal.
    pub(crate) async fn report_journal(
        &self,
        worker: WorkerRecord,
        part: JournalPart,
    ) -> Result<HeartbeatResponse, Status> {
        let request = HeartbeatRequest {
            worker: Some(convert::worker_to_wire(worker)),
            journal: Some(convert::journal_to_wire(part)),
            ..HeartbeatRequest::default()
        };
        self.send_heartbeat(request).await
    }

    /// Reports that this worker is alive, with some of the attempts that it has begun.
    pub(crate) async fn report_attempts(
        &self,
        worker: WorkerRecord,
        attempts: Vec<JournalEntry>,
    ) -> Result<HeartbeatResponse, Status> {
        let attempts = attempts.into_iter().map(convert::journal_entry_to_wire);
        let request = HeartbeatRequest {
            worker: Some(convert::worker_to_wire(worker)),
            attempts: attempts.collect(),
            ..HeartbeatRequest::default()
        };
        self.send_heartbeat(request).await
    }

    async fn send_heartbeat(&self, request: HeartbeatRequest) -> Result<HeartbeatResponse, Status> {
        let mut workers = self.workers.clone();
        let request = HeartbeatRequest {
            registration: self.registered.registration(),
            ..request
        };
        let mut answer = within(HEARTBEAT, workers.heartbeat(request))
            .await?
            .into_inner();
        self.registered
            .answered(&std::mem::take(&mut answer.registration_secret));
        Ok(answer)
    }

    /// The archive of the bundle in which the module of a leased run is.
    pub(crate) async fn bundle(&self, lease: &Lease, hash: Digest) -> Result<Vec<u8>, Status> {
        let request = GetBundleRequest {
            hash: hash.to_string(),
        };
        within(TRANSFER, async {
            let mut parts = self
                .bundles
                .clone()
                .get_bundle(with_lease_proof(request, &lease.proof))
                .await?
                .into_inner();
            let mut bytes = Vec::new();
            while let Some(part) = parts.message().await? {
                bytes.extend(part.chunk);
            }
            Ok(bytes)
        })
        .await
    }

    /// The frozen input of a leased run.
    pub(crate) async fn input(&self, lease: &Lease) -> Result<RunInput, InputError> {
        self.contents.input(&self.runs, lease).await
    }

    /// The lost leases of the run's task.
    pub(crate) async fn lost_leases(&self, lease: &Lease) -> Result<Vec<LostLease>, Status> {
        let request = proto::ListLostLeasesRequest {
            run_id: lease.run.to_string(),
        };
        let response = held!(CALL, self.list_lost_leases(request), lease)?;
        let leases = response.leases.into_iter();
        let leases: Result<_, ConversionError> =
            leases.map(convert::lost_lease_from_wire).collect();
        Ok(leases?)
    }

    /// Renews a lease, and reports the phase of the run. Returns its new time to live, and the order to stop its run, if
    /// any.
    pub(crate) async fn renew(
        &self,
        lease: &Lease,
        phase: CurrentPhase,
    ) -> Result<(Duration, Option<CancelOrder>), Status> {
        let request = proto::RenewRunRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            phase: convert::run_phase_to_wire(phase.phase).into(),
            phase_for: Some(convert::duration_to_wire(phase.lasted)),
        };
        let response = self
            .runs
            .clone()
            .renew_run(with_lease_proof(request, &lease.proof))
            .await?
            .into_inner();
        let life = convert::duration_from_wire(response.time_to_live.as_ref());
        Ok((life, convert::cancel_order_from_wire(response.cancel)))
    }

    /// Waits for an order to stop a leased run that differs from the known one.
    pub(crate) async fn await_cancel(
        &self,
        lease: &Lease,
        known: Option<CancelOrder>,
    ) -> Result<Option<CancelOrder>, Status> {
        let request = proto::AwaitCancelRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            wait: Some(convert::duration_to_wire(WAIT)),
            known: convert::cancel_order_to_wire(known).into(),
        };
        let answer = held!(WAIT + CALL, self.await_cancel(request), lease)?;
        Ok(convert::cancel_order_from_wire(answer.order))
    }

    /// Reports that a leased run waits. If `waiting_for` is empty, waits for the reason why the run is to
    /// give up.
    pub(crate) async fn suspend(
        &self,
        lease: &Lease,
        number: u32,
        waiting_for: &str,
    ) -> Result<Option<WaitEnd>, Status> {
        let wait = if waiting_for.is_empty() {
            WAIT
        } else {
            Duration::ZERO
        };
        let request = proto::SuspendRunRequest {
            number,
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            waiting_for: waiting_for.to_owned(),
            wait: Some(convert::duration_to_wire(wait)),
        };
        let answer = held!(wait + CALL, self.suspend_run(request), lease)?;
        Ok(convert::wait_end_from_wire(answer.end))
    }

    /// Whether a run that has waited may continue.
    pub(crate) async fn resume(&self, lease: &Lease, number: u32) -> Result<Resumed, Status> {
        let request = proto::ResumeRunRequest {
            number,
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
        };
        let answer = held!(CALL, self.resume_run(request), lease)?;
        Ok(match convert::wait_end_from_wire(answer.end) {
            Some(end) => Resumed::Ended(end),
            None if answer.goes_on => Resumed::GoesOn,
            None => Resumed::GroupBusy,
        })
    }

    /// Records a change of the state of the run's task. Returns the number of its moves from now on.
    pub(crate) async fn record_state(
        &self,
        lease: &Lease,
        report: StateReport,
    ) -> Result<u32, Status> {
        let request = proto::RecordStateRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            report: Some(convert::state_report_to_wire(report)),
        };
        let answer = held!(CALL, self.record_state(request), lease)?;
        Ok(answer.moves)
    }

    /// Records the plan of a leased run, as the content of a report.
    pub(crate) async fn record_plan(&self, lease: &Lease, content: Vec<u8>) -> Result<(), Status> {
        let request = proto::RecordPlanRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            content,
        };
        let mut plans = self.plans.clone();
        let recorded = plans.record_plan(with_lease_proof(request, &lease.proof));
        within(CALL, recorded).await.map(drop)
    }

    /// Asks whether a leased run may apply its plan, which is the content of a report. Tries again while no scheduler
    /// answers, for a while.
    pub(crate) async fn permit_apply(
        &self,
        lease: &Lease,
        content: Vec<u8>,
    ) -> Result<proto::PermitApplyResponse, Status> {
        let request = proto::PermitApplyRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            content,
        };
        let mut pauses = RETRIES.pauses(fastrand::f64);
        within(PERMISSION, async {
            loop {
                let mut approvals = self.approvals.clone();
                let call = approvals.permit_apply(with_lease_proof(request.clone(), &lease.proof));
                match within(CALL, call).await {
                    Err(status) if is_worth_another_try(&status) => {
                        tracing::debug!(run.id = %lease.run, error = %CallFailure(&status), "cannot ask whether a plan may be applied");
                        sleep(pauses.next_pause()).await;
                    }
                    answer => return answer.map(Response::into_inner),
                }
            }
        })
        .await
    }

    /// Records the remote run of a leased run.
    pub(crate) async fn record_remote_run(
        &self,
        lease: &Lease,
        remote: &RemoteRun,
    ) -> Result<(), Status> {
        let request = proto::RecordRemoteRunRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            remote: Some(convert::remote_run_to_wire(remote.clone())),
        };
        held!(CALL, self.record_remote_run(request), lease).map(drop)
    }

    /// The recorded remote runs of a leased run and of its task.
    pub(crate) async fn remote_runs(&self, lease: &Lease) -> Result<RemoteRuns, Status> {
        let request = proto::GetRemoteRunsRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
        };
        let answer = held!(CALL, self.get_remote_runs(request), lease)?;
        Ok(convert::remote_runs_from_wire(answer)?)
    }

    /// Reports the end of an attempt; tries again until an answer comes, without end.
    ///
    /// Safe to repeat: a report that had arrived is refused the second time.
    pub(crate) async fn complete(
        &self,
        lease: &Lease,
        Ended {
            outcome,
            is_final,
            early_failure,
            details,
            state,
        }: Ended,
        log: Vec<OutputLine>,
        held_for: Duration,
    ) -> Result<Reported, Status> {
        let mut outcome = convert::outcome_to_wire(outcome);
        if let proto::complete_run_request::Outcome::Failed(failed) = &mut outcome {
            failed.is_final |= is_final;
            failed.early_failure = convert::early_failure_to_wire(early_failure).into();
        }
        let request = proto::CompleteRunRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            outcome: Some(outcome),
            log: log_to_wire(log),
            details,
            state: state.map(convert::terraform_state_to_wire),
            held_for: Some(convert::duration_to_wire(held_for)),
        };
        let mut pauses = RETRIES.pauses(fastrand::f64);
        let mut is_repeated = false;
        loop {
            let mut runs = self.runs.clone();
            match within(
                CALL,
                runs.complete_run(with_lease_proof(request.clone(), &lease.proof)),
            )
            .await
            {
                Err(status) if is_worth_another_try(&status) => {
                    log_failure!(self.reports.lock(), run.id = %lease.run, error = %CallFailure(&status), "the end of a run cannot be reported yet");
                    is_repeated = true;
                    sleep(pauses.next_pause()).await;
                }
                Err(status) if status.code() == Code::FailedPrecondition && is_repeated => {
                    self.reports.lock().works();
                    tracing::warn!(
                        run.id = %lease.run,
                        "the lease is over: an earlier report of its end has arrived, or it was taken back"
                    );
                    return Ok(Reported::default());
                }
                answer => {
                    self.reports.lock().works();
                    let answer = answer?.into_inner();
                    return Ok(Reported {
                        keep_trace: answer.keep_trace,
                        is_queued: answer.status() == proto::RunStatus::Queued,
                    });
                }
            }
        }
    }

    /// Appends lines to the log of a leased run.
    pub(crate) async fn append_log(
        &self,
        lease: &Lease,
        lines: Vec<OutputLine>,
    ) -> Result<(), Status> {
        let batch = AppendLogRequest {
            run_id: lease.run.to_string(),
            epoch: lease.epoch.get(),
            worker_id: self.worker.to_string(),
            lines: log_to_wire(lines),
        };
        let mut logs = self.logs.clone();
        let appended = logs.append_log(with_lease_proof(tokio_stream::once(batch), &lease.proof));
        within(CALL, appended).await.map(drop)
    }
}

fn log_to_wire(lines: Vec<OutputLine>) -> Vec<LogLine> {
    let line = |line: OutputLine| LogLine {
        stream: match line.stream {
            OutputStream::Stdout => LogStream::Stdout,
            OutputStream::Stderr => LogStream::Stderr,
        }
        .into(),
        text: line.text,
    };
    lines.into_iter().map(line).collect()
}
