//! How much work waits, for `GetQueue` and `GetOverview`.

use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{QueueDepth, Store, StoreError, WaitingRuns, WorkerState};

use crate::unschedulable::{UNSCHEDULABLE_AFTER, reason};

/// Reads the queue, which these workers work on.
pub(super) async fn queue(
    store: &dyn Store,
    workers: &[WorkerState],
) -> Result<proto::GetQueueResponse, StoreError> {
    let waiting = store.waiting_runs(UNSCHEDULABLE_AFTER).await?;
    Ok(queue_of(store.queue_depth().await?, &waiting, workers))
}

/// The queue of this depth, with these runs that wait for longer.
pub(super) fn queue_of(
    depth: QueueDepth,
    waiting: &[WaitingRuns],
    workers: &[WorkerState],
) -> proto::GetQueueResponse {
    let waiting = waiting.iter().filter_map(|runs| {
        Some(proto::WaitingRuns {
            reason: reason(runs, workers)?,
            runs: runs.runs,
            oldest: Some(convert::duration_to_wire(runs.oldest)),
            task_name: runs.task.to_string(),
        })
    });
    let slots = WorkerState::shown(workers)
        .filter(|worker| worker.takes_runs())
        .map(|worker| u64::from(worker.worker.slots))
        .sum();
    proto::GetQueueResponse {
        queued: depth.queued,
        awaiting_consent: depth.awaiting,
        ready: depth.ready,
        running: depth.running,
        oldest_ready: depth.oldest_ready.map(convert::duration_to_wire),
        slots,
        waiting: waiting.collect(),
    }
}
