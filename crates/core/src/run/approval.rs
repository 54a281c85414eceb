//! Consent to the effect of a plan: rules, and the decision about an apply (docs/runs.md#consent).

use std::time::Duration;

use crate::run::runs::WaitEnd;
use crate::task::approval_rule::ApprovalRule;

/// Time for which the consent to an effect that is gone stays.
pub const GONE_FOR: Duration = Duration::from_mins(2);

/// Shortest time between two plans of a task whose effect waits for a decision.
pub const PLANS_EVERY: Duration = Duration::from_mins(1);

/// A kind of change in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// An object is created.
    Created,
    /// Updated in place.
    Updated,
    /// Destroyed.
    Deleted,
    /// Destroyed and created again.
    Replaced,
    /// Taken into the state.
    Imported,
    /// At another address in the state than before.
    Moved,
    /// Removed from the state.
    Forgotten,
    /// With unknown actions.
    Unknown,
    /// An action that a provider is asked to do.
    Invoked,
    /// Put off to a later plan.
    Deferred,
}

impl ChangeKind {
    /// Whether such a change does harm.
    pub const fn harms(self) -> bool {
        match self {
            Self::Deleted | Self::Replaced | Self::Forgotten | Self::Unknown | Self::Invoked => {
                true
            }
            Self::Created | Self::Updated | Self::Imported | Self::Moved | Self::Deferred => false,
        }
    }
}

/// Facts about a plan that the rules look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlanFacts {
    /// Fingerprint of all that would be done; `None` if the plan changes nothing, or was not read to its end.
    pub effect: Option<String>,
    /// Whether anything would be changed.
    pub changes: bool,
    /// Whether an object would be destroyed, replaced or forgotten, or a provider asked for an action.
    pub harms: bool,
    /// Whether the plan may not show everything that would be done.
    pub unclear: bool,
}

impl PlanFacts {
    /// The facts that follow from the changes of a plan.
    pub fn of_changes(changes: impl IntoIterator<Item = ChangeKind>) -> Self {
        let mut facts = Self::default();
        for change in changes {
            facts.changes |= change != ChangeKind::Deferred;
            facts.harms |= change.harms();
            facts.unclear |= change == ChangeKind::Deferred;
        }
        facts
    }

    /// Whether the plan needs consent by this rule.
    pub const fn need_consent(&self, rule: ApprovalRule) -> bool {
        match rule {
            ApprovalRule::Never => false,
            ApprovalRule::Destroy => self.harms || self.unclear,
            ApprovalRule::Always => self.changes || self.harms || self.unclear,
        }
    }
}

/// Consent to an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// A person has approved the effect, for this run or for any: an apply may use the consent up.
    Approved,
    /// A person has rejected the effect.
    Rejected,
    /// Nobody has decided yet, or the consent was used up, has expired or was withdrawn.
    Open,
}

/// The circumstances in which a worker asks whether it may apply its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitContext {
    /// Whether the plan needs consent by the rule in force.
    pub asks: bool,
    /// Whether the plan has a fingerprint to which consent can be given.
    pub has_effect: bool,
    /// Consent to the effect.
    pub consent: Consent,
    /// Whether the plan is the rest of an effect whose consent this run has used.
    pub is_rest: bool,
    /// Why the run need not be applied any more.
    pub end: Option<WaitEnd>,
    /// Whether the run was cancelled, or the brake of the fleet holds it.
    pub stopped: bool,
}

/// Decision about the apply of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// The plan may be applied.
    Permitted {
        /// The apply uses the consent to its effect up.
        uses_consent: bool,
    },
    /// The run waits for a decision about its effect.
    Waits,
    /// A person has rejected the effect.
    Rejected,
    /// Nothing is applied: the task needs something else, or the run was cancelled.
    Unwanted,
    /// Nothing is applied: the plan needs consent and has no fingerprint.
    Unknown,
}

/// Decides whether a plan may be applied.
///
/// A run that needs no consent is applied although newer data wait, like the run of a task without a rule.
pub const fn permit(context: PermitContext) -> Permit {
    let is_unwanted = match context.end {
        None | Some(WaitEnd::CheckQueued) => false,
        Some(WaitEnd::NewerInput) => context.asks,
        Some(WaitEnd::TaskChanged | WaitEnd::TaskDeleted) => true,
    };
    if is_unwanted || context.stopped {
        return Permit::Unwanted;
    }
    if !context.asks {
        return Permit::Permitted {
            uses_consent: false,
        };
    }
    if context.is_rest {
        return Permit::Permitted {
            uses_consent: false,
        };
    }
    if !context.has_effect {
        return Permit::Unknown;
    }
    match context.consent {
        Consent::Approved => Permit::Permitted { uses_consent: true },
        Consent::Rejected => Permit::Rejected,
        Consent::Open => Permit::Waits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: PermitContext = PermitContext {
        asks: true,
        has_effect: true,
        consent: Consent::Open,
        is_rest: false,
        end: None,
        stopped: false,
    };

    #[test]
    fn destroying_replacing_forgetting_and_invoking_do_harm() {
        use ChangeKind::{
            Created, Deferred, Deleted, Forgotten, Imported, Invoked, Moved, Replaced, Unknown,
            Updated,
        };
        let seen = |changes: &[ChangeKind]| {
            let facts = PlanFacts::of_changes(changes.iter().copied());
            [facts.changes, facts.harms, facts.unclear]
        };
        assert_eq!(seen(&[]), [false, false, false]);
        for change in [Created, Updated, Imported, Moved] {
            assert_eq!(seen(&[change]), [true, false, false], "{change:?}");
        }
        for change in [Deleted, Replaced, Forgotten, Unknown, Invoked] {
            assert_eq!(seen(&[Created, change]), [true, true, false], "{change:?}");
        }
        assert_eq!(seen(&[Deferred]), [false, false, true]);
    }

    #[test]
    fn rules_ask_for_more_and_more() {
        let facts = |changes, harms, unclear| PlanFacts {
            effect: None,
            changes,
            harms,
            unclear,
        };
        let asked = |facts: PlanFacts| ApprovalRule::ALL.map(|rule| facts.need_consent(rule));
        assert_eq!(asked(facts(false, false, false)), [false, false, false]);
        assert_eq!(asked(facts(true, false, false)), [false, false, true]);
        assert_eq!(asked(facts(true, true, false)), [false, true, true]);
        assert_eq!(asked(facts(false, false, true)), [false, true, true]);
    }

    #[test]
    fn only_an_approved_effect_or_one_that_needs_no_consent_is_permitted() {
        let used = Permit::Permitted { uses_consent: true };
        let free = Permit::Permitted {
            uses_consent: false,
        };
        let cases = [
            (CONTEXT, Permit::Waits),
            (
                PermitContext {
                    consent: Consent::Approved,
                    ..CONTEXT
                },
                used,
            ),
            (
                PermitContext {
                    consent: Consent::Rejected,
                    ..CONTEXT
                },
                Permit::Rejected,
            ),
            (
                PermitContext {
                    is_rest: true,
                    ..CONTEXT
                },
                free,
            ),
            (
                PermitContext {
                    has_effect: false,
                    ..CONTEXT
                },
                Permit::Unknown,
            ),
            (
                PermitContext {
                    asks: false,
                    end: Some(WaitEnd::NewerInput),
                    ..CONTEXT
                },
                free,
            ),
            (
                PermitContext {
                    consent: Consent::Approved,
                    end: Some(WaitEnd::NewerInput),
                    ..CONTEXT
                },
                Permit::Unwanted,
            ),
            (
                PermitContext {
                    asks: false,
                    end: Some(WaitEnd::TaskChanged),
                    ..CONTEXT
                },
                Permit::Unwanted,
            ),
            (
                PermitContext {
                    consent: Consent::Approved,
                    stopped: true,
                    ..CONTEXT
                },
                Permit::Unwanted,
            ),
            (
                PermitContext {
                    consent: Consent::Approved,
                    end: Some(WaitEnd::CheckQueued),
                    ..CONTEXT
                },
                used,
            ),
        ];
        for (context, expected) in cases {
            assert_eq!(permit(context), expected, "{context:?}");
        }
    }
}
