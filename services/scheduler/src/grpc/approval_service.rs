//! `cts.run.v1.ApprovalService`: consent of people to the effects of plans (docs/runs.md#consent).

mod answers;
mod decisions;
mod permit;
mod sets;

use std::sync::Arc;

use cts_core::RunId;
use cts_core::callers::TaskPatterns;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::approval_service_server::ApprovalService;
use cts_rpc::convert;
use cts_store::{Approval, Store};
use tokio::sync::Semaphore;
use tonic::{Code, Request, Response, Status};

pub(super) use self::answers::approval_to_wire;
use self::sets::{SetDifference, set_of};
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

    /// The effects of chosen tasks.
    async fn chosen(&self, chosen: &ChosenTasks) -> Result<Vec<Approval>, Status> {
        let mut approvals = self.store.approvals().await.or_status()?;
        approvals.retain(|approval| chosen.has(approval.task.as_str()));
        Ok(approvals)
    }

    /// The chosen tasks in which the waiting effects differ from those of a set.
    async fn difference(
        &self,
        set: &str,
        waiting: &[&Approval],
        chosen: &ChosenTasks,
    ) -> Result<SetDifference, Status> {
        if set.is_empty() || set == set_of(waiting) {
            return Ok(SetDifference::default());
        }
        let tasks = self.store.task_marks().await.or_status()?;
        let names = tasks.iter().map(|task| task.name.as_str());
        let names = names.filter(|name| chosen.has(name));
        Ok(SetDifference::since(set, waiting, names))
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

/// Tasks that match two lists of patterns: those of a request, and those that its caller may see.
struct ChosenTasks([TaskPatterns; 2]);

impl ChosenTasks {
    fn of(tasks: Vec<String>, visible: Vec<String>) -> Result<Self, Status> {
        Ok(Self([visible_tasks(tasks)?, visible_tasks(visible)?]))
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().all(|patterns| patterns.matches(name))
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
        let chosen = ChosenTasks::of(request.tasks, request.visible_tasks)?;
        let approvals = self.chosen(&chosen).await?;
        let waiting = waiting(&approvals);
        let difference = self.difference(&request.set, &waiting, &chosen).await?;
        let set = set_of(&waiting);
        Ok(Response::new(proto::ListApprovalsResponse {
            approvals: approvals.into_iter().map(approval_to_wire).collect(),
            set,
            came: difference.came,
            went: difference.went,
            changed: difference.changed,
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
