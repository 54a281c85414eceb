//! `cts.worker.v1.WorkerService`: registers workers by their heartbeats, and orders them to drain.

use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::AuditAction;
use cts_core::runs::{Occasion, RunKind};
use cts_core::settings::ClusterKey;
use cts_core::{Chain, JournalEntry, JournalPart, WorkerId, WorkerRecord, requests_per_minute};
use cts_proto::worker::v1 as proto;
use cts_proto::worker::v1::worker_service_server::WorkerService;
use cts_rpc::convert;
use cts_store::{Store, StoreError, TaskChange, WorkerState};
use tonic::{Request, Response, Status};

use crate::audit::recorder::{note, outcome_of, record};
use crate::grpc::last_heartbeats::LastHeartbeats;
use crate::grpc::registrations::Registrations;
use crate::grpc::run_service::RunEndpoint;
use crate::leader::settings::other_settings;
use crate::liveness::{FORGOTTEN_AFTER, LOST, is_lost};
use crate::notifier::Notifier;
use crate::status::OrStatus as _;

/// Time between two heartbeats of a worker.
const HEARTBEAT: Duration = Duration::from_secs(3);

/// Time between two heartbeats at a scheduler that has its store for itself: two are sent before a worker is lost.
const LONGEST_HEARTBEAT: Duration = Duration::from_secs(7);

#[derive(Debug)]
pub(crate) struct WorkerEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) runs: RunEndpoint,
    pub(crate) registrations: Registrations,
    pub(crate) last_heartbeats: LastHeartbeats,
    /// The key of the cluster, unless each process has it in a file.
    pub(crate) cluster_key: Option<ClusterKey>,
}

impl WorkerEndpoint {
    /// Takes back grants to calls whose answer the worker no longer takes.
    async fn give_back(&self, worker: &WorkerId, requests: &[String]) -> Result<(), StoreError> {
        if requests.is_empty() {
            return Ok(());
        }
        for (run, epoch) in self.store.grants(worker, requests).await? {
            tracing::info!(run.id = %run, worker.id = %worker, "a grant did not reach its worker; the run is queued again");
            self.runs.give_back(run, worker.clone(), epoch).await;
        }
        Ok(())
    }

    /// Share of a worker of the requests that all workers together may send to the server of their remote runs;
    /// 0 for a worker without that driver.
    async fn remote_requests(&self, worker: &WorkerRecord) -> Result<u32, StoreError> {
        if !worker.capabilities.has_remote_driver() {
            return Ok(0);
        }
        let listed = self.store.workers(LOST).await?;
        let mut running = vec![0];
        for known in listed {
            if known.worker.id == worker.id {
                running[0] = known.running;
            } else if known.worker.capabilities.has_remote_driver() {
                running.push(known.running);
            }
        }
        Ok(requests_per_minute(&running))
    }

    /// Takes a part of the journal that a worker has reported on a new timeline.
    async fn take_journal(&self, worker: &WorkerId, part: &JournalPart) -> Result<(), StoreError> {
        let vouched = self.store.vouch(part).await?;
        for task in &vouched.forgotten {
            tracing::warn!(target: "ha", task_name = %task, worker.id = %worker, "the database has forgotten a run of the task that this worker has begun; the task runs once");
        }
        for (run, holder, epoch) in vouched.ended {
            tracing::info!(run.id = %run, worker.id = %worker, "the database has forgotten the end of the run; it is queued again");
            self.runs.give_back(run, holder, epoch).await;
        }
        for task in &vouched.too_late {
            let change = TaskChange {
                request: Some((self.runs.identities.run_id(), RunKind::Apply)),
                accompanies: Some(Occasion::Journal),
                ..TaskChange::default()
            };
            match self.store.change_task(task, &change).await {
                Ok(_task) => self.notifier.tasks_changed(),
                Err(error) => {
                    tracing::warn!(target: "ha", task_name = %task, error = %Chain(&error), "no run is requested of a task of which a run is forgotten; it runs with its next change");
                }
            }
        }
        if part.last {
            tracing::info!(target: "ha", timeline = part.timeline, worker.id = %worker, "a worker has reported its journal on the new timeline");
        }
        Ok(())
    }

    /// Compares attempts that a worker has begun with the runs of the database, which may have been restored.
    async fn compare(
        &self,
        worker: &WorkerId,
        attempts: Vec<JournalEntry>,
    ) -> Result<(), StoreError> {
        if attempts.is_empty() {
            return Ok(());
        }
        let attempts = attempts.into_iter();
        let attempts: Vec<_> = attempts
            .map(|attempt| (attempt, self.runs.identities.run_id()))
            .collect();
        tracing::debug!(target: "ha", attempts = attempts.len(), worker.id = %worker, "a worker has sent its newest attempts");
        let voided = self.store.compare_attempts(&attempts).await?;
        for task in &voided {
            tracing::warn!(target: "ha", task_name = %task, worker.id = %worker, "the database does not have the newest run of the task that this worker has begun, so it is older than that run; the task runs once");
        }
        if !voided.is_empty() {
            self.notifier.tasks_changed();
            tracing::warn!(target: "ha", tasks = voided.len(), worker.id = %worker, "the database was probably restored: `cts migrate -restored` or `cts start -restored` lets every task run once, also those of workers without a journal");
        }
        Ok(())
    }
}

#[tonic::async_trait]
impl WorkerService for WorkerEndpoint {
    async fn heartbeat(
        &self,
        request: Request<proto::HeartbeatRequest>,
    ) -> Result<Response<proto::HeartbeatResponse>, Status> {
        let request = request.into_inner();
        let worker = convert::worker_from_wire(request.worker)?;
        let registration = convert::registration_from_wire(&request.registration)?;
        // A caller without a right to the id has no effect.
        let drain = if request.leaving {
            self.registrations
                .owned(&worker.id, registration.as_ref())
                .await?;
            true
        } else {
            let noted = self.registrations.note(&worker, registration.as_ref());
            noted.await?
        };
        if !request.earlier_lives.is_empty() {
            let lives = request.earlier_lives.iter().map(WorkerId::new);
            let lives: Vec<_> = lives.filter(|life| *life != worker.id).collect();
            self.store.replace_lives(&lives).await.or_status()?;
        }
        let given_back = self.give_back(&worker.id, &request.unanswered_requests);
        given_back.await.or_status()?;
        if request.leaving {
            let left = self.store.forget_worker(&worker.id).await;
            left.or_status()?;
            self.last_heartbeats.forget(&worker.id);
            tracing::info!(worker.id = %worker.id, "a worker has left");
            return Ok(Response::new(proto::HeartbeatResponse {
                drain,
                ..proto::HeartbeatResponse::default()
            }));
        }
        if let Some(journal) = request.journal {
            let part = convert::journal_from_wire(journal)?;
            self.take_journal(&worker.id, &part).await.or_status()?;
        }
        let attempts = request.attempts.into_iter();
        let attempts = attempts
            .map(convert::journal_entry_from_wire)
            .collect::<Result<Vec<_>, _>>()?;
        self.compare(&worker.id, attempts).await.or_status()?;
        let timeline = self.store.timeline().await.or_status()?;
        let leader_start = self.store.leader_start().await.or_status()?;
        let remote_requests = self.remote_requests(&worker).await.or_status()?;
        if worker.draining {
            self.notifier.drains(&worker.id);
        }
        if self.last_heartbeats.is_news(&worker) {
            self.notifier.settings.notify_one();
        }
        let key = self.cluster_key.as_ref();
        let key = key.filter(|_| request.wants_cluster_key);
        Ok(Response::new(proto::HeartbeatResponse {
            drain,
            next: Some(convert::duration_to_wire(
                self.notifier.poll(HEARTBEAT).min(LONGEST_HEARTBEAT),
            )),
            cluster_key: key.map_or_else(Vec::new, |key| key.expose().to_vec()),
            remote_requests_per_minute: remote_requests,
            leader_start: leader_start.unwrap_or_default(),
            registration_secret: self.registrations.secret(&worker.id, registration.as_ref()),
            timeline: timeline.reported.unwrap_or_default(),
            database_time: timeline.now.map(convert::timestamp_to_wire),
        }))
    }

    async fn list_workers(
        &self,
        _request: Request<proto::ListWorkersRequest>,
    ) -> Result<Response<proto::ListWorkersResponse>, Status> {
        let workers = self.store.workers(FORGOTTEN_AFTER).await.or_status()?;
        let settings = self.store.settings().await.or_status()?;
        let workers = WorkerState::shown(&workers).cloned();
        let workers = workers.map(|worker| proto::WorkerState {
            other_settings: other_settings(&worker.worker, &settings),
            lost: is_lost(&worker),
            since: Some(convert::timestamp_to_wire(worker.since)),
            silent_for: Some(convert::duration_to_wire(worker.silent_for)),
            running: worker.running,
            worker: Some(convert::worker_to_wire(WorkerRecord {
                settings: None,
                ..worker.worker
            })),
        });
        Ok(Response::new(proto::ListWorkersResponse {
            workers: workers.collect(),
        }))
    }

    async fn drain_worker(
        &self,
        request: Request<proto::DrainWorkerRequest>,
    ) -> Result<Response<proto::DrainWorkerResponse>, Status> {
        let record = record(
            &request,
            AuditAction::DrainWorker,
            &request.get_ref().worker_id,
        );
        let id = WorkerId::new(request.into_inner().worker_id);
        let recording = self.store.recording(record.clone());
        let known = recording.drain_worker(&id).await.or_status();
        let unknown = || Status::not_found(format!("there is no worker {:?}", id.as_str()));
        let drained = known.and_then(|known| known.then_some(()).ok_or_else(unknown));
        if let Err(status) = drained {
            note(&self.store, record, outcome_of(&status)).await;
            return Err(status);
        }
        tracing::info!(worker.id = %id, "a worker is to drain");
        self.notifier.drains(&id);
        Ok(Response::new(proto::DrainWorkerResponse {}))
    }
}
