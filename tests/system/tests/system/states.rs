//! Terraform states: where they move, and what becomes of those that were lost (docs/terraform.md#whose-state-it-is).

pub(crate) mod halting;
pub(crate) mod killed_moves;
mod killed_pushes;
mod lost_states;
mod saved_plans;
pub(crate) mod state_moves;
