//! The parts of a plan that need consent by a rule: for people who try a rule (docs/cli.md#cts-approvals).

use cts_core::{ApprovalRule, ChangeKind};
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedAction};

use super::facts::{facts, kind};

/// The parts of a plan that need consent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededConsent {
    /// Whether the apply of the plan needs consent.
    pub is_needed: bool,
    /// The parts that need consent, each with a word for what would be done and an address; the most harmful first. May
    /// be empty although consent is needed.
    pub parts: Vec<(&'static str, String)>,
    /// Why the plan does not show everything that would be done.
    pub unclear: Vec<String>,
}

/// What of the plan needs consent by this rule.
pub fn needed_consent(plan: &PlanData, rule: ApprovalRule) -> NeededConsent {
    let asks = |harms: bool| match rule {
        ApprovalRule::Never => false,
        ApprovalRule::Destroy => harms,
        ApprovalRule::Always => true,
    };
    let mut parts = Vec::new();
    for change in &plan.changes {
        let action = change.action();
        let harms = kind(action).is_some_and(ChangeKind::harms);
        if (harms || !change.effect.is_empty()) && asks(harms) {
            let (order, word) = word_of(action);
            parts.push((order, word, change.address.clone()));
        }
    }
    let invoked = plan.invocations.iter().filter(|_| asks(true));
    parts.extend(invoked.map(|it| (4, "invoke", it.address.clone())));
    let deferred = plan.deferred.iter().filter(|_| asks(true));
    parts.extend(deferred.map(|it| (8, "put off", it.address.clone())));
    let outputs = plan.outputs.iter().filter(|_| asks(false));
    parts.extend(outputs.map(|it| (9, "change the output", it.name.clone())));
    parts.sort();
    let mut unclear = plan.unclear.clone();
    if plan.extent() == PlanExtent::Counts && unclear.is_empty() {
        unclear.push("only the numbers of the changes are known".to_owned());
    }
    NeededConsent {
        is_needed: facts(plan).need_consent(rule),
        parts: parts
            .into_iter()
            .map(|(_order, word, address)| (word, address))
            .collect(),
        unclear,
    }
}

/// The place of an action in the order of harm, and a word for people.
const fn word_of(action: PlannedAction) -> (u8, &'static str) {
    match action {
        PlannedAction::Unspecified => (0, "unknown action"),
        PlannedAction::Delete => (1, "destroy"),
        PlannedAction::DeleteThenCreate | PlannedAction::CreateThenDelete => (2, "replace"),
        PlannedAction::Forget => (3, "forget"),
        PlannedAction::Update => (5, "update"),
        PlannedAction::Create => (6, "create"),
        PlannedAction::None | PlannedAction::Read => (7, "move or import"),
    }
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{PlannedChange, PlannedInvocation, PlannedOutput};

    use super::*;

    fn plan() -> PlanData {
        let change = |address: &str, action: PlannedAction, effect: &str| PlannedChange {
            address: address.into(),
            action: action.into(),
            effect: effect.into(),
            ..PlannedChange::default()
        };
        PlanData {
            extent: PlanExtent::All.into(),
            effect: "ab".into(),
            changes: vec![
                change("t.new", PlannedAction::Create, "1"),
                change("t.old", PlannedAction::Delete, "2"),
                change("t.same", PlannedAction::None, ""),
                change("t.moved", PlannedAction::None, "3"),
                change("t.again", PlannedAction::CreateThenDelete, "4"),
                change("d.read", PlannedAction::Read, ""),
            ],
            outputs: vec![PlannedOutput {
                name: "id".into(),
                ..PlannedOutput::default()
            }],
            ..PlanData::default()
        }
    }

    fn parts(plan: &PlanData, rule: ApprovalRule) -> Vec<String> {
        let parts = needed_consent(plan, rule).parts.into_iter();
        parts.map(|(word, what)| format!("{word} {what}")).collect()
    }

    #[test]
    fn destroys_come_first_and_a_rule_names_only_what_it_asks_for() {
        let harmful = ["destroy t.old", "replace t.again"];
        assert_eq!(parts(&plan(), ApprovalRule::Never), [""; 0]);
        assert_eq!(parts(&plan(), ApprovalRule::Destroy), harmful);
        let all = [
            "create t.new",
            "move or import t.moved",
            "change the output id",
        ];
        let all = [&harmful[..], &all[..]].concat();
        assert_eq!(parts(&plan(), ApprovalRule::Always), all);
        let is_needed = |rule| needed_consent(&plan(), rule).is_needed;
        assert_eq!(ApprovalRule::ALL.map(is_needed), [false, true, true]);
    }

    #[test]
    fn a_plan_that_does_not_show_everything_says_why() {
        let mut invokes = PlanData {
            invocations: vec![PlannedInvocation {
                address: "action.a".into(),
                ..PlannedInvocation::default()
            }],
            ..PlanData::default()
        };
        assert_eq!(parts(&invokes, ApprovalRule::Destroy), ["invoke action.a"]);
        invokes.extent = PlanExtent::Counts.into();
        let needed = needed_consent(&invokes, ApprovalRule::Destroy);
        assert!(needed.is_needed && needed.unclear.len() == 1, "{needed:?}");
    }
}
