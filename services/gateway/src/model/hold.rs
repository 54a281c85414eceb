//! Losses that a shrink limit does not let a task apply, and their release: cts-only
//! (docs/rest.md#releasing-a-task).

use cts_proto::task::v1 as proto;
use serde::Serialize;

use super::run::{ShownTime, shown};
use crate::original::time_text::TimeText;
use crate::transport::request_log::RequestId;

/// Why the newest data of a task are not applied.
#[derive(Debug, Serialize)]
pub(super) struct HoldObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<TimeText>,
    losses: Vec<LossObject<'a>>,
}

#[derive(Debug, Serialize)]
struct LossObject<'a> {
    service: &'a str,
    applied: u32,
    now: u32,
}

/// The release of a task.
#[derive(Debug, Serialize)]
pub(crate) struct ReleasedAnswer<'a> {
    request_id: RequestId,
    released: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<HoldObject<'a>>,
}

impl<'a> HoldObject<'a> {
    /// Converts `hold`, times shown by `local_time`.
    pub(super) fn new(hold: &'a proto::Hold, local_time: ShownTime<'_>) -> Self {
        let losses = hold.losses.iter().map(|loss| LossObject {
            service: &loss.service,
            applied: loss.applied,
            now: loss.now,
        });
        Self {
            since: shown(hold.since.as_ref(), local_time),
            losses: losses.collect(),
        }
    }
}

impl<'a> ReleasedAnswer<'a> {
    /// Converts the hold that was released, if the task was blocked, times shown by `local_time`.
    pub(crate) fn new(
        hold: Option<&'a proto::Hold>,
        local_time: ShownTime<'_>,
        request_id: RequestId,
    ) -> Self {
        Self {
            request_id,
            released: hold.is_some(),
            hold: hold.map(|hold| HoldObject::new(hold, local_time)),
        }
    }
}
