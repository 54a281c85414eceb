//! The whole system at work: built executables, real Consul, real Terraform.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod broken_modules;
mod buffering;
mod cancels;
mod change;
mod consul_outage;
mod crash;
pub(crate) mod destructions;
mod exported_metrics;
mod failing_module;
mod fresh_inputs;
mod groups;
pub(crate) mod grpc;
pub(crate) mod halting;
mod hostile_values;
mod killed_moves;
mod killed_pushes;
mod large_task;
pub(crate) mod lost_states;
mod outside;
pub(crate) mod remote;
mod restart;
mod same_user;
mod saved_plans;
pub(crate) mod secrets;
pub(crate) mod state_moves;
mod termination;
mod unreadable_keys;
