//! `cts.run.v1.RunService`: the lease protocol.

mod cancel;
mod causes;
mod complete;
mod consents;
mod grant;
pub(crate) mod inputs;
mod logging;
mod page;
mod remote_runs;
mod waits;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{AuditAction, TaskPatterns, VALUES_HIDDEN};
use cts_core::lease::PlanKey;
use cts_core::runs::RunStatus;
use cts_core::{Clock, RunId, TraceContext};
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::run_service_server::RunService;
use cts_rpc::admission::rights;
use cts_rpc::convert;
use cts_store::{Claim, Lease, Store, StoreError};
use futures::Stream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;
use tokio_stream::StreamExt as _;
use tokio_stream::wrappers::{BroadcastStream, WatchStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use crate::approval::inspections::Inspections;
use crate::audit::recorder::{note, outcome_of, record};
use crate::explain::{cause, waiting_for};
use crate::grpc::lease_proofs::{Held, LeaseProofs};
use crate::grpc::queue::queue;
use crate::grpc::registrations::Registrations;
use crate::identities::Identities;
use crate::leader::first_pass::FirstPass;
use crate::leader::recent_inputs::RecentInputs;
use crate::liveness::FORGOTTEN_AFTER;
use crate::metrics::Metrics;
use crate::mode::Mode;
use crate::notifier::Notifier;
use crate::run_spans::RunSpans;
use crate::status::OrStatus as _;
use crate::wire::{attempt_to_wire, holder, requested_to_wire, run_to_wire, visible_tasks};

/// Longest time that a worker may wait in one call.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub(crate) struct RunEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) first_pass: Arc<FirstPass>,
    pub(crate) mode: Mode,
    pub(crate) lease: Duration,
    /// Life of a leadership that is not renewed.
    pub(crate) leadership: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) proofs: LeaseProofs,
    /// Goes to workers with each lease.
    pub(crate) plan_key: PlanKey,
    pub(crate) registrations: Registrations,
    pub(crate) spans: RunSpans,
    pub(crate) metrics: Arc<Metrics>,
    /// The rules' view of the plans of inspections.
    pub(crate) inspections: Inspections,
    pub(crate) shutdown: CancellationToken,
    /// Grants under way, which must not end with the calls that requested them.
    pub(crate) grants: TaskTracker,
    /// Permits to list causes: a page may have a run of every task for each cause.
    pub(crate) cause_lists: Arc<Semaphore>,
}

impl RunEndpoint {
    /// The span of a lease, for its worker; empty without tracing.
    fn traceparent(&self, lease: &Lease) -> String {
        if !self.spans.traces.is_on() {
            return String::new();
        }
        let run = TraceContext::of_run(lease.run, lease.trace.as_ref());
        run.of_lease(lease.epoch).to_string()
    }

    /// Returns a run, or the request of a run, with the reason why it waits. The reason names only other tasks that are
    /// `visible`.
    async fn found(
        &self,
        run: RunId,
        visible: &TaskPatterns,
    ) -> Result<Option<proto::Run>, StoreError> {
        // A request goes in the transaction that stores its run, so it is looked for first.
        let request = self.store.request(run).await?;
        let (task, mut found) = match self.store.run(run).await? {
            Some(record) if record.status == RunStatus::Queued => {
                (record.task.clone(), run_to_wire(record))
            }
            Some(record) => {
                let stopping = match record.status {
                    RunStatus::Running if record.awaits_ending() => self.ending(&record).await?,
                    RunStatus::Running => self.stopping(run).await?,
                    _ => None,
                };
                let mut found = run_to_wire(record);
                if let Some(stopping) = stopping {
                    found.waiting_for = stopping;
                }
                return Ok(Some(found));
            }
            None => match request {
                Some(request) if request.refused.is_some() => {
                    return Ok(Some(requested_to_wire(request)));
                }
                Some(request) => (request.task.clone(), requested_to_wire(request)),
                None => return Ok(None),
            },
        };
        let waits = waiting_for(&*self.store, &task, self.leadership, &*self.clock, visible);
        let waits = waits.await?;
        if let Some(waits) = waits {
            found.waiting_for = waits;
        }
        Ok(Some(found))
    }
}

type Parts<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl RunService for RunEndpoint {
    type GetRunInputStream = Parts<proto::GetRunInputResponse>;
    type GetInputContentsStream = Parts<proto::GetInputContentsResponse>;
    type FollowRunsStream = Parts<proto::FollowRunsResponse>;

    async fn acquire_run(
        &self,
        request: Request<proto::AcquireRunRequest>,
    ) -> Result<Response<proto::AcquireRunResponse>, Status> {
        let received = Instant::now();
        let mut request = request.into_inner();
        let worker = holder(std::mem::take(&mut request.worker_id))?;
        self.registrations.admit(&worker, &request).await?;
        let claim = Claim {
            kinds: convert::kinds_from_wire(&request),
            only_requested: self.mode == Mode::OnRequest,
            worker,
            request: request.request_id,
            checks_settings: request.reports_settings,
            names_previous_backend: request.names_previous_backend,
            ends_remote_runs: request.ends_remote_runs,
            asks_permission: request.asks_permission,
            capabilities: convert::capabilities_from_wire(request.capabilities),
            time_to_live: self.lease,
        };
        let wait = convert::duration_from_wire(request.wait.as_ref()).min(LONGEST_WAIT);
        let (grant, granted) = oneshot::channel();
        self.grants
            .spawn(self.clone().grant(claim, received + wait, grant));
        // The sender goes without a word only when this process ends.
        let granted = granted.await.unwrap_or(Ok(None)).or_status()?;
        let lease = granted.map(|granted| proto::Lease {
            traceparent: self.traceparent(&granted.lease),
            secret: self.proofs.secret(&granted.lease),
            plan_key: self.plan_key.expose().to_vec(),
            run_id: granted.lease.run.to_string(),
            task_name: granted.lease.task.into(),
            epoch: granted.lease.epoch.get(),
            contents: self.recent_inputs.carried(&granted.lease.input),
            input_hash: granted.lease.input.to_string(),
            attempt: granted.lease.attempt,
            kind: convert::kind_to_wire(granted.lease.kind).into(),
            timeouts: convert::timeouts_to_wire(granted.lease.timeouts),
            delivery: granted.lease.delivery.map_or(0, |delivery| delivery.number),
            delivery_first_run: granted
                .lease
                .delivery
                .map(|delivery| delivery.first_run.to_string())
                .unwrap_or_default(),
            time_to_live: Some(convert::duration_to_wire(self.lease)),
            waited: Some(convert::duration_to_wire(
                granted.at.duration_since(received),
            )),
            state: Some(convert::known_state_to_wire(&granted.lease.state)),
            ends_remote_run: granted.lease.ends_remote_run,
            asks_permission: granted.lease.asks_permission,
            ignored_attributes: granted
                .lease
                .ignored
                .into_iter()
                .map(String::from)
                .collect(),
        });
        Ok(Response::new(proto::AcquireRunResponse { lease }))
    }

    async fn get_run_input(
        &self,
        request: Request<proto::GetRunInputRequest>,
    ) -> Result<Response<Self::GetRunInputStream>, Status> {
        Ok(Response::new(self.input(request).await?))
    }

    async fn get_input_contents(
        &self,
        request: Request<proto::GetInputContentsRequest>,
    ) -> Result<Response<Self::GetInputContentsStream>, Status> {
        Ok(Response::new(self.contents(request).await?))
    }

    async fn renew_run(
        &self,
        request: Request<proto::RenewRunRequest>,
    ) -> Result<Response<proto::RenewRunResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } = self.proofs.held(
            &metadata,
            &request.run_id,
            request.worker_id.clone(),
            request.epoch,
        )?;
        let phase = convert::current_phase_from_wire(&request);
        let renewed = self.store.renew(run, &holder, epoch, self.lease, phase);
        let renewed = renewed.await;
        Ok(Response::new(proto::RenewRunResponse {
            cancel: convert::cancel_order_to_wire(renewed.or_status()?).into(),
            time_to_live: Some(convert::duration_to_wire(self.lease)),
        }))
    }

    async fn suspend_run(
        &self,
        request: Request<proto::SuspendRunRequest>,
    ) -> Result<Response<proto::SuspendRunResponse>, Status> {
        self.suspend(request).await.map(Response::new)
    }

    async fn resume_run(
        &self,
        request: Request<proto::ResumeRunRequest>,
    ) -> Result<Response<proto::ResumeRunResponse>, Status> {
        self.resume(request).await.map(Response::new)
    }

    async fn await_cancel(
        &self,
        request: Request<proto::AwaitCancelRequest>,
    ) -> Result<Response<proto::AwaitCancelResponse>, Status> {
        let order = self.await_order(request);
        order.await.map(Response::new)
    }

    async fn cancel_run(
        &self,
        request: Request<proto::CancelRunRequest>,
    ) -> Result<Response<proto::CancelRunResponse>, Status> {
        let record = record(&request, AuditAction::CancelRun, &request.get_ref().run_id);
        let request = request.into_inner();
        let record = record.with("force", &request.force);
        let recording = self.store.recording(record.clone());
        let cancelled = self.cancel(&*recording, &request).await;
        if let Err(status) = &cancelled {
            note(&self.store, record, outcome_of(status)).await;
        }
        cancelled.map(Response::new)
    }

    async fn record_state(
        &self,
        request: Request<proto::RecordStateRequest>,
    ) -> Result<Response<proto::RecordStateResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let report = convert::state_report_from_wire(request.report)?;
        let recorded = self.store.record_state(run, &holder, epoch, &report).await;
        let moves = recorded.or_status()?;
        Ok(Response::new(proto::RecordStateResponse { moves }))
    }

    async fn record_remote_run(
        &self,
        request: Request<proto::RecordRemoteRunRequest>,
    ) -> Result<Response<proto::RecordRemoteRunResponse>, Status> {
        self.record_remote(request).await.map(Response::new)
    }

    async fn get_remote_runs(
        &self,
        request: Request<proto::GetRemoteRunsRequest>,
    ) -> Result<Response<proto::GetRemoteRunsResponse>, Status> {
        self.remote_runs(request).await.map(Response::new)
    }

    async fn complete_run(
        &self,
        request: Request<proto::CompleteRunRequest>,
    ) -> Result<Response<proto::CompleteRunResponse>, Status> {
        self.complete(request).await.map(Response::new)
    }

    async fn list_lost_leases(
        &self,
        request: Request<proto::ListLostLeasesRequest>,
    ) -> Result<Response<proto::ListLostLeasesResponse>, Status> {
        let run = convert::run_id(&request.get_ref().run_id)?;
        let proven = self.proofs.proven(request.metadata())?;
        if proven.is_some_and(|held| held.run != run) {
            return Err(Status::permission_denied(format!(
                "the proof is not of a lease of run {run}"
            )));
        }
        let leases = self.store.lost_leases(run).await.or_status()?;
        let leases = leases.iter().map(convert::lost_lease_to_wire).collect();
        Ok(Response::new(proto::ListLostLeasesResponse { leases }))
    }

    async fn get_run(
        &self,
        request: Request<proto::GetRunRequest>,
    ) -> Result<Response<proto::GetRunResponse>, Status> {
        let sees_values = rights(&request).sees_values;
        let request = request.into_inner();
        let id = convert::run_id(&request.run_id)?;
        let visible = visible_tasks(request.visible_tasks)?;
        let found = self.found(id, &visible).await.or_status()?;
        let mut run = found.ok_or_else(|| Status::not_found(format!("there is no run {id}")))?;
        if let Some(plan) = &mut run.plan {
            if let Ok(task) = run.task_name.parse() {
                let judged = self.inspections.judge(id, &task, plan).await;
                judged.or_status()?;
            }
            if !sees_values {
                VALUES_HIDDEN.clone_into(&mut plan.text);
            }
        }
        if request.include_cause
            && let Some(record) = self.store.run(id).await.or_status()?
        {
            run.cause = cause(&*self.store, &record).await.or_status()?;
        }
        if request.include_attempts {
            let attempts = self.store.attempts(id).await.or_status()?;
            run.attempt_records = attempts.into_iter().map(attempt_to_wire).collect();
        }
        Ok(Response::new(proto::GetRunResponse { run: Some(run) }))
    }

    async fn list_runs(
        &self,
        request: Request<proto::ListRunsRequest>,
    ) -> Result<Response<proto::ListRunsResponse>, Status> {
        let Some(page) = page::Page::of(&request.into_inner())? else {
            return Ok(Response::new(proto::ListRunsResponse::default()));
        };
        let page = page.read(&*self.store).await.or_status()?;
        Ok(Response::new(page))
    }

    async fn list_causes(
        &self,
        request: Request<proto::ListCausesRequest>,
    ) -> Result<Response<proto::ListCausesResponse>, Status> {
        let _permit = self.cause_lists.acquire().await;
        let page = causes::page(&*self.store, request.into_inner()).await;
        page.map(Response::new)
    }

    async fn get_queue(
        &self,
        _request: Request<proto::GetQueueRequest>,
    ) -> Result<Response<proto::GetQueueResponse>, Status> {
        let workers = self.store.workers(FORGOTTEN_AFTER).await.or_status()?;
        let queue = queue(&*self.store, &workers).await.or_status()?;
        Ok(Response::new(queue))
    }

    async fn follow_runs(
        &self,
        request: Request<proto::FollowRunsRequest>,
    ) -> Result<Response<Self::FollowRunsStream>, Status> {
        let request = request.into_inner();
        let consents = self.consents(&request);
        let only = request.task_name;
        let brake = WatchStream::from_changes(self.notifier.brake.subscribe());
        let clock = Arc::clone(&self.clock);
        let brake = brake.filter_map(move |()| {
            request.include_brake.then(|| {
                Ok(proto::FollowRunsResponse {
                    brake: true,
                    at: Some(convert::timestamp_to_wire(clock.now())),
                    ..proto::FollowRunsResponse::default()
                })
            })
        });
        let shutdown = self.shutdown.clone();
        let changes = BroadcastStream::new(self.notifier.follow()).filter_map(move |change| {
            let change = match change {
                Ok(change) => change,
                Err(lagged) => return Some(Err(Status::data_loss(lagged.to_string()))),
            };
            (only.is_empty() || only == change.task.as_str()).then(|| {
                Ok(proto::FollowRunsResponse {
                    run_id: change.run.to_string(),
                    task_name: change.task.into(),
                    kind: convert::kind_to_wire(change.kind).into(),
                    status: convert::status_to_wire(change.status).into(),
                    at: Some(convert::timestamp_to_wire(change.at)),
                    ..proto::FollowRunsResponse::default()
                })
            })
        });
        let changes = changes.merge(brake).merge(consents);
        let until_shutdown = futures::StreamExt::take_until(changes, shutdown.cancelled_owned());
        Ok(Response::new(Box::pin(until_shutdown)))
    }
}
