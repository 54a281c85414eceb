//! A worker that takes runs and keeps them; their logs grow when it says so.

use anyhow::{Context as _, Result};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{AppendLogRequest, LogLine, LogStream};
use cts_proto::run::v1::Lease;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use futures::stream;
use tonic::transport::Channel;

use crate::played::hands::{acquire, complete};

const WORKER: &str = "bench-keeper";

/// Leases are not renewed, so they must last longer than the measurement.
#[derive(Debug)]
pub(crate) struct HeldRuns {
    scheduler: Channel,
    leases: Vec<Lease>,
}

impl HeldRuns {
    /// Takes so many runs, which must be ready.
    pub(crate) async fn take(scheduler: Channel, count: u32) -> Result<Self> {
        let mut leases = Vec::new();
        let mut runs = RunServiceClient::new(scheduler.clone());
        for _ in 0..count {
            let lease = acquire(&mut runs, WORKER).await?;
            leases.push(lease.context("there are too few runs")?);
        }
        Ok(Self { scheduler, leases })
    }

    /// Ids of all of them.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.leases.iter().map(|lease| lease.run_id.as_str())
    }

    /// Adds a line to the log of run number `index`.
    pub(crate) async fn write(&self, index: usize, text: &str) -> Result<()> {
        self.write_all(index, [text.to_owned()]).await
    }

    /// Adds lines to the log of run number `index`, at once.
    pub(crate) async fn write_all(
        &self,
        index: usize,
        texts: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        let lease = self.leases.get(index).context("there are fewer runs")?;
        let line = |text| LogLine {
            stream: LogStream::Stdout.into(),
            text,
        };
        let batch = AppendLogRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.to_owned(),
            lines: texts.into_iter().map(line).collect(),
        };
        let mut logs = LogServiceClient::new(self.scheduler.clone());
        let written = logs.append_log(stream::iter([batch])).await;
        written.context("lines are refused").map(drop)
    }

    /// Reports all of them as applied.
    pub(crate) async fn complete(self) -> Result<()> {
        let mut runs = RunServiceClient::new(self.scheduler);
        for lease in self.leases {
            complete(&mut runs, lease, WORKER).await?;
        }
        Ok(())
    }
}
