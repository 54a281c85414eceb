//! Answers of cts-only endpoints: messages of the scheduler, which serialise themselves (`cts_proto::json`), with the
//! id of the request.

use cts_proto::cluster::v1::Brake;
use cts_proto::run::v1::{PlanData, Run};
use cts_proto::task::v1::{Explanation, Hold};
use serde::Serialize;

use crate::request_id::RequestId;

/// The id before the members of a message.
#[derive(Debug, Serialize)]
pub(crate) struct IdFirst<T> {
    pub(crate) request_id: RequestId,
    #[serde(flatten)]
    pub(crate) message: T,
}

/// The id after the members of a message.
#[derive(Debug, Serialize)]
pub(crate) struct IdLast<T> {
    #[serde(flatten)]
    pub(crate) message: T,
    pub(crate) request_id: RequestId,
}

#[derive(Debug, Serialize)]
pub(crate) struct RunAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) run: Run,
}

/// A plan as data (docs/rest.md#plans-as-data).
#[derive(Debug, Serialize)]
pub(crate) struct PlanAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) plan: PlanData,
}

/// Why a task ran, or why it does not.
#[derive(Debug, Serialize)]
pub(crate) struct ExplanationAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) explanation: Explanation,
}

/// The release of a task (docs/rest.md#releasing-a-task).
#[derive(Debug, Serialize)]
pub(crate) struct ReleasedAnswer {
    request_id: RequestId,
    released: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<Hold>,
}

impl ReleasedAnswer {
    /// With the losses for which the task was blocked, if it was blocked.
    pub(crate) fn new(hold: Option<Hold>, request_id: RequestId) -> Self {
        Self {
            request_id,
            released: hold.is_some(),
            hold,
        }
    }
}

/// The release of the brake of the fleet (docs/rest.md#the-brake).
#[derive(Debug, Serialize)]
pub(crate) struct ReleasedBrakeAnswer {
    pub(crate) request_id: RequestId,
    /// The brake as it was set; `None` if it was not.
    pub(crate) released: Option<Brake>,
}
