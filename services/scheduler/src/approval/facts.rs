//! Facts about a plan for the rules, and its summary for lists.

use cts_core::{PlanFacts, excerpt};
use cts_proto::run::v1::{PlanCounts, PlanData, PlanExtent, PlannedAction};
use cts_store::PlanSummary;

/// Length of a fingerprint in hexadecimal.
const EFFECT_CHARACTERS: usize = 64;

/// Most reasons of a summary.
const REASONS: usize = 20;

/// Longest reason of a summary, in characters.
const REASON: usize = 200;

/// Whether a text can be a fingerprint.
pub(crate) fn is_effect(text: &str) -> bool {
    text.len() <= EFFECT_CHARACTERS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What the rules know about a plan. Counts and changes are both looked at, so that a plan is as harmful as either of
/// them says.
pub(crate) fn facts(plan: &PlanData) -> PlanFacts {
    let counts = plan.counts.unwrap_or_default();
    let PlanCounts {
        created,
        updated,
        deleted,
        replaced,
        imported,
        moved,
        forgotten,
        unknown,
        read: _,
        unchanged: _,
        invoked,
        deferred,
    } = counts;
    let has = |counts: &[u32]| counts.iter().any(|count| *count > 0);
    let harms = has(&[deleted, replaced, forgotten, unknown, invoked])
        || !plan.invocations.is_empty()
        || plan.changes.iter().any(|change| is_harm(change.action()));
    let is_counted = matches!(plan.extent(), PlanExtent::Counts | PlanExtent::Unspecified);
    PlanFacts {
        effect: Some(plan.effect.clone()).filter(|effect| !effect.is_empty()),
        changes: !plan.effect.is_empty()
            || harms
            || has(&[created, updated, imported, moved])
            || plan.changes.iter().any(|change| !change.effect.is_empty()),
        harms,
        unclear: is_unclear(plan) || deferred > 0 || is_counted,
    }
}

/// Whether a plan says that it does not show everything that would be done.
pub(crate) fn is_unclear(plan: &PlanData) -> bool {
    !plan.unclear.is_empty() || !plan.deferred.is_empty()
}

const fn is_harm(action: PlannedAction) -> bool {
    match action {
        PlannedAction::Delete
        | PlannedAction::DeleteThenCreate
        | PlannedAction::CreateThenDelete
        | PlannedAction::Forget
        | PlannedAction::Unspecified => true,
        PlannedAction::None
        | PlannedAction::Create
        | PlannedAction::Read
        | PlannedAction::Update => false,
    }
}

/// The summary of a plan for lists.
pub(crate) fn summary(plan: &PlanData) -> PlanSummary {
    let reasons = plan.unclear.iter().take(REASONS);
    let reasons: Vec<String> = reasons.map(|reason| excerpt(reason, REASON)).collect();
    PlanSummary::new(&plan.counts.unwrap_or_default(), &reasons)
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{DeferredChange, PlannedChange, PlannedInvocation};

    use super::*;

    fn plan(extent: PlanExtent, effect: &str) -> PlanData {
        PlanData {
            extent: extent.into(),
            effect: effect.into(),
            ..PlanData::default()
        }
    }

    /// Whether a plan changes something, does harm, and is unclear.
    fn seen(plan: &PlanData) -> [bool; 3] {
        let facts = facts(plan);
        [facts.changes, facts.harms, facts.unclear]
    }

    #[test]
    fn harm_follows_from_changes_and_from_counts() {
        let nothing = plan(PlanExtent::All, "");
        assert_eq!(seen(&nothing), [false, false, false]);
        assert_eq!(facts(&nothing).effect, None);
        let changes = plan(PlanExtent::All, "ab");
        assert_eq!(seen(&changes), [true, false, false]);
        assert_eq!(facts(&changes).effect.as_deref(), Some("ab"));
        for (action, harms) in [
            (PlannedAction::Create, false),
            (PlannedAction::Update, false),
            (PlannedAction::Read, false),
            (PlannedAction::Delete, true),
            (PlannedAction::DeleteThenCreate, true),
            (PlannedAction::CreateThenDelete, true),
            (PlannedAction::Forget, true),
            (PlannedAction::Unspecified, true),
        ] {
            let change = PlannedChange {
                action: action.into(),
                ..PlannedChange::default()
            };
            let plan = PlanData {
                changes: vec![change],
                ..changes.clone()
            };
            assert_eq!(seen(&plan), [true, harms, false], "{action:?}");
        }
        let counted = |counts| PlanData {
            counts: Some(counts),
            ..plan(PlanExtent::Counts, "")
        };
        let replaced = PlanCounts {
            replaced: 1,
            ..PlanCounts::default()
        };
        assert_eq!(seen(&counted(replaced)), [true, true, true]);
        let unchanged = PlanCounts {
            unchanged: 3,
            read: 1,
            ..PlanCounts::default()
        };
        assert_eq!(seen(&counted(unchanged)), [false, false, true]);
    }

    #[test]
    fn actions_of_providers_harm_and_deferred_changes_are_unclear() {
        let invokes = PlanData {
            invocations: vec![PlannedInvocation::default()],
            ..plan(PlanExtent::All, "ab")
        };
        assert_eq!(seen(&invokes), [true, true, false]);
        let defers = PlanData {
            deferred: vec![DeferredChange::default()],
            ..plan(PlanExtent::Addresses, "ab")
        };
        assert_eq!(seen(&defers), [true, false, true]);
    }

    #[test]
    fn summaries_are_bounded() {
        let plan = PlanData {
            unclear: vec!["long\0".repeat(1000); 100],
            ..plan(PlanExtent::All, "ab")
        };
        let summary = summary(&plan);
        assert_eq!(summary.unclear.len(), REASONS);
        assert!(summary.unclear[0].chars().count() < 2 * REASON);
        assert!(!summary.unclear[0].contains('\0'));
    }

    #[test]
    fn fingerprints_are_hexadecimal() {
        assert!(is_effect(&"0f".repeat(32)) && is_effect(""));
        assert!(!is_effect(&"0f".repeat(33)) && !is_effect("0g") && !is_effect("a\0"));
    }
}
