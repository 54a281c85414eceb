//! Workers that do nothing: they lease runs and report them as applied.

use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{AcquireRunRequest, Applied, CompleteRunRequest, Lease};
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_proto::worker::v1::{Capabilities, Engine, HeartbeatRequest, Worker};
use cts_rpc::convert::duration_to_wire;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tonic::transport::Channel;

use crate::measures::clock::Moment;

/// Most slots of one worker; more slots are more workers, each with a connection of its own.
const SLOTS_OF_ONE: u32 = 4;

const WAIT: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(2);

/// Longest time from one run to the next while there must be a next.
const LONGEST_SILENCE: Duration = Duration::from_mins(1);

/// A run that one of the played workers had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handled {
    /// The lease was at hand.
    pub(crate) leased: Moment,
    /// The report was answered.
    pub(crate) completed: Moment,
}

/// They end when this is dropped.
#[derive(Debug)]
pub(crate) struct Hands {
    /// They were connected and about to ask.
    pub(crate) started: Moment,
    handled: mpsc::UnboundedReceiver<Result<Handled>>,
    _working: JoinSet<()>,
}

impl Hands {
    /// Workers with so many slots together.
    pub(crate) async fn start(scheduler: &str, slots: u32) -> Result<Self> {
        let mut workers = Vec::new();
        for first in (0..slots).step_by(SLOTS_OF_ONE as usize) {
            let id = format!("bench-{slots}-{first}");
            let worker = worker(id, SLOTS_OF_ONE.min(slots - first));
            let channel = cts_rpc::connect(scheduler)?;
            heartbeat(&channel, &worker).await?;
            workers.push((channel, worker));
        }
        let (tell, handled) = mpsc::unbounded_channel();
        let mut working = JoinSet::new();
        let started = Moment::now();
        for (channel, worker) in workers {
            for _ in 0..worker.slots {
                working.spawn(work(channel.clone(), worker.id.clone(), tell.clone()));
            }
            working.spawn(keep_beating(channel, worker));
        }
        Ok(Self {
            started,
            handled,
            _working: working,
        })
    }

    /// The next run that is done.
    pub(crate) async fn next(&mut self) -> Result<Handled> {
        timeout(LONGEST_SILENCE, self.handled.recv())
            .await
            .context("the workers get no run")?
            .context("the workers have ended")?
    }

    /// Waits until so many runs are done; returns the end of the last one.
    pub(crate) async fn all(&mut self, count: u32) -> Result<Moment> {
        let mut end = self.started;
        for _ in 0..count {
            end = end.max(self.next().await?.completed);
        }
        Ok(end)
    }
}

pub(crate) fn worker(id: String, slots: u32) -> Worker {
    Worker {
        id,
        host: "bench".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        slots,
        capabilities: Some(capabilities()),
        draining: false,
        settings: None,
        problem: None,
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        engines: vec![Engine {
            driver: "terraform".to_owned(),
            version: "1.11.4".to_owned(),
        }],
        bundles: true,
    }
}

pub(crate) async fn heartbeat(channel: &Channel, worker: &Worker) -> Result<()> {
    let request = HeartbeatRequest {
        worker: Some(worker.clone()),
        leaving: false,
        unanswered_requests: Vec::new(),
        wants_cluster_key: false,
        ..HeartbeatRequest::default()
    };
    let mut scheduler = WorkerServiceClient::new(channel.clone());
    let answer = scheduler.heartbeat(request).await;
    answer.context("a worker is not heard").map(drop)
}

async fn keep_beating(channel: Channel, worker: Worker) {
    let mut ticks = interval(HEARTBEAT);
    loop {
        ticks.tick().await;
        // A worker that is silent for a moment is not lost yet.
        drop(heartbeat(&channel, &worker).await);
    }
}

async fn work(channel: Channel, worker: String, tell: mpsc::UnboundedSender<Result<Handled>>) {
    let mut scheduler = RunServiceClient::new(channel);
    loop {
        let handled = match one(&mut scheduler, &worker).await {
            Ok(None) => continue,
            Ok(Some(handled)) => Ok(handled),
            Err(error) => Err(error),
        };
        let failed = handled.is_err();
        if tell.send(handled).is_err() || failed {
            return;
        }
    }
}

/// Waits for a run; returns `None` if no run came for a while.
pub(crate) async fn acquire(
    scheduler: &mut RunServiceClient<Channel>,
    worker: &str,
) -> Result<Option<Lease>> {
    let request = AcquireRunRequest {
        kinds: Vec::new(),
        request_id: String::new(),
        worker_id: worker.to_owned(),
        wait: Some(duration_to_wire(WAIT)),
        capabilities: Some(capabilities()),
        reports_settings: false,
        names_previous_backend: false,
        ends_remote_runs: false,
        asks_permission: true,
        registration_secret: Vec::new(),
    };
    let answer = scheduler.acquire_run(request).await;
    Ok(answer.context("a worker gets no lease")?.into_inner().lease)
}

/// Reports a run as applied.
pub(crate) async fn complete(
    scheduler: &mut RunServiceClient<Channel>,
    lease: Lease,
    worker: &str,
) -> Result<()> {
    let report = CompleteRunRequest {
        run_id: lease.run_id,
        epoch: lease.epoch,
        worker_id: worker.to_owned(),
        outcome: Some(Outcome::Applied(Applied {})),
        ..CompleteRunRequest::default()
    };
    let answer = scheduler.complete_run(report).await;
    answer.context("a report is refused").map(drop)
}

async fn one(scheduler: &mut RunServiceClient<Channel>, worker: &str) -> Result<Option<Handled>> {
    let Some(lease) = acquire(scheduler, worker).await? else {
        return Ok(None);
    };
    let leased = Moment::now();
    complete(scheduler, lease, worker).await?;
    Ok(Some(Handled {
        leased,
        completed: Moment::now(),
    }))
}
