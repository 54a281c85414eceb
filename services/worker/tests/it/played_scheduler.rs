//! A scheduler of which the test is the mind: it hands out leases and keeps what it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_server::{LogService, LogServiceServer};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::run_service_server::{RunService, RunServiceServer};
use cts_proto::worker::v1 as worker;
use cts_proto::worker::v1::worker_service_server::{WorkerService, WorkerServiceServer};
use cts_rpc::{Endpoints, convert};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::StreamExt as _;
use tonic::{Request, Response, Status, Streaming};

const LIFE: Duration = Duration::from_mins(2);

/// Cheap to clone; clones are the same scheduler.
#[derive(Debug, Clone)]
pub(crate) struct PlayedScheduler {
    leases: Arc<tokio::sync::Mutex<UnboundedReceiver<run::Lease>>>,
    outcomes: UnboundedSender<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
}

/// The strings that the test pulls.
#[derive(Debug)]
pub(crate) struct Strings {
    leases: UnboundedSender<run::Lease>,
    outcomes: UnboundedReceiver<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Strings {
    /// Grants a run of this kind with this input.
    pub(crate) fn grant(&self, kind: run::RunKind, input: Vec<u8>) {
        let lease = run::Lease {
            run_id: "00000000-0000-7000-8000-000000000001".into(),
            task_name: "edge".into(),
            epoch: 1,
            attempt: 1,
            time_to_live: Some(convert::duration_to_wire(LIFE)),
            input: Some(input),
            kind: kind.into(),
            ..run::Lease::default()
        };
        self.leases.send(lease).unwrap();
    }

    /// How the next run has ended.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        self.outcomes.recv().await.unwrap()
    }

    /// Everything that was logged until now.
    pub(crate) fn log(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }
}

pub(crate) fn played_scheduler() -> (PlayedScheduler, Strings) {
    let (leases, granted) = unbounded_channel();
    let (told, outcomes) = unbounded_channel();
    let lines = Arc::default();
    let scheduler = PlayedScheduler {
        leases: Arc::new(tokio::sync::Mutex::new(granted)),
        outcomes: told,
        lines: Arc::clone(&lines),
    };
    let strings = Strings {
        leases,
        outcomes,
        lines,
    };
    (scheduler, strings)
}

impl PlayedScheduler {
    pub(crate) fn endpoints(&self) -> Endpoints {
        Endpoints::new()
            .with(RunServiceServer::new(self.clone()))
            .with(LogServiceServer::new(self.clone()))
            .with(WorkerServiceServer::new(self.clone()))
    }

    fn keep(&self, lines: Vec<log::LogLine>) {
        let texts = lines.into_iter().map(|line| line.text);
        self.lines.lock().unwrap().extend(texts);
    }
}

fn not_played<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("no worker asks for this"))
}

#[tonic::async_trait]
impl RunService for PlayedScheduler {
    type GetRunInputStream = tokio_stream::Empty<Result<run::GetRunInputResponse, Status>>;
    type FollowRunsStream = tokio_stream::Empty<Result<run::FollowRunsResponse, Status>>;

    async fn acquire_run(
        &self,
        request: Request<run::AcquireRunRequest>,
    ) -> Result<Response<run::AcquireRunResponse>, Status> {
        assert_eq!(request.into_inner().kinds, convert::known_kinds());
        let lease = self.leases.lock().await.recv().await;
        Ok(Response::new(run::AcquireRunResponse { lease }))
    }

    async fn get_run_input(
        &self,
        _request: Request<run::GetRunInputRequest>,
    ) -> Result<Response<Self::GetRunInputStream>, Status> {
        not_played()
    }

    async fn renew_run(
        &self,
        _request: Request<run::RenewRunRequest>,
    ) -> Result<Response<run::RenewRunResponse>, Status> {
        let time_to_live = Some(convert::duration_to_wire(LIFE));
        Ok(Response::new(run::RenewRunResponse { time_to_live }))
    }

    async fn complete_run(
        &self,
        request: Request<run::CompleteRunRequest>,
    ) -> Result<Response<run::CompleteRunResponse>, Status> {
        let request = request.into_inner();
        self.keep(request.log);
        self.outcomes.send(request.outcome.unwrap()).unwrap();
        let status = run::RunStatus::Succeeded.into();
        Ok(Response::new(run::CompleteRunResponse { status }))
    }

    async fn get_run(
        &self,
        _request: Request<run::GetRunRequest>,
    ) -> Result<Response<run::GetRunResponse>, Status> {
        not_played()
    }

    async fn list_runs(
        &self,
        _request: Request<run::ListRunsRequest>,
    ) -> Result<Response<run::ListRunsResponse>, Status> {
        not_played()
    }

    async fn follow_runs(
        &self,
        _request: Request<run::FollowRunsRequest>,
    ) -> Result<Response<Self::FollowRunsStream>, Status> {
        not_played()
    }

    async fn get_queue(
        &self,
        _request: Request<run::GetQueueRequest>,
    ) -> Result<Response<run::GetQueueResponse>, Status> {
        not_played()
    }
}

#[tonic::async_trait]
impl LogService for PlayedScheduler {
    type ReadLogStream = tokio_stream::Empty<Result<log::ReadLogResponse, Status>>;

    async fn append_log(
        &self,
        request: Request<Streaming<log::AppendLogRequest>>,
    ) -> Result<Response<log::AppendLogResponse>, Status> {
        let mut batches = request.into_inner();
        while let Some(batch) = batches.next().await {
            self.keep(batch?.lines);
        }
        Ok(Response::new(log::AppendLogResponse {}))
    }

    async fn read_log(
        &self,
        _request: Request<log::ReadLogRequest>,
    ) -> Result<Response<Self::ReadLogStream>, Status> {
        not_played()
    }
}

#[tonic::async_trait]
impl WorkerService for PlayedScheduler {
    async fn beat(
        &self,
        _request: Request<worker::BeatRequest>,
    ) -> Result<Response<worker::BeatResponse>, Status> {
        Ok(Response::new(worker::BeatResponse::default()))
    }

    async fn list_workers(
        &self,
        _request: Request<worker::ListWorkersRequest>,
    ) -> Result<Response<worker::ListWorkersResponse>, Status> {
        not_played()
    }

    async fn drain_worker(
        &self,
        _request: Request<worker::DrainWorkerRequest>,
    ) -> Result<Response<worker::DrainWorkerResponse>, Status> {
        not_played()
    }
}
