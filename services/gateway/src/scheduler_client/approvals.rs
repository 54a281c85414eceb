//! Calls about consent to the effects of plans.

use cts_core::callers::TaskPatterns;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use tonic::Code;
use tonic::transport::Channel;

use super::call::{CALL_LIMIT, CallError, ask, patterns, present};
use super::changes::{ChangeError, Reason, change};
use super::on_behalf::OnBehalf;
use crate::request::approval_body::{Decision, SetApproval};

/// The part of the API that needs these calls.
const PART: &str = "consent to plans";

/// Calls the service of consents for one client of the API.
#[derive(Debug, Clone)]
pub(crate) struct ApprovalClient {
    client: ApprovalServiceClient<Channel>,
    by: OnBehalf,
}

impl ApprovalClient {
    pub(crate) fn new(client: ApprovalServiceClient<Channel>, by: OnBehalf) -> Self {
        Self { client, by }
    }

    /// Effects of the tasks that match `tasks`, as far as they are visible; `None` for all. Compared with an earlier set,
    /// unless that is empty.
    pub(crate) async fn list(
        &self,
        tasks: &TaskPatterns,
        visible: Option<&TaskPatterns>,
        set: &str,
    ) -> Result<proto::ListApprovalsResponse, CallError> {
        let request = proto::ListApprovalsRequest {
            tasks: tasks.texts().to_vec(),
            visible_tasks: patterns(visible),
            set: set.to_owned(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.list_approvals(request))).await;
        let answer = answer.map_err(|error| error.or_too_old(PART))?;
        Ok(answer.into_inner())
    }

    /// The consent to the effect of the run `run`.
    pub(crate) async fn get(&self, run: &str) -> Result<proto::Approval, CallError> {
        let request = proto::GetApprovalRequest {
            run_id: run.to_owned(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_approval(request))).await;
        let unknown = || CallError::NoApproval(run.to_owned());
        let answer = answer
            .map_err(|error| meaning(error, unknown))?
            .into_inner();
        present(answer.approval, "GetApprovalResponse.approval")
    }

    /// Approves or rejects the effect of the run `run`.
    pub(crate) async fn decide(
        &self,
        run: &str,
        decision: Decision,
    ) -> Result<proto::Approval, ChangeError> {
        let request = proto::DecideApprovalRequest {
            run_id: run.to_owned(),
            effect: decision.effect,
            reject: decision.rejects,
            comment: decision.comment,
        };
        let answer = change(call!(self.client.decide_approval(request) for by)).await;
        let unknown = || CallError::NoApproval(run.to_owned());
        let answer = answer.map_err(|error| undecided(error, unknown))?;
        Ok(present(answer.approval, "DecideApprovalResponse.approval")?)
    }

    /// Approves the effects that the set stands for in a list with the same patterns.
    pub(crate) async fn approve_set(
        &self,
        wanted: &SetApproval,
        visible: Option<&TaskPatterns>,
    ) -> Result<Vec<proto::Approval>, ChangeError> {
        let request = proto::ApproveSetRequest {
            tasks: wanted.tasks.texts().to_vec(),
            visible_tasks: patterns(visible),
            set: wanted.set.clone(),
            comment: wanted.comment.clone(),
        };
        let answer = change(call!(self.client.approve_set(request) for by)).await;
        let unknown = || CallError::ApprovalChanged("there are no such effects".to_owned());
        let answer = answer.map_err(|error| undecided(error, unknown))?;
        Ok(answer.approvals)
    }

    /// Forgets that effects of the task `name` were rejected, and returns their number.
    pub(crate) async fn reopen(&self, name: &str) -> Result<u32, ChangeError> {
        let request = proto::ReopenApprovalRequest {
            task_name: name.to_owned(),
        };
        let answer = change(call!(self.client.reopen_approval(request) for by)).await;
        let unknown = || CallError::NothingRejected(name.to_owned());
        let answer = answer.map_err(|error| undecided(error, unknown))?;
        Ok(answer.reopened)
    }
}

/// The meaning of the error of a decision; `unknown` if its run or task is not known.
fn undecided(error: ChangeError, unknown: impl FnOnce() -> CallError) -> ChangeError {
    match error {
        ChangeError::Declined {
            reason: Reason::Unknown,
            ..
        } => ChangeError::Ask(unknown()),
        ChangeError::Ask(error) => ChangeError::Ask(meaning(error, unknown)),
        error => error,
    }
}

/// The meaning of an error; `unknown` if the run or task of the call is not known.
fn meaning(error: CallError, unknown: impl FnOnce() -> CallError) -> CallError {
    match error {
        CallError::Call(status) => match status.code() {
            Code::NotFound | Code::InvalidArgument => unknown(),
            Code::Aborted => CallError::ApprovalChanged(status.message().to_owned()),
            _ => CallError::Call(status).or_too_old(PART),
        },
        error => error,
    }
}
