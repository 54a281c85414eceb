//! How much work waits: a cts-only endpoint, for programs that add and remove workers.

use cts_proto::run::v1 as proto;
use cts_rpc::convert::duration_from_wire;
use serde::Serialize;

use crate::transport::request_log::RequestId;

/// Numbers of runs, and of what could work on them.
#[derive(Debug, Serialize)]
pub(crate) struct QueueAnswer<'a> {
    queued: u64,
    ready: u64,
    running: u64,
    /// Whole seconds. Sent as `null` if no run is ready.
    oldest_ready_seconds: Option<u64>,
    slots: u64,
    waiting: Vec<WaitingObject<'a>>,
    request_id: RequestId,
}

/// Ready runs that no worker takes.
#[derive(Debug, Serialize)]
struct WaitingObject<'a> {
    reason: &'a str,
    runs: u64,
    /// Whole seconds.
    oldest_seconds: u64,
    task_name: &'a str,
}

impl<'a> QueueAnswer<'a> {
    pub(crate) fn new(queue: &'a proto::GetQueueResponse, request_id: RequestId) -> Self {
        let seconds = |duration| duration_from_wire(Some(duration)).as_secs();
        let waiting = queue.waiting.iter().map(|runs| WaitingObject {
            reason: &runs.reason,
            runs: runs.runs,
            oldest_seconds: runs.oldest.as_ref().map(seconds).unwrap_or_default(),
            task_name: &runs.task_name,
        });
        Self {
            queued: queue.queued,
            ready: queue.ready,
            running: queue.running,
            oldest_ready_seconds: queue.oldest_ready.as_ref().map(seconds),
            slots: queue.slots,
            waiting: waiting.collect(),
            request_id,
        }
    }
}
