//! Answers about consent to the effects of plans (docs/rest.md#consent).

use cts_proto::run::v1::Approval;
use serde::Serialize;

use super::error::CodedError;
use crate::request_id::RequestId;

#[derive(Debug, Serialize)]
pub(crate) struct ApprovalAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) approval: Approval,
}

/// The effects of several tasks, and the fingerprint of the waiting ones.
#[derive(Debug, Serialize)]
pub(crate) struct ApprovalsAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) set: String,
}

/// The effects that were approved at once.
#[derive(Debug, Serialize)]
pub(crate) struct ApprovedSetAnswer {
    pub(crate) request_id: RequestId,
    pub(crate) approvals: Vec<Approval>,
}

/// An error, with the present effects, and the tasks in which they differ from the set.
#[derive(Debug, Serialize)]
pub(crate) struct ChangedSetAnswer<'a> {
    pub(crate) error: CodedError<'a>,
    pub(crate) request_id: RequestId,
    pub(crate) approvals: Vec<Approval>,
    pub(crate) set: String,
    pub(crate) came: Vec<String>,
    pub(crate) went: Vec<String>,
    pub(crate) changed: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ReopenedAnswer {
    pub(crate) request_id: RequestId,
    /// Number of effects that were rejected.
    pub(crate) reopened: u32,
}
