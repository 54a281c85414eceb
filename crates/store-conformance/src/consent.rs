//! Consent of people to the effects of plans.

pub mod approvals;
pub mod asking;
pub mod consent_walk;
pub mod gone_effects;
pub mod rules_of_approval;
pub mod withdrawn_effects;
