//! One scheduler's answers about the schedulers, the workers and the queue.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_proto::cluster::v1::cluster_service_client::ClusterServiceClient;
use cts_proto::cluster::v1::{GetClusterRequest, Member};
use cts_proto::run::v1::GetQueueRequest;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::worker::v1::ListWorkersRequest;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use tokio::time::{Instant, sleep};
use tonic::Status;
use tonic::transport::Channel;

use crate::measures::clock::Moment;

const POLL: Duration = Duration::from_millis(5);

/// Counting thousands of runs more often would be a load of its own.
const QUEUE_POLL: Duration = Duration::from_millis(100);

/// Longest wait for anything.
const DEADLINE: Duration = Duration::from_mins(1);

/// Asks one scheduler.
#[derive(Debug, Clone)]
pub(crate) struct Members(Channel);

impl Members {
    pub(crate) const fn new(scheduler: Channel) -> Self {
        Self(scheduler)
    }

    /// Id of the leader, as soon as a scheduler leads.
    pub(crate) async fn leader(&self) -> Result<String> {
        let leader = async || {
            let members = self.list().await?;
            let leader = members.into_iter().find(|member| member.leader);
            Ok(leader.map(|member| member.id))
        };
        poll("no scheduler leads", leader).await
    }

    /// When it was first seen that `id` leads.
    pub(crate) async fn led_by(&self, id: &str) -> Result<Moment> {
        let leads = async || {
            let members = self.list().await?;
            let leads = members
                .iter()
                .any(|member| member.leader && member.id == id);
            Ok(leads.then(Moment::now))
        };
        poll("the leadership is not taken over", leads).await
    }

    /// Waits until so many schedulers live.
    pub(crate) async fn healthy(&self, count: usize) -> Result<()> {
        let healthy = async || {
            let members = self.list().await?;
            let healthy = members.iter().filter(|member| member.healthy).count();
            Ok((healthy >= count).then_some(()))
        };
        poll("a scheduler does not come up", healthy).await
    }

    /// Waits until so many runs could be leased.
    pub(crate) async fn ready(&self, count: u32) -> Result<Moment> {
        let ready = async || {
            let mut runs = RunServiceClient::new(self.0.clone());
            let queue = runs.get_queue(GetQueueRequest {}).await?.into_inner();
            Ok((queue.ready >= u64::from(count)).then(Moment::now))
        };
        poll_every(QUEUE_POLL, "the runs are not queued", ready).await
    }

    /// Ids of the workers that live.
    pub(crate) async fn workers(&self) -> Result<HashSet<String>, Status> {
        let mut workers = WorkerServiceClient::new(self.0.clone());
        let answer = workers.list_workers(ListWorkersRequest {}).await?;
        let living = answer.into_inner().workers.into_iter();
        let living = living.filter(|state| !state.lost);
        Ok(living.filter_map(|state| Some(state.worker?.id)).collect())
    }

    /// Waits for a worker that is not in `known`.
    pub(crate) async fn worker_besides(&self, known: &HashSet<String>) -> Result<()> {
        let came = async || {
            let workers = self.workers().await?;
            Ok((!workers.is_subset(known)).then_some(()))
        };
        poll("a worker does not come up", came).await
    }

    async fn list(&self) -> Result<Vec<Member>, Status> {
        let mut cluster = ClusterServiceClient::new(self.0.clone());
        let answer = cluster.get_cluster(GetClusterRequest {}).await?;
        Ok(answer.into_inner().members)
    }
}

/// Asks until it gets an answer; a failure does not count as one.
async fn poll<T>(
    complaint: &'static str,
    ask: impl AsyncFn() -> Result<Option<T>, Status>,
) -> Result<T> {
    poll_every(POLL, complaint, ask).await
}

async fn poll_every<T>(
    pause: Duration,
    complaint: &'static str,
    ask: impl AsyncFn() -> Result<Option<T>, Status>,
) -> Result<T> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let result = ask().await;
        match result {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) if Instant::now() > deadline => return Err(anyhow::anyhow!(complaint)),
            Err(status) if Instant::now() > deadline => return Err(status).context(complaint),
            _not_yet => sleep(pause).await,
        }
    }
}
