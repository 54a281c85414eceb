//! Workers that ask whether they may apply a plan.

use std::sync::Arc;

use cts_core::{Chain, Permit, PlanFacts, RunId};
use cts_proto::run::v1 as proto;
use cts_store::{AskedPermit, GivenConsent, PermitAnswer, PlanSummary, ShownPlan};
use tokio::task::spawn_blocking;
use tonic::{Request, Status};

use super::ApprovalEndpoint;
use super::answers::decided_text;
use crate::approval::content::{InvalidPlan, decode};
use crate::approval::differs::differences;
use crate::approval::facts::{counts_text, facts, is_effect, summary};
use crate::approval::rest::is_rest;
use crate::grpc::lease_proofs::Held;
use crate::status::OrStatus as _;

/// A plan, as the rules see it.
struct Seen {
    content: Vec<u8>,
    facts: PlanFacts,
    summary: PlanSummary,
    /// The effect whose rest the plan is.
    rest_of: Option<String>,
    /// The approved destruction of which the plan is a part.
    part_of: Option<String>,
}

/// The plans before.
#[derive(Default)]
struct Earlier {
    /// The consent that the run has.
    given: Option<GivenConsent>,
    /// The plan that people were shown.
    shown: Option<ShownPlan>,
}

impl Seen {
    fn read(content: Vec<u8>, Earlier { given, shown }: Earlier) -> Result<Self, InvalidPlan> {
        let plan = decode(&content)?;
        let earlier = |content: &[u8]| match decode(content) {
            Ok(plan) => Some(plan),
            Err(error) => {
                tracing::error!(error = %Chain(&error), "an earlier plan cannot be read");
                None
            }
        };
        let is_rest_of =
            |it: &GivenConsent| earlier(&it.plan).is_some_and(|it| is_rest(&plan, &it));
        let (facts, mut summary) = (facts(&plan), summary(&plan));
        let (part_of, rest_of) = match given.filter(is_rest_of) {
            // A part of an approved destruction is that destruction.
            Some(given) if given.destroys => (Some(given.effect), None),
            given => (None, given.map(|given| given.effect)),
        };
        summary.differs = match shown {
            Some(shown) if facts.effect.as_ref() == Some(&shown.effect) => shown.summary.differs,
            Some(shown) => earlier(&shown.plan)
                .map(|it| differences(&plan, &it, shown.same_input))
                .unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Self {
            content,
            facts,
            summary,
            rest_of,
            part_of,
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
        let earlier = Earlier {
            given: self.store.given_consent(run).await.or_status()?,
            shown: self.store.shown_plan(run).await.or_status()?,
        };
        let seen = self.seen(request.content, earlier).await?;
        let asked = AskedPermit {
            content: &seen.content,
            facts: &seen.facts,
            summary: &seen.summary,
            rest_of: seen.rest_of.as_deref(),
            part_of: seen.part_of.as_deref(),
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
    async fn seen(&self, content: Vec<u8>, earlier: Earlier) -> Result<Seen, Status> {
        let internal = |text: String| Status::internal(text);
        let permit = Arc::clone(&self.room).acquire_owned().await;
        let permit = permit.map_err(|error| internal(error.to_string()))?;
        let reading = spawn_blocking(move || {
            let seen = Seen::read(content, earlier);
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
        let differs = Some(seen.summary.differs.join("; ")).filter(|text| !text.is_empty());
        tracing::warn!(target: "ctrl", task_name = task, run.id = %run, effect, changes, differs, "the effect of a run waits for the consent of a person: `cts approvals show` shows what the run would do");
        self.notifier.tasks_changed();
        if let Some(effect) = effect {
            self.notifier.approval_changed(run, effect);
        }
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
    use cts_proto::run::v1::{PlanData, PlanExtent, PlannedChange};
    use prost::Message as _;

    use super::*;

    fn content(plan: &PlanData) -> Vec<u8> {
        zstd::encode_all(plan.encode_to_vec().as_slice(), 3).unwrap()
    }

    fn given(plan: Vec<u8>, destroys: bool) -> GivenConsent {
        GivenConsent {
            effect: "ab".to_owned(),
            plan,
            destroys,
        }
    }

    #[test]
    fn a_plan_is_a_rest_only_of_a_plan_that_can_be_read() {
        let plan = content(&PlanData {
            extent: PlanExtent::All.into(),
            effect: "cd".to_owned(),
            ..PlanData::default()
        });
        let read = |given| {
            let earlier = Earlier { given, shown: None };
            let seen = Seen::read(plan.clone(), earlier).unwrap();
            assert_eq!(seen.facts.effect.as_deref(), Some("cd"));
            (seen.rest_of, seen.part_of)
        };
        let is_new = (None, None);
        assert_eq!(read(None), is_new);
        let approved = || Some("ab".to_owned());
        assert_eq!(read(Some(given(plan.clone(), false))), (approved(), None));
        assert_eq!(read(Some(given(plan.clone(), true))), (None, approved()));
        for destroys in [false, true] {
            assert_eq!(read(Some(given(b"no plan".to_vec(), destroys))), is_new);
        }
        assert!(Seen::read(b"no plan".to_vec(), Earlier::default()).is_err());
    }

    #[test]
    fn the_difference_to_the_shown_plan_stays_while_the_effect_is_the_same() {
        let plan = |effect: &str, address: &str| {
            content(&PlanData {
                extent: PlanExtent::All.into(),
                effect: effect.to_owned(),
                changes: vec![PlannedChange {
                    address: address.to_owned(),
                    effect: effect.to_owned(),
                    ..PlannedChange::default()
                }],
                ..PlanData::default()
            })
        };
        let shown = ShownPlan {
            effect: "ab".to_owned(),
            plan: plan("ab", "t.a"),
            summary: PlanSummary {
                differs: vec!["as before".to_owned()],
                ..PlanSummary::default()
            },
            same_input: true,
        };
        let differs = |effect, shown| {
            let earlier = Earlier { given: None, shown };
            let seen = Seen::read(plan(effect, "t.b"), earlier).unwrap();
            seen.summary.differs
        };
        assert_eq!(differs("ab", None), Vec::<String>::new());
        assert_eq!(differs("ab", Some(shown.clone())), ["as before"]);
        let lines = ["t.a: only in the plan before", "t.b: only in the new plan"];
        assert_eq!(differs("cd", Some(shown)), lines);
    }
}
