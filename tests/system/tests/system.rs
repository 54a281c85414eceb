//! The whole system at work: built executables, real Consul, real Terraform.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod buffering;
mod cancels;
mod change;
mod consul_environment;
mod consul_outage;
mod crash;
pub(crate) mod destructions;
mod dynamic_values;
mod embedded;
mod engine;
mod failing_module;
mod groups;
mod grpc;
mod grpc_log;
pub(crate) mod halting;
mod handlers;
mod hostile_values;
pub(crate) mod judged_destructions;
mod killed_moves;
mod killed_pushes;
mod large_task;
mod migrate;
mod module_variables;
mod outside;
mod passes;
pub(crate) mod provider_environment;
mod refusal;
mod registry_module;
mod restart;
mod saved_plans;
pub(crate) mod secrets;
mod separate_services;
mod state_moves;
mod termination;
mod token_rights;
mod vault;
