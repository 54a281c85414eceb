//! A run service that serves the calls of a gateway.

use std::sync::{Arc, Mutex};

use cts_proto::run::v1::run_service_server::RunService;
use cts_proto::run::v1::{
    AcquireRunRequest, AcquireRunResponse, AwaitCancelRequest, AwaitCancelResponse,
    CancelRunRequest, CancelRunResponse, Cause, CompleteRunRequest, CompleteRunResponse,
    FollowRunsRequest, FollowRunsResponse, GetInputContentsRequest, GetInputContentsResponse,
    GetQueueRequest, GetQueueResponse, GetRemoteRunsRequest, GetRemoteRunsResponse,
    GetRunInputRequest, GetRunInputResponse, GetRunRequest, GetRunResponse, ListCausesRequest,
    ListCausesResponse, ListLostLeasesRequest, ListLostLeasesResponse, ListRunsRequest,
    ListRunsResponse, Planned, RecordRemoteRunRequest, RecordRemoteRunResponse, RecordStateRequest,
    RecordStateResponse, RenewRunRequest, RenewRunResponse, ResumeRunRequest, ResumeRunResponse,
    Run, RunKind, RunStatus, SuspendRunRequest, SuspendRunResponse,
};
use cts_testkit::refused_calls;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

/// The run that there is.
pub(crate) const RUN: &str = "0197a000-0000-7000-8000-000000000001";

/// A run of another task.
pub(crate) const OTHER_RUN: &str = "0197a000-0000-7000-8000-000000000002";

/// A cause.
pub(crate) const CAUSE: &str = "0197a000-0000-7000-8000-000000000003";

/// Refuses calls that a gateway does not make.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryRuns {
    pub(crate) queue: GetQueueResponse,
    /// How the list of runs was asked for.
    pub(crate) lists: Arc<Mutex<Vec<ListRunsRequest>>>,
    /// Whether lists of runs ignore causes, as in earlier versions.
    pub(crate) ignores_causes: bool,
    /// How causes were asked for.
    pub(crate) causes: Arc<Mutex<Vec<ListCausesRequest>>>,
    /// Each follower, and the task that it follows.
    pub(crate) followers: Arc<Mutex<Vec<Follower>>>,
    /// Answered to every call about runs instead.
    pub(crate) failure: Option<Status>,
    /// Whether there is a run of the task `edge-lb`, too.
    pub(crate) others: bool,
    /// The visible tasks of each request of one run.
    pub(crate) visible: Arc<Mutex<Vec<Vec<String>>>>,
}

/// The way to one follower, and the task that it named.
pub(crate) type Follower = (String, mpsc::Sender<Result<FollowRunsResponse, Status>>);

/// A plan that has succeeded.
fn planned_run() -> Run {
    let at = |seconds: i64| {
        Some(prost_types::Timestamp {
            seconds: 1_770_110_130 + seconds,
            nanos: 0,
        })
    };
    Run {
        id: RUN.to_owned(),
        task_name: "dns".to_owned(),
        kind: RunKind::Plan.into(),
        no_retry: true,
        status: RunStatus::Succeeded.into(),
        attempts: 1,
        plan: Some(Planned {
            text: "Plan: 1 to add\n".to_owned(),
            changes_present: true,
            ..Planned::default()
        }),
        queued_at: at(0),
        started_at: at(1),
        finished_at: at(2),
        ..Run::default()
    }
}

/// An apply that waits for its next attempt.
pub(crate) fn queued_run() -> Run {
    Run {
        kind: RunKind::Apply.into(),
        no_retry: false,
        status: RunStatus::Queued.into(),
        error: "could not apply: exit status 1".to_owned(),
        plan: None,
        started_at: None,
        finished_at: None,
        ..planned_run()
    }
}

impl MemoryRuns {
    /// The run of this id.
    fn find(&self, id: &str) -> Option<Run> {
        let other = Run {
            id: OTHER_RUN.to_owned(),
            task_name: "edge-lb".to_owned(),
            ..planned_run()
        };
        match id {
            RUN => Some(planned_run()),
            OTHER_RUN if self.others => Some(other),
            _ => None,
        }
    }

    /// The answer to a request of one run.
    fn shown(&self, run: Run, visible: Vec<String>) -> Run {
        self.visible.lock().unwrap().push(visible);
        run
    }

    fn enter(&self) -> Result<(), Status> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

#[tonic::async_trait]
impl RunService for MemoryRuns {
    type GetRunInputStream = tokio_stream::Empty<Result<GetRunInputResponse, Status>>;
    type GetInputContentsStream = tokio_stream::Empty<Result<GetInputContentsResponse, Status>>;
    type FollowRunsStream = ReceiverStream<Result<FollowRunsResponse, Status>>;

    refused_calls! {
        acquire_run: AcquireRunRequest => AcquireRunResponse;
        get_run_input: GetRunInputRequest => Self::GetRunInputStream;
        get_input_contents: GetInputContentsRequest => Self::GetInputContentsStream;
        list_lost_leases: ListLostLeasesRequest => ListLostLeasesResponse;
        await_cancel: AwaitCancelRequest => AwaitCancelResponse;
        record_state: RecordStateRequest => RecordStateResponse;
        record_remote_run: RecordRemoteRunRequest => RecordRemoteRunResponse;
        get_remote_runs: GetRemoteRunsRequest => GetRemoteRunsResponse;
        suspend_run: SuspendRunRequest => SuspendRunResponse;
        resume_run: ResumeRunRequest => ResumeRunResponse;
        renew_run: RenewRunRequest => RenewRunResponse;
        complete_run: CompleteRunRequest => CompleteRunResponse;
    }

    async fn cancel_run(
        &self,
        request: Request<CancelRunRequest>,
    ) -> Result<Response<CancelRunResponse>, Status> {
        self.enter()?;
        let request = request.into_inner();
        match request.run_id.as_str() {
            RUN | OTHER_RUN => {
                let mut run = planned_run();
                let status = if request.force {
                    RunStatus::Running
                } else {
                    RunStatus::Cancelled
                };
                run.set_status(status);
                let run = Some(self.shown(run, request.visible_tasks));
                Ok(Response::new(CancelRunResponse { run }))
            }
            "no-id" => Err(Status::invalid_argument("inner text")),
            "stopping" => Err(Status::failed_precondition("7 s are left")),
            _ => Err(Status::not_found("inner text")),
        }
    }

    async fn follow_runs(
        &self,
        request: Request<FollowRunsRequest>,
    ) -> Result<Response<Self::FollowRunsStream>, Status> {
        self.enter()?;
        let (sender, receiver) = mpsc::channel(8);
        let task = request.into_inner().task_name;
        self.followers.lock().unwrap().push((task, sender));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn get_run(
        &self,
        request: Request<GetRunRequest>,
    ) -> Result<Response<GetRunResponse>, Status> {
        self.enter()?;
        let request = request.into_inner();
        let id = request.run_id;
        match self.find(&id) {
            Some(run) => {
                let run = Some(self.shown(run, request.visible_tasks));
                Ok(Response::new(GetRunResponse { run }))
            }
            None if id == "no-id" => Err(Status::invalid_argument("inner text")),
            None => Err(Status::not_found("inner text")),
        }
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        self.enter()?;
        let request = request.into_inner();
        self.lists.lock().unwrap().push(request.clone());
        let mut causes = vec![request.cause_id];
        causes.retain(|cause| !cause.is_empty() && !self.ignores_causes);
        match request.page_token.as_str() {
            "" => Ok(Response::new(ListRunsResponse {
                runs: [queued_run(), planned_run()]
                    .into_iter()
                    .chain(self.find(OTHER_RUN))
                    .map(|run| Run {
                        cause_ids: causes.clone(),
                        ..run
                    })
                    .collect(),
                next_page_token: "p2".to_owned(),
            })),
            "p2" => Ok(Response::new(ListRunsResponse::default())),
            _ => Err(Status::invalid_argument("inner text")),
        }
    }

    async fn list_causes(
        &self,
        request: Request<ListCausesRequest>,
    ) -> Result<Response<ListCausesResponse>, Status> {
        self.enter()?;
        let request = request.into_inner();
        self.causes.lock().unwrap().push(request.clone());
        let cause = Cause {
            id: CAUSE.to_owned(),
            at: planned_run().queued_at,
            lines: vec!["web −40".to_owned()],
            ..Cause::default()
        };
        let has_cause = request.page_token.is_empty();
        Ok(Response::new(ListCausesResponse {
            causes: has_cause.then_some(cause).into_iter().collect(),
            ..ListCausesResponse::default()
        }))
    }

    async fn get_queue(
        &self,
        _request: Request<GetQueueRequest>,
    ) -> Result<Response<GetQueueResponse>, Status> {
        self.enter()?;
        Ok(Response::new(self.queue.clone()))
    }
}
