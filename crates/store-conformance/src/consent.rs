//! Consent of people to the effects of plans.

pub mod approvals;
pub mod asked_again;
pub mod asking;
pub mod consent_walk;
pub mod flaps;
pub mod gone_effects;
pub mod kept_rules;
pub mod pairs;
pub mod recorded_plans;
pub mod rules_of_approval;
pub mod shown_effects;
pub mod withdrawn_effects;
