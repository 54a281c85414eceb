//! The worker with a real Terraform and a scheduler that the test plays.
//!
//! Terraform is taken from `CTS_TEST_TERRAFORM` or `PATH`. Modules use only Terraform's builtin provider, so
//! no test needs a network.
#![expect(
    clippy::unwrap_used,
    reason = "what shared steps do not expect fails the test, too"
)]

mod applied_plans;
mod cancels;
mod checks;
mod consent_states;
mod contents;
mod destroys;
mod details;
mod handlers;
mod journal;
mod leases;
mod outputs;
mod permissions;
mod plan_data;
mod plans;
mod played_scheduler;
mod proofs;
mod registrations;
mod saved_plans;
mod stage;
mod states;
