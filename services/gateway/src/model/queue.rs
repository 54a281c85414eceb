//! How much work waits: an endpoint of ours, for what adds and removes workers.

use cts_proto::run::v1 as proto;
use cts_rpc::convert::duration_from_wire;
use serde::Serialize;

use crate::request_log::RequestId;

/// Numbers of runs, and of what could work on them.
#[derive(Debug, Serialize)]
pub(crate) struct QueueAnswer {
    queued: u64,
    ready: u64,
    running: u64,
    /// Whole seconds. Sent as `null` if no run is ready.
    oldest_ready_seconds: Option<u64>,
    slots: u64,
    request_id: RequestId,
}

impl QueueAnswer {
    pub(crate) fn new(queue: &proto::GetQueueResponse, request_id: RequestId) -> Self {
        Self {
            queued: queue.queued,
            ready: queue.ready,
            running: queue.running,
            oldest_ready_seconds: queue
                .oldest_ready
                .as_ref()
                .map(|oldest| duration_from_wire(Some(oldest)).as_secs()),
            slots: queue.slots,
            request_id,
        }
    }
}
