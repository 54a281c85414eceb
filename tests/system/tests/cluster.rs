//! Clusters at work: several watchers, schedulers, workers and gateways as built executables, over a real
//! Postgres, with a real Consul and a real Terraform.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod capabilities;
mod cluster_status;
mod configurations;
mod drain;
mod embedded_replicas;
mod fresh_inputs;
mod grpc_document;
mod local_backend;
mod logs;
mod losses;
mod metrics;
mod modules;
mod reload;
mod rolling_restart;
mod scene;
mod settings;
mod sick_workers;
mod stand_in;
mod traces;
mod trust;
