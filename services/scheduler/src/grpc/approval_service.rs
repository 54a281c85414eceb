//! `cts.run.v1.ApprovalService`: consent of people to the effects of plans (docs/runs.md#consent).

mod answers;
mod decisions;
mod permit;

use std::sync::Arc;

use cts_core::RunId;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_rpc::convert;
use cts_store::{Approval, Store};
use tokio::sync::Semaphore;
use tonic::{Code, Request, Response, Status};

use self::answers::{approval_to_wire, set_of};
use super::lease_proofs::LeaseProofs;
use super::plan_service::ROOM;
use crate::approval::waiting::waiting;
use crate::identities::Identities;
use crate::notifier::Notifier;
use crate::status::OrStatus as _;
use crate::tasks::refusal::declined;
use crate::wire::visible_tasks;

#[derive(Debug)]
pub(crate) struct ApprovalEndpoint {
    store: Arc<dyn Store>,
    notifier: Arc<Notifier>,
    identities: Arc<dyn Identities>,
    proofs: LeaseProofs,
    /// Room for plans whose workers wait for a decision.
    room: Arc<Semaphore>,
}

impl ApprovalEndpoint {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        notifier: Arc<Notifier>,
        identities: Arc<dyn Identities>,
        proofs: LeaseProofs,
    ) -> Self {
        Self {
            store,
            notifier,
            identities,
            proofs,
            room: Arc::new(Semaphore::new(ROOM)),
        }
    }

    /// The effects of the tasks that match both lists of patterns.
    async fn chosen(
        &self,
        tasks: Vec<String>,
        visible: Vec<String>,
    ) -> Result<Vec<Approval>, Status> {
        let (tasks, visible) = (visible_tasks(tasks)?, visible_tasks(visible)?);
        let mut approvals = self.store.approvals().await.or_status()?;
        approvals.retain(|approval| {
            let name = approval.task.as_str();
            tasks.matches(name) && visible.matches(name)
        });
        Ok(approvals)
    }

    /// This effect of the task of a run, or the newest effect of the run.
    async fn known(&self, run: RunId, effect: Option<&str>) -> Result<Approval, Status> {
        let approval = self.store.approval_of(run, effect).await.or_status()?;
        approval.ok_or_else(|| {
            let message = format!("run {run} does not exist or has no effect that needs consent");
            declined(Code::NotFound, "unknown", message)
        })
    }
}

#[tonic::async_trait]
impl ApprovalService for ApprovalEndpoint {
    async fn permit_apply(
        &self,
        request: Request<proto::PermitApplyRequest>,
    ) -> Result<Response<proto::PermitApplyResponse>, Status> {
        self.permit(request).await.map(Response::new)
    }

    async fn list_approvals(
        &self,
        request: Request<proto::ListApprovalsRequest>,
    ) -> Result<Response<proto::ListApprovalsResponse>, Status> {
        let request = request.into_inner();
        let approvals = self.chosen(request.tasks, request.visible_tasks).await?;
        let set = set_of(&waiting(&approvals));
        Ok(Response::new(proto::ListApprovalsResponse {
            approvals: approvals.into_iter().map(approval_to_wire).collect(),
            set,
        }))
    }

    async fn get_approval(
        &self,
        request: Request<proto::GetApprovalRequest>,
    ) -> Result<Response<proto::GetApprovalResponse>, Status> {
        let run = convert::run_id(&request.get_ref().run_id)?;
        let approval = Some(approval_to_wire(self.known(run, None).await?));
        Ok(Response::new(proto::GetApprovalResponse { approval }))
    }

    async fn decide_approval(
        &self,
        request: Request<proto::DecideApprovalRequest>,
    ) -> Result<Response<proto::DecideApprovalResponse>, Status> {
        self.decide(request).await.map(Response::new)
    }

    async fn approve_set(
        &self,
        request: Request<proto::ApproveSetRequest>,
    ) -> Result<Response<proto::ApproveSetResponse>, Status> {
        self.approve_all(request).await.map(Response::new)
    }

    async fn reopen_approval(
        &self,
        request: Request<proto::ReopenApprovalRequest>,
    ) -> Result<Response<proto::ReopenApprovalResponse>, Status> {
        self.reopen(request).await.map(Response::new)
    }
}
