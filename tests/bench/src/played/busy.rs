//! A cluster at work: a hundred transactions a second of runs, their logs and heartbeats.

use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{AppendLogRequest, LogLine, LogStream};
use cts_proto::run::v1::Lease;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use futures::stream;
use tokio::task::JoinSet;
use tokio::time::interval;
use tonic::transport::Channel;

use crate::played::hands::{acquire, complete, heartbeat, worker};
use crate::played::played_watcher::PlayedWatcher;

/// Services with a task each, which change in turn.
pub(crate) const SERVICES: usize = 20;

/// Time between two changes. Each is five transactions: queued, leased, two batches of lines, completed.
const CHANGE: Duration = Duration::from_millis(100);

/// Time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_millis(20);

const WORKER: &str = "bench-busy";

/// Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Busy(JoinSet<Result<()>>);

impl Busy {
    /// Begins; nothing else may take runs.
    pub(crate) fn start(scheduler: &str, watcher: PlayedWatcher) -> Result<Self> {
        let mut parts = JoinSet::new();
        parts.spawn(heartbeats(cts_rpc::connect(scheduler)?));
        parts.spawn(runs(cts_rpc::connect(scheduler)?));
        parts.spawn(changes(watcher));
        Ok(Self(parts))
    }

    /// Fails if a part of it has come to an end.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.0.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.and(Err(anyhow::anyhow!("the load has ended"))),
        }
    }
}

pub(crate) fn service(number: usize) -> String {
    format!("busy-{number}")
}

async fn changes(watcher: PlayedWatcher) -> Result<()> {
    let mut ticks = interval(CHANGE);
    for number in (0..SERVICES).cycle() {
        ticks.tick().await;
        watcher.change(&service(number));
    }
    Ok(())
}

async fn heartbeats(scheduler: Channel) -> Result<()> {
    let worker = worker(WORKER.to_owned(), 1);
    let mut ticks = interval(HEARTBEAT);
    loop {
        ticks.tick().await;
        heartbeat(&scheduler, &worker).await?;
    }
}

async fn runs(scheduler: Channel) -> Result<()> {
    let mut runs = RunServiceClient::new(scheduler.clone());
    loop {
        let Some(lease) = acquire(&mut runs, WORKER).await? else {
            continue;
        };
        for _ in 0..2 {
            write(&scheduler, &lease).await?;
        }
        complete(&mut runs, lease, WORKER).await?;
    }
}

async fn write(scheduler: &Channel, lease: &Lease) -> Result<()> {
    let line = |number: u32| LogLine {
        stream: LogStream::Stdout.into(),
        text: format!("line {number} of what Terraform says"),
    };
    let batch = AppendLogRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.to_owned(),
        lines: (0..10).map(line).collect(),
    };
    let mut logs = LogServiceClient::new(scheduler.clone());
    let written = logs.append_log(stream::iter([batch])).await;
    written.context("lines are refused").map(drop)
}
