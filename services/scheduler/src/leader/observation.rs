//! The numbers of the cluster, and the ways of changes, for the metrics of the leader.

use std::convert::Infallible;
use std::time::Duration;

use cts_core::Chain;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep};

use super::Leader;
use crate::metrics::cluster_numbers::{ClusterNumbers, TaskNumbers};

/// Shortest time between two reads of the numbers.
const EVERY: Duration = Duration::from_secs(10);

impl Leader {
    /// Reads the numbers at the beginning and after they have been observed. Without an observer the numbers are not
    /// read.
    pub(super) async fn count_cluster(&self) -> Infallible {
        let metrics = &self.context.metrics;
        let _shown = metrics.showing();
        let mut tasks = TaskNumbers::default();
        loop {
            let store = &*self.context.store;
            let now = self.context.clock.now();
            match ClusterNumbers::read(store, &mut tasks, &metrics.task_names, now).await {
                Ok(numbers) => metrics.show(numbers),
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "the numbers of the cluster cannot be read");
                }
            }
            sleep(EVERY).await;
            metrics.observed().await;
        }
    }

    /// Follows the runs of changes.
    pub(super) async fn time_changes(&self) -> Infallible {
        let metrics = &self.context.metrics;
        let mut changes = self.context.notifier.follow();
        loop {
            match changes.recv().await {
                Ok(change) => {
                    let now = Instant::now();
                    let passed = metrics.changes.changed(change.run, change.status, now);
                    metrics.passed(passed);
                }
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!(missed, "some changes of runs are not measured");
                }
                // The notifier lives as long as this leader.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}
