//! A worker whose plans need consent, so that its runs wait.

use anyhow::{Context as _, Result, ensure};
use cts_proto::run::v1::approval_service_client::ApprovalServiceClient;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{
    CompleteRunRequest, Interrupted, PermitApplyRequest, PermitDecision, PlanCounts, PlanData,
    PlanExtent, PlannedAction, PlannedChange,
};
use prost::Message as _;

use crate::played::hands::{acquire, heartbeat, worker};

const WORKER: &str = "bench-asks";

/// Level of zstd.
const LEVEL: i32 = 3;

/// Leases this number of runs, one after the other, and asks for each whether it may be applied.
pub(crate) async fn let_wait(scheduler: &str, count: u32) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let channel = cts_rpc::connect(scheduler)?;
    heartbeat(&channel, &worker(WORKER.to_owned(), 1)).await?;
    let mut runs = RunServiceClient::new(channel.clone());
    let mut approvals = ApprovalServiceClient::new(channel);
    let content = zstd::encode_all(plan().encode_to_vec().as_slice(), LEVEL)?;
    for _run in 0..count {
        let lease = acquire(&mut runs, WORKER).await?;
        let lease = lease.context("no run is due")?;
        let question = PermitApplyRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.to_owned(),
            content: content.clone(),
        };
        let answer = approvals.permit_apply(question).await;
        let decision = answer.context("a question is refused")?.into_inner();
        let waits = decision.decision() == PermitDecision::Waits;
        ensure!(waits, "a run does not wait: {}", decision.reason);
        let report = CompleteRunRequest {
            run_id: lease.run_id,
            epoch: lease.epoch,
            worker_id: WORKER.to_owned(),
            outcome: Some(Outcome::Interrupted(Interrupted {})),
            ..CompleteRunRequest::default()
        };
        let answer = runs.complete_run(report).await;
        answer.context("a report is refused")?;
    }
    Ok(())
}

/// A plan that creates a resource.
fn plan() -> PlanData {
    let change = PlannedChange {
        address: "terraform_data.instance".to_owned(),
        action: PlannedAction::Create.into(),
        actions: vec!["create".to_owned()],
        effect: "0b".repeat(16),
        ..PlannedChange::default()
    };
    PlanData {
        extent: PlanExtent::All.into(),
        effect: "0a".repeat(16),
        counts: Some(PlanCounts {
            created: 1,
            ..PlanCounts::default()
        }),
        changes: vec![change],
        ..PlanData::default()
    }
}
