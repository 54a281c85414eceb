//! How much work waits, for `GetQueue` and `GetOverview`.

use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{Store, StoreError, WorkerState};

use crate::leader::unschedulable::{UNSCHEDULABLE_AFTER, reason};

/// Reads the queue, which these workers work on.
pub(super) async fn queue(
    store: &dyn Store,
    workers: &[WorkerState],
) -> Result<proto::GetQueueResponse, StoreError> {
    let depth = store.queue_depth().await?;
    let waiting = store.waiting_runs(UNSCHEDULABLE_AFTER).await?;
    let waiting = waiting.into_iter().filter_map(|runs| {
        Some(proto::WaitingRuns {
            reason: reason(&runs, workers)?,
            runs: runs.runs,
            oldest: Some(convert::duration_to_wire(runs.oldest)),
            task_name: runs.task.into(),
        })
    });
    let slots = workers
        .iter()
        .filter(|worker| worker.takes_runs())
        .map(|worker| u64::from(worker.worker.slots))
        .sum();
    Ok(proto::GetQueueResponse {
        queued: depth.queued,
        ready: depth.ready,
        running: depth.running,
        oldest_ready: depth.oldest_ready.map(convert::duration_to_wire),
        slots,
        waiting: waiting.collect(),
    })
}
