//! Facts about a plan for the rules, and its summary for lists.

use cts_core::{ChangeKind, PlanFacts, excerpt};
use cts_proto::run::v1::{PlanData, PlanExtent, PlannedAction};
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
    let counted = summary(plan);
    let changes = plan.changes.iter().filter_map(|it| kind(it.action()));
    let invoked = plan.invocations.iter().map(|_| ChangeKind::Invoked);
    let deferred = plan.deferred.iter().map(|_| ChangeKind::Deferred);
    let all = counted.changes().chain(changes).chain(invoked);
    let seen = PlanFacts::of_changes(all.chain(deferred));
    let is_counted = matches!(plan.extent(), PlanExtent::Counts | PlanExtent::Unspecified);
    PlanFacts {
        effect: Some(plan.effect.clone()).filter(|effect| !effect.is_empty()),
        changes: seen.changes
            || !plan.effect.is_empty()
            || plan.changes.iter().any(|change| !change.effect.is_empty()),
        harms: seen.harms,
        unclear: seen.unclear || is_unclear(plan) || is_counted,
    }
}

/// Whether a plan says that it does not show everything that would be done.
pub(crate) fn is_unclear(plan: &PlanData) -> bool {
    !plan.unclear.is_empty() || !plan.deferred.is_empty()
}

pub(super) const fn kind(action: PlannedAction) -> Option<ChangeKind> {
    Some(match action {
        PlannedAction::None | PlannedAction::Read => return None,
        PlannedAction::Create => ChangeKind::Created,
        PlannedAction::Update => ChangeKind::Updated,
        PlannedAction::Delete => ChangeKind::Deleted,
        PlannedAction::DeleteThenCreate | PlannedAction::CreateThenDelete => ChangeKind::Replaced,
        PlannedAction::Forget => ChangeKind::Forgotten,
        PlannedAction::Unspecified => ChangeKind::Unknown,
    })
}

/// The summary of a plan for lists.
pub(crate) fn summary(plan: &PlanData) -> PlanSummary {
    let reasons = plan.unclear.iter().take(REASONS);
    let reasons: Vec<String> = reasons.map(|reason| excerpt(reason, REASON)).collect();
    PlanSummary::new(&plan.counts.unwrap_or_default(), &reasons)
}

/// The numbers of a plan in words, with the harm first.
pub(crate) fn counts_text(summary: &PlanSummary) -> String {
    let counts = [
        (summary.deleted, "to destroy"),
        (summary.replaced, "to replace"),
        (summary.forgotten, "to forget"),
        (summary.unknown, "with unknown actions"),
        (summary.invoked, "actions of providers"),
        (summary.updated, "to update"),
        (summary.created, "to create"),
        (summary.imported, "to import"),
        (summary.moved, "to move"),
        (summary.deferred, "put off"),
    ];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts
        .map(|(number, what)| format!("{number} {what}"))
        .collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::{DeferredChange, PlanCounts, PlannedChange, PlannedInvocation};

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
    fn texts_have_the_harm_first() {
        let summary = PlanSummary {
            created: 2,
            deleted: 1,
            ..PlanSummary::default()
        };
        assert_eq!(counts_text(&summary), "1 to destroy, 2 to create");
        assert_eq!(counts_text(&PlanSummary::default()), "");
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
