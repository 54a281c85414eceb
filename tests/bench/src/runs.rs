//! The runs of cts, over gRPC.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{FollowRunsRequest, FollowRunsResponse, RunStatus};
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_proto::task::v1::{ListTaskStatesRequest, TaskStatus};
use tokio::time::{Instant, sleep, timeout};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::measures::clock::Moment;

/// Longest time until cts answers after its start.
const READY_DEADLINE: Duration = Duration::from_secs(30);
const READY_POLL: Duration = Duration::from_millis(5);

/// Longest silence while something must still happen.
const LONGEST_SILENCE: Duration = Duration::from_mins(2);

/// Follows all runs of one cts.
#[derive(Debug)]
pub(crate) struct Runs {
    channel: Channel,
    changes: Streaming<FollowRunsResponse>,
}

impl Runs {
    /// Begins to follow as soon as the server behind the channel answers.
    pub(crate) async fn follow(channel: Channel) -> Result<Self> {
        let deadline = Instant::now() + READY_DEADLINE;
        loop {
            let request = FollowRunsRequest::default();
            match RunServiceClient::new(channel.clone())
                .follow_runs(request)
                .await
            {
                Ok(answer) => {
                    return Ok(Self {
                        channel,
                        changes: answer.into_inner(),
                    });
                }
                Err(status) if Instant::now() > deadline => {
                    return Err(status).context("cts does not answer over gRPC");
                }
                Err(_not_yet) => sleep(READY_POLL).await,
            }
        }
    }

    /// Waits until each of `count` tasks has been applied at least once since cts began.
    pub(crate) async fn first_pass(&mut self, count: usize) -> Result<Moment> {
        // Requested after the following has begun, so that no run falls in between.
        let mut done = self.successful().await?;
        let mut at = Moment::now();
        while done.len() < count {
            let change = self.next().await?;
            at = Moment::now();
            if change.status() == RunStatus::Succeeded {
                done.insert(change.task_name);
            }
        }
        Ok(at)
    }

    /// Waits until a run of each of `count` tasks that is queued from now on has been applied.
    pub(crate) async fn applied(&mut self, count: usize) -> Result<Moment> {
        let mut queued = HashSet::new();
        let mut done = HashSet::new();
        loop {
            let change = self.next().await?;
            let at = Moment::now();
            match change.status() {
                RunStatus::Queued => {
                    queued.insert(change.run_id);
                }
                RunStatus::Succeeded if queued.contains(&change.run_id) => {
                    done.insert(change.task_name);
                }
                _ => {}
            }
            if done.len() >= count {
                return Ok(at);
            }
        }
    }

    /// Waits until a run is queued from now on.
    pub(crate) async fn queued(&mut self) -> Result<Moment> {
        let queued = |change: &FollowRunsResponse| change.status() == RunStatus::Queued;
        Ok(self.first(queued).await?.1)
    }

    /// Waits until a run is queued from now on; returns its task.
    pub(crate) async fn queued_task(&mut self) -> Result<(String, Moment)> {
        let queued = |change: &FollowRunsResponse| change.status() == RunStatus::Queued;
        let (change, at) = self.first(queued).await?;
        Ok((change.task_name, at))
    }

    /// Waits until this run, or any run if `run` is absent, is leased; returns its id.
    pub(crate) async fn leased(&mut self, run: Option<&str>) -> Result<(String, Moment)> {
        let leased = |change: &FollowRunsResponse| {
            change.status() == RunStatus::Running && run.is_none_or(|run| run == change.run_id)
        };
        let (change, at) = self.first(leased).await?;
        Ok((change.run_id, at))
    }

    /// Waits until a run succeeds.
    pub(crate) async fn succeeded(&mut self) -> Result<()> {
        let succeeded = |change: &FollowRunsResponse| change.status() == RunStatus::Succeeded;
        self.first(succeeded).await.map(drop)
    }

    async fn first(
        &mut self,
        wanted: impl Fn(&FollowRunsResponse) -> bool,
    ) -> Result<(FollowRunsResponse, Moment)> {
        loop {
            let change = self.next().await?;
            if wanted(&change) {
                return Ok((change, Moment::now()));
            }
        }
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    async fn successful(&self) -> Result<HashSet<String>> {
        let mut request = ListTaskStatesRequest::default();
        request.set_status(TaskStatus::Successful);
        let mut answers = TaskServiceClient::new(self.channel.clone())
            .list_task_states(request)
            .await
            .context("cts does not list its tasks")?
            .into_inner();
        let mut done = HashSet::new();
        while let Some(answer) = answers.message().await? {
            done.extend(answer.states.into_iter().map(|state| state.task_name));
        }
        Ok(done)
    }

    async fn next(&mut self) -> Result<FollowRunsResponse> {
        let change = timeout(LONGEST_SILENCE, self.changes.message())
            .await
            .context("cts tells nothing about runs")?
            .context("cts ended the stream of runs")?
            .context("cts ended the stream of runs")?;
        if change.status() == RunStatus::Failed {
            bail!("a run of {} failed", change.task_name);
        }
        Ok(change)
    }
}
