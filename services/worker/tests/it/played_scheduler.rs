//! A scripted scheduler: hands out leases and keeps the reports of workers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use cts_core::Digest;
use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_server::{LogService, LogServiceServer};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::run::v1::run_service_server::{RunService, RunServiceServer};
use cts_proto::worker::v1 as worker;
use cts_proto::worker::v1::worker_service_server::{WorkerService, WorkerServiceServer};
use cts_rpc::{Endpoints, convert};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::StreamExt as _;
use tonic::{Code, Request, Response, Status, Streaming};

/// Longest wait of a test.
const DEADLINE: Duration = Duration::from_mins(1);

/// The time by its database, in seconds since 1970.
pub(crate) const DATABASE_SECONDS: i64 = 1_800_000_000;

/// Behaviour of the scheduler, and the calls that it got.
#[derive(Debug)]
pub(crate) struct Conduct {
    /// Life of its leases.
    pub(crate) life: Duration,
    /// Batches of log lines are never answered.
    pub(crate) holds_logs: bool,
    /// Inputs are never sent.
    pub(crate) holds_transfers: bool,
    /// The input of every lease that names no contents, stored in one piece.
    pub(crate) one_piece: Vec<u8>,
    /// Calls for a run get no answer.
    pub(crate) loses_grants: bool,
    /// Calls for a run that got no answer.
    pub(crate) lost: Vec<String>,
    /// Lost calls that heartbeats have named.
    pub(crate) named: BTreeSet<String>,
    /// The timeline of the database, if the database was on a different one before.
    pub(crate) timeline: String,
    /// Parts of journals that have arrived.
    pub(crate) journal: Vec<worker::WorkerJournal>,
    /// The error for each renewal, instead of a grant.
    pub(crate) renewals: Option<Code>,
    /// The error for each report, which is then not stored.
    pub(crate) reports: Option<Code>,
    /// Renewals that were granted.
    pub(crate) renewed: u32,
    /// Reports that were not stored.
    pub(crate) refused: u32,
    /// Calls for an input.
    pub(crate) asked_for_inputs: u32,
    /// The contents of every input, by name.
    pub(crate) names: Vec<String>,
    /// Contents by name.
    pub(crate) contents: BTreeMap<String, Vec<u8>>,
    /// Contents that were fetched.
    pub(crate) fetched: Vec<String>,
    /// Conditions that runs have reported to wait for.
    pub(crate) suspended: Vec<String>,
    /// The reason for waiting runs to give up, if any.
    pub(crate) wait_end: run::WaitEnd,
    /// Another task of the concurrency group is applying.
    pub(crate) group_busy: bool,
    /// Calls for whether a run may continue.
    pub(crate) asked_to_resume: u32,
    /// Runs that were allowed to continue.
    pub(crate) resumed: u32,
    /// The order to stop every run.
    pub(crate) cancel: run::CancelOrder,
    /// The scheduler sends this order with renewals only.
    pub(crate) knows_no_cancels: bool,
    /// Details of the last attempt.
    pub(crate) details: Option<run::RunDetails>,
    /// The state of the task as the last attempt has reported it.
    pub(crate) state: Option<run::TerraformState>,
    /// The known state of the task; `None` as a scheduler of an earlier version, which records nothing.
    pub(crate) known: Option<run::KnownState>,
    /// Reports about the state of the task.
    pub(crate) recorded: Vec<Report>,
}

impl Default for Conduct {
    fn default() -> Self {
        Self {
            life: Duration::from_mins(2),
            holds_logs: false,
            holds_transfers: false,
            one_piece: Vec::new(),
            loses_grants: false,
            lost: Vec::new(),
            named: BTreeSet::new(),
            timeline: String::new(),
            journal: Vec::new(),
            renewals: None,
            reports: None,
            renewed: 0,
            refused: 0,
            asked_for_inputs: 0,
            names: Vec::new(),
            contents: BTreeMap::new(),
            fetched: Vec::new(),
            suspended: Vec::new(),
            wait_end: run::WaitEnd::Unspecified,
            group_busy: false,
            asked_to_resume: 0,
            resumed: 0,
            cancel: run::CancelOrder::Unspecified,
            knows_no_cancels: false,
            details: None,
            state: None,
            known: None,
            recorded: Vec::new(),
        }
    }
}

/// Cheap to clone; clones are the same scheduler.
#[derive(Debug, Clone)]
pub(crate) struct PlayedScheduler {
    leases: Arc<tokio::sync::Mutex<UnboundedReceiver<run::Lease>>>,
    outcomes: UnboundedSender<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
    conduct: Arc<Mutex<Conduct>>,
}

/// The test's controls of the scheduler.
#[derive(Debug)]
pub(crate) struct Strings {
    leases: UnboundedSender<run::Lease>,
    outcomes: UnboundedReceiver<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
    conduct: Arc<Mutex<Conduct>>,
}

impl Strings {
    /// Makes the scheduler have these contents.
    pub(crate) fn serve(&self, contents: &[&[u8]]) {
        let named = contents
            .iter()
            .map(|bytes| (Digest::of(bytes).to_string(), bytes.to_vec()));
        self.conduct(|conduct| conduct.contents.extend(named));
    }

    /// Grants a run of this kind with this input.
    pub(crate) fn grant(&self, kind: run::RunKind, input: Vec<u8>) {
        self.conduct(|conduct| conduct.one_piece = input);
        self.lease(kind, run::Lease::default());
    }

    /// Grants a run of this kind whose input has these contents.
    pub(crate) fn grant_contents(&self, kind: run::RunKind, contents: Vec<run::InputContent>) {
        self.lease(
            kind,
            run::Lease {
                contents,
                ..run::Lease::default()
            },
        );
    }

    /// Grants an apply of this input, as a scheduler that numbers deliveries does.
    pub(crate) fn grant_delivery(&self, input: Vec<u8>, delivery: u64) {
        self.conduct(|conduct| conduct.one_piece = input);
        self.lease(
            run::RunKind::Apply,
            run::Lease {
                delivery,
                delivery_first_run: "00000000-0000-7000-8000-00000000000f".into(),
                ..run::Lease::default()
            },
        );
    }

    fn lease(&self, kind: run::RunKind, input: run::Lease) {
        let (life, state) = self.conduct(|conduct| (conduct.life, conduct.known.clone()));
        let lease = run::Lease {
            run_id: "00000000-0000-7000-8000-000000000001".into(),
            task_name: "edge".into(),
            input_hash: Digest::of(b"edge").to_string(),
            epoch: 1,
            attempt: 1,
            time_to_live: Some(convert::duration_to_wire(life)),
            kind: kind.into(),
            state,
            ..input
        };
        self.leases.send(lease).unwrap();
    }

    /// How the next run has ended.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        let outcome = tokio::time::timeout(DEADLINE, self.outcomes.recv()).await;
        outcome.expect("in time").unwrap()
    }

    /// Details of the run whose outcome was read last.
    pub(crate) fn details(&self) -> run::RunDetails {
        self.conduct(|conduct| conduct.details.take()).unwrap()
    }

    /// Changes or reads the behaviour of the scheduler.
    pub(crate) fn conduct<T>(&self, change: impl FnOnce(&mut Conduct) -> T) -> T {
        change(&mut self.conduct.lock().unwrap())
    }

    /// Waits until the scheduler has seen something.
    pub(crate) async fn until(&self, seen: impl Fn(&Conduct) -> bool) {
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let wait = async {
            while !self.conduct(|conduct| seen(conduct)) {
                looks.tick().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.expect("in time");
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
    let conduct = Arc::<Mutex<Conduct>>::default();
    let scheduler = PlayedScheduler {
        leases: Arc::new(tokio::sync::Mutex::new(granted)),
        outcomes: told,
        lines: Arc::clone(&lines),
        conduct: Arc::clone(&conduct),
    };
    let strings = Strings {
        leases,
        outcomes,
        lines,
        conduct,
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

    fn conduct<T>(&self, change: impl FnOnce(&mut Conduct) -> T) -> T {
        change(&mut self.conduct.lock().unwrap())
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
    async fn list_lost_leases(
        &self,
        _request: Request<run::ListLostLeasesRequest>,
    ) -> Result<Response<run::ListLostLeasesResponse>, Status> {
        Err(Status::unimplemented("a scheduler of an earlier version"))
    }

    async fn await_cancel(
        &self,
        request: Request<run::AwaitCancelRequest>,
    ) -> Result<Response<run::AwaitCancelResponse>, Status> {
        let request = request.into_inner();
        let conduct = || self.conduct.lock().unwrap();
        if conduct().knows_no_cancels {
            return not_played();
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

    async fn cancel_run(
        &self,
        _request: Request<run::CancelRunRequest>,
    ) -> Result<Response<run::CancelRunResponse>, Status> {
        not_played()
    }

    async fn record_state(
        &self,
        request: Request<run::RecordStateRequest>,
    ) -> Result<Response<run::RecordStateResponse>, Status> {
        let report = request.into_inner().report.unwrap();
        self.conduct(|conduct| {
            let earlier = Status::unimplemented("a scheduler of an earlier version");
            let known = conduct.known.as_mut().ok_or(earlier)?;
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

    async fn suspend_run(
        &self,
        request: Request<run::SuspendRunRequest>,
    ) -> Result<Response<run::SuspendRunResponse>, Status> {
        let request = request.into_inner();
        let conduct = || self.conduct.lock().unwrap();
        if !request.waiting_for.is_empty() {
            conduct().suspended.push(request.waiting_for);
        }
        let wait = convert::duration_from_wire(request.wait.as_ref());
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let ended = async {
            while conduct().wait_end == run::WaitEnd::Unspecified {
                looks.tick().await;
            }
        };
        drop(tokio::time::timeout(wait, ended).await);
        let end = conduct().wait_end.into();
        Ok(Response::new(run::SuspendRunResponse { end }))
    }

    async fn resume_run(
        &self,
        _request: Request<run::ResumeRunRequest>,
    ) -> Result<Response<run::ResumeRunResponse>, Status> {
        let mut conduct = self.conduct.lock().unwrap();
        conduct.asked_to_resume += 1;
        let goes_on = !conduct.group_busy && conduct.wait_end == run::WaitEnd::Unspecified;
        conduct.resumed += u32::from(goes_on);
        Ok(Response::new(run::ResumeRunResponse {
            goes_on,
            end: conduct.wait_end.into(),
        }))
    }

    async fn acquire_run(
        &self,
        request: Request<run::AcquireRunRequest>,
    ) -> Result<Response<run::AcquireRunResponse>, Status> {
        let request = request.into_inner();
        assert_eq!(request.kinds, convert::known_kinds());
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
        _request: Request<run::GetRunInputRequest>,
    ) -> Result<Response<Self::GetRunInputStream>, Status> {
        let (holds, content_hashes, chunk) = self.conduct(|conduct| {
            conduct.asked_for_inputs += 1;
            let named = conduct.names.clone();
            (conduct.holds_transfers, named, conduct.one_piece.clone())
        });
        if holds {
            std::future::pending::<()>().await;
        }
        let answer = run::GetRunInputResponse {
            content_hashes,
            chunk,
        };
        Ok(Response::new(tokio_stream::once(Ok(answer))))
    }

    async fn get_input_contents(
        &self,
        request: Request<run::GetInputContentsRequest>,
    ) -> Result<Response<Self::GetInputContentsStream>, Status> {
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
        _request: Request<run::RenewRunRequest>,
    ) -> Result<Response<run::RenewRunResponse>, Status> {
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
        if self.conduct(|conduct| conduct.holds_logs) {
            return std::future::pending().await;
        }
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
    async fn heartbeat(
        &self,
        request: Request<worker::HeartbeatRequest>,
    ) -> Result<Response<worker::HeartbeatResponse>, Status> {
        let request = request.into_inner();
        let timeline = self.conduct(|conduct| {
            conduct.named.extend(request.unanswered_requests);
            conduct.journal.extend(request.journal);
            conduct.timeline.clone()
        });
        Ok(Response::new(worker::HeartbeatResponse {
            timeline,
            database_time: DateTime::from_timestamp(DATABASE_SECONDS, 0)
                .map(convert::timestamp_to_wire),
            ..worker::HeartbeatResponse::default()
        }))
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
