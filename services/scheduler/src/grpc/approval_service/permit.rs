//! Workers that ask whether they may apply a plan.

use std::sync::Arc;

use cts_core::{Chain, Permit, PlanFacts, RunId};
use cts_proto::run::v1 as proto;
use cts_store::{AskedPermit, PermitAnswer, PlanSummary};
use tokio::task::spawn_blocking;
use tonic::{Request, Status};

use super::ApprovalEndpoint;
use super::answers::{counts_text, decided_text};
use crate::approval::facts::{facts, is_effect, summary};
use crate::approval::rest::is_rest;
use crate::grpc::lease_proofs::Held;
use crate::grpc::plan_service::content::{InvalidPlan, decode};
use crate::status::OrStatus as _;

/// A plan, as the rules see it.
struct Seen {
    content: Vec<u8>,
    facts: PlanFacts,
    summary: PlanSummary,
    /// The effect whose rest the plan is.
    rest_of: Option<String>,
}

impl Seen {
    /// Reads a plan. `used` is the consent that its run has used.
    fn read(content: Vec<u8>, used: Option<(String, Vec<u8>)>) -> Result<Self, InvalidPlan> {
        let plan = decode(&content)?;
        let is_rest_of = |approved: &[u8]| match decode(approved) {
            Ok(approved) => is_rest(&plan, &approved),
            Err(error) => {
                tracing::error!(error = %Chain(&error), "an approved plan cannot be read");
                false
            }
        };
        let used = used.filter(|(_effect, approved)| is_rest_of(approved));
        Ok(Self {
            facts: facts(&plan),
            summary: summary(&plan),
            rest_of: used.map(|(effect, _approved)| effect),
            content,
        })
    }
}

impl ApprovalEndpoint {
    /// Decides whether a leased run may apply its plan.
    pub(super) async fn permit(
        &self,
        request: Request<proto::PermitApplyRequest>,
    ) -> Result<proto::PermitApplyResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let used = self.store.used_consent(run).await.or_status()?;
        let seen = self.seen(request.content, used).await?;
        let asked = AskedPermit {
            content: &seen.content,
            facts: &seen.facts,
            summary: &seen.summary,
            rest_of: seen.rest_of.as_deref(),
        };
        let answer = self.store.permit_apply(run, &holder, epoch, asked).await;
        let answer = answer.or_status()?;
        if answer.is_new {
            self.notice(run, &seen).await;
        }
        Ok(proto::PermitApplyResponse {
            decision: decision(answer.permit).into(),
            reason: reason(run, &answer, &seen),
        })
    }

    /// Reads a plan once there is room, outside the threads of the runtime.
    async fn seen(
        &self,
        content: Vec<u8>,
        used: Option<(String, Vec<u8>)>,
    ) -> Result<Seen, Status> {
        let internal = |text: String| Status::internal(text);
        let permit = Arc::clone(&self.room).acquire_owned().await;
        let permit = permit.map_err(|error| internal(error.to_string()))?;
        let reading = spawn_blocking(move || {
            let seen = Seen::read(content, used);
            drop(permit);
            seen
        });
        let seen = reading.await.map_err(|error| internal(error.to_string()))?;
        let seen = seen.map_err(|error| Status::invalid_argument(error.to_string()))?;
        if !seen.facts.effect.as_deref().is_none_or(is_effect) {
            return Err(Status::invalid_argument(
                "the effect of the plan is no fingerprint",
            ));
        }
        Ok(seen)
    }

    /// Tells people that an effect waits for them.
    async fn notice(&self, run: RunId, seen: &Seen) {
        let record = self.store.run(run).await.ok().flatten();
        let task = record.map(|record| record.task.to_string());
        let effect = seen.facts.effect.as_deref();
        let changes = counts_text(&seen.summary);
        tracing::warn!(target: "ctrl", task_name = task, run.id = %run, effect, changes, "the effect of a run waits for the consent of a person: `cts approvals show` shows what the run would do");
        self.notifier.tasks_changed();
    }
}

const fn decision(permit: Permit) -> proto::PermitDecision {
    match permit {
        Permit::Permitted { .. } => proto::PermitDecision::Permitted,
        Permit::Waits => proto::PermitDecision::Waits,
        Permit::Rejected => proto::PermitDecision::Rejected,
        Permit::Unwanted => proto::PermitDecision::Unwanted,
        Permit::Unknown => proto::PermitDecision::Unknown,
    }
}

/// The reason of a decision, for people.
fn reason(run: RunId, answer: &PermitAnswer, seen: &Seen) -> String {
    match answer.permit {
        Permit::Permitted { .. } => String::new(),
        Permit::Waits => format!(
            "its effect waits for the consent of a person: `cts approvals show {run}` shows what it would do"
        ),
        Permit::Rejected => {
            let decided = answer.decided.as_ref();
            let decided = decided.map_or_else(|| "rejected".to_owned(), decided_text);
            format!("{decided}; `cts approvals reopen` lets its task ask again")
        }
        Permit::Unwanted => {
            "nothing is applied: the run was cancelled, or its task needs something else".to_owned()
        }
        Permit::Unknown => {
            let reasons = seen.summary.unclear.join("; ");
            format!(
                "the plan needs the consent of a person and was not read to its end, so that nobody can judge it: {reasons}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{PlanData, PlanExtent};
    use prost::Message as _;

    use super::*;

    fn content(plan: &PlanData) -> Vec<u8> {
        zstd::encode_all(plan.encode_to_vec().as_slice(), 3).unwrap()
    }

    #[test]
    fn a_plan_is_a_rest_only_of_a_plan_that_can_be_read() {
        let plan = content(&PlanData {
            extent: PlanExtent::All.into(),
            ..PlanData::default()
        });
        let rest_of = |used| Seen::read(plan.clone(), used).unwrap().rest_of;
        assert_eq!(rest_of(None), None);
        let used = Some(("ab".to_owned(), plan.clone()));
        assert_eq!(rest_of(used).as_deref(), Some("ab"));
        assert_eq!(rest_of(Some(("ab".to_owned(), b"no plan".to_vec()))), None);
        assert!(Seen::read(b"no plan".to_vec(), None).is_err());
    }
}
