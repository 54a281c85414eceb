//! The calls of the scripted scheduler.

use std::time::Duration;

use chrono::DateTime;
use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_server::LogService;
use cts_proto::run::v1 as run;
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_proto::run::v1::plan_service_server::PlanService;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::run::v1::run_service_server::RunService;
use cts_proto::worker::v1 as worker;
use cts_proto::worker::v1::worker_service_server::WorkerService;
use cts_rpc::convert;
use cts_testkit::refused_calls;
use tokio_stream::StreamExt as _;
use tonic::{Code, Request, Response, Status, Streaming};

use super::{DATABASE_SECONDS, PlayedScheduler, REASON};

#[tonic::async_trait]
impl RunService for PlayedScheduler {
    async fn list_lost_leases(
        &self,
        request: Request<run::ListLostLeasesRequest>,
    ) -> Result<Response<run::ListLostLeasesResponse>, Status> {
        self.note("list_lost_leases", &request);
        Err(Status::unimplemented("not played"))
    }

    async fn await_cancel(
        &self,
        request: Request<run::AwaitCancelRequest>,
    ) -> Result<Response<run::AwaitCancelResponse>, Status> {
        self.note("await_cancel", &request);
        let request = request.into_inner();
        let conduct = || self.conduct.lock().unwrap();
        if conduct().order_calls_fail {
            return Err(Status::unavailable("no answer"));
        }
        let wait = convert::duration_from_wire(request.wait.as_ref());
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let ordered = async {
            while i32::from(conduct().cancel) <= request.known {
                looks.tick().await;
            }
        };
        drop(tokio::time::timeout(wait, ordered).await);
        let order = conduct().cancel.into();
        Ok(Response::new(run::AwaitCancelResponse { order }))
    }

    async fn record_state(
        &self,
        request: Request<run::RecordStateRequest>,
    ) -> Result<Response<run::RecordStateResponse>, Status> {
        self.note("record_state", &request);
        let report = request.into_inner().report.unwrap();
        self.conduct(|conduct| {
            let unknown = Status::unimplemented("nothing is recorded");
            let known = conduct.known.as_mut().ok_or(unknown)?;
            let state = match &report {
                Report::Accepted(accepted) => Some(accepted.state.clone()),
                Report::Moved(state) => Some(Some(state.clone())),
                Report::Conflict(_) => None,
            };
            if let Some(state) = state {
                let state = state.unwrap_or_default();
                *known = run::KnownState {
                    lineage: state.lineage,
                    serial: state.serial,
                    moves: known.moves + 1,
                    moved_serial: matches!(report, Report::Moved(_)).then_some(state.serial),
                    ..run::KnownState::default()
                };
            }
            let moves = known.moves;
            conduct.recorded.push(report);
            Ok(Response::new(run::RecordStateResponse { moves }))
        })
    }

    type GetRunInputStream = tokio_stream::Once<Result<run::GetRunInputResponse, Status>>;
    type GetInputContentsStream =
        tokio_stream::Iter<std::vec::IntoIter<Result<run::GetInputContentsResponse, Status>>>;
    type FollowRunsStream = tokio_stream::Empty<Result<run::FollowRunsResponse, Status>>;

    refused_calls! {
        record_remote_run: run::RecordRemoteRunRequest => run::RecordRemoteRunResponse;
        get_remote_runs: run::GetRemoteRunsRequest => run::GetRemoteRunsResponse;
        suspend_run: run::SuspendRunRequest => run::SuspendRunResponse;
        resume_run: run::ResumeRunRequest => run::ResumeRunResponse;
        cancel_run: run::CancelRunRequest => run::CancelRunResponse;
        get_run: run::GetRunRequest => run::GetRunResponse;
        list_runs: run::ListRunsRequest => run::ListRunsResponse;
        list_causes: run::ListCausesRequest => run::ListCausesResponse;
        follow_runs: run::FollowRunsRequest => Self::FollowRunsStream;
        get_queue: run::GetQueueRequest => run::GetQueueResponse;
    }

    async fn acquire_run(
        &self,
        request: Request<run::AcquireRunRequest>,
    ) -> Result<Response<run::AcquireRunResponse>, Status> {
        let request = request.into_inner();
        assert_eq!(request.kinds, convert::known_kinds());
        assert!(request.reports_settings && request.asks_permission);
        self.conduct(|conduct| conduct.acquired_with.push(request.registration_secret));
        let lost = self.conduct(|conduct| {
            conduct
                .loses_grants
                .then(|| conduct.lost.push(request.request_id.clone()))
        });
        if lost.is_some() {
            return Err(Status::unavailable("the answer is lost"));
        }
        let lease = self.leases.lock().await.recv().await;
        Ok(Response::new(run::AcquireRunResponse { lease }))
    }

    async fn get_run_input(
        &self,
        request: Request<run::GetRunInputRequest>,
    ) -> Result<Response<Self::GetRunInputStream>, Status> {
        self.note("get_run_input", &request);
        let (holds, content_hashes) = self.conduct(|conduct| {
            conduct.asked_for_inputs += 1;
            if let Some(left) = conduct.expired_inputs.checked_sub(1) {
                conduct.expired_inputs = left;
                return Err(Status::failed_precondition("the lease is over"));
            }
            let named = conduct.names.clone();
            Ok((conduct.holds_transfers, named))
        })?;
        if holds {
            std::future::pending::<()>().await;
        }
        let answer = run::GetRunInputResponse { content_hashes };
        Ok(Response::new(tokio_stream::once(Ok(answer))))
    }

    async fn get_input_contents(
        &self,
        request: Request<run::GetInputContentsRequest>,
    ) -> Result<Response<Self::GetInputContentsStream>, Status> {
        self.note("get_input_contents", &request);
        let hashes = request.into_inner().hashes;
        let parts: Vec<_> = self.conduct(|conduct| {
            conduct.fetched.extend(hashes.clone());
            let known = hashes.into_iter().map(|hash| {
                let bytes = conduct.contents.get(&hash);
                let bytes = bytes.ok_or_else(|| Status::not_found("there is none"))?;
                Ok(run::GetInputContentsResponse {
                    chunk: bytes.clone(),
                    hash,
                })
            });
            known.collect()
        });
        Ok(Response::new(tokio_stream::iter(parts)))
    }

    async fn renew_run(
        &self,
        request: Request<run::RenewRunRequest>,
    ) -> Result<Response<run::RenewRunResponse>, Status> {
        self.note("renew_run", &request);
        let (life, cancel) = self.conduct(|conduct| {
            if let Some(code) = conduct.renewals {
                return Err(Status::new(code, "not renewed"));
            }
            conduct.renewed += 1;
            Ok((conduct.life, conduct.cancel))
        })?;
        let time_to_live = Some(convert::duration_to_wire(life));
        Ok(Response::new(run::RenewRunResponse {
            time_to_live,
            cancel: cancel.into(),
        }))
    }

    async fn complete_run(
        &self,
        request: Request<run::CompleteRunRequest>,
    ) -> Result<Response<run::CompleteRunResponse>, Status> {
        self.note("complete_run", &request);
        let request = request.into_inner();
        self.conduct(|conduct| match conduct.reports {
            Some(code) => {
                conduct.refused += 1;
                Err(Status::new(code, "not stored"))
            }
            None => Ok(()),
        })?;
        self.keep(request.log);
        self.conduct(|conduct| {
            conduct.details = request.details;
            conduct.state = request.state;
        });
        self.outcomes.send(request.outcome.unwrap()).unwrap();
        let status = run::RunStatus::Succeeded.into();
        Ok(Response::new(run::CompleteRunResponse {
            keep_trace: None,
            status,
        }))
    }
}

#[tonic::async_trait]
impl PlanService for PlayedScheduler {
    type GetPlanStream = tokio_stream::Empty<Result<run::GetPlanResponse, Status>>;

    refused_calls! {
        get_plan: run::GetPlanRequest => Self::GetPlanStream;
        get_input: run::GetInputRequest => run::GetInputResponse;
    }

    async fn record_plan(
        &self,
        request: Request<run::RecordPlanRequest>,
    ) -> Result<Response<run::RecordPlanResponse>, Status> {
        self.note("record_plan", &request);
        let (refuses, holds) = self.conduct(|conduct| {
            conduct.plans.push(request.into_inner());
            (conduct.refuses_plans, conduct.holds_plans)
        });
        if holds {
            std::future::pending::<()>().await;
        }
        match refuses {
            Some(code) => Err(Status::new(code, "the test wants it")),
            None => Ok(Response::new(run::RecordPlanResponse {})),
        }
    }
}

#[tonic::async_trait]
impl ApprovalService for PlayedScheduler {
    refused_calls! {
        list_approvals: run::ListApprovalsRequest => run::ListApprovalsResponse;
        get_approval: run::GetApprovalRequest => run::GetApprovalResponse;
        decide_approval: run::DecideApprovalRequest => run::DecideApprovalResponse;
        approve_set: run::ApproveSetRequest => run::ApproveSetResponse;
        reopen_approval: run::ReopenApprovalRequest => run::ReopenApprovalResponse;
    }

    async fn permit_apply(
        &self,
        request: Request<run::PermitApplyRequest>,
    ) -> Result<Response<run::PermitApplyResponse>, Status> {
        self.note("permit_apply", &request);
        let refuses = self.conduct(|conduct| {
            conduct.permits.push(request.into_inner());
            let left = conduct.lost_permits.checked_sub(1);
            conduct.lost_permits = left.unwrap_or_default();
            let lost = left.map(|_left| Code::Unavailable);
            lost.or(conduct.refuses_permits)
        });
        if let Some(code) = refuses {
            return Err(Status::new(code, "the test wants it"));
        }
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        while self.conduct(|conduct| conduct.holds_permits) {
            looks.tick().await;
        }
        Ok(Response::new(run::PermitApplyResponse {
            decision: self.conduct(|conduct| conduct.permit).into(),
            reason: REASON.to_owned(),
        }))
    }
}

#[tonic::async_trait]
impl LogService for PlayedScheduler {
    type ReadLogStream = tokio_stream::Empty<Result<log::ReadLogResponse, Status>>;
    type SearchLogStream = tokio_stream::Empty<Result<log::SearchLogResponse, Status>>;

    refused_calls! {
        read_log: log::ReadLogRequest => Self::ReadLogStream;
        read_log_window: log::ReadLogWindowRequest => log::ReadLogWindowResponse;
        search_log: log::SearchLogRequest => Self::SearchLogStream;
    }

    async fn append_log(
        &self,
        request: Request<Streaming<log::AppendLogRequest>>,
    ) -> Result<Response<log::AppendLogResponse>, Status> {
        self.note("append_log", &request);
        if self.conduct(|conduct| conduct.holds_logs) {
            return std::future::pending().await;
        }
        let mut batches = request.into_inner();
        while let Some(batch) = batches.next().await {
            self.keep(batch?.lines);
        }
        Ok(Response::new(log::AppendLogResponse {}))
    }
}

#[tonic::async_trait]
impl WorkerService for PlayedScheduler {
    refused_calls! {
        list_workers: worker::ListWorkersRequest => worker::ListWorkersResponse;
        drain_worker: worker::DrainWorkerRequest => worker::DrainWorkerResponse;
    }

    async fn heartbeat(
        &self,
        request: Request<worker::HeartbeatRequest>,
    ) -> Result<Response<worker::HeartbeatResponse>, Status> {
        let request = request.into_inner();
        let (timeline, leader_start, registration_secret) = self.conduct(|conduct| {
            conduct.earlier_lives.push(request.earlier_lives);
            if let Some(code) = conduct.refuses_heartbeats {
                conduct.refused_heartbeats += 1;
                return Err(Status::new(code, "the test wants it"));
            }
            conduct.registrations.push(request.registration);
            conduct.named.extend(request.unanswered_requests);
            conduct.journal.extend(request.journal);
            if !request.attempts.is_empty() {
                conduct.attempts.push(request.attempts);
                if let Some(code) = conduct.refuses_attempts.take() {
                    return Err(Status::new(code, "the test wants it"));
                }
            }
            let secret = conduct.registration_secret.clone();
            let names = (conduct.timeline.clone(), conduct.leader_start.clone());
            Ok((names.0, names.1, secret))
        })?;
        Ok(Response::new(worker::HeartbeatResponse {
            timeline,
            leader_start,
            registration_secret,
            database_time: DateTime::from_timestamp(DATABASE_SECONDS, 0)
                .map(convert::timestamp_to_wire),
            ..worker::HeartbeatResponse::default()
        }))
    }
}
