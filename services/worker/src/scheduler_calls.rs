//! Calls to the scheduler.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use cts_core::runs::AttemptOutcome;
use cts_core::{RunInput, WorkerId};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{AppendLogRequest, LogLine};
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_rpc::convert;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// How long one call for a run waits at the scheduler.
const WAIT: Duration = Duration::from_secs(30);

/// The scheduler as this worker sees it.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    pub(crate) worker: WorkerId,
    pub(crate) runs: RunServiceClient<Channel>,
    pub(crate) logs: LogServiceClient<Channel>,
}

/// The input of a run could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("the scheduler did not send the input of the run")]
    Call(#[from] Status),
    #[error("the input of the run cannot be read")]
    Decode(#[from] serde_json::Error),
}

impl Scheduler {
    /// Waits for a run.
    pub(crate) async fn acquire(&self) -> Result<Option<proto::Lease>, Status> {
        let request = proto::AcquireRunRequest {
            worker_id: self.worker.to_string(),
            wait: Some(convert::duration_to_wire(WAIT)),
        };
        Ok(self
            .runs
            .clone()
            .acquire_run(request)
            .await?
            .into_inner()
            .lease)
    }

    /// The frozen input of a leased run: what the lease carries, or what the scheduler sends.
    pub(crate) async fn input(&self, lease: &proto::Lease) -> Result<RunInput, InputError> {
        if let Some(bytes) = &lease.input {
            return Ok(RunInput::thaw(bytes)?);
        }
        let request = proto::GetRunInputRequest {
            input_hash: lease.input_hash.clone(),
        };
        let mut parts = self.runs.clone().get_run_input(request).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(part) = parts.message().await? {
            bytes.extend(part.chunk);
        }
        Ok(RunInput::thaw(&bytes)?)
    }

    /// More time for a lease; how much.
    pub(crate) async fn renew(&self, lease: &proto::Lease) -> Result<Duration, Status> {
        let request = proto::RenewRunRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
        };
        let response = self.runs.clone().renew_run(request).await?.into_inner();
        Ok(convert::duration_from_wire(response.time_to_live.as_ref()))
    }

    /// Reports the end of an attempt, for as long as the scheduler cannot be reached and `patience`
    /// lasts. Safe to repeat: a report that had arrived is refused the second time.
    pub(crate) async fn complete(
        &self,
        lease: &proto::Lease,
        outcome: AttemptOutcome,
        log: Vec<LogLine>,
        patience: Duration,
    ) -> Result<(), Status> {
        let request = proto::CompleteRunRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            outcome: Some(convert::outcome_to_wire(outcome)),
            log,
        };
        let call = || async { self.runs.clone().complete_run(request.clone()).await };
        let backoff = ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(2))
            .without_max_times()
            .with_total_delay(Some(patience));
        let reachable = |status: &Status| {
            matches!(
                status.code(),
                Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded
            )
        };
        call.retry(backoff).when(reachable).await.map(drop)
    }

    /// Appends lines to the log of a leased run.
    pub(crate) async fn append_log(
        &self,
        lease: &proto::Lease,
        lines: Vec<LogLine>,
    ) -> Result<(), Status> {
        let batch = AppendLogRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            lines,
        };
        self.logs
            .clone()
            .append_log(tokio_stream::once(batch))
            .await
            .map(drop)
    }
}
