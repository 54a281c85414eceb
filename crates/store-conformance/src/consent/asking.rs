//! Steps about consent.

use std::collections::BTreeMap;

use cts_core::runs::EnqueueDecision;
use cts_core::{
    ApprovalDefaults, ApprovalRule, ConfigurationFingerprint, EventId, Permit, PlanFacts, RunId,
    TaskSpec,
};
use cts_store::{
    AppliedConfiguration, Approval, ApprovalDecision, AskedPermit, Configuration, Lease,
    PermitAnswer, PlanSummary,
};

use crate::Fixture;
use crate::scene::{Scene, spec, task};

/// A task whose destructive effects need consent.
pub fn ruled(name: &str) -> TaskSpec {
    let mut spec = spec(name);
    spec.file_settings.approval = Some(ApprovalRule::Destroy);
    spec
}

/// The apply uses the consent up.
pub const USED: Permit = Permit::Permitted { uses_consent: true };

/// The apply needs no consent.
pub const FREE: Permit = Permit::Permitted {
    uses_consent: false,
};

/// The decision about an input that is applied, or that a run has.
pub fn skip(cancel_queued: bool) -> EnqueueDecision {
    EnqueueDecision::Skip { cancel_queued }
}

/// A plan that is asked for.
#[derive(Debug)]
pub struct Plan {
    facts: PlanFacts,
    summary: PlanSummary,
    /// The effect whose rest the plan is.
    pub rest_of: Option<&'static str>,
    /// The approved destruction of which the plan is a part.
    pub part_of: Option<&'static str>,
}

/// A plan with this effect, which destroys something.
pub fn asked(effect: &str) -> Plan {
    Plan {
        facts: PlanFacts {
            effect: Some(effect.to_owned()),
            changes: true,
            harms: true,
            unclear: false,
        },
        summary: PlanSummary {
            deleted: 1,
            ..PlanSummary::default()
        },
        rest_of: None,
        part_of: None,
    }
}

/// A plan with this effect, which only creates something.
pub fn harmless(effect: &str) -> Plan {
    let mut plan = asked(effect);
    plan.facts.harms = false;
    plan
}

/// A plan that changes nothing.
pub fn nothing() -> Plan {
    Plan {
        facts: PlanFacts::default(),
        summary: PlanSummary::default(),
        rest_of: None,
        part_of: None,
    }
}

/// A plan with this effect, which creates something, as its summary tells too.
pub fn created(effect: &str) -> Plan {
    let mut plan = harmless(effect);
    plan.summary = PlanSummary {
        created: 1,
        ..PlanSummary::default()
    };
    plan
}

pub async fn permit<F: Fixture>(scene: &Scene<F>, lease: &Lease, plan: &Plan) -> PermitAnswer {
    let asked = AskedPermit {
        content: b"plan",
        facts: &plan.facts,
        summary: &plan.summary,
        rest_of: plan.rest_of,
        part_of: plan.part_of,
    };
    let store = scene.store();
    let answer = store.permit_apply(lease.run, &lease.holder, lease.epoch, asked);
    answer.await.expect("a live lease can ask")
}

/// Asks whether a plan with this effect, which destroys something, may be applied.
pub async fn asks<F: Fixture>(scene: &Scene<F>, lease: &Lease, effect: &str) -> PermitAnswer {
    permit(scene, lease, &asked(effect)).await
}

/// Queues an input and leases its run.
pub async fn begin<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> Lease {
    scene.leased(name, text).await
}

/// Queues an input whose run waits from then on.
pub async fn waiting<F: Fixture>(scene: &Scene<F>, name: &str, text: &str, effect: &str) -> RunId {
    let lease = begin(scene, name, text).await;
    let answer = asks(scene, &lease, effect).await;
    assert_eq!((answer.permit, answer.is_new), (Permit::Waits, true));
    scene.interrupted(&lease).await;
    lease.run
}

/// The decision about an input.
pub async fn decide<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> EnqueueDecision {
    let enqueued = scene.enqueue(name, text).await;
    enqueued.decision.expect("the task may run")
}

pub async fn consents<F: Fixture>(scene: &Scene<F>) -> Vec<Approval> {
    let consents = scene.store().approvals().await;
    consents.expect("consents can be read")
}

pub fn decision(effects: &[(&str, &str)], rejects: Option<EventId>) -> ApprovalDecision {
    let effects = effects.iter();
    let effects = effects.map(|(name, effect)| (task(name), (*effect).to_owned()));
    let (by, comment) = rejects.map_or(("alice", "yes"), |_event| ("bob", "no"));
    ApprovalDecision {
        effects: effects.collect(),
        rejects,
        by: by.to_owned(),
        comment: comment.to_owned(),
    }
}

/// Approves effects by task.
pub async fn approve<F: Fixture>(scene: &Scene<F>, effects: &[(&str, &str)]) -> Vec<Approval> {
    let decided = scene
        .store()
        .decide_approvals(&decision(effects, None))
        .await;
    decided.expect("the effects wait")
}

/// Rejects an effect.
pub async fn reject<F: Fixture>(scene: &Scene<F>, name: &str, effect: &str) {
    let decision = decision(&[(name, effect)], Some(scene.event_id()));
    let decided = scene.store().decide_approvals(&decision).await;
    decided.expect("the effect waits");
}

/// Forgets that effects of a task were rejected; returns their number.
pub async fn reopen<F: Fixture>(scene: &Scene<F>, name: &str, run: RunId) -> u32 {
    let reopened = scene.store().reopen_approvals(&task(name), run).await;
    reopened.expect("effects can be reopened")
}

/// Withdraws effects that are gone; returns their number.
pub async fn sweep<F: Fixture>(scene: &Scene<F>) -> usize {
    let withdrawn = scene.store().withdraw_gone(scene.leader()).await;
    withdrawn.expect("the scene leads").len()
}

/// Puts a rule for tasks without their own in force.
pub async fn defaults<F: Fixture>(scene: &Scene<F>, rule: ApprovalRule) {
    let store = scene.store();
    let in_force = store.configuration_in_force().await;
    let number = in_force.expect("it can be read").map_or(0, |it| it.number);
    let applied = AppliedConfiguration {
        configuration: Configuration {
            tasks: Vec::new(),
            fingerprint: ConfigurationFingerprint::default(),
            settings: BTreeMap::new(),
            fleet_max_shrink: None,
            approvals: ApprovalDefaults {
                rule,
                ..ApprovalDefaults::default()
            },
        },
        decided_by: "test".to_owned(),
        number,
        prune: false,
    };
    let applied = store.put_in_force(&applied).await;
    applied
        .expect("it can be put in force")
        .expect("nobody else has");
}

/// A task whose effect `e1` is approved, and whose run has another input since.
pub async fn approved_and_gone<F: Fixture>() -> Scene<F> {
    let scene = Scene::<F>::configured(&[ruled("a")]).await;
    waiting(&scene, "a", "one", "e1").await;
    approve(&scene, &[("a", "e1")]).await;
    assert_eq!(decide(&scene, "a", "two").await, EnqueueDecision::Replace);
    scene
}
