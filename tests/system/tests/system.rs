//! The whole system at work: built executables, real Consul, real Terraform.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod broken_modules;
mod buffering;
mod cancels;
mod change;
pub(crate) mod consent;
mod consul_outage;
mod crash;
pub(crate) mod destructions;
mod expired_secrets;
mod exported_metrics;
mod failing_module;
mod fresh_inputs;
mod groups;
pub(crate) mod grpc;
mod hostile_values;
mod large_task;
mod outside;
pub(crate) mod remote;
mod restart;
mod rests;
mod same_user;
pub(crate) mod secrets;
pub(crate) mod states;
mod termination;
mod unreadable_keys;
